"""A toolbox: the tools of a trial's world, which note each call that is made of them."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from simeval.core.capture import Caught, attempt, capture, said_of
from simeval.core.serialization import opened
from simeval.errors import WorldError

_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Tool = Callable[..., Any]
Tools = Mapping[str, Tool] | Sequence[Tool]


@dataclass(slots=True)
class Toolbox:
    """Tools by their names, and the calls that were made of them since they were last asked for.

    A call is noted when it begins, with its result or its error when there is one.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    _made: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, given: Tools | None, *, whose: str) -> "Toolbox":
        """Return the toolbox of functions, by name or in a list. Raises WorldError for anything else."""
        named = given if isinstance(given, Mapping) else {getattr(each, "__name__", ""): each for each in given or ()}
        if not all(isinstance(name, str) and name and callable(each) for name, each in named.items()):
            raise WorldError(f"has {whose} that are no functions by their names, nor a list of them: {given!r:.120}")
        made: list[dict[str, Any]] = []
        return cls({name: _noting(name, each, made) for name, each in named.items()}, made)

    def taken(self, reported: Sequence[Mapping[str, Any]] = ()) -> tuple[Mapping[str, Any], ...]:
        """Return the calls since the last time, and the `reported` calls of tools that are not here.

        The app's own report on a tool in here is left out: its calls are known.
        """
        made, self._made[:] = [*self._made], []
        others = [call for call in reported if _name(call) not in self.tools]
        return (*made, *others)


def _name(call: Mapping[str, Any]) -> Any:
    inner = call.get("function")
    named = inner if isinstance(inner, Mapping) else call
    return named.get("name") or named.get("tool") or named.get("function")


def _noting(name: str, tool: Tool, made: list[dict[str, Any]]) -> Tool:
    """Return a tool that records its calls; it is async if it was."""

    def begun(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        entry = {"name": name, "arguments": opened(_arguments(tool, args, kwargs)), "error": "it did not end"}
        made.append(entry)
        return entry

    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        entry = begun(args, kwargs)
        return _ended(entry, await capture(partial(tool, *args, **kwargs)))

    @wraps(tool)
    def call_at_once(*args: Any, **kwargs: Any) -> Any:
        entry = begun(args, kwargs)
        came = attempt(partial(tool, *args, **kwargs))
        return _awaited(entry, came) if inspect.isawaitable(came) else _ended(entry, came)

    return call if inspect.iscoroutinefunction(tool) else call_at_once


async def _awaited(entry: dict[str, Any], answer: Awaitable[Any]) -> Any:
    return _ended(entry, await capture(lambda: answer))


def _ended(entry: dict[str, Any], came: Any) -> Any:
    """Record the result of a call, and return it. Raises the tool's own error."""
    if isinstance(came, Caught):
        entry["error"] = said_of(came.error)
        raise came.error
    del entry["error"]
    entry["result"] = opened(came)
    return came


def _arguments(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments by the names of parameters; those that do not fit, by their places."""
    names = [each.name for each in inspect.signature(tool).parameters.values() if each.kind in _PLACED]
    return {**{(names[at] if at < len(names) else str(at)): each for at, each in enumerate(args)}, **kwargs}
