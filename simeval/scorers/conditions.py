"""Conditions on JSON values: equal to one, or by operators; and the value at a path with dots."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from simeval.core.validation import nearest, require
from simeval.errors import DefinitionError
from simeval.scorers.values import folded, is_array, same, shown, stands_in

ABSENT: Any = object()  # the value at a path that has none


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _contains(found: Any, part: Any) -> bool:
    if isinstance(found, str):
        return isinstance(part, str) and stands_in(folded(part), folded(found))
    if isinstance(found, Mapping):
        return isinstance(part, str) and part in found
    return is_array(found) and any(same(each, part) for each in found)


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "is_not": lambda found, wanted: not same(found, wanted),
    "one_of": lambda found, wanted: any(same(found, each) for each in wanted),
    "contains": _contains,
    "matches": lambda found, pattern: isinstance(found, str) and re.search(pattern, found) is not None,
    "at_least": lambda found, bar: _is_number(found) and found >= bar,
    "at_most": lambda found, bar: _is_number(found) and found <= bar,
}


def require_condition(condition: object, where: str) -> None:
    """Raise DefinitionError for operators that cannot be used; a mapping without any is a value."""
    if not _has_operators(condition):
        return
    for name, wanted in condition.items():
        at = f"{where}.{name}"
        require(name in _OPERATORS, at, found=name, do=f"{nearest(str(name), [*_OPERATORS])}; or write equals: {{...}}")
        if name == "one_of":
            require(is_array(wanted), at, found=wanted, do="give a list of values")
        if name in ("at_least", "at_most"):
            require(_is_number(wanted), at, found=wanted, do="give a number")
        if name == "matches":
            _require_pattern(wanted, at)


def _require_pattern(pattern: object, where: str) -> None:
    require(isinstance(pattern, str), where, found=pattern, do="give a regular expression as a text")
    try:
        re.compile(str(pattern))
    except re.error as error:
        raise DefinitionError(where, found=f"{pattern!r} is no regular expression ({error})", do="correct it") from None


def holds(condition: object, found: object) -> bool:
    """Return whether a value fulfils a condition; nothing at all is as null, and fulfils no operator but `is_not`."""
    value = None if found is ABSENT else found
    if not _has_operators(condition):
        return same(value, condition)
    return all(_OPERATORS[name](value, wanted) for name, wanted in condition.items())


def show_condition(condition: object) -> str:
    """Return a condition in words, for a reason."""
    if not _has_operators(condition):
        return shown(condition)
    return " and ".join(f"{name} {shown(wanted)}" for name, wanted in condition.items())


def show_found(found: object) -> str:
    """Return a value for a reason; "nothing" if there is no value."""
    return "nothing" if found is ABSENT else shown(found)


def value_at(found: Any, path: str) -> Any:
    """Return the value at a path with dots, also through places of lists and names that have dots; else ABSENT."""
    return _at(found, path.split("."))


def _at(found: Any, parts: Sequence[str]) -> Any:
    if not parts:
        return found
    if is_array(found):
        place = int(parts[0]) if parts[0].isdecimal() else len(found)
        return _at(found[place], parts[1:]) if place < len(found) else ABSENT
    if not isinstance(found, Mapping):
        return ABSENT
    by_text = {str(key): value for key, value in found.items()}
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        if name in by_text and (inner := _at(by_text[name], parts[length:])) is not ABSENT:
            return inner
    return ABSENT


def _has_operators(condition: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(condition, Mapping) and any(name in _OPERATORS for name in condition)
