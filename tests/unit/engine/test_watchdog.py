"""The watchdog: what blocks the event loop is named while it does."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from threading import Event, current_thread, get_ident
from time import monotonic, sleep

import anyio
import pytest

from simeval.core import event_loops
from simeval.core.event_loops import _Watchdog, watching
from simeval.core.logs import LOGGER
from tests.support.fake_clock import FakeClockLoop
from tests.support.log_events import logged
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.anyio

SECONDS = 0.2
WARNING = "has been blocked for"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return what was logged so far."""
    caplog.set_level(logging.INFO, LOGGER)
    return lambda: [record.getMessage() for record in caplog.records if record.name == LOGGER]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how often the watchdog has looked at the clock so far."""
    counted = 0

    def look() -> float:
        nonlocal counted
        counted += current_thread().name == "simeval watchdog"
        return monotonic()

    monkeypatch.setattr(event_loops, "monotonic", look)
    return lambda: counted


def block(happened: Callable[[], bool]) -> None:
    """Hold the thread up until something is the case."""
    end = monotonic() + PATIENCE_SECONDS
    while not happened():
        assert monotonic() < end
        sleep(0.01)


async def handle(said: Callable[[], list[str]], warnings: int = 1) -> None:
    block(lambda: sum(WARNING in line for line in said()) >= warnings)


async def test_what_blocks_the_loop_is_named_while_it_does(said: Callable[[], list[str]]) -> None:
    async with watching(SECONDS):
        await handle(said)

    assert re.fullmatch(
        rf"the event loop {WARNING} \d+\.\d s at test_watchdog\.py:\d+ in block; make the handler a plain function "
        r"\(it then runs in a thread\) or await something",
        said()[0],
    )


async def test_one_blockage_is_told_once_and_its_end_too(
    said: Callable[[], list[str]], looks: Callable[[], int]
) -> None:
    async with watching(SECONDS):
        await handle(said)
        told_at = looks()
        block(lambda: looks() >= told_at + 15)
    await until(lambda: len(said()) > 1)

    [blocked, goes_on] = said()
    assert WARNING in blocked
    assert re.fullmatch(r"the event loop goes on; it was blocked for \d+\.\d s", goes_on)


async def test_a_blockage_at_another_place_is_told_and_the_next_at_one_is_not(
    said: Callable[[], list[str]], looks: Callable[[], int]
) -> None:
    async def again() -> None:
        told_at = looks()
        block(lambda: looks() >= told_at + 15)

    def elsewhere() -> None:
        while sum(WARNING in line for line in said()) < 2:
            sleep(0.01)

    async with watching(SECONDS):
        await handle(said)
        await until(lambda: "goes on" in said()[-1])
        await again()
        await anyio.sleep(SECONDS)
        elsewhere()
    await until(lambda: len(said()) > 3)

    assert [WARNING in line for line in said()] == [True, False, True, False]
    assert "in block" in said()[0]
    assert "in elsewhere" in said()[2]


class Turning(Event):
    """Lets a loop turn while the watchdog waits, for so many seconds of the loop's clock."""

    def __init__(self, loop: FakeClockLoop, *, seconds: float) -> None:
        super().__init__()
        self.loop, self.seconds = loop, seconds

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.loop.run_until_complete(asyncio.sleep(timeout))
        return self.loop.time() >= self.seconds


def test_a_loop_that_turns_is_not_told_of(said: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    loop = FakeClockLoop()
    monkeypatch.setattr(event_loops, "monotonic", loop.time)
    watched = _Watchdog(5.0, loop, get_ident(), over=Turning(loop, seconds=60.0))

    watched.beat()
    watched.watch()
    loop.close()

    assert said() == []


async def test_a_place_in_a_library_is_named_by_the_code_that_called_it(
    said: Callable[[], list[str]],
) -> None:
    with logged(WARNING) as told:
        async with watching(SECONDS):
            assert told.wait(PATIENCE_SECONDS)  # in threading.py

    assert "in test_a_place_in_a_library_is_named_by_the_code_that_called_it;" in said()[0]


async def test_neither_thread_nor_timer_is_left_behind() -> None:
    before = threading.active_count()
    async with watching():
        during = threading.active_count()
        timers = pending_beats()

    assert (during, threading.active_count()) == (before + 1, before)
    assert (timers, pending_beats()) == (1, 0)


def pending_beats() -> int:
    timers = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009
    return sum("_Watchdog.beat" in repr(timer) for timer in timers if not timer.cancelled())


async def test_nothing_is_left_behind_by_an_error() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="lost"):
        async with watching():
            raise ValueError("lost")

    assert threading.active_count() == before


async def test_nothing_is_left_behind_by_a_cancellation() -> None:
    before = threading.active_count()
    with anyio.CancelScope() as scope:
        async with watching():
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert threading.active_count() == before
