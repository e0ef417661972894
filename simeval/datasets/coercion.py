"""Normalise the values of logs: JSON inside texts, times in every unit, token counts under every name."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# a Unix time above this is in nanoseconds, microseconds, milliseconds; else it is in seconds
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
TOKENS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens", "input_tokens", "input", "prompt_token_count", "promptTokenCount"),
    "completion_tokens": (
        "completion_tokens",
        "output_tokens",
        "output",
        "candidates_token_count",
        "candidatesTokenCount",
    ),
}


def loaded(value: Any) -> Any:
    """Return the JSON object or list that a text holds, else the value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the object in a value or in its JSON text; an empty one if it is none."""
    found = loaded(value)
    return found if isinstance(found, Mapping) else {}


def first(found: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first name that has one, else None."""
    return next((found[name] for name in names if found.get(name) is not None), None)


def identity(found: Mapping[str, Any], *names: str) -> str:
    """Return the id under the first of the names that has one; only texts and whole numbers are ids."""
    values = (found.get(name) for name in names)
    return next(
        (str(each) for each in values if isinstance(each, str | int) and each != "" and not isinstance(each, bool)), ""
    )


def moment(value: object) -> datetime | None:
    """Return a time written in ISO 8601 (in UTC without a zone) or as a Unix time in any unit, else None."""
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            unit = next((unit for above, unit in UNITS if value > above), 1.0)
            return EPOCH + timedelta(seconds=value / unit)
    except (ValueError, OverflowError):
        return None
    return None


def usage(found: Any) -> dict[str, int]:
    """Return prompt_tokens and completion_tokens, under any name a log uses, if they are counted."""
    counted = {}
    for name, aliases in TOKENS.items():
        count = first(mapping(found), *aliases)
        if isinstance(count, int | float) and not isinstance(count, bool) and count == count:
            counted[name] = int(count)
    return counted


def filled(**found: Any) -> dict[str, Any]:
    """Return the values that are neither None nor empty."""
    return {name: value for name, value in found.items() if value is not None and value not in ("", [], {}, ())}
