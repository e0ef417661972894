"""An app that does not answer its first message for a while is told before its time is up."""

import logging
from typing import Any, cast

import anyio
import pytest

from simeval.core.conversation import Beginning, Message
from simeval.engine.actors.app import App, Memory
from simeval.engine.actors.app_line import AppLine, Silence, gate_of
from simeval.engine.actors.handler import Handler
from simeval.errors import AppError
from tests.support.fake_clock import anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio

TOLD = "pizza:bot has not answered the first message for 10 s; it may take 60 s for a turn (--app-timeout)"


async def ask(seconds: float, *, limit: float = 60.0, times: int = 1) -> None:
    """Put messages to an app that takes so long for each."""

    async def bot(message: str) -> str:
        await anyio.sleep(seconds)
        return message

    line, threads = AppLine("pizza:bot", gate_of(5), 300), anyio.CapacityLimiter(5)
    app = App(Handler.of(bot), line, threads, limit, silence=Silence("pizza:bot", limit))
    session = app.open(Beginning(), Memory({}), cast("Any", None))
    for _ in range(times):
        await session.answer(Message(role="user", content="hi"))


async def test_it_is_told_after_ten_seconds_and_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"):
        await ask(12, times=3)

    assert [record.getMessage() for record in caplog.records] == [TOLD]


async def test_an_app_whose_time_is_up_was_told_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"), pytest.raises(AppError, match="no answer within 60"):
        await ask(1_000)

    assert [record.getMessage() for record in caplog.records] == [TOLD]


@pytest.mark.parametrize(("seconds", "limit"), [(9.0, 60.0), (5.0, 8.0)])
async def test_one_that_answers_in_time_is_not(seconds: float, limit: float, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"):
        await ask(seconds, limit=limit)
        await anyio.sleep(60)

    assert not caplog.records
