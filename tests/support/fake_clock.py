"""A clock for tests that stands still while anything can go on, and jumps to the next timer when nothing can.

Import `anyio_backend` into a module of tests, and they run on it: no test waits, and each measures exact times.
What is done in threads is not seen: nothing that is waited for may happen there.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from selectors import DefaultSelector, SelectorKey
from typing import Any

import pytest


@dataclass(slots=True)
class _Clock:
    now: float = 0.0


class _Skipping(DefaultSelector):
    """Says at once that the time is over for which it was to wait."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self._clock.now += timeout
        return ready


class FakeClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of its timers."""

    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(_Skipping(self._clock))

    def time(self) -> float:
        """Return the seconds that timers have taken so far."""
        return self._clock.now


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Callable[[], Any]]]:
    """The event loop, with a clock of its own."""
    return "asyncio", {"loop_factory": FakeClockLoop}
