"""The tabulator: takes the judgements of an experiment as they come, into columns, and concludes when all are there."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isfinite, nan
from typing import Literal

from anyio.streams.memory import MemoryObjectReceiveStream

from simeval.core.capture import Caught, attempt, place_of
from simeval.core.run_records import Prepared
from simeval.core.settings import Settings
from simeval.core.trial import UNNEEDED, Estimate, Failure, Preparation, Score, Scored, TrialResult, Verdict, failure_of
from simeval.engine.actors.app_line import Unanswered
from simeval.engine.actors.examples import ExampleReader
from simeval.engine.actors.statistician import (
    ROUNDING,
    in_error,
    is_unmeasured,
    refused,
    unmeasured,
    without_conclusion,
)
from simeval.engine.flow import Demand, Standing
from simeval.engine.plans.dataset_plan import DatasetPlan
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import Measure
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import MeanEvaluator
from simeval.results.cases import CaseTable, table_of
from simeval.results.document import DatasetRecord
from simeval.results.estimates import estimate_mean, estimate_repeated, estimate_share
from simeval.results.experiment import ExperimentResult, MetricResult
from simeval.results.kinds import kinds_among
from simeval.results.rows import MOST_KEPT, Row, Rows, row_of
from simeval.results.signs import Signs
from simeval.results.suite import ExpectationResult, RunRecord
from simeval.results.text import badness, speaks_against
from simeval.scorers.returned import measured_of, parts_of

MOST_CATEGORIES = 50  # different texts: more are no categories, and are only counted
MOST_TOLD = 2_000  # different misses that keep their texts; those after them are kinds without a reason
_NONE = -1  # the number of an answer without a text


@dataclass(slots=True)
class TextTally:
    """The text of each of `length` answers; `first` is where each occurred first, an answer and a place in it."""

    length: int
    first: tuple[int, int]
    _numbers: dict[str, int] = field(default_factory=dict)
    _answers: "array[int]" = field(init=False)

    def __post_init__(self) -> None:
        self._answers = array("i", [_NONE]) * self.length

    def take(self, index: int, text: str) -> None:
        """Put the text of an answer in its place."""
        is_full = len(self._numbers) > MOST_CATEGORIES  # then the last number means all texts
        self._answers[index] = MOST_CATEGORIES if is_full else self._numbers.setdefault(text, len(self._numbers))

    def shares(self, repetitions: int, alpha: float) -> Mapping[str, Estimate]:
        """Return the share of each category, of the answers with a text, the most frequent first.

        If there are too many different texts there is one entry, which counts them.
        """
        if len(self._numbers) > MOST_CATEGORIES:
            known = [nan if number == _NONE else 1.0 for number in self._answers]
            return {f"(more than {MOST_CATEGORIES} different texts)": estimate_share(known, repetitions, alpha=alpha)}
        estimate = partial(estimate_share, repetitions=repetitions, alpha=alpha)
        found = {text: estimate(self._flags(number)) for text, number in self._numbers.items()}
        return dict(sorted(found.items(), key=lambda each: (-(each[1].value or 0.0), each[0])))

    def _flags(self, wanted: int) -> list[float]:
        return [nan if number == _NONE else float(number == wanted) for number in self._answers]


@dataclass(slots=True)
class MeasuredColumn:
    """The values of one measure, by the answer's place."""

    measure: Measure
    length: int
    signs: Signs | None = None
    values: dict[str, "array[float]"] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)  # of each path with values, whether all are booleans
    results: list[Score | Failure | None] = field(default_factory=list)
    scored: list[Scored | None] = field(default_factory=list)
    measured: int = 0  # answers that the scorer gave something on
    first: dict[str, tuple[int, int]] = field(default_factory=dict)  # where each path of a value stood first
    texts: dict[str, TextTally] = field(default_factory=dict)
    worst: tuple[tuple[tuple[int, float], int], TrialResult] | None = None
    prepared: Preparation | None = None
    misses: dict[str, Score] = field(default_factory=dict)  # that keep their texts

    def __post_init__(self) -> None:
        self.results = [None] * self.length if self.measure.evaluators else []
        self.scored = [None] * self.length if self.summarizes else []

    @property
    def label(self) -> str:
        """The name of the measure."""
        return self.measure.label

    @property
    def refusal(self) -> Failure | None:
        """Why nothing can be measured; None if it can be."""
        return self.prepared.failure if self.prepared else None

    def warnings(self, judge: str) -> tuple[str, ...]:
        """Return signs in their ratings against judges."""
        controls = self.prepared.controls if self.prepared else ()
        return self.signs.warnings(judge, controls) if self.signs else ()

    @property
    def summarizes(self) -> bool:
        """Whether its scorer summarises the whole dataset."""
        return not self.measure.evaluators and self.measure.scorer.summarizes

    def name_of(self, path: str) -> str:
        """Return the whole name of the value at a path."""
        return f"{self.label}.{path}" if path else self.label

    def named(self) -> Mapping[str, Sequence[float]]:
        """Return the values of every metric by its whole name."""
        return {self.name_of(path): values for path, values in self.in_order()}

    def in_order(self) -> list[tuple[str, "array[float]"]]:
        """Return the values by path, in the order of the first answer that has them, whichever came first.

        Where there never was a number, but texts, there are no values.
        """
        paths = [path for path in self.values if path in self.flags or path not in self.texts]
        return [(path, self.values[path]) for path in sorted(paths, key=self.first.__getitem__)]

    def categories(self, repetitions: int, alpha: float) -> Mapping[str, Mapping[str, Estimate]]:
        """Return the shares of the texts at each path, by its whole name, in the order of the first answer with one."""
        ordered = sorted(self.texts.items(), key=lambda each: each[1].first)
        return {self.name_of(path): tally.shares(repetitions, alpha) for path, tally in ordered}

    def take(self, index: int, result: Score | Failure, judgement: TrialResult, *, example: int) -> None:
        """Put a result in its place."""
        if self.measure.evaluators:
            self.results[index] = self._kept(result)
            if self.signs is not None and isinstance(result, Score):
                self.signs.take(result, judgement.conversation)
            self._compare(index, result, judgement)
            return
        if isinstance(result, Score):
            self.measured += 1
            for position, (path, part) in enumerate(parts_of(result)):
                place = (index, position)
                if isinstance(part, str):
                    self._tally(place, path, part)
                    continue
                self.first[path] = min(self.first.get(path, place), place)
                self._put(index, path, nan if part is None else part)
        if self.summarizes:
            columns = self.measure.scorer.chosen(judgement.columns)
            measured = measured_of(result) if isinstance(result, Score) else None
            failure = result if isinstance(result, Failure) else None
            self.scored[index] = Scored(example=example, columns=columns, measured=measured, failure=failure)

    def _put(self, index: int, path: str, number: float | bool) -> None:
        if path not in self.values:
            self.values[path] = array("d", [nan]) * self.length
        if isfinite(number):
            self.values[path][index] = number
            self.flags[path] = self.flags.get(path, True) and isinstance(number, bool)

    def _tally(self, place: tuple[int, int], path: str, text: str) -> None:
        found = self.texts.setdefault(path, TextTally(self.length, place))
        found.first = min(found.first, place)
        found.take(place[0], text)

    def _kept(self, result: Score | Failure | None) -> Score | Failure | None:
        """Return a result without its texts: there are many. Misses keep them, and equal ones share them."""
        if not isinstance(result, Score):
            return result
        if not speaks_against(result, self.measure.evaluators):
            return Score(value=result.value)
        told = repr(result)
        if told in self.misses or len(self.misses) < MOST_TOLD:
            return self.misses.setdefault(told, result)
        return Score(value=result.value)

    def _compare(self, index: int, result: Score | Failure, judgement: TrialResult) -> None:
        """Keep the answer with the strongest evidence against the requirement."""
        evaluators = self.measure.evaluators
        if not speaks_against(result, evaluators):
            return
        rank = (badness(result, evaluators[0]), -index)
        if self.worst is None or rank > self.worst[0]:
            if self.worst is not None:
                before = self.worst[1].trial.index
                self.results[before] = self._kept(self.results[before])
            self.results[index] = result  # with its reason, which is shown
            self.worst = (rank, judgement)


