"""Isolation: the user's code beside a live app can end neither that nor its caller."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Semaphore
from typing import Any

import anyio
import anyio.to_thread

from simeval.core.capture import STOPS_THE_RUN, Caught, capture, guarded
from simeval.core.logs import warn_all

ENDING_SECONDS = 1.0  # how long work may take to end when it is cancelled


async def isolated(work: Callable[[], Awaitable[Any]]) -> Any:
    """Do `work`; any error is Caught, also one that would end a run or a task. Our own end passes through."""
    try:
        return await capture(lambda: guarded(work(), "it"))
    except STOPS_THE_RUN as error:
        return Caught(error)


class Isolation:
    """Does the work of one scorer's, isolated, and warns once of each kind of trouble with it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._warned: set[str] = set()

    async def run(self, work: Callable[[], Awaitable[Any]], *, is_apart: bool) -> Any:
        """Do `work`; in a task of its own if it may go on when it is cancelled, as nobody can end it."""
        if not is_apart:
            return await isolated(work)
        task = asyncio.ensure_future(isolated(work))
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task], timeout=ENDING_SECONDS)
            if not task.done():
                self.warn("end", "it goes on though it was cancelled, and is left behind")
            raise
        return task.result()

    def warn(self, kind: str, message: str) -> None:
        """Log a warning, the first of its kind only."""
        if kind not in self._warned:
            self._warned.add(kind)
            warn_all(f"scorer {self._name}: {message}")


class OwnThreads:
    """Threads beside those of the app: at most `most` at once, those counted in that never return."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limiter = anyio.CapacityLimiter(most)
        self._free = Semaphore(most)

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return the result of `call`. Raises TimeoutError if all threads are held by calls that were given up."""
        return await anyio.to_thread.run_sync(self._held, call, abandon_on_cancel=True, limiter=self._limiter)

    def _held(self, call: Callable[[], Any]) -> Any:
        if not self._free.acquire(blocking=False):
            raise TimeoutError(f"{self._most} calls that got no answer in time are still running")
        try:
            return call()
        finally:
            self._free.release()
