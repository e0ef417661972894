"""Directions: which way a value is better. A scorer declares it for each value that it gives; nothing assumes one."""

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias, TypeGuard, get_args

from simeval.core.paths import nearest_path
from simeval.errors import DefinitionError

Direction = Literal["higher", "lower", "none"]
Directions: TypeAlias = Direction | Mapping[str, Direction]  # of all values, or of those at and below each path

WORDS = get_args(Direction)


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
