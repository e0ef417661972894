"""Where a report is read from: the result without its conversations, and these a few at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from simeval.core.trial import UNNEEDED, Failure, Judgement, Score, Trial
from simeval.results.document import Document
from simeval.results.html.charts import Node
from simeval.results.rows import MOST_KEPT, Row

if TYPE_CHECKING:  # results write themselves by what is here
    from simeval.results.experiment import ExperimentResult
    from simeval.results.suite import ExpectationResult, SuiteResult

Rubrics = Mapping[str, Mapping[str, str]]
Courses = Mapping[str, tuple[str, Node]]

NO_COURSES: Courses = {}


@dataclass(frozen=True, slots=True)
class Outline:
    """What a trial came to, without what was said in it; reasons of scores may be missing."""

    index: int
    results: tuple[Score | Failure, ...]
    failure: Failure | None = None

    @classmethod
    def of(cls, judgement: Judgement) -> "Outline":
        """Return the outline of a trial."""
        return cls(judgement.trial.index, judgement.results, judgement.failure)


class Source(Protocol):
    """One run: its document without trials, and its rubrics by their keys. An experiment has one scenario."""

    @property
    def document(self) -> Document:
        """The document of the run."""

    @property
    def rubrics(self) -> Rubrics:
        """The levels of rubrics."""

    @property
    def courses(self) -> Courses:
        """The newest figure of each metric in words and its course over experiments, where there are more than one."""

    def labels(self, scenario: int) -> Sequence[str]:
        """Return what the results of its trials are called, in their order."""

    def outlines(self, scenario: int) -> Sequence[Outline]:
        """Return all its trials in outline, in the order dealt."""

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:
        """Return some of its trials with what was said, in any order."""


class SuiteSource:
    """A suite's result that is at hand."""

    courses = NO_COURSES

    def __init__(self, whole: "SuiteResult") -> None:
        self._results = results = whole.results
        self.document: Document = whole.document("none")
        self.rubrics = _rubrics([each for result in results for each in result.expectations])

    def labels(self, scenario: int) -> Sequence[str]:
        return [each.label for each in self._results[scenario].expectations]

    def outlines(self, scenario: int) -> Sequence[Outline]:
        return list(map(Outline.of, self._results[scenario].judgements))

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:
        found = {each.trial.index: each for each in self._results[scenario].judgements}
        return [found[index] for index in indexes]


class ExperimentSource:
    """An experiment's result that is at hand: of what was answered it has the first rows, and the worst."""

    courses = NO_COURSES

    def __init__(self, result: "ExperimentResult") -> None:
        self._result = result
        self.document: Document = result.document()
        self.rubrics = _rubrics(result.expectations)
        concluded = [each.label for each in result.expectations]
        self._measured = [name for each in result.metrics if (name := each.name) not in concluded]
        self._labels = [*concluded, *self._measured]

    def labels(self, scenario: int) -> Sequence[str]:  # noqa: ARG002  (there is one)
        return self._labels

    def outlines(self, scenario: int) -> Sequence[Outline]:  # noqa: ARG002
        failed = {index: row.failure for index, row in self._rows.items()}
        return [Outline(index, self._results(index), failed.get(index)) for index in range(self._result.answers)]

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:  # noqa: ARG002
        return [replace(self._held[index], results=self._results(index)) for index in indexes if index in self._held]

    @cached_property
    def _rows(self) -> Mapping[int, Row]:
        return {row.trial: row for row in islice(self._result.rows, MOST_KEPT)}

    @cached_property
    def _held(self) -> Mapping[int, Judgement]:
        first = {
            index: Judgement(trial=Trial(0, index, 0), conversation=row.conversation, results=(), failure=row.failure)
            for index, row in self._rows.items()
        }
        return first | {each.trial.index: each for each in self._result.worst.values() if each.conversation.messages}

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


def _rubrics(expectations: Sequence["ExpectationResult"]) -> Rubrics:
    prepared = [each.prepared.rubric for each in expectations if each.prepared and each.prepared.rubric]
    return {rubric.key: rubric.levels for rubric in prepared}
