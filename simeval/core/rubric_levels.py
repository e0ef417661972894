"""The ratings of judges: the levels of a rubric on a scale from 1 to 10, and when one judge hands a conversation on."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Self

from simeval.core.setting_field import VERDICTS, about, require_part
from simeval.core.trial import HIGHEST, LOWEST, MEETS_FROM
from simeval.core.validation import require
from simeval.errors import DefinitionError

PLACES: Mapping[int, Sequence[int]] = {  # of the levels of a list, by how many there are
    2: (1, 10),
    3: (1, 5, 10),
    5: (1, 3, 5, 8, 10),
    10: tuple(range(LOWEST, HIGHEST + 1)),
}

GivenLevels = Sequence[str] | Mapping[int, str] | Mapping[float, str]

WHEN_UNTOLD = "cannot tell"
ESCALATION = "escalation"  # of a score's details: each judge's rating, and why the second was asked
_BAND = re.compile(r"rating (\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationRule:
    """The ratings of the first judge, both ends among them, and the rulings, that do not settle a conversation."""

    band: tuple[float, float] | None = None
    when_untold: bool = False

    @classmethod
    def of(cls, text: object, name: str = "escalate") -> Self:
        """Return the rule in a text. Raises DefinitionError."""
        parts = text.split(" or ") if isinstance(text, str) else []
        bands = [found for part in parts if (found := _BAND.fullmatch(part.strip()))]
        untold = [part for part in parts if part.strip() == WHEN_UNTOLD]
        is_read = parts and len(bands) + len(untold) == len(parts) and len(bands) < 2 and len(untold) < 2
        band = (float(bands[0][1]), float(bands[0][2])) if bands else None
        if not is_read or (band and not LOWEST <= band[0] <= band[1] <= HIGHEST):
            do = f'write "rating 4..8", with ratings from {LOWEST} to {HIGHEST}, "{WHEN_UNTOLD}", or both with "or"'
            raise DefinitionError(name, found=f"found {text!r:.80}", do=do)
        return cls(band=band, when_untold=bool(untold))

    def takes(self, rating: float) -> bool:
        """Return whether a conversation with this rating is handed on."""
        return self.band is not None and self.band[0] <= rating <= self.band[1]


def _require_rule(value: object, name: str) -> None:
    EscalationRule.of(value, name)


def require_two(judges: Sequence[str], when: str | None) -> None:
    """Raise a DefinitionError where something is to be escalated and there are not two judges for that."""
    do = "name two: judge_model=[FIRST, SECOND], or --judge-model FIRST --judge-model SECOND"
    if when is not None and len(judges) != 2:
        raise DefinitionError("escalate", found=f"the judges are {', '.join(judges)}", do=do)


def judges_said(judges: Sequence[str], when: str | None) -> str:
    """Describe the judges in words: a panel, or one judge that escalates to another, and when."""
    return " + ".join(judges) if when is None else f"{judges[0]} (escalating to {judges[1]} at {when})"


WHEN = about(
    VERDICTS,
    'When the first of two judges passes a conversation on to the second: "rating 4..8", "cannot tell", or both.',
    flag="--escalate",
    metavar="WHEN",
    unset="several judges are a panel",
    check=_require_rule,
)
AUDIT = about(
    VERDICTS,
    "Share of what the first judge settles that the second rates too, to see whether they agree.",
    flag="--escalation-audit",
    check=require_part,
)
