"""Bounds: the smallest and the largest value there can be. A scorer declares them for the values that it gives."""

from collections.abc import Mapping
from math import inf
from numbers import Real
from typing import TypeAlias, TypeGuard

from simeval.core.paths import nearest_path
from simeval.core.validation import is_number, require
from simeval.errors import DefinitionError

Bounds: TypeAlias = tuple[float, float]
BoundsByPath: TypeAlias = Bounds | Mapping[str, Bounds]  # of all values, or of those at and below each path

UNIT: Bounds = (0.0, 1.0)
COUNT: Bounds = (0.0, inf)
UNBOUNDED: Bounds = (-inf, inf)


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
