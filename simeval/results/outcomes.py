"""Outcomes of several verdicts together, and the gates they get through."""

from collections.abc import Sequence

from simeval.core.setting_choices import Gate
from simeval.core.trial import Outcome


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several together: error over fail over inconclusive; pass only if all pass."""
    for outcome in ("error", "fail", "inconclusive"):
        if outcome in outcomes:
            return outcome
    return "pass" if outcomes else "inconclusive"


def meets_gate(outcome: Outcome, gate: Gate) -> bool:
    """Return whether an outcome gets through a gate: "pass", it is one; "not_fail", it is no fail and no error."""
    return outcome == "pass" or (gate == "not_fail" and outcome == "inconclusive")
