"""The gates of a run: its own bars, and its baseline besides them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from simeval.core.setting_choices import Gate
from simeval.core.trial import Outcome
from simeval.results.outcomes import meets_gate


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
    """Whether a run is proven no worse than its baseline by more than the margin; `said` is that in a sentence."""

    run_id: str
    margin: float
    met: bool
    said: str
    rows: tuple[BaselineRow, ...] = ()

    @property
    def against(self) -> tuple[str, ...]:
        """Why it is not met, a line for each requirement in the way."""
        return tuple(f"baseline: {row}" for row in self.rows if not row.met)


def read_baseline(document: Mapping[str, Any]) -> BaselineGate | None:
    """Return the baseline gate in the machine-readable result of a run; None without one."""
    found = document.get("baseline")
    if found is None:
        return None
    return BaselineGate(**{**found, "rows": tuple(BaselineRow(**row) for row in found["rows"])})


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
