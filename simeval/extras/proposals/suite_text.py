"""Proposed scenarios as a suite that a person edits: each has the tag `proposed`, and names its source."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import yaml

from simeval.core.terminal import printable
from simeval.extras.proposals.proposing import Proposal, Proposals
from simeval.suites.selection import PROPOSED

WIDTH = 100
SAMPLE_SIZE = 100
PROPORTION = 0.9


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
