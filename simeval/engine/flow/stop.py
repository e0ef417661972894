"""The stop signal of a run: no more trials, or an end at once; with the reason, which the results carry."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident

import anyio


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(slots=True)
class StopSignal:
    """Ends a run before its verdicts are settled, from its own thread or another. The first reason counts.

    `dealing` is the scope in which trials are dealt, `line` that of the whole line of pools.
    """

    reason: str = ""
    dealing: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    line: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _loop: asyncio.AbstractEventLoop | None = field(default_factory=_loop, repr=False)
    _thread: int = field(default_factory=get_ident, repr=False)

    def stop(self, reason: str) -> None:
        """Start no more trials; those in flight are finished."""
        self.reason = self.reason or reason or "it was asked to"
        self._at_home(self.dealing.cancel)

    def end(self, reason: str) -> None:
        """End all that is under way; what was finished stays."""
        self.stop(reason)
        self._at_home(self.line.cancel)

    def _at_home(self, act: Callable[[], None]) -> None:
        """Do something in the run's own thread: a scope that another one cancels may never notice."""
        if self._loop is None or get_ident() == self._thread:
            act()
        else:
            self._loop.call_soon_threadsafe(act)
