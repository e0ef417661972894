"""The work of `simeval generate`: have scenarios proposed, write them as a suite, describe the next steps."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import click

from simeval.cli.options import overrides
from simeval.cli.output import require_writable, say, status_of, write_text
from simeval.core.logs import configure_logging
from simeval.core.terminal import counted_of
from simeval.errors import DefinitionError
from simeval.extras.proposals.proposing import Proposals, propose
from simeval.extras.proposals.sources import read_parts
from simeval.extras.proposals.suite_text import suite_text
from simeval.models.provider_table import is_embedded
from simeval.models.providers.offline import NOTICE
from simeval.suites.project import read_project
from simeval.suites.selection import PROPOSED

MOST_PROBLEMS = 3


def generate(
    context: click.Context, *, sources: Sequence[Path], description: str, model: str, count: int, out: str | None
) -> int:
    """Write a suite of proposed scenarios, and give the exit status."""
    configure_logging("WARNING")

    def generated() -> int:
        if out is not None and out != "-" and Path(out).exists():
            raise DefinitionError(out, found="this file is there already", do="name another file with --out")
        require_writable(out)
        parts = read_parts(sources, description)
        settings = read_project(Path()).settings.overridden(overrides(context))
        made = anyio.run(lambda: propose(parts, count=count, model=model, settings=settings))
        write_text(out or "-", suite_text(made))
        return say(_told(made, count, out), 0)

    return status_of(generated)


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
