"""Handlers that stream their answers: the whole text is judged, and the time to its first token is known."""

import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from simeval import AppResponse, Expectation, MeanEvaluator
from simeval.core.conversation import FIRST_TEXT
from simeval.scorers import time_to_first_token
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

THEN = Expectation(scorer=time_to_first_token, evaluator=MeanEvaluator(at_most=5, bounds=(0, 60)))


async def evaluated(app: Any) -> Any:
    return await Engine(seed=1).evaluate(scenario(then=THEN, sample_size=2), app)


async def test_what_an_async_generator_yields_is_joined_and_its_first_text_timed() -> None:
    async def app(message: str, state: Any) -> AsyncIterator[Any]:
        yield ""
        yield "I can "
        await anyio.sleep(0.2)
        yield AppResponse("help.", state={"told": True}, tool_calls=[{"name": "look"}])

    result = await evaluated(app)

    answer = result.conversations[0].responses[0]
    assert (answer.content, answer.tool_calls) == ("I can help.", ({"name": "look"},))
    assert answer.metadata[FIRST_TEXT] < answer.seconds - 0.19
    assert result.expectations[0].scores[0] < answer.seconds


async def test_a_generator_is_read_in_a_thread() -> None:
    threads: set[int] = set()

    def app(message: str) -> Iterator[str]:
        threads.add(threading.get_ident())
        yield "one, "
        time.sleep(0.05)
        threads.add(threading.get_ident())
        yield "two"

    result = await evaluated(app)

    assert result.conversations[0].output == "one, two"
    assert threading.get_ident() not in threads


async def test_a_handler_may_return_a_stream() -> None:
    async def words() -> AsyncIterator[str]:
        yield "some "
        yield "words"

    def app(message: str) -> AsyncIterator[str]:
        return words()

    assert (await evaluated(app)).conversations[0].output == "some words"


async def test_an_answer_in_one_piece_has_its_latency_as_time_to_first_token() -> None:
    async def app(message: str) -> str:
        return "ok"

    result = await evaluated(app)

    assert result.expectations[0].scores[0] == max(each.seconds for each in result.conversations[0].responses)


async def test_a_stream_that_breaks_is_the_apps_failure() -> None:
    async def app(message: str) -> AsyncIterator[str]:
        yield "I can "
        raise ConnectionError("the line is dead")

    result = await evaluated(app)

    assert {
        (failure.stage, "ConnectionError: the line is dead" in failure.error) for _, failure in result.failures
    } == {("app", True)}


async def test_a_stream_of_what_is_no_text_is_the_apps_failure() -> None:
    async def app(message: str) -> AsyncIterator[Any]:
        yield b"bytes"

    result = await evaluated(app)

    said = r"the handler \(test_streaming_apps\.py, line \d+\) yielded bytes; it must yield texts, or an AppResponse"
    assert re.fullmatch(f"the app failed at turn 1: {said}", result.failures[0][1].error)


@pytest.mark.parametrize("parts", [("I can ", "help."), ("I can ", "help. "), ("I", "can", "help.")])
async def test_a_last_answer_that_repeats_what_was_streamed_is_not_said_twice(parts: tuple[str, ...]) -> None:
    async def app(message: str, state: Any) -> AsyncIterator[Any]:
        for part in parts:
            yield part
        yield AppResponse("I can help.", state={"told": True})

    result = await evaluated(app)

    assert result.conversations[0].output == "I can help."
