"""A tool call read in whatever form an app reports it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RESULTS = ("result", "output", "response")
_ERRORS = ("error",)
_IDS = ("id", "call_id", "tool_call_id")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call; parts missing from the call are empty."""

    name: str
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    id: str
    errors: tuple[Any, ...] = ()


def called_tool(call: Mapping[str, Any]) -> CalledTool:
    """Return the parts of a call: {"name", "arguments"}, that under "function", or other words for the same."""
    inner = call.get("function")
    parts = {**call, **(inner if isinstance(inner, Mapping) else {})}
    return CalledTool(
        inner if isinstance(inner, str) else next((str(parts[key]) for key in _NAMES if parts.get(key)), ""),
        tuple(parts[key] for key in _ARGUMENTS if parts.get(key) not in (None, "")),
        tuple(parts[key] for key in _RESULTS if parts.get(key) is not None),
        next((str(parts[key]) for key in _IDS if parts.get(key)), ""),
        tuple(parts[key] for key in _ERRORS if parts.get(key)),
    )
