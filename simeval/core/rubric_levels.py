"""The levels of a rubric: their places on the judge's scale from 1 to 10, and when two of them are the same."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from simeval.core.validation import require
from simeval.errors import DefinitionError

LOWEST, MEETS_FROM, HIGHEST = 1, 6, 10  # of the judge's scale; from MEETS_FROM on an expectation is met
PLACES: Mapping[int, Sequence[int]] = {  # of the levels of a list, by how many there are
    2: (1, 10),
    3: (1, 5, 10),
    5: (1, 3, 5, 8, 10),
    10: tuple(range(LOWEST, HIGHEST + 1)),
}

GivenLevels = Sequence[str] | Mapping[int, str] | Mapping[float, str]


@dataclass(frozen=True, slots=True)
class RubricTemplate:
    """The texts with places that the rubric of several cases is written for, and the case whose values fill it."""

    given: str
    when: str
    expected_behavior: str
    case: Mapping[str, Any]


def placed_levels(given: object, where: str) -> Mapping[str, str]:
    """Return the levels of a rubric that a suite gives, by the ratings they describe, from the worst to the best.

    A list of 2, 3, 5 or 10 levels gets the ratings in PLACES; a mapping gives its own ratings. Raises DefinitionError
    for anything else, for an empty text, for two levels with the same meaning, and if no level describes a rating below
    6, or none one from 6 on.
    """
    if isinstance(given, Mapping):
        placed = _at_ratings(given, where)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        do = "give 2, 3, 5 or 10 levels, or a mapping of ratings to texts"
        require(len(given) in PLACES, where, found=given, do=do)
        placed = {float(rating): text for rating, text in zip(PLACES[len(given)], given, strict=True)}
    else:
        raise DefinitionError(where, found=f"found {given!r}", do="give a list of levels, from the worst to the best")
    for text in placed.values():
        require(isinstance(text, str) and bool(text.strip()), where, found=text, do="give each level a text")
    levels = {f"{rating:g}": text.strip() for rating, text in sorted(placed.items())}
    if same := equal_levels(levels):
        do = "let each level say what sets it apart from the others"
        raise DefinitionError(where, found=f"levels {same[0]} and {same[1]} say the same", do=do)
    return levels


def _at_ratings(given: Mapping[object, object], where: str) -> dict[float, str]:
    """Return levels by their ratings as numbers. Raises DefinitionError for an invalid rating."""
    placed: dict[float, str] = {}
    do = f"let the keys be ratings, numbers from {LOWEST} to {HIGHEST}"
    for key, text in given.items():
        try:
            rating = float(key) if isinstance(key, (str, int, float)) and not isinstance(key, bool) else nan
        except ValueError:
            rating = nan
        require(LOWEST <= rating <= HIGHEST and rating not in placed, where, found=key, do=do)
        placed[rating] = text  # type: ignore[assignment]  # it is checked
    below, above = (any(map(is_there, placed)) for is_there in (lambda r: r < MEETS_FROM, lambda r: r >= MEETS_FROM))
    do = f"describe a rating below {MEETS_FROM} (not met) and one from {MEETS_FROM} on (met), or give a list"
    require(below and above, where, found=sorted(placed), do=do)
    return placed


def equal_levels(levels: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the names of two levels equal but for case, spaces and punctuation; None if there are none."""
    first: dict[str, str] = {}
    for name, text in levels.items():
        said = _said(text)
        if said in first:
            return first[said], name
        first[said] = name
    return None


def _said(text: str) -> str:
    """Return a text in one case, without spaces and punctuation; if nothing else is left, the text."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] not in "PZC") or folded
