"""The campaign's suite, and its apps: one that works and those that do what an app must not do.

What they answer depends on the message alone, so that runs of one seed can be compared.
"""

import asyncio
import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any
from zlib import crc32

import anyio

from simeval import (
    Expectation,
    MeanEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
)

GOOD, BAD = "I answer questions, book meetings and translate texts.", "I can not help with that, sorry."
LARGE = 10_000_000
BLOCKED_SECONDS = 6.0  # more than a watchdog of simeval's lets pass in silence
MEASURED = "SIMEVAL_CAMPAIGN_MEASURED"  # the file that notes which trials were measured, by their seeds
STUCK = "SIMEVAL_CAMPAIGN_STUCK"  # set in a process whose app swallows its end

_kept: list[Any] = []


def words(output: str, seed: int) -> int:
    """Count what the app said last, and note that this was done."""
    if MEASURED in os.environ:
        file = os.open(os.environ[MEASURED], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, b'["measured", %d]\n' % seed)
        os.close(file)
    return min(len(output), 90) + crc32(output.encode()) % 7


def _scenario(number: int) -> ScenarioTest:
    bar = (0.5, 0.6, 0.75, 0.9)[number % 4]
    rated = [SuccessRateEvaluator(min_proportion=bar)]
    return ScenarioTest(
        title=f"scenario {number}",
        given=f"A new user, number {number}",
        when="The user asks what the app can do",
        sample_size=30,
        max_turns=4,
        then=[
            Expectation(
                expected_behavior="The app lists its functions",
                evaluator=[*rated, RatingAverageEvaluator(min_median_rating=5)] if number % 2 else rated,
            ),
            Expectation(
                scorer=words,
                label="words",
                evaluator=MeanEvaluator(at_least=30, bounds=(0, 100))
                if number % 3
                else QuantileEvaluator(0.3, at_least=30),
            ),
        ],
    )


SUITE = [_scenario(number) for number in range(8)]


def _drawn(message: str) -> int:
    """Draw a number under 1,000 by a message."""
    return crc32(message.encode()) // 7 % 1000


async def handle(message: str) -> str:
    """Answer after 5 to 40 ms, and well nine times in ten."""
    drawn = _drawn(message)
    await anyio.sleep(0.005 + drawn % 36 / 1000)
    return f"{GOOD} ({drawn})" if drawn >= 100 else BAD


async def raises(message: str) -> str:
    if _drawn(message) % 20 == 0:
        raise RuntimeError("the app broke")
    return await handle(message)


async def hangs(message: str) -> str:
    if _drawn(message) % 100 == 0:
        await anyio.sleep(3600)
    return await handle(message)


async def blocks(message: str) -> str:
    """Hold up the event loop once."""
    if not _kept:
        _kept.append(message)
        time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251
    return await handle(message)


async def leaks_tasks(message: str) -> str:
    _kept.append(asyncio.create_task(asyncio.Event().wait()))
    return await handle(message)


async def leaks_threads(message: str) -> str:
    if _drawn(message) % 10 == 0:
        thread = threading.Thread(target=threading.Event().wait)
        thread.start()
        _kept.append(thread)
    return await handle(message)


async def exits(message: str) -> str:
    if _drawn(message) % 20 == 0:
        sys.exit(7)
    return await handle(message)


async def cancels(message: str) -> str:
    """Cancel the own task now and then."""
    if _drawn(message) % 20 == 0 and (task := asyncio.current_task()):
        task.cancel()
    return await handle(message)


async def ends(message: str) -> str:
    """Raise now and then what is no Exception, alone or in a group."""
    match _drawn(message) % 40:
        case 0:
            raise GeneratorExit
        case 20:
            raise BaseExceptionGroup("of the app", [GeneratorExit(), ValueError("no")])
    return await handle(message)


async def leaves(message: str) -> str:
    """Go to another folder of the process at every turn."""
    os.chdir(("/", "/usr")[_drawn(message) % 2])
    return await handle(message)


async def keeps(message: str, state: dict[str, Any]) -> str:
    """Enter a task group at the first turn, and never leave it."""
    if not state:
        group = await anyio.create_task_group().__aenter__()
        group.start_soon(anyio.sleep_forever)
        state["begun"] = True
    return await handle(message)


async def swallows(message: str) -> str:
    """Catch everything now and then, and go on for ever."""
    while _drawn(message) % 100 == 0:
        with suppress(BaseException):
            await anyio.sleep(3600)
    return await handle(message)


async def sticks(message: str) -> str:
    """Swallow the own end now and then, in a process where that is wanted."""
    return await (swallows if STUCK in os.environ else handle)(message)


async def talks(message: str) -> str:
    """Answer with 10 MB now and then."""
    answer = await handle(message)
    return answer + "." * LARGE if _drawn(message) % 50 == 0 else answer
