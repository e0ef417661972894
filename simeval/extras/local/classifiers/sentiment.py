"""Sentiment of a text from -1 to 1, by a sequence classifier, the embedded model or a lexicon, with the two checks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import anyio.lowlevel

from simeval.core.direction import by_path
from simeval.core.validation import is_number
from simeval.errors import DefinitionError
from simeval.extras.local.checkpoints import located
from simeval.extras.local.classifiers.base import (
    Classifier,
    as_classifier,
    mean_of,
    name_of,
    read,
    text_to_read,
    truncated,
)
from simeval.extras.local.classifiers.checks import ScoreConsistency, ScoreMatch
from simeval.extras.local.service import LocalClassifier, service
from simeval.extras.local.vader import require_lexicon, shares_of, windows_of
from simeval.models.encoders import MINILM, LoadsModels
from simeval.scorers.base import Gauge

if TYPE_CHECKING:
    from simeval.extras.local.sentiment_network import SentimentNetwork

FIVE = {"Very Negative": -1.0, "Negative": -0.5, "Neutral": 0.0, "Positive": 0.5, "Very Positive": 1.0}
_STARS = re.compile(r"([1-5]) stars?")
_NUMBERED = re.compile(r"label ([0-4])")
_SHORT = {"neg": "negative", "neu": "neutral", "pos": "positive"}
_BY_NAMES: Mapping[frozenset[str], Mapping[str, float]] = {
    frozenset(scale): scale
    for scale in (
        {"negative": -1.0, "positive": 1.0},
        {"negative": -1.0, "neutral": 0.0, "positive": 1.0},
        {name.lower(): weight for name, weight in FIVE.items()},
    )
}

HUB_MODEL = "tabularisai/multilingual-sentiment-analysis"
EMBEDDED, LEXICON = "embedded", "lexicon"
NAME = "embedded (five classes, adapters on MiniLM, English; see weights/sentiment.md)"
WORD_CLASSES = {"Negative": -1.0, "Neutral": 0.0, "Positive": 1.0}

LabelMap: TypeAlias = Mapping[str, float | str]


def embedded() -> LocalClassifier:
    """Return the embedded model; loads nothing yet. Raises DefinitionError if a package it needs is not installed."""
    path = located(MINILM)
    require_lexicon()
    return LocalClassifier(NAME, path, service(("sentiment", path), partial(_network, path)))


def _network(path: str) -> "SentimentNetwork":
    from simeval.extras.local.sentiment_network import SentimentNetwork

    return SentimentNetwork.load(path)


def guessed(labels: Sequence[str], where: str) -> dict[str, float]:
    """Return the value of each label, from -1 to 1.

    Known are negative, (neutral,) positive and the five classes in any case, also shortened or joined by "_" or "-"; "1
    star" to "5 stars"; and two, three or five of "LABEL_0" and on, which are taken to run from negative to positive.
    Two or three classes are worth -1 (, 0) and 1. Raises DefinitionError for any others.
    """
    plain = [" ".join(_SHORT.get(word, word) for word in re.split(r"[\s_-]+", label.lower())) for label in labels]
    named = _BY_NAMES.get(frozenset(plain))
    if named is not None and len(plain) == len(named):
        return {label: named[name] for label, name in zip(labels, plain, strict=True)}
    stars = _ranks(plain, _STARS)
    if len(labels) == len(FIVE) and sorted(stars) == [1, 2, 3, 4, 5]:
        return {label: (rank - 3) / 2 for label, rank in zip(labels, stars, strict=True)}
    numbered = _ranks(plain, _NUMBERED)
    if len(labels) in (2, 3, 5) and sorted(numbered) == list(range(len(labels))):
        return {label: 2 * rank / (len(labels) - 1) - 1 for label, rank in zip(labels, numbered, strict=True)}
    do = "say what each is worth: label_map={label: number from -1 to 1, or one of the five classes}"
    raise DefinitionError(where, found=f"labels {sorted(labels)}, whose meaning is not clear", do=do)


def said(label_map: object, where: str) -> dict[str, float]:
    """Return a user's label map as numbers.

    Raises DefinitionError for anything else, or a value that is neither a number nor a class.
    """
    if not isinstance(label_map, Mapping):
        do = "give a dict: {label: number from -1 to 1, or one of the five classes}"
        raise DefinitionError(f"{where}: label_map", found=f"found {label_map!r:.80}", do=do)
    return {label: _worth(worth, f"{where}: label_map[{label!r}]") for label, worth in label_map.items()}


def _worth(worth: object, where: str) -> float:
    if isinstance(worth, str) and worth.title() in FIVE:
        return FIVE[worth.title()]
    if isinstance(worth, (int, float)) and is_number(worth) and -1 <= worth <= 1:
        return float(worth)
    raise DefinitionError(where, found=f"found {worth!r}", do=f"give a number from -1 to 1, or one of {list(FIVE)}")


def _ranks(labels: Sequence[str], pattern: re.Pattern[str]) -> list[int]:
    """Return the numbers in labels that match a pattern, all of them."""
    return [int(found[1]) for found in map(pattern.fullmatch, labels) if found]


@dataclass(kw_only=True, eq=False)
class SentimentScorer(LoadsModels, Gauge):
    """How positive a text is, from -1 to 1, and `spread`, which separates a torn text from a neutral one.

    `model` is a sequence classifier's hub name or folder, an object with `classify`, "embedded" (five classes on
    MiniLM, English, no download), or "lexicon" (VADER, English, without torch). The score of a classifier is the
    expected value of its classes: -1, -0.5, 0, 0.5, 1 for very negative to very positive. The values of its labels are
    guessed from their names, and shown; `label_map` sets them if the names are unclear. A text longer than the model
    reads at once is read in windows, whose means are weighed by their lengths.
    """

    model: str | Path | Classifier = field(default=HUB_MODEL, kw_only=False)
    label_map: LabelMap | None = None
    _asked: Classifier | None = field(default=None, init=False, repr=False)
    _said: dict[str, float] | None = field(default=None, init=False, repr=False)

    default_score = "sentiment"
    paths = ("sentiment", "spread")
    direction = by_path(higher=["sentiment"], none=[""])
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"scorer {self.name}"
        if self.label_map is not None:
            self._said = said(self.label_map, where)
        if self.model in (LEXICON, EMBEDDED) and self.label_map is not None:
            do = "leave it out: the classes of this model are known"
            raise DefinitionError(f"{where}: label_map", found=f"found one for {self.model!r}", do=do)
        if self.model == LEXICON:
            require_lexicon()
        else:
            self._asked = embedded() if self.model == EMBEDDED else as_classifier(self.model, where)

    async def score(self, output: Any) -> dict[str, Any]:
        """Return {"sentiment", "spread", "distribution", "label_map", "windows", "truncated", "model"}.

        `distribution` holds the probability of each label, and `spread` is the standard deviation of the labels' values
        under it, from 0 to 1. For the lexicon they are the shares of the text's words, and the sentiment is not their
        mean but VADER's own. Raises ValueError without a text, DefinitionError if the labels' values are unclear, and
        ModelError.
        """
        text = text_to_read(output)
        if self._asked is None:
            return await _by_lexicon(text)
        pieces = await read(self._asked, text)
        distribution = mean_of(pieces)
        worth = self._worth(distribution)
        sentiment, spread = _moments(distribution, worth)
        found = _result(sentiment, spread, distribution, worth, windows=len(pieces), model=name_of(self._asked))
        return {**found, "truncated": truncated(self._asked)}

    def _worth(self, distribution: Mapping[str, float]) -> dict[str, float]:
        where = f"scorer {self.name}"
        if self._said is None:
            return guessed(list(distribution), where)
        if self._said.keys() != distribution.keys():
            found = f"labels {sorted(self._said)}, where the model has {sorted(distribution)}"
            raise DefinitionError(f"{where}: label_map", found=found, do="say what each of the model's labels is worth")
        return self._said


@dataclass(kw_only=True, eq=False)
class SentimentMatch(ScoreMatch):
    """Whether the sentiment of an answer is `expected`, give or take `uncertainty`, the borders included."""

    by: Gauge = field(default_factory=SentimentScorer)


@dataclass(kw_only=True, eq=False)
class SentimentConsistency(ScoreConsistency):
    """Whether the sentiment of an answer is like that of golden references."""

    by: Gauge = field(default_factory=SentimentScorer)


def _moments(distribution: Mapping[str, float], worth: Mapping[str, float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of the labels' values."""
    mean = fsum(probability * worth[label] for label, probability in distribution.items())
    variance = fsum(probability * (worth[label] - mean) ** 2 for label, probability in distribution.items())
    return mean, sqrt(variance)


