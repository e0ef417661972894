"""Where a report is read from: the result without its conversations, and these a few at a time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from simeval.core.trial import TrialResult
from simeval.results.document import Document
from simeval.results.html.charts import Node

Rubrics = Mapping[str, Mapping[str, str]]
Courses = Mapping[str, tuple[str, Node]]

NO_COURSES: Courses = {}


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
        """The newest figure of each metric in words and its course over experiments, if there are more than one."""

    def labels(self, scenario: int) -> Sequence[str]:
        """Return the names of its trials' results, in their order."""

    def outlines(self, scenario: int) -> Sequence[TrialResult]:
        """Return all its trials without their messages, in the order dealt; reasons of scores may be missing."""

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[TrialResult]:
        """Return some of its trials with their messages, in any order."""


class DocumentSource:
    """A run whose document has its trials."""

    courses = NO_COURSES

    def __init__(self, document: Document, rubrics: Rubrics) -> None:
        self.document, self.rubrics = document, rubrics

    def labels(self, scenario: int) -> Sequence[str]:
        return [each.label for each in self.document.scenarios[scenario].expectations]

    def outlines(self, scenario: int) -> Sequence[TrialResult]:
        return [each.outline() for each in self.document.scenarios[scenario].judgements]

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[TrialResult]:
        found = self.document.scenarios[scenario].by_index()
        return [found[index] for index in indexes]
