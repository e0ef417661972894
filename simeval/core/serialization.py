"""Values in forms that JSON can hold, for reports, journals and datasets."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from math import inf, isfinite, nan
from typing import Any, SupportsFloat, TypeGuard
from uuid import UUID

Json = dict[str, Any]

_SIMPLE = frozenset((str, int, float, bool, type(None)))  # known without a look at its class's bases


def nested(
    value: object,
    leaf: Callable[[Any], Any],
    *,
    name: Callable[[object, Mapping[str, Any]], str] | None = None,
    levels: float = inf,
) -> Any:
    """Return a value with `leaf` applied to everything but mappings, lists and tuples; tuples become lists.

    `name` gives the new name of a key, besides those that the mapping has by then; by default its text. Raises
    RecursionError if it is nested more than `levels` deep.
    """
    if type(value) in _SIMPLE:
        return leaf(value)
    if levels < 0:
        raise RecursionError
    if isinstance(value, Mapping):
        if name is None:
            return {str(key): nested(each, leaf, levels=levels - 1) for key, each in value.items()}
        found: dict[str, Any] = {}
        for key, each in value.items():
            found[name(key, found)] = nested(each, leaf, name=name, levels=levels - 1)
        return found
    if isinstance(value, (list, tuple)):
        return [nested(each, leaf, name=name, levels=levels - 1) for each in value]
    return leaf(value)


def plain(value: object, *, finite: bool = True) -> Any:
    """Return a value in a form JSON can hold: decimals and fractions as floats, unknown types as text.

    A float that is no number is null; without `finite` it stays as it is.
    """
    return nested(value, _finite if finite else _plain)


def _finite(value: object) -> Any:
    found = _plain(value)
    return None if isinstance(found, float) and not isfinite(found) else found


def _plain(value: object) -> Any:
    match value:
        case str() | int() | float() | None:
            return value
        case SupportsFloat() if not isinstance(value, type) and not hasattr(value, "shape"):
            return _number(value)  # a Decimal, a Fraction
        case _ if getattr(value, "shape", None) == () and callable(item := getattr(value, "item", None)):
            return _plain(item())  # a number of numpy's
        case _:
            return str(value)


def opened(value: object) -> Any:
    """Return a value with dataclasses, pydantic models, enums, sets and arrays turned into dicts and lists."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, Enum):
        return opened(value.value)
    if isinstance(value, Mapping):
        return {key: opened(each) for key, each in value.items()}
    if is_listed(value):
        return [opened(each) for each in value]
    if isinstance(value, AnySet):
        return sorted(map(opened, value), key=repr)
    if isinstance(value, type):
        return value
    if is_dataclass(value):
        return {each.name: opened(getattr(value, each.name)) for each in fields(value)}
    if callable(dump := getattr(value, "model_dump", None)):
        return opened(dump())
    if getattr(value, "shape", ()) != () and callable(listed := getattr(value, "tolist", None)):
        return listed()
    return value


def is_listed(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value holds others in an order: a list, a tuple, a deque; no text and no bytes."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def not_json(value: object, at: str = "") -> str:
    """Return the part of a value without a form in JSON, and its place; empty if there is none.

    Numbers of all kinds and times count as JSON, as `plain` writes them.
    """
    if isinstance(value, Mapping):
        return next((found for key, each in value.items() if (found := not_json(each, f"{at}[{key!r}]"))), "")
    if isinstance(value, (list, tuple)):
        return next((found for place, each in enumerate(value) if (found := not_json(each, f"{at}[{place}]"))), "")
    is_number = isinstance(value, SupportsFloat) and not isinstance(value, type)
    if value is None or is_number or isinstance(value, (str, date, time, UUID)):
        return ""
    return f"{type(value).__name__}{f' at {at}' if at else ''}"


def survives_json(value: object) -> bool:
    """Return whether JSON gives a value back as it is, with its types."""
    if isinstance(value, dict):
        return type(value) is dict and all(type(key) is str and survives_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return type(value) is list and all(map(survives_json, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value))


def _number(value: SupportsFloat) -> float | str:
    try:
        return float(value)
    except (ValueError, OverflowError):  # a signalling NaN, a fraction of more than 308 digits
        return nan
    except TypeError:  # it is a number only in name
        return str(value)