async def _by_lexicon(text: str) -> dict[str, object]:
    windows = windows_of(text)
    found, lengths = [], [len(window) for window in windows]
    for window in windows:
        found.append(shares_of(window))
        await anyio.lowlevel.checkpoint()  # a window takes less than a millisecond, a long text many of them

    def mean(values: list[float]) -> float:
        return fsum(value * length for value, length in zip(values, lengths, strict=True)) / sum(lengths)

    distribution = {
        "Negative": mean([each.negative for each in found]),
        "Neutral": mean([each.neutral for each in found]),
        "Positive": mean([each.positive for each in found]),
    }
    _, spread = _moments(distribution, WORD_CLASSES)
    sentiment = mean([each.compound for each in found])
    model = "lexicon (VADER: valences of English words, with rules)"
    return _result(sentiment, spread, distribution, WORD_CLASSES, windows=len(windows), model=model)


def _result(
    sentiment: float,
    spread: float,
    distribution: Mapping[str, float],
    worth: Mapping[str, float],
    *,
    windows: int,
    model: str,
) -> dict[str, object]:
    return {
        "sentiment": sentiment,
        "spread": spread,
        "distribution": dict(distribution),
        "label_map": dict(worth),
        "windows": windows,
        "truncated": False,
        "model": model,
    }
