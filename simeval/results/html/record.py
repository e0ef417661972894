"""What a report shows, as the page reads it: the head with every verdict, and one record for each conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simeval.results.html.charts import Node

Kind = Literal["suite", "experiment", "comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportVerdict:
    """One requirement: `said` what was seen and what is required, `meaning` what that proves, `why` what kept it back.

    `numbers` are the verdict's as JSON results have them, `proof` is the test in words for who wants to check it.
    """

    outcome: str
    said: str
    meaning: str
    why: str
    proof: str
    numbers: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportExpectation:
    """One expectation; `worst` is the trial that speaks most against it."""

    label: str
    outcome: str
    verdicts: Sequence[ReportVerdict]
    behaviour: str = ""
    rubric_by: str = ""
    warnings: Sequence[str] = ()
    described: Sequence[str] = ()
    worst: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportScenario:
    """One scenario, or the dataset of an experiment; `users` are sentences on what its simulated users did."""

    title: str
    outcome: str
    trials: int
    sample_size: int
    expectations: Sequence[ReportExpectation]
    given: str = ""
    when: str = ""
    users: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportChange:
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

    `facts` and `usage` are rows of words, `meaning` sentences that need no knowledge of statistics, `interval` says the
    level of the intervals of `metrics`, `courses` how these went from experiment to experiment.
    """

    kind: Kind
    name: str
    outcome: str
    headline: str
    meaning: Sequence[str]
    facts: Sequence[tuple[str, str]]
    stopped: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    causes: Sequence[tuple[str, int]] = ()
    scenarios: Sequence[ReportScenario] = ()
    metrics: Sequence[Sequence[Any]] = ()
    interval: str = ""
    changes: Sequence[ReportChange] = ()
    courses: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTrial:
    """One conversation: what was said, what it was given and why, and the reason for which it stands where it does.

    `states` say for each expectation whether it is met, "missed" or "missing"; `scores` have reasoning and ratings.
    """

    index: int
    reason: str
    worst: bool
    states: Sequence[str]
    scores: Mapping[str, Any]
    turns: Sequence[Mapping[str, Any]]
    ended: str
    seed: str = ""
    style: Mapping[str, str] = field(default_factory=dict)
    failures: Sequence[str] = ()
    pair: "ReportTrial | None" = None
