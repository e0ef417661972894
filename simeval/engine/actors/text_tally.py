"""The texts that a scorer gave at one path, counted as categories: a number for each answer, however long the text."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import nan

from simeval.core.trial import Estimate
from simeval.results.estimates import estimate_share

MOST_CATEGORIES = 50  # different texts: more are no categories, and are only counted
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
