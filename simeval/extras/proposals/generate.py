"""The work of `simeval generate`: have scenarios proposed, write them as a suite, describe the next steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import anyio
import click
import yaml

from simeval.cli.options import overrides
from simeval.cli.output import exit_status, require_writable, say, write_text
from simeval.core.logs import configure_logging
from simeval.core.terminal import counted_of, printable
from simeval.errors import DefinitionError
from simeval.extras.proposals.proposing import Proposal, Proposals, propose
from simeval.extras.proposals.sources import read_parts
from simeval.models.protocol.model import is_embedded
from simeval.models.providers.offline import NOTICE
from simeval.suites.project import read_project
from simeval.suites.scenario import PROPOSED

WIDTH = 100
SAMPLE_SIZE = 100
PROPORTION = 0.9

MOST_PROBLEMS = 3


def suite_text(made: Proposals) -> str:
    """Return the YAML of a suite with all proposals."""
    sources = ", ".join(dict.fromkeys(each.source for each in made.found))
    head = (
        f"Proposed by {made.model} from {sources}. Nobody has read these scenarios yet: check each against what your "
        f"app is to do, edit it, and take its tag `{PROPOSED}` away."
    )
    listed = "\n".join(map(_scenario, made.found))
    return f"{_comment(head)}\nsample_size: {SAMPLE_SIZE}\nscenarios:\n{listed}"


def _scenario(proposal: Proposal) -> str:
    said = proposal.scenario
    expectation: dict[str, Any] = {"expected_behavior": said.expected_behavior}
    if said.counterexample:
        expectation["counterexample"] = said.counterexample
    expectation["evaluator"] = {"type": "success_rate", "min_proportion": PROPORTION}
    fields = {"title": said.title, "tags": [PROPOSED], "given": said.given, "when": said.when, "then": expectation}
    rests_on = f'{proposal.source}: "{proposal.quote}"' if proposal.quote else f"{proposal.source}, no quotation"
    return f"{_comment(f'from {rests_on}', '  # ')}\n{_item(fields)}"


def _item(fields: Mapping[str, Any]) -> str:
    text = yaml.safe_dump([fields], sort_keys=False, default_flow_style=None, allow_unicode=True, width=WIDTH)
    return "".join(f"  {line}\n" for line in text.splitlines())


def _comment(text: str, mark: str = "# ") -> str:
    return "\n".join(f"{mark}{line}" for line in wrap(printable(" ".join(text.split())), WIDTH))


@exit_status
def generate(
    context: click.Context, *, sources: Sequence[Path], description: str, model: str, count: int, out: str | None
) -> int:
    """Write a suite of proposed scenarios, and give the exit status."""
    configure_logging("WARNING")
    if out is not None and out != "-" and Path(out).exists():
        raise DefinitionError(out, found="this file is there already", do="name another file with --out")
    require_writable(out)
    parts = read_parts(sources, description)
    settings = read_project(Path()).settings.overridden(overrides(context))
    made = anyio.run(lambda: propose(parts, count=count, model=model, settings=settings))
    write_text(out or "-", suite_text(made))
    return say(_told(made, count, out), 0)


def _told(made: Proposals, count: int, out: str | None) -> str:
    """Describe the proposals, the parts left out, and the next steps."""
    found = len(made.found)
    calls = f"{counted_of(made.calls, 'call')} and {made.tokens:,} tokens"
    told = [f"{counted_of(found, 'scenario')} proposed by {made.model} in {calls}"]
    told += [f"{made.model} is {NOTICE}"] if is_embedded(made.model) else []
    told += [f"it had no more to say than {found} of {count}"] if found < count else []
    told += [f"{made.alike} said what another said, and were left out"] if made.alike else []
    if left := made.parts - made.parts_read:
        told.append(f"{left} of {made.parts} parts of the sources were not read; --scenarios {made.parts} reads all")
    told += [f"without a reply that can be read: {problem}" for problem in made.problems[:MOST_PROBLEMS]]
    name = out if out not in (None, "-") else "SUITE"
    told += [f"read and edit each, and take its tag {PROPOSED!r} away; simeval try {name} --only TITLE holds one"]
    return "\n  ".join(told)
