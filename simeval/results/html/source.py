"""Where a report is read from: the result without its conversations, and these a few at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from simeval.core.conversation import Conversation
from simeval.core.serialization import Json
from simeval.core.trial import Judgement, Trial
from simeval.core.version import __version__
from simeval.results.encoding import encode_experiment, encode_head, encode_scenario

if TYPE_CHECKING:  # results write themselves by what is here
    from simeval.results.experiment import ExperimentResult
    from simeval.results.suite import ExpectationResult, SuiteResult

Rubrics = Mapping[str, Mapping[str, str]]


class Source(Protocol):
    """One run. `document` is its machine-readable result, conversations left out, `rubrics` its rubrics by their keys.

    An experiment has one scenario: its dataset.
    """

    @property
    def document(self) -> Json:
        """The machine-readable result."""

    @property
    def rubrics(self) -> Rubrics:
        """The levels of rubrics."""

    def labels(self, scenario: int) -> Sequence[str]:
        """Return what the results of its trials are called, in their order."""

    def outlines(self, scenario: int) -> Sequence[Judgement]:
        """Return all its trials, in the order dealt; what was said in them, and reasons of scores, may be missing."""

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:
        """Return some of its trials with what was said, in any order."""


class SuiteSource:
    """A suite's result that is at hand."""

    def __init__(self, whole: "SuiteResult") -> None:
        self._results = results = whole.results
        self.document: Json = {
            **encode_head(whole, version=__version__),
            "scenarios": [encode_scenario(result) for result in results],
        }
        self.rubrics = _rubrics([each for result in results for each in result.expectations])

    def labels(self, scenario: int) -> Sequence[str]:
        return [each.label for each in self._results[scenario].expectations]

    def outlines(self, scenario: int) -> Sequence[Judgement]:
        return self._results[scenario].judgements

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:
        found = {each.trial.index: each for each in self._results[scenario].judgements}
        return [found[index] for index in indexes]


class ExperimentSource:
    """An experiment's result that is at hand: of what was answered it has what speaks most against expectations."""

    def __init__(self, result: "ExperimentResult") -> None:
        self._result = result
        self.document: Json = encode_experiment(result, version=__version__)
        self.rubrics = _rubrics(result.expectations)

    def labels(self, scenario: int) -> Sequence[str]:  # noqa: ARG002  (there is one)
        return [each.label for each in self._result.expectations]

    def outlines(self, scenario: int) -> Sequence[Judgement]:  # noqa: ARG002
        worst = {each.trial.index: each for each in self._result.worst.values()}
        return [self._judged(index, worst.get(index)) for index in range(self._result.answers)]

    def read(self, scenario: int, indexes: Sequence[int]) -> Iterable[Judgement]:
        return [each for each in self.outlines(scenario) if each.trial.index in indexes and each.conversation.messages]

    def _judged(self, index: int, held: Judgement | None) -> Judgement:
        results = tuple(each.results[index] for each in self._result.expectations if index < len(each.results))
        if held is None:
            return Judgement(trial=Trial(0, index, 0), conversation=Conversation(), results=results)
        return replace(held, results=results)


def _rubrics(expectations: Sequence["ExpectationResult"]) -> Rubrics:
    prepared = [each.prepared.rubric for each in expectations if each.prepared and each.prepared.rubric]
    return {rubric.key: rubric.levels for rubric in prepared}
