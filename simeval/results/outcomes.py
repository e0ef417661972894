"""Outcomes of several verdicts together, and the gates of a run: its own bars, and its baseline."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from simeval.core.setting_field import Gate
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRow:
    """A requirement compared with that of the baseline: the finding, whether it meets the gate, and why."""

    title: str
    name: str
    finding: str
    met: bool
    said: str
    p_value: float | None = None

    def __str__(self) -> str:
        return f"{self.title}: {self.name}: {self.said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineGate:
    """Whether a run is proven no worse than its baseline by more than the margin; `said` is the sentence."""

    run_id: str
    margin: float
    met: bool
    said: str
    rows: tuple[BaselineRow, ...] = ()

    @property
    def against(self) -> tuple[str, ...]:
        """Why it is not met, a line for each requirement in the way."""
        return tuple(f"baseline: {row}" for row in self.rows if not row.met)


class Rated(Protocol):
    """A scenario that judges rated, and that may decide the outcome of the whole."""

    @property
    def is_trusted(self) -> bool:
        """Whether no judge that failed its controls rated it."""

    @property
    def decides(self) -> bool:
        """Whether its outcome counts."""


def are_trusted(results: Iterable[Rated]) -> bool:
    """Return whether no judge that failed its controls rated a scenario that decides."""
    return all(each.is_trusted for each in results if each.decides)


def meets_gates(outcome: Outcome, gate: Gate, baseline: BaselineGate | None, *, trusted: bool = True) -> bool:
    """Return whether an outcome gets through the gate of its bars, and a run through that of its baseline.

    None gets through if a judge is not to be trusted.
    """
    return trusted and meets_gate(outcome, gate) and (baseline is None or baseline.met)


def gates_told(bars_met: bool, baseline: BaselineGate) -> str:
    """Say in a sentence which gate is met and which is not."""
    stands = {True: "met", False: "not met"}
    return f"gates: the bars are {stands[bars_met]}, the baseline is {stands[baseline.met]}: {baseline.said}"
