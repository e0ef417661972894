"""A run in a line: its result, and the progress of its scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from simeval.core.trial import Estimate, Outcome

Status = Literal["running", "interrupted", "stopped", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a line: its result, and its cost so far.

    `trials` are the ones concluded on, as in the report; of a run without an end, the conversations held by now. One
    that is interrupted has no process any more, and no end. `baseline_met` exists for a run compared with a baseline:
    whether it is proven to be no worse, which its outcome leaves open. An experiment that has ended has its dataset
    with its version, its user's metadata, and its metrics by their names.
    """

    run_id: str
    started: datetime
    status: Status
    outcome: Outcome | None
    app: str
    scenarios: int
    trials: int
    calls: int
    cost_usd: float | None
    seconds: float
    baseline_met: bool | None = None
    dataset: str = ""
    version: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioProgress:
    """How far a scenario has come: conversations that are finished, and those with every score they can have."""

    title: str
    sample_size: int
    finished: int
    judged: int


def estimate_of(found: Mapping[str, Any]) -> Estimate:
    """Return the estimate of a metric of a JSON result."""
    interval = found.get("interval")
    return Estimate(value=found["value"], n=found["n"], interval=None if interval is None else tuple(interval))
