"""The watchdog: what blocks the event loop is named while it does."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from time import monotonic, sleep

import anyio
import pytest

from simeval.core.logs import LOGGER
from simeval.engine.watchdog import watching

pytestmark = pytest.mark.anyio

SECONDS = 0.2
PATIENCE = 10.0
WARNING = "has been blocked for"


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return what was logged so far."""
    caplog.set_level(logging.INFO, LOGGER)
    return lambda: [record.getMessage() for record in caplog.records if record.name == LOGGER]


def block(until: Callable[[], bool]) -> None:
    """Hold the thread up until something is the case."""
    end = monotonic() + PATIENCE
    while not until() and monotonic() < end:
        sleep(0.01)


async def handle(said: Callable[[], list[str]], warnings: int = 1) -> None:
    block(lambda: sum(WARNING in line for line in said()) >= warnings)


async def turn_until(reached: Callable[[], bool]) -> None:
    """Let the loop turn until something is the case, which nothing in it can tell of."""
    with anyio.fail_after(PATIENCE):
        while not reached():  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_what_blocks_the_loop_is_named_while_it_does(said: Callable[[], list[str]]) -> None:
    async with watching(SECONDS):
        began = monotonic()
        await handle(said)
        lasted = monotonic() - began

    assert lasted < PATIENCE
    assert re.fullmatch(
        rf"the event loop {WARNING} \d+\.\d s at test_watchdog\.py:\d+ in block; make the handler a plain function "
        r"\(it then runs in a thread\) or await something",
        said()[0],
    )


async def test_one_blockage_is_told_once_and_its_end_too(said: Callable[[], list[str]]) -> None:
    async with watching(SECONDS):
        await handle(said)
        end = monotonic() + 3 * SECONDS
        block(lambda: monotonic() > end)

    [blocked, goes_on] = said()
    assert WARNING in blocked
    assert re.fullmatch(r"the event loop goes on; it was blocked for \d+\.\d s", goes_on)


async def test_the_next_blockage_is_told_again(said: Callable[[], list[str]]) -> None:
    async with watching(SECONDS):
        await handle(said)
        await turn_until(lambda: "goes on" in said()[-1])
        await handle(said, warnings=2)

    assert [WARNING in line for line in said()] == [True, False, True, False]


async def test_a_loop_that_turns_is_not_told_of(said: Callable[[], list[str]]) -> None:
    async with watching(0.5):
        end = monotonic() + 1.2
        await turn_until(lambda: monotonic() > end)

    assert said() == []


async def test_a_place_in_a_library_is_named_by_the_code_that_called_it(said: Callable[[], list[str]]) -> None:
    waiter = threading.Condition()

    async with watching(SECONDS):
        with waiter:
            waiter.wait_for(lambda: bool(said()), timeout=3 * SECONDS)  # in threading.py

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
