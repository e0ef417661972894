"""A run of a store as a report reads it: its head at once, its conversations a few at a time."""

from collections.abc import Iterable, Sequence
from functools import cached_property, partial

from simeval.core.trial import TrialResult
from simeval.results.document import Document, ExperimentDocument
from simeval.results.html.source import NO_COURSES, Courses, Rubrics
from simeval.results.html.trials import required_of
from simeval.store.courses import MOST_IN_A_ROW, metric_course
from simeval.store.database import Database
from simeval.store.outlines import read_outlines
from simeval.store.reading import Part
from simeval.store.runs import Runs

MOST_LISTED = 100  # experiments on a dataset, among which are those before this one
MOST_NAMED = 200  # trials that are read by their indexes; if a scenario has more, the whole run is searched


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
