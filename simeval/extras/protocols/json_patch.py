"""JSON Patch (RFC 6902), with which AG-UI sends changes of an app's state."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from simeval.suites.apps.remote_app import AppFailure, quoted


def patched(value: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return a value of JSON with these operations done to a copy of it. Raises AppFailure if one cannot be done."""
    root = {"": deepcopy(value)}
    for each in operations:
        try:
            _do(root, each)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise AppFailure(f"it changes its state where nothing is: {quoted(str(dict(each)))}") from error
    return root[""]


def _do(root: dict[str, Any], operation: Mapping[str, Any]) -> None:
    match operation["op"]:
        case "add" | "replace" as op:
            _put(root, operation["path"], operation["value"], is_new=op == "add")
        case "remove":
            _take(root, operation["path"])
        case "move":
            _put(root, operation["path"], _take(root, operation["from"]), is_new=True)
        case "copy":
            _put(root, operation["path"], deepcopy(_get(*_place(root, operation["from"]))), is_new=True)


def _place(root: dict[str, Any], path: str) -> tuple[Any, str]:
    """Return the container of the value at a path, and the last step to it."""
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))
    holder: Any = root
    for step in steps:
        holder = _get(holder, step)
    return holder, last


def _get(holder: Any, step: str) -> Any:
    return holder[int(step)] if isinstance(holder, list) else holder[step]


def _put(root: dict[str, Any], path: str, value: Any, *, is_new: bool) -> None:
    holder, last = _place(root, path)
    if not isinstance(holder, list):
        holder[last] = value
    elif is_new:
        holder.insert(len(holder) if last == "-" else int(last), value)
    else:
        holder[int(last)] = value


def _take(root: dict[str, Any], path: str) -> Any:
    holder, last = _place(root, path)
    return holder.pop(int(last) if isinstance(holder, list) else last)
