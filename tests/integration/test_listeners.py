"""Who listens to conversations as they are held: what goes wrong there costs none of them."""

import logging
import re
from typing import Any

import pytest

from simeval import Message
from simeval.errors import DefinitionError
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio


async def later(message: Message) -> None:
    raise AssertionError


async def test_all_that_is_said_is_heard() -> None:
    heard: list[str] = []
    engine = Engine()
    engine.listen(lambda message: heard.append(message.role))

    result = await engine.evaluate(scenario(sample_size=1), good_app)
    engine.listen(None)
    await engine.evaluate(scenario(sample_size=1), good_app)

    assert heard == [message.role for message in result.conversations[0].messages]


async def test_one_that_fails_is_told_once_and_no_conversation_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    def shows(message: Any) -> None:
        print(message["content"])  # noqa: T201

    engine = Engine()
    engine.listen(shows)
    with caplog.at_level(logging.WARNING, logger="simeval"):
        result = await engine.evaluate(scenario(sample_size=5), good_app)

    assert len(result.conversations) == 5
    assert not result.failures
    [told] = [each.getMessage() for each in caplog.records if "listener" in each.getMessage()]
    said = r"TypeError: 'Message' object is not subscriptable \(test_listeners\.py:\d+ in shows\)"
    assert re.fullmatch(f"the listener failed: {said}; the evaluation goes on", told)


@pytest.mark.parametrize("listener", ["print", 3, Message, later])
def test_what_cannot_listen_is_refused(listener: Any) -> None:
    with pytest.raises(DefinitionError, match=r"listen: found .*; give a plain function that takes a Message"):
        Engine().listen(listener)
