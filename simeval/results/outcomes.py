"""Outcomes of several verdicts together, and the gates they get through."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from simeval.core.setting_choices import Gate
from simeval.core.trial import Outcome


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several together: error over fail over inconclusive; pass only if all pass."""
    for outcome in ("error", "fail", "inconclusive"):
        if outcome in outcomes:
            return outcome
    return "pass" if outcomes else "inconclusive"


def shown_outcome(outcome: str, reasons: Iterable[str]) -> str:
    """Return an outcome as it is counted for people: "undecided" where another scenario had ended the whole run."""
    return "undecided" if outcome == "inconclusive" and "suite_settled" in reasons else outcome


class Deciding(Protocol):
    """An item with an outcome that may decide that of the whole."""

    @property
    def outcome(self) -> Outcome:
        """Its outcome."""

    @property
    def decides(self) -> bool:
        """Whether that counts."""


def decided(found: Iterable[Deciding]) -> Outcome:
    """Return the outcome of all that decides together."""
    return combine([each.outcome for each in found if each.decides])


def meets_gate(outcome: Outcome, gate: Gate) -> bool:
    """Return whether an outcome gets through a gate: "pass", it is one; "not_fail", it is no fail and no error."""
    return outcome == "pass" or (gate == "not_fail" and outcome == "inconclusive")
