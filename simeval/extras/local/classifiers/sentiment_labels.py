"""The values of a checkpoint's labels as sentiment: guessed from their names, or given by the user."""

import re
from collections.abc import Mapping, Sequence

from simeval.core.validation import is_number
from simeval.errors import DefinitionError

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
