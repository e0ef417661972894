"""The head of a report, as its page reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simeval.core.serialization import Json
from simeval.results.html.charts import Node

Kind = Literal["suite", "experiment", "comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One requirement or metric of a comparison; `scenario` is the block with its pairs."""

    title: str
    name: str
    finding: str
    said: str
    picture: Node | None
    numbers: Mapping[str, Any]
    worse: Sequence[int]
    better: Sequence[int]
    scenario: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The head of a report. `scenarios`, `metrics` and `changes` are there as its kind has them.

    `facts` and `usage` are rows of words. `meaning` and `sure` are sentences that need no knowledge of statistics: on
    the outcome, and on how often it is wrong. `interval` is the level of the intervals of `metrics`, `courses` are
    their values from experiment to experiment, `kinds` the kinds of misses of a comparison.
    """

    kind: Kind
    name: str
    outcome: str
    headline: str
    meaning: Sequence[str]
    sure: Sequence[str] = ()
    facts: Sequence[tuple[str, str]]
    stopped: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    causes: Sequence[tuple[str, int]] = ()
    scenarios: Sequence[Json] = ()
    metrics: Sequence[Sequence[Any]] = ()
    interval: str = ""
    changes: Sequence[ChangeRow] = ()
    courses: Sequence[Sequence[Any]] = ()
    kinds: Sequence[Sequence[str]] = ()
