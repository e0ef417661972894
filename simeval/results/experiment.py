"""The results of an experiment: every metric over its dataset, and its verdicts, printed as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from simeval.core.conversation import Conversation
from simeval.core.counted import counted_of, show_share
from simeval.core.direction import Direction
from simeval.core.serialization import Json, plain
from simeval.core.setting_choices import Gate
from simeval.core.settings import DEFAULTS
from simeval.core.tables import isolated
from simeval.core.terminal import printed_room
from simeval.core.trial import NOTHING_SAID, UNNEEDED, Estimate, Failure, Judgement, Outcome, Score, Trial, Verdict
from simeval.results.blocks import Block, Blocks, laid_out, prose, table, transcript
from simeval.results.document import DatasetRecord, ExperimentDocument, MetricDocument
from simeval.results.encoding import encode_document
from simeval.results.guarantee import guaranteed_of
from simeval.results.outcomes import combine, meets_gate
from simeval.results.printable import Printable
from simeval.results.rows import MOST_KEPT, NO_ROWS, Row, Rows
from simeval.results.suite import ExpectationResult, RunRecord, concluded, rubrics_of
from simeval.results.text import (
    MARKS,
    VERDICT_HEADERS,
    head_of_trial,
    interval_header,
    legend,
    show_malformed,
    show_spent,
    told_failures,
    verdict_row,
)

INTERVAL = "interval"  # a table gives its level
NOTHING_REQUIRED = "nothing was required, so nothing has passed: give then=[Expectation(...)]"
METRIC_HEADERS = ("metric", "value", INTERVAL, "examples", "missing", "app failed", "interval by")
CATEGORY_HEADERS = ("category of", "text", "share", INTERVAL, "examples")
MOST_SHOWN = 10  # texts of one metric
SUMMARY_HEADERS = ("over the dataset", "value", "interval", "examples", "interval by")


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
    worst: Mapping[str, Judgement] = field(default_factory=dict, repr=False)
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
        return self.text(printed_room())

    def text(self, room: int | None = None, *, brief: bool = False, told: Sequence[str] = ()) -> str:
        """Write the results as tables, or as lists if lines have less `room`; with `brief` only the outcome.

        Notes printed before are left out.
        """
        return isolated(_headline(self)) if brief else laid_out(report_of(self, told), room)

    def assert_passed(self) -> None:
        """Raise AssertionError with the report as its text, unless every verdict is a pass."""
        if self.outcome is None:
            raise AssertionError(f"{NOTHING_REQUIRED}\n\n{self.text()}")
        Printable.assert_passed(self)

    def document(self) -> ExperimentDocument:
        """Return all facts on it; its answers are in the store."""
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
            expectations=[each.document() for each in self.expectations],
            failures=self.failures,
            keys=self.keys,
            values={name: plain(list(values)) for name, values in self.values.items()},
            crashed=self.crashed,
        )

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

    def outlines(self, scenario: int) -> Sequence[Judgement]:  # noqa: ARG002
        failed = {index: row.failure for index, row in self._rows.items()}
        return [self._judgement(index, NOTHING_SAID, failed.get(index)) for index in range(self._result.answers)]

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:  # noqa: ARG002
        return [replace(self._held[index], results=self._results(index)) for index in indexes if index in self._held]

    @cached_property
    def _rows(self) -> Mapping[int, Row]:
        return {row.trial: row for row in islice(self._result.rows, MOST_KEPT)}

    @cached_property
    def _held(self) -> Mapping[int, Judgement]:
        first = {index: self._judgement(index, row.conversation, row.failure) for index, row in self._rows.items()}
        return first | {each.trial.index: each for each in self._result.worst.values() if each.conversation.messages}

    def _judgement(self, index: int, conversation: Conversation, failure: Failure | None) -> Judgement:
        trial, results = Trial(0, index, 0), self._results(index)
        return Judgement(trial=trial, conversation=conversation, results=results, failure=failure)

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


def report_of(result: ExperimentResult, told: Sequence[str] = ()) -> Blocks:
    """Return the printed report: the metrics, the verdicts with the answers most against them, the failures.

    Notes printed before are left out.
    """
    return [
        [block for note in result.run.notes if note not in told for block in prose(f"note: {note}")],
        _metrics(result),
        _categories(result),
        _summaries(result.summaries),
        _verdicts(result),
        [
            block
            for each in result.expectations
            for why in each.warnings
            for block in prose(f"warning: {each.label!r}: {why}")
        ],
        [block for each in result.expectations if each.cases for block in prose(f"{each.label}: {each.cases}")],
        *(_against(result, expectation) for expectation in result.expectations),
        [block for line, spaces in told_failures(result.failures) for block in prose(line, spaces=spaces)],
        prose(show_malformed(result.run.usage)),
        [*prose(result.guarantee), *prose(_footer(result))],
    ]


def _metrics(result: ExperimentResult) -> list[Block]:
    rows = [
        [
            metric.name,
            *_show_estimate(metric.estimate, is_share=metric.kind == "share"),
            str(metric.estimate.n),
            str(metric.missing or "-"),
            str(metric.crashed or "-"),
            metric.estimate.method,
        ]
        for metric in result.metrics
    ]
    return table(_headers(METRIC_HEADERS, result), rows, widths=(44,))


def _headers(headers: Sequence[str], result: ExperimentResult) -> list[str]:
    return [interval_header(result.significance_level) if each == INTERVAL else each for each in headers]


def _categories(result: ExperimentResult) -> list[Block]:
    rows: list[list[str]] = []
    for name, found in result.categories.items():
        for category, estimate in list(found.items())[:MOST_SHOWN]:
            rows.append([name, category, *_show_estimate(estimate, is_share=True), str(estimate.n)])
        if len(found) > MOST_SHOWN:
            rows.append([name, f"({len(found) - MOST_SHOWN} more, see --json)", "", "", ""])
    return table(_headers(CATEGORY_HEADERS, result), rows, widths=(44, 40))


def _summaries(summaries: Mapping[str, Mapping[str, Estimate]]) -> list[Block]:
    rows = [
        [f"{scorer}: {name}", *_show_estimate(estimate, is_share=False), str(estimate.n), estimate.method]
        for scorer, found in summaries.items()
        for name, estimate in found.items()
    ]
    return table(SUMMARY_HEADERS, rows, widths=(44,))


def _show_estimate(estimate: Estimate, *, is_share: bool) -> list[str]:
    def show(value: float) -> str:
        return show_share(value) if is_share else f"{value:.3g}"

    value = "-" if estimate.value is None else show(estimate.value)
    return [value, "-" if estimate.interval is None else "[{}, {}]".format(*map(show, estimate.interval))]


def _verdicts(result: ExperimentResult) -> list[Block]:
    rows = [
        verdict_row(expectation.label, evaluator, verdict, result.dataset.size)
        for expectation in result.expectations
        for evaluator, verdict in zip(expectation.evaluators, expectation.verdicts, strict=True)
    ]
    return [*table(VERDICT_HEADERS, rows, widths=(44,)), *prose(legend(result.verdicts))] if rows else []


def _against(result: ExperimentResult, expectation: ExpectationResult) -> list[Block]:
    if expectation.outcome == "pass":
        return []
    found = [
        block
        for verdict in expectation.verdicts
        if not verdict.passed
        for block in prose(f"{expectation.label}: {verdict.evaluator}: {verdict.explanation.rstrip('.')}.")
    ]
    worst = result.worst.get(expectation.label)
    if worst is not None and (worst.conversation.responses or expectation.outcome != "error"):
        found += prose(head_of_trial(worst, expectation.results[worst.trial.index]), spaces=4)
        found += transcript(worst.conversation)
    return found


def _footer(result: ExperimentResult) -> str:
    run = result.run
    judged = f", judge {run.judge_model}" if run.usage.keys() & {"judge", "scorer"} else ""
    return f"{_headline(result)}\nrun {run.run_id}, seed {run.seed}, target {run.app}{judged}"


def _headline(result: ExperimentResult) -> str:
    """Return the outcome, if there is one, and its basis."""
    dataset, run, outcome = result.dataset, result.run, result.outcome
    times = f" x {dataset.repetitions}" if dataset.repetitions > 1 else ""
    unfinished = dataset.size * dataset.repetitions - result.answers
    left = f" ({unfinished} not reached, because the run stopped: {run.stopped})" if unfinished else ""
    return (
        f"{f'{MARKS[outcome]}: ' if outcome else ''}dataset {dataset.name} (version {dataset.version}), "
        f"{counted_of(dataset.size, 'example')}{times}{left}, {show_spent(run.usage, run.seconds)}"
    )
