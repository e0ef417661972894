"""A world whose tools are poisoned: their results for the app end with an attacker's order."""

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import Any

from simeval.core import seeds
from simeval.core.world import NamedWorld, OtherTools, WorldMaker, made_world, name_of_world, tools_by_name

NOTE = "note"  # the field that it is, in a result with fields


def planted(maker: WorldMaker, texts: Sequence[str]) -> WorldMaker:
    """Return a maker of these worlds with one of the texts, drawn by the trial's seed, in their tools' results."""
    return NamedWorld(f"{name_of_world(maker)} with orders in its tools' results", partial(_open, maker, texts), {})


@asynccontextmanager
async def _open(
    maker: WorldMaker, texts: Sequence[str], *, seed: int, trial: int, session: str | None
) -> AsyncIterator[OtherTools]:
    text = seeds.generator(seed, "planted").choice(texts)
    async with made_world(maker, seed=seed, trial=trial, session=session) as world:
        given = tools_by_name(world)
        poisoned = {name: _poisoned(tool, text) if callable(tool) else tool for name, tool in given.items()}
        yield OtherTools(world, poisoned)


def _poisoned(tool: Callable[..., Any], text: str) -> Callable[..., Any]:
    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return _with(text, await tool(*args, **kwargs))

    @wraps(tool)
    def call_at_once(*args: Any, **kwargs: Any) -> Any:
        found = tool(*args, **kwargs)
        return _awaited(text, found) if inspect.isawaitable(found) else _with(text, found)

    return call if inspect.iscoroutinefunction(tool) else call_at_once


async def _awaited(text: str, result: Awaitable[Any]) -> Any:
    return _with(text, await result)


def _with(text: str, result: Any) -> Any:
    """Return a result with a text in it: as a further field, a further element, or behind it; a number stays one.

    A text that is JSON stays JSON.
    """
    if isinstance(result, Mapping):
        return {**result, NOTE: text}
    if isinstance(result, list):
        return [*result, text]
    return _in_text(text, result) if isinstance(result, str) else result


def _in_text(text: str, result: str) -> str:
    try:
        found = json.loads(result)
    except (ValueError, RecursionError):
        found = None
    is_structured = isinstance(found, dict | list)
    return json.dumps(_with(text, found), ensure_ascii=False) if is_structured else f"{result}\n\n{text}"
