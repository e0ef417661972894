"""The values of one measure on the answers of an experiment, each in its place."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan

from simeval.core.preparation import Preparation
from simeval.core.trial import Estimate, Failure, Judgement, Score, Scored
from simeval.engine.actors.text_tally import TextTally
from simeval.engine.plans.scenario_plan import Measure
from simeval.results.signs import Signs
from simeval.results.text import badness, speaks_against
from simeval.scorers.returned import measured_of, parts_of


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
    worst: tuple[tuple[tuple[int, float], int], Judgement] | None = None
    prepared: Preparation | None = None

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

    def take(self, index: int, result: Score | Failure, judgement: Judgement, *, example: int) -> None:
        """Put a result in its place."""
        if self.measure.evaluators:
            self.results[index] = _bare(result)
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

    def _compare(self, index: int, result: Score | Failure, judgement: Judgement) -> None:
        """Keep the answer with the strongest evidence against the requirement."""
        evaluators = self.measure.evaluators
        if not speaks_against(result, evaluators):
            return
        rank = (badness(result, evaluators[0]), -index)
        if self.worst is None or rank > self.worst[0]:
            if self.worst is not None:
                before = self.worst[1].trial.index
                self.results[before] = _bare(self.results[before])
            self.results[index] = result  # with its reason, which is shown
            self.worst = (rank, judgement)


def _bare(result: Score | Failure | None) -> Score | Failure | None:
    """Return a result without its texts: there are many."""
    return Score(value=result.value) if isinstance(result, Score) else result
