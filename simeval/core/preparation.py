"""What is made ready before the first trial of a scenario: rubrics, and what judges make of controls."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simeval.core.controls import ControlRecord
from simeval.core.run_records import RubricRecord
from simeval.core.trial import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What an expectation will be judged by, what its judges gave to controls, and why it cannot be judged, if so."""

    rubric: RubricRecord | None = None
    controls: tuple[ControlRecord, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What has been made ready of a scenario, by the places of its expectations; `is_ready` when that was the last."""

    scenario: int
    found: Mapping[int, Preparation] = field(default_factory=dict)
    is_ready: bool = False
