"""The preparation before the first trial of a scenario: rubrics, and judges' ratings of controls."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simeval.core.controls import ControlRecord
from simeval.core.run_records import RubricRecord
from simeval.core.trial import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How an expectation will be judged, its judges' ratings of controls, and why it cannot be judged, if so.

    `lacks_near_miss`: neither its suite, a rule nor the writer of its rubric gave one to test judges with.
    """

    rubric: RubricRecord | None = None
    controls: tuple[ControlRecord, ...] = ()
    lacks_near_miss: bool = False
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The preparations of a scenario so far, by expectation number; `is_ready` after the last."""

    scenario: int
    found: Mapping[int, Preparation] = field(default_factory=dict)
    is_ready: bool = False