class Tabulator:
    """Keeps the numbers of every answer, and the values for a scorer of the whole dataset; texts are in the store.

    Answers may come in any order: nothing is concluded before the last, and each has its place.
    """

    def __init__(
        self,
        plan: DatasetPlan,
        settings: Settings,
        *,
        demand: Demand,
        reader: ExampleReader,
        clean: Callable[[str], str],
        on_trial: Callable[[int, int], None],
        known: RestoredTrials,
        stored: Callable[[str], Iterator[Row]] | None = None,
    ) -> None:
        self._plan, self._settings, self._demand = plan, settings, demand
        self._reader, self._clean, self._on_trial = reader, clean, on_trial
        self._columns = [
            MeasuredColumn(measure, plan.sample_size, plan.signs(place)) for place, measure in enumerate(plan.measures)
        ]
        self._crashed = bytearray(plan.sample_size)
        self._failures: Counter[str] = Counter()
        self._recalled = known.first_whole(plan)  # how many of the first answers are known
        self._came, self._unusable = 0, ""
        self._unanswered = Unanswered(asked="example")
        self._stored = stored  # the rows of a run in the store; None if they are kept here
        self._kept: dict[int, Row] = {}
        measured = {column.label for column in self._columns if not column.measure.evaluators}
        self._concluded = frozenset(column.label for column in self._columns) - measured

    async def conclude(self, *, inbox: MemoryObjectReceiveStream[TrialResult | Prepared]) -> None:
        """Ask for every answer once all is ready, and take them all."""
        async with inbox:
            async for found in inbox:
                if isinstance(found, Prepared):
                    self._prepare(found)
                    continue
                self._demand.slots.give_back()
                self._take(found)
                self._on_trial(1, 0)

    def _prepare(self, found: Prepared) -> None:
        """Process a preparation; if nothing can be measured, only the known answers come."""
        for place, prepared in found.found.items():
            self._columns[place].prepared = prepared
            if prepared.failure is not None:
                self._demand.settle(self._plan.position, place)
        answers = self._recalled if self._is_refused else self._plan.sample_size
        if not answers:
            self._demand.close(self._plan.position, 0)
        elif self._is_refused or found.is_ready:
            self._demand.grant(self._plan.position, answers)
            self._demand.grant_no_more()

    @property
    def _is_refused(self) -> bool:
        return all(column.refusal is not None for column in self._columns)

    @property
    def is_done(self) -> bool:
        """Whether every answer has come, or none can be measured."""
        return self._came == self._plan.sample_size or self._is_refused

    def standings(self, run: RunRecord) -> list[Standing]:  # noqa: ARG002
        """Return how many answers have come; nothing is concluded before the last."""
        plan = self._plan
        return [
            Standing(
                title=plan.title,
                trials=self._came,
                needed=self._demand.limit(plan.position),
                sample_size=plan.sample_size,
                is_closed=self.is_done,
                requirement=lambda: None,
            )
        ]

    def result(self, run: RunRecord, *, unusable: str = "") -> ExperimentResult:
        """Return the results by now; `unusable` names the model that ended the run because it cannot be used."""
        self._unusable = unusable
        measured = [column for column in self._columns if not column.measure.evaluators]
        concluded = [column for column in self._columns if column.measure.evaluators]
        summaries = {
            column.label: found for column in measured if (found := {**self._repeated(column), **self._summary(column)})
        }
        counts = self._settings.on_app_error != "exclude"
        return ExperimentResult(
            run=run,
            dataset=run.dataset or record_of(self._plan),
            answers=self._came,
            scorers=tuple(column.label for column in measured),
            metrics=tuple(metric for column in measured for metric in self._metrics(column)),
            summaries=summaries,
            significance_level=self._settings.significance_level,
            categories={
                name: shares
                for column in measured
                for name, shares in column.categories(self._plan.repetitions, self._settings.significance_level).items()
            },
            expectations=tuple(self._expectation(column, run) for column in concluded),
            values={name: values for column in measured for name, values in column.named().items()},
            keys=tuple(self._reader.keys),
            crashed=frozenset(index for index, crash in enumerate(self._crashed) if crash and counts),
            failures=dict(self._failures),
            worst={column.label: column.worst[1] for column in concluded if column.worst},
            rows=self._rows(run.run_id),
        )

    def _take(self, judgement: TrialResult) -> None:
        index = judgement.trial.index
        self._came += 1
        self._crashed[index] = judgement.failure is not None and judgement.failure.stage == "app"
        self._failures.update(f"{failure.stage}: {failure.error}" for failure in judgement.failures)
        self._unanswered.take(judgement)
        for column, result in zip(self._columns, judgement.results, strict=True):
            column.take(index, result, judgement, example=index // self._plan.repetitions)

        if self._stored is None and index < MOST_KEPT:
            self._kept[index] = self._row(judgement)

    def _row(self, judgement: TrialResult) -> Row:
        times, index = self._plan.repetitions, judgement.trial.index
        return row_of(
            judgement,
            zip((column.label for column in self._columns), judgement.results, strict=True),
            title=self._plan.title,
            concluded=self._concluded,
            example=self._reader.keys[index // times],
            repetition=index % times,
        )

    def _rows(self, run_id: str) -> Rows:
        if self._stored is not None:
            return Rows(partial(self._stored, run_id), self._came)
        kept = [self._kept[index] for index in sorted(self._kept)]
        return Rows(lambda: iter(kept), len(kept), self._came - len(kept))

    def _metrics(self, column: MeasuredColumn) -> list[MetricResult]:
        crashed = sum(self._crashed)
        make = partial(MetricResult, scorer=column.label, crashed=crashed)
        direction_of = column.measure.scorer.direction_of
        if not column.measured and self._came:  # an answer that was never measured must not vanish from sight
            nothing, missing = Estimate(value=None, n=0), self._came - crashed
            return [
                make(path=path, kind="mean", estimate=nothing, missing=missing, direction=direction_of(path))
                for path in column.measure.scorer.paths or ("",)
            ]
        found = []
        for path, values in column.in_order():
            is_share = column.flags.get(path, False)
            kind: Literal["share", "mean"] = "share" if is_share else "mean"
            known = self._with_crashes(values) if is_share else values
            estimate = self._estimate(column, path, known, is_share=is_share)
            missing = sum(value != value for value in values) - crashed - (self._plan.sample_size - self._came)
            found.append(make(path=path, kind=kind, estimate=estimate, missing=missing, direction=direction_of(path)))
        return found

    def _estimate(self, column: MeasuredColumn, path: str, values: Sequence[float], *, is_share: bool) -> Estimate:
        """Estimate a metric as a verdict on it would; the bounds that one was given are the metric's."""
        times, alpha = self._plan.repetitions, self._settings.significance_level
        if is_share:
            return estimate_share(values, times, alpha=alpha)
        scorer = column.measure.scorer
        stated = (
            evaluator.bounds
            for each in self._plan.measures
            if each.scorer is scorer and (each.path or "") == path
            for evaluator in each.evaluators
            if isinstance(evaluator, MeanEvaluator)
        )
        return estimate_mean(values, times, bounds=next(stated, None) or scorer.bounds_of(path), alpha=alpha)

    def _with_crashes(self, values: Sequence[float]) -> Sequence[float]:
        """Return the values of a yes or no; an answer the app failed on is a no, unless it does not count."""
        if self._settings.on_app_error == "exclude":
            return values
        return [0.0 if crash else value for value, crash in zip(values, self._crashed, strict=True)]

    def _repeated(self, column: MeasuredColumn) -> Mapping[str, Estimate]:
        """Return pass^k and pass@k of every yes or no, where each example is answered k times."""
        return {
            f"{path} {name}".lstrip(): estimate
            for path, values in column.in_order()
            if column.flags.get(path, False)
            for name, estimate in estimate_repeated(
                self._with_crashes(values), self._plan.repetitions, alpha=self._settings.significance_level
            ).items()
        }

    def _summary(self, column: MeasuredColumn) -> Mapping[str, Estimate]:
        """Return a scorer's figures on the whole dataset; its error is a failure of its own."""
        if not column.summarizes:
            return {}
        excludes = self._settings.on_app_error == "exclude"
        scored = [each for each in column.scored if each and not (excludes and _is_crash(each.failure))]
        found = attempt(partial(column.measure.scorer.summary, scored, alpha=self._settings.significance_level))
        if not isinstance(found, Caught):
            return found
        failure = failure_of(found.error, "scorer", clean=self._clean)
        self._failures[f"scorer: summary of {column.label}: {failure.error}{place_of(found.error)}"] += 1
        return {}

    def _expectation(self, column: MeasuredColumn, run: RunRecord) -> ExpectationResult:
        measure, results = column.measure, tuple(result or UNNEEDED for result in column.results)
        leaves_out = self._settings.on_app_error == "exclude"
        return ExpectationResult(
            label=measure.label,
            evaluators=measure.evaluators,
            verdicts=tuple(self._verdict(evaluator, column, run) for evaluator in measure.evaluators),
            results=results,
            expected_behavior=measure.expected_behavior,
            prepared=column.prepared,
            signs=column.warnings(run.judge_model),
            cases=self._cases(column),
            kinds=kinds_among(results, measure.evaluators, leaves_out_crashes=leaves_out),
            repetitions=self._plan.repetitions,
        )

    def _cases(self, column: MeasuredColumn) -> CaseTable | None:
        """Return the slices of the dataset; None for one that is too large."""
        places = [index // self._plan.repetitions for index in range(len(column.results))]
        table = table_of(
            [place if place in self._reader.cases else None for place in places],
            [result or UNNEEDED for result in column.results],
            column.measure.evaluators,
            leaves_out_crashes=self._settings.on_app_error == "exclude",
            values=self._reader.cases,
        )
        return replace(table, rows=()) if table and table.looked_at else None

    def _verdict(self, evaluator: Evaluator, column: MeasuredColumn, run: RunRecord) -> Verdict:
        """Conclude on one value for each example; too many lost answers make an error."""
        groups = [self._group(column.results, place) for place in range(self._plan.dataset.size)]
        left_out = sum(not group for group in groups)
        values = [self._reduced(group, evaluator) for group in groups if group]
        known = [value for value in values if value is not None]
        verdict = evaluator.evaluate(known, misses=len(values) - len(known))
        verdict = replace(verdict, evaluator=evaluator.describe(), left_out=left_out)
        if unanswered := self._unanswered.said:
            unknown = replace(verdict, estimate=None)
            return without_conclusion(unknown, unanswered, n=verdict.n, missing=verdict.missing)
        if self._unusable and verdict.inconclusive and is_unmeasured(column.results):
            return unmeasured(verdict, self._unusable)
        failed = [each for each in column.results if isinstance(each, Failure) and not each.is_cut]
        lost = [each for each in failed if each.stage != "app"]
        if column.refusal is not None:
            return refused(verdict, column.refusal, self._came)
        if len(lost) > self._settings.max_error_rate * len(column.results) + ROUNDING:
            return in_error(verdict, lost, len(column.results), self._settings)
        if run.stopped and not verdict.passed:
            said = f"{verdict.explanation}; the run stopped: {run.stopped}"
            return replace(verdict, reason="run_stopped" if verdict.inconclusive else verdict.reason, explanation=said)
        return verdict

    def _group(self, results: Sequence[Score | Failure | None], place: int) -> list[float | None]:
        """Return the values of one example's answers: NaN for a missing one, None if the app failed."""
        times, excludes = self._plan.repetitions, self._settings.on_app_error == "exclude"
        group: list[float | None] = []
        for result in results[place * times : (place + 1) * times]:
            if isinstance(result, Score):
                group.append(result.value)
            elif result is None or result.stage != "app":
                group.append(nan)
            elif not excludes:
                group.append(None)
        return group

    def _reduced(self, group: Sequence[float | None], evaluator: Evaluator) -> float | None:
        """Return one value for an example; an app that failed on one of its repetitions failed on it."""
        known = [value for value in group if value is not None]
        if len(known) < len(group):
            return None
        return known[0] if len(known) == 1 else evaluator.reduce(known)


def _is_crash(failure: Failure | None) -> bool:
    return failure is not None and failure.stage == "app"


def record_of(plan: DatasetPlan) -> DatasetRecord:
    """Return the record of the dataset of a plan."""
    dataset = plan.dataset
    return DatasetRecord(
        name=dataset.name,
        kind=dataset.kind,
        version=dataset.version,
        size=dataset.size,
        repetitions=plan.repetitions,
    )
