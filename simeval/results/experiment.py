"""The results of an experiment: every metric over its dataset, and its verdicts, printed as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from simeval.core.conversation import Conversation
from simeval.core.direction import Direction
from simeval.core.serialization import Json, plain
from simeval.core.setting_field import Gate
from simeval.core.settings import DEFAULTS
from simeval.core.terminal import WIDTH, Terminal, counted_of, printed, printed_room
from simeval.core.trial import NOTHING_SAID, UNNEEDED, Estimate, Failure, Outcome, Score, Trial, TrialResult, Verdict
from simeval.results.document import DatasetRecord, ExperimentDocument, MetricDocument
from simeval.results.encoding import encode_document
from simeval.results.guarantee import guaranteed_of
from simeval.results.rows import MOST_KEPT, NO_ROWS, Row, Rows
from simeval.results.screen.experiment import experiment_text
from simeval.results.suite import ExpectationResult, RunRecord, concluded, rubrics_of
from simeval.results.text import Printable, combine, meets_gate

NOTHING_REQUIRED = "nothing was required, so nothing has passed: give then=[Expectation(...)]"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """One metric of a scorer over all examples.

    For a yes or no it is the share of yes among the answers, with a failure of the app as a no ("share"); for a number
    its mean over the examples, each the mean of its repetitions ("mean"). `estimate.n` counts the examples that have a
    value, `missing` the answers without one, `crashed` the answers lost by failures of the app. `direction` is the
    scorer's own, None without one.
    """

    scorer: str
    path: str
    kind: Literal["share", "mean"]
    estimate: Estimate
    missing: int
    crashed: int
    direction: Direction | None = None

    @property
    def name(self) -> str:
        """The scorer's name with the path of the metric."""
        return f"{self.scorer}.{self.path}" if self.path else self.scorer

    def document(self) -> MetricDocument:
        """Return all that is known of it."""
        names = ("name", "kind", "direction", "estimate", "missing", "crashed")
        return MetricDocument(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExperimentResult(Printable):
    """The results of an experiment.

    `metrics` sum up the scorers' values on each example, `summaries` hold scorers' figures on the whole dataset, by
    their names, `categories` the share of each text that scorers returned, by metric and text, and `expectations` the
    verdicts; without any there is no outcome. `values` are the measured values by metric, one for each answer, those to
    one example side by side, NaN for a missing one; `keys` identify the examples in every version of the dataset;
    `crashed` are the places of the answers lost by failures of the app. `significance_level` is the error on each side
    of all intervals, as of the verdicts'. `rows` are the answers, read from the store; without one the first 10,000 are
    kept.
    """

    run: RunRecord
    dataset: DatasetRecord
    answers: int
    scorers: tuple[str, ...]
    metrics: tuple[MetricResult, ...]
    summaries: Mapping[str, Mapping[str, Estimate]]
    expectations: tuple[ExpectationResult, ...]
    values: Mapping[str, Sequence[float]] = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    categories: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    significance_level: float = DEFAULTS.significance_level
    crashed: frozenset[int] = frozenset()
    failures: Mapping[str, int] = field(default_factory=dict)
    worst: Mapping[str, TrialResult] = field(default_factory=dict, repr=False)
    rows: Rows = field(default=NO_ROWS, repr=False, compare=False)

    @property
    def outcome(self) -> Outcome | None:
        """The worst outcome of the verdicts; None without expectations."""
        return combine([expectation.outcome for expectation in self.expectations]) if self.expectations else None

    @property
    def passed(self) -> bool:
        """Whether there are verdicts, and all of them are passes."""
        return self.outcome == "pass"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all expectations, in order."""
        return tuple(verdict for expectation in self.expectations for verdict in expectation.verdicts)

    @property
    def guarantee(self) -> str:
        """The error bound of the verdicts, in words, or why none is known; empty if nothing passed."""
        found = [concluded(self.dataset.name, self.expectations)]
        return guaranteed_of(found, self.run.definition, gate=self.run.gate, joint=self.run.joint)

    def meets(self, gate: Gate) -> bool:
        """Return whether the experiment gets through a gate; one without expectations does."""
        is_trusted = not any(each.distrusted for each in self.expectations)
        return self.outcome is None or (is_trusted and meets_gate(self.outcome, gate))

    def metric(self, name: str) -> MetricResult:
        """Return a metric by its name. Raises KeyError naming those there are."""
        found = next((metric for metric in self.metrics if metric.name == name), None)
        if found is None:
            raise KeyError(f"{name}: the metrics are {', '.join(metric.name for metric in self.metrics)}")
        return found

    def to_html(self, path: str | Path) -> None:
        """Write the report for a browser, with the first 10,000 answers and the worst ones.

        `simeval show RUN --html` searches all of them, if a store keeps them. Raises StoreError.
        """
        from simeval.results.html.page import write_report  # most results are never shown so

        write_report(path, ExperimentSource(self))

    def __str__(self) -> str:
        return experiment_text(self.document(), printed(), room=printed_room())

    def text(self, room: int | None = None, *, brief: bool = False, told: Sequence[str] = ()) -> str:
        """Write the results, with tables as lists if lines have less `room`; with `brief` only the outcome.

        Notes printed before are left out.
        """
        return experiment_text(self.document(), Terminal(width=room or WIDTH), room=room, brief=brief, told=told)

    def assert_passed(self) -> None:
        """Raise AssertionError with the report as its text, unless every verdict is a pass."""
        if self.outcome is None:
            raise AssertionError(f"{NOTHING_REQUIRED}\n\n{self.text()}")
        Printable.assert_passed(self)

    def document(self) -> ExperimentDocument:
        """Return all facts on it, with the worst answer to each expectation; the others are in the store."""
        worst = {each.trial.index: each for each in self.worst.values()}
        return ExperimentDocument(
            **{
                **self.run.head(self.outcome, self.guarantee, gate_met=self.meets(self.run.gate)),
                "dataset": self.dataset,
            },
            answers=self.answers,
            significance_level=self.significance_level,
            scorers=self.scorers,
            metrics=[each.document() for each in self.metrics],
            summaries=self.summaries,
            categories=self.categories,
            expectations=[each.document(self.worst.get(each.label)) for each in self.expectations],
            judgements=[
                replace(each, results=tuple(found.results[index] for found in self.expectations))
                for index, each in worst.items()
            ],
            failures=self.failures,
            keys=self.keys,
            values={name: plain(list(values)) for name, values in self.values.items()},
            crashed=self.crashed,
        )

    run_document = document

    @property
    def has_measured(self) -> bool:
        """Whether any answer has a value, a category or a rating, or the dataset a summary."""
        rated = (isinstance(each, Score) for expectation in self.expectations for each in expectation.results)
        measured = any(metric.estimate.n for metric in self.metrics)
        return bool(self.summaries or self.categories) or measured or any(rated)

    def __repr__(self) -> str:
        came_to = self.outcome or ("measured" if self.has_measured else "nothing was measured")
        return f"<ExperimentResult of run {self.run.run_id}: {came_to}, {counted_of(self.answers, 'answer')}>"


class ExperimentSource:
    """An experiment's result in memory: of the answers it has the first rows, and the worst."""

    courses: Mapping[str, tuple[str, list[Any]]] = {}

    def __init__(self, result: ExperimentResult) -> None:
        self._result = result
        self.document = result.document()
        self.rubrics = rubrics_of(result.expectations)
        concluded = [each.label for each in result.expectations]
        self._measured = [name for each in result.metrics if (name := each.name) not in concluded]
        self._labels = [*concluded, *self._measured]

    def labels(self, scenario: int) -> Sequence[str]:  # noqa: ARG002  (there is one)
        return self._labels

    def outlines(self, scenario: int) -> Sequence[TrialResult]:  # noqa: ARG002
        failed = {index: row.failure for index, row in self._rows.items()}
        return [self._judgement(index, NOTHING_SAID, failed.get(index)) for index in range(self._result.answers)]

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[TrialResult]:  # noqa: ARG002
        return [replace(self._held[index], results=self._results(index)) for index in indexes if index in self._held]

    @cached_property
    def _rows(self) -> Mapping[int, Row]:
        return {row.trial: row for row in islice(self._result.rows, MOST_KEPT)}

    @cached_property
    def _held(self) -> Mapping[int, TrialResult]:
        first = {index: self._judgement(index, row.conversation, row.failure) for index, row in self._rows.items()}
        return first | {each.trial.index: each for each in self._result.worst.values() if each.conversation.messages}

    def _judgement(self, index: int, conversation: Conversation, failure: Failure | None) -> TrialResult:
        trial, results = Trial(0, index, 0), self._results(index)
        return TrialResult(trial=trial, conversation=conversation, results=results, failure=failure)

    def _results(self, index: int) -> tuple[Score | Failure, ...]:
        concluded = (each.results[index] for each in self._result.expectations if index < len(each.results))
        row = self._rows.get(index)
        return *concluded, *(_measured_on(row, name) if row else UNNEEDED for name in self._measured)


def _measured_on(row: Row, name: str) -> Score | Failure:
    if row.failure is not None:
        return row.failure
    found = row.scores.get(name)
    if found is None or found.value is None or isinstance(found.value, str):
        return UNNEEDED if found is None or found.failure is None else found.failure
    return Score(value=found.value, reasoning=found.comment)


def encode_experiment(result: ExperimentResult, *, version: str) -> Json:
    """Return an experiment as the machine-readable result; its answers are in the store."""
    return encode_document(replace(result.document(), simeval=version))
