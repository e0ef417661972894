"""The running event loop: simeval needs asyncio, because aiohttp and LiteLLM, which call models, do."""

import asyncio
import sys
import warnings
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, NoReturn, ParamSpec, TypeVar

import anyio

from simeval.errors import DefinitionError

P = ParamSpec("P")
T = TypeVar("T")
_OWN = ("__", "cr_")  # how the names begin that a coroutine has itself


def is_on_asyncio() -> bool:
    """Return whether this runs in a loop of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def require_asyncio(where: str) -> None:
    """Raise a DefinitionError in a loop that is not asyncio's."""
    if not is_on_asyncio():
        do = 'run it on asyncio (in tests with anyio\'s pytest plugin: a fixture anyio_backend that returns "asyncio")'
        raise DefinitionError(where, found="this is trio, and aiohttp and LiteLLM need asyncio", do=do)


def require_no_loop(where: str, do: str) -> None:
    """Raise a DefinitionError in a loop, of asyncio or any other."""
    if not is_on_asyncio() and _is_in_a_task():
        require_asyncio(where)
    if is_on_asyncio():
        raise DefinitionError(where, found="an event loop is running here, as in a notebook", do=do)


def _is_in_a_task() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True


class Unawaited(Coroutine[Any, Any, T]):
    """A coroutine whose other attributes, text and end without `await` explain how to await it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], advice: str) -> None:
        self._coroutine, self._advice, self._is_awaited = coroutine, advice, False

    def __await__(self) -> Generator[Any, Any, T]:
        self._is_awaited = True  # the awaiting code keeps the coroutine alone
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        return self._coroutine.send(value)

    def throw(self, *raised: Any) -> Any:
        return self._coroutine.throw(*raised)

    def close(self) -> None:
        self._coroutine.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(_OWN):
            return getattr(self._coroutine, name)
        raise AttributeError(f"there is no {name!r} yet: {self._advice}")

    def __bool__(self) -> NoReturn:
        raise TypeError(self._advice)

    def __iter__(self) -> NoReturn:
        raise TypeError(self._advice)

    def __len__(self) -> NoReturn:
        raise TypeError(self._advice)

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError(self._advice)

    def __repr__(self) -> str:
        return f"<{self._advice}>"

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if not self._is_awaited and getcoroutinestate(self._coroutine) == CORO_CREATED:
            self._coroutine.close()  # Python would only report that it was never awaited, and not the remedy
            warn(self._advice, RuntimeWarning, stacklevel=2)


def advised(
    advice: str,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Return a decorator of async functions that answers a forgotten `await` with this `advice`."""

    def decorated(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return Unawaited(function(*args, **kwargs), advice)

        if sys.version_info >= (3, 12):
            from inspect import markcoroutinefunction

            markcoroutinefunction(call)
        return call

    return decorated
