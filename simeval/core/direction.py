"""Directions and bounds of a scorer's values, by their paths: which way is better, and how far a value can go."""

from collections.abc import Collection, Iterable, Mapping
from math import inf
from numbers import Real
from typing import Literal, TypeAlias, TypeGuard, get_args

from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError

Direction = Literal["higher", "lower", "none"]
Directions: TypeAlias = Direction | Mapping[str, Direction]  # of all values, or of those at and below each path

WORDS = get_args(Direction)

Bounds: TypeAlias = tuple[float, float]
BoundsByPath: TypeAlias = Bounds | Mapping[str, Bounds]  # of all values, or of those at and below each path

UNIT: Bounds = (0.0, 1.0)
COUNT: Bounds = (0.0, inf)
UNBOUNDED: Bounds = (-inf, inf)


def nearest_path(declared: Iterable[str], path: str) -> str | None:
    """Return the longest of these paths that is this one or leads to it; "" leads to all. None if none does."""
    return max((key for key in declared if key in ("", path) or path.startswith(f"{key}.")), key=len, default=None)


def slack(bar: float) -> float:
    """Return how far off a bar a score still counts as at it, in the unit of the score.

    Numbers of 32 bits and sums are off by a share of 1e-7, and reports show them as the bar.
    """
    return min(abs(bar) * 5e-7, 1e-4)


def _is_direction(word: object) -> TypeGuard[Direction]:
    return word in WORDS


def by_path(
    *, higher: Collection[str] = (), lower: Collection[str] = (), none: Collection[str] = ()
) -> dict[str, Direction]:
    """Return the directions of values by their paths."""
    return {
        **dict.fromkeys(higher, "higher"),
        **dict.fromkeys(lower, "lower"),
        **dict.fromkeys(none, "none"),
    }


def below(name: str, declared: object) -> dict[str, Direction]:
    """Return declared directions for the same values one level down, in the member called `name`."""
    if isinstance(declared, Mapping):
        return {f"{name}.{path}" if path else name: direction for path, direction in declared.items()}
    return {name: declared} if _is_direction(declared) else {}


def direction_at(declared: object, path: str) -> Direction | None:
    """Return the direction declared for the value at a path; None without one.

    Of the paths in a mapping the longest counts that is this one or leads to it; "" leads to all.
    """
    if not isinstance(declared, Mapping):
        return declared if _is_direction(declared) else None
    found = nearest_path(declared, path)
    return None if found is None else declared[found]


def require_directions(declared: object, where: str) -> None:
    """Raise DefinitionError where something is no declaration of directions."""
    words = declared.values() if isinstance(declared, Mapping) else [declared]
    paths = declared if isinstance(declared, Mapping) else ()
    if not all(map(_is_direction, words)) or not all(isinstance(path, str) for path in paths):
        do = 'give "higher" or "lower", whichever is better, or "none"; or {path: one of these}'
        raise DefinitionError(f"{where}: direction", found=f"found {declared!r}", do=do)


def _is_pair(found: object) -> TypeGuard[Bounds]:
    if not isinstance(found, (tuple, list)) or len(found) != 2 or not all(map(is_number, found)):
        return False
    return bool(found[0] < found[1])  # of NaN nothing is


def require_pair(found: object, where: str) -> None:
    """Raise DefinitionError where something is not the smallest and the largest value, two numbers."""
    pair = found if isinstance(found, (tuple, list)) else ()
    usable = len(pair) == 2 and all(
        isinstance(each, Real) and each == each and not isinstance(each, bool) for each in pair
    )
    require(usable, where, found=found, do="give the lowest and the highest score, as in (0, 1)")


def bounds_at(declared: BoundsByPath | None, path: str) -> Bounds | None:
    """Return the bounds declared for the value at a path, as directions are; None without any."""
    if isinstance(declared, Mapping):
        found = nearest_path(declared, path)
        return None if found is None else declared[found]
    return declared


def require_bounds(declared: object, where: str) -> None:
    """Raise DefinitionError where something is no declaration of bounds."""
    pairs = list(declared.values()) if isinstance(declared, Mapping) else [declared]
    if not all(map(_is_pair, pairs)):
        do = "give the smallest and the largest value, as in (0, 1); or {path: these}; inf where there is none"
        raise DefinitionError(f"{where}: bounds", found=f"found {declared!r}", do=do)
