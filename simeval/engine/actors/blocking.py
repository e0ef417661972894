"""Detects a handler that holds up the event loop a little at every turn, by the sum of these times."""

from collections.abc import Awaitable, Generator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from simeval.core.logs import warn_all
from simeval.engine.watchdog import ADVICE, BLOCKED_SECONDS

LONG_SECONDS = 0.01  # of one step without awaiting; shorter ones hold up nobody
MOST_SECONDS = 5.0  # of all such steps
MOST_SHARE = 0.1  # of the time since the first of them


@dataclass(slots=True)
class Blocking:
    """Adds up the time in which an app's turns let nothing else run, and warns once; `name` is the app's."""

    name: str
    _steps: int = field(default=0, init=False)
    _seconds: float = field(default=0.0, init=False)
    _began: float = field(default=0.0, init=False)
    _is_told: bool = field(default=False, init=False)

    def took(self, seconds: float) -> None:
        """Count one step of a turn, from its resumption to its next await."""
        if self._is_told or not LONG_SECONDS <= seconds < BLOCKED_SECONDS:  # the watchdog reports longer ones
            return
        if not self._steps:
            self._began = perf_counter() - seconds
        self._steps += 1
        self._seconds += seconds
        if self._seconds >= max(MOST_SECONDS, MOST_SHARE * (perf_counter() - self._began)):
            self._is_told = True
            warn_all(
                f"{self.name} has blocked the event loop {self._steps} times, {self._seconds:.1f} s in all, and "
                f"nothing else runs meanwhile; {ADVICE}"
            )


@dataclass(frozen=True, slots=True)
class Stepped(Awaitable[Any]):
    """An awaitable with the time of each of its steps counted."""

    awaited: Awaitable[Any]
    blocking: Blocking

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self.awaited.__await__()
        thrown: BaseException | None = None
        while True:
            clock = perf_counter()
            try:
                waits_for = next(inner) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return end.value
            finally:
                self.blocking.took(perf_counter() - clock)
            try:
                yield waits_for
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                thrown = error
            else:
                thrown = None
