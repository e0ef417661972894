"""The stop signal of a run: no more trials, or an end at once; with the reason, which the results carry."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from time import monotonic

import anyio


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(slots=True)
class UnderWay:
    """When the trials that are under way began, and how long those took that have ended."""

    _since: dict[object, float] = field(default_factory=dict)
    _longest: float | None = None

    def begin(self, trial: object) -> None:
        """Take down that a trial begins."""
        self._since[trial] = monotonic()

    def end(self, trial: object) -> None:
        """Take down that a trial has ended, if it had begun."""
        if trial in self._since:
            self._longest = max(self._longest or 0.0, monotonic() - self._since.pop(trial))

    def seconds_left(self) -> float | None:
        """Return how long it is until all have ended, if none takes longer than the longest did; None before any has.

        It is the remaining time of the youngest of them.
        """
        if self._longest is None or not self._since:
            return None if self._since else 0.0
        return max(0.0, self._longest - (monotonic() - max(self._since.values())))


@dataclass(slots=True)
class StopSignal:
    """Ends a run before its verdicts are settled, from its own thread or another. The first reason counts.

    `dealing` is the scope that deals trials, `line` that of the whole line of pools; `under_way` gives the time that an
    end in order takes.
    """

    reason: str = ""
    dealing: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    line: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    under_way: UnderWay = field(default_factory=UnderWay)
    _loop: asyncio.AbstractEventLoop | None = field(default_factory=_loop, repr=False)
    _thread: int = field(default_factory=get_ident, repr=False)

    def stop(self, reason: str) -> None:
        """Start no more trials; those in flight are finished."""
        self.reason = self.reason or reason or "it was asked to"
        self._at_home(self.dealing.cancel)

    def end(self, reason: str) -> None:
        """End everything in progress; finished results stay."""
        self.stop(reason)
        self._at_home(self.line.cancel)

    def _at_home(self, act: Callable[[], None]) -> None:
        """Do something in the run's own thread: a scope that another one cancels may never notice."""
        if self._loop is None or get_ident() == self._thread:
            act()
        else:
            self._loop.call_soon_threadsafe(act)
