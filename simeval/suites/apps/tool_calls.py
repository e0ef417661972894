"""The tool calls in an app's answer, in the forms that apps report them."""

import re
from collections.abc import Mapping
from typing import Any

from simeval.core.conversation import called_tool

_CALL = re.compile(r"\s*([A-Za-z_][\w.:/-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NO_CALLS = ("", "none", "null")


def calls_in(value: Any) -> tuple[list[Mapping[str, Any]], list[Any]]:
    """Return the calls in a value, and the parts of it that are no calls.

    A call is an object, a name alone or with arguments, as in refund(F1001), or an entry {name: arguments}.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_CALLS):
        return [], []
    if (
        isinstance(value, Mapping)
        and not called_tool(value).name
        and all(isinstance(e, Mapping) for e in value.values())
    ):
        value = [{name: arguments} for name, arguments in value.items()]
    parts = value if isinstance(value, list) else [value]
    read = [(part, _call_of(part)) for part in parts]
    return [call for _, call in read if call is not None], [part for part, call in read if call is None]


def _call_of(part: Any) -> Mapping[str, Any] | None:
    """Return a part as a call; None if it is none."""
    if isinstance(part, str):
        written = _CALL.fullmatch(part)
        return written and {"name": written[1], **({"arguments": written[2]} if written[2] else {})}
    if not isinstance(part, Mapping):
        return None
    name, inner = next(iter(part.items()), ("", None))
    if called_tool(part).name or len(part) != 1 or not isinstance(inner, Mapping):
        return part
    return inner if called_tool(inner).name else {"name": name, "arguments": inner}


def place_of_calls(value: Any) -> str:
    """Propose the path of a list of named calls in an answer; empty without one."""
    for name, each in value.items() if isinstance(value, Mapping) else ():
        if isinstance(each, list) and each and all(isinstance(e, Mapping) and called_tool(e).name for e in each):
            return f" (perhaps $.{name})"
    return ""
