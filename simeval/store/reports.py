"""A run of a store as a report reads it: its head at once, its conversations a few at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Connection, Select, Table

from simeval.core.terminal import show_share
from simeval.core.trial import NOTHING_SAID, UNNEEDED, Estimate, Failure, Score, Trial, TrialResult
from simeval.results.document import Document, ExperimentDocument
from simeval.results.html.charts import Node, Past, trend_chart
from simeval.results.html.source import NO_COURSES, Courses, Rubrics
from simeval.results.html.trials import required_of
from simeval.store.database import Database
from simeval.store.reading import Part, of_run, read_failure, read_number
from simeval.store.run_summaries import RunSummary
from simeval.store.runs import Runs
from simeval.store.schema import SCORES, TRIALS

MOST_IN_A_ROW = 20  # runs that are drawn
MEASURED = "measured"  # the outcome of a measure without a requirement

Result = Score | Failure
FAILURE = ("stage", "error", "cause", "exact")

MOST_LISTED = 100  # experiments on a dataset, among which are those before this one
MOST_NAMED = 200  # trials that are read by their indexes; if a scenario has more, the whole run is searched


def metric_course(
    runs: Sequence[RunSummary], name: str, address: Callable[[RunSummary], str] = lambda _: ""
) -> tuple[str, Node]:
    """Return the newest figure of a metric in words, and its course over runs, the oldest first, as a picture."""
    return _shown(runs[-1].metrics[name]), trend_chart([_past(run, name, address(run)) for run in runs], None)


def _past(run: RunSummary, name: str, address: str) -> Past | None:
    found = run.metrics.get(name)
    if found is None or found.value is None:
        return None
    said = f"{run.started:%d %B %H:%M}: {_shown(found)}, version {run.version}"
    interval = found.interval or (None, None)
    return Past(outcome=MEASURED, estimate=found.value, interval=interval, said=said, address=address)


def _shown(found: Estimate) -> str:
    low, high = found.interval or (None, None)
    return show_between(found.value, low, high, found.n, is_share=False)


def show_between(value: float | None, low: float | None, high: float | None, n: int, *, is_share: bool) -> str:
    """Say a figure with its interval, if it has one, and how many trials or examples it rests on."""
    ends = [_number(each, is_share=is_share) for each in (low, high)]
    between = f" [{ends[0]} to {ends[1]}]" if (low, high) != (None, None) else ""
    return f"{_number(value, is_share=is_share)}{between}, n = {n}"


def _number(value: float | None, *, is_share: bool) -> str:
    return "–" if value is None else show_share(round(value, 3)) if is_share else f"{value:.3g}"


def read_outlines(
    connection: Connection, run_id: str, part: Part, *, measures: int, required: Sequence[int]
) -> list[TrialResult]:
    """Return trials of a scenario with their `measures`, in the order dealt.

    Scores are without reasons and details. Of a measure that is not `required`, by its place, only failures are read.
    """
    scores, found = _results(connection, run_id, part, required), []
    for index, *failed in connection.execute(_rows(TRIALS, run_id, part, FAILURE)).all():
        failure, held = read_failure(*failed), scores.get(index, {})
        results = tuple(failure or held.get(place, UNNEEDED) for place in range(measures))
        trial = Trial(part.scenario, index, 0)
        found.append(TrialResult(trial=trial, conversation=NOTHING_SAID, results=results, failure=failure))
    return found


def _results(
    connection: Connection, run_id: str, part: Part, required: Sequence[int]
) -> Mapping[int, Mapping[int, Result]]:
    """Return the results on each trial, by the position of the measure."""
    found: defaultdict[int, dict[int, Result]] = defaultdict(dict)
    query = _rows(SCORES, run_id, part, ("expectation", "value", *FAILURE))
    wanted = SCORES.c.expectation.in_(required) | SCORES.c.stage.is_not(None)
    for index, place, value, *failed in connection.execute(query.where(wanted)).all():
        found[index][place] = read_failure(*failed) or Score(value=read_number(value, failed[-1]))
    return found


def _rows(table: Table, run_id: str, part: Part, names: Sequence[str]) -> Select[Any]:
    return of_run(table, run_id, [table.c[name] for name in ("trial", *names)], part)


class StoredSource:
    """A run that a store keeps, whether it has ended or not."""

    def __init__(self, database: Database, run_id: str) -> None:
        self._database, self._runs, self._run_id = database, Runs(database), run_id
        self._labels = self._runs.labels(run_id)
        self.document: Document = self._runs.head(run_id)
        self.courses = self._courses()

    @cached_property
    def rubrics(self) -> Rubrics:
        """The levels of rubrics, read when a scenario is opened."""
        return self._runs.rubrics(self._run_id)

    def labels(self, scenario: int) -> Sequence[str]:
        return self._labels[scenario]

    def outlines(self, scenario: int) -> Sequence[TrialResult]:
        measured = required_of(self._labels[scenario], self.document.scenarios[scenario].expectations)
        required = [place for place, each in enumerate(measured) if each.is_required]
        end = self._end(scenario)
        indexes = None if end is None or end > MOST_NAMED else range(end)
        part = Part(scenario, indexes=indexes)
        read = partial(read_outlines, run_id=self._run_id, part=part, measures=len(measured), required=required)
        found = self._database.read(read)
        counted = set(self.counted(scenario, [each.trial.index for each in found]))
        return [each for each in found if each.trial.index in counted]

    def counted(self, scenario: int, indexes: Sequence[int]) -> Sequence[int]:
        """Return the trials among these that the report covers: others that also finished are not shown."""
        end = self._end(scenario)
        return [index for index in indexes if end is None or index < end]

    def _courses(self) -> Courses:
        """Return the course of each metric over this experiment and those on the same dataset before it."""
        if not isinstance(self.document, ExperimentDocument):
            return NO_COURSES
        name = self.document.dataset.name
        found = [each for each in self._runs.recent(MOST_LISTED, lambda run: run.dataset == name) if each.metrics]
        place = next((place for place, each in enumerate(found) if each.run_id == self._run_id), len(found))
        runs = found[place : place + MOST_IN_A_ROW][::-1]
        return {each: metric_course(runs, each) for each in runs[-1].metrics} if len(runs) > 1 else NO_COURSES

    def _end(self, scenario: int) -> int | None:
        if not self.document.has_ended or isinstance(self.document, ExperimentDocument):  # they may have any indexes
            return None
        return self.document.scenarios[scenario].trials

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[TrialResult]:
        return self._runs.trials(self._run_id, scenario, indexes, measures=len(self._labels[scenario]))
