"""The running event loop: it must be asyncio's, and a watchdog reports what blocks it.

aiohttp and LiteLLM, which call models, need asyncio. A blocked loop runs nothing, no time-out and no Ctrl-C either, so
it cannot report; a thread beside it can.
"""

import asyncio
import sys
import warnings
from asyncio.events import Handle
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from inspect import CORO_CREATED, getcoroutinestate
from pathlib import Path
from threading import Event, Thread, get_ident
from time import monotonic
from types import FrameType
from typing import Any, NoReturn, ParamSpec, TypeVar

import anyio

from simeval.core.capture import OURS, rank_of
from simeval.core.logs import details, log
from simeval.errors import DefinitionError

P = ParamSpec("P")
T = TypeVar("T")
_OWN = ("__", "cr_")  # how the names begin that a coroutine has itself

BLOCKED_SECONDS = 5.0
LONGEST_BEAT = 1.0  # seconds from one sign of life to the next
ENDING_SECONDS = 1.0  # how long the thread may take to write its last line
ADVICE = "make the handler a plain function (it then runs in a thread) or await something"


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


@asynccontextmanager
async def watching(seconds: float = BLOCKED_SECONDS) -> AsyncIterator[None]:
    """Warn, once for each time, if the running event loop does not turn for `seconds`; report when it goes on.

    The thread that watches has ended when the block is left. Code in C that lets no other thread run holds it up too,
    and then it reports nothing.
    """
    watchdog = _Watchdog(seconds, asyncio.get_running_loop(), get_ident())
    watchdog.beat()
    thread = Thread(target=watchdog.watch, name="simeval watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watchdog.end()
        thread.join(ENDING_SECONDS)


@dataclass(slots=True)
class _Watchdog:
    """The loop beats, the thread looks when it last did."""

    seconds: float
    loop: asyncio.AbstractEventLoop
    thread_id: int
    last_beat: float = 0.0
    over: Event = field(default_factory=Event)
    told: set[str] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None

    def beat(self) -> None:
        """Return a sign of life, and arrange for the next."""
        self.last_beat = monotonic()
        self.timer = self.loop.call_later(self._beat_seconds, self.beat)

    def end(self) -> None:
        """Return the last sign of life."""
        self.last_beat = monotonic()
        if self.timer is not None:
            self.timer.cancel()
        self.over.set()

    def watch(self) -> None:
        """Look, until the end, whether the loop beats."""
        looked, blocked_since, is_news = monotonic(), 0.0, True
        while True:
            is_over = self.over.wait(self._beat_seconds)
            now, last_beat = monotonic(), self.last_beat
            was_held_up = now - looked > self._beat_seconds + self.seconds / 2  # the whole process stood still
            looked = now
            if blocked_since and last_beat > blocked_since:
                say = log.warning if is_news else details.info
                say(f"the event loop goes on; it was blocked for {last_beat - blocked_since:.1f} s")
                blocked_since = 0.0
            elif not blocked_since and now - last_beat >= self.seconds and not was_held_up:
                blocked_since = last_beat
                place = _place(sys._current_frames().get(self.thread_id))
                is_news = place not in self.told  # one that blocks at every turn is reported once
                self.told.add(place)
                say = log.warning if is_news else details.info
                say(f"the event loop has been blocked for {now - last_beat:.1f} s{place}; {ADVICE}")
            if is_over:
                return

    @property
    def _beat_seconds(self) -> float:
        return min(LONGEST_BEAT, self.seconds / 5)


def _place(frame: FrameType | None) -> str:
    """Return the innermost place in the user's own code, or else a package's, in the code that the loop is running."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        if frame.f_code is Handle._run.__code__ or rank_of(frame.f_code.co_filename) == OURS:
            break  # further out are the callers: the loop, simeval, the program
        frame = frame.f_back
    if not frames:
        return ""
    found = min(frames, key=lambda frame: rank_of(frame.f_code.co_filename))
    return f" at {Path(found.f_code.co_filename).name}:{found.f_lineno} in {found.f_code.co_name}"
