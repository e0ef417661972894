"""A handler that blocks the event loop a little at each turn is told once, by the sum of it."""

import logging
from collections.abc import Callable
from itertools import count
from typing import Any, cast

import anyio
import pytest

from simeval.core.conversation import Beginning, Message
from simeval.engine.actors import app_line
from simeval.engine.actors.app import App, Memory
from simeval.engine.actors.app_line import AppLine, Blocking, gate_of, stepped
from simeval.engine.actors.handler import Handler
from simeval.suites.apps.command_app import CommandApp
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio

TOLD = (
    "pizza:bot has blocked the event loop {} times, {} s in all, and nothing else runs meanwhile; make the handler a "
    "plain function (it then runs in a thread) or await something"
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The clock that steps are timed by; it stands still but for what it is set ahead."""
    now = [0.0]
    monkeypatch.setattr(app_line, "perf_counter", lambda: now[0])

    def ahead(seconds: float) -> None:
        now[0] += seconds

    return ahead


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


async def converse(bot: Callable[..., Any], turns: int, between: Callable[[], None] = lambda: None) -> None:
    app = App(
        Handler.of(bot),
        AppLine("pizza:bot", gate_of(5), 300),
        anyio.CapacityLimiter(5),
        60,
        blocking=Blocking("pizza:bot"),
    )
    session = app.open(Beginning(), Memory({}), cast("Any", None))
    for _ in range(turns):
        await session.answer(Message(role="user", content="hi"))
        between()


async def test_the_sum_of_it_is_told_once(caplog: pytest.LogCaptureFixture, clock: Callable[[float], None]) -> None:
    async def bot(message: str) -> str:
        clock(0.5)
        await anyio.lowlevel.checkpoint()
        clock(0.25)
        return message

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await converse(bot, 30)

    assert told(caplog) == [TOLD.format(13, "5.0")]


async def test_a_streaming_handler_is_told_too(
    caplog: pytest.LogCaptureFixture, clock: Callable[[float], None]
) -> None:
    async def bot(message: str) -> Any:
        for _ in range(3):
            clock(1.0)
            yield "piece "

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await converse(bot, 2)

    assert told(caplog) == [TOLD.format(2, "6.0")]


@pytest.mark.parametrize(
    ("blocked", "waited"),
    [(0.009, 0.0), (0.5, 6.0), (5.0, 0.0)],
    ids=["too short to matter", "a small share of the time", "the watchdog tells of it"],
)
async def test_nothing_is_told(
    blocked: float, waited: float, caplog: pytest.LogCaptureFixture, clock: Callable[[float], None]
) -> None:
    async def bot(message: str) -> str:
        clock(blocked)
        return message

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await converse(bot, 700, between=lambda: clock(waited))

    assert told(caplog) == []


async def test_what_is_awaited_gets_what_it_would_get_alone() -> None:
    numbers = count()

    async def work() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            next(numbers)
        return "never"

    with anyio.move_on_after(0):
        await stepped(work(), Blocking("bot"))

    assert next(numbers) == 1


async def test_an_error_that_is_thrown_into_it_can_be_handled() -> None:
    scope = anyio.CancelScope()

    async def work() -> str:
        with scope:
            await anyio.sleep_forever()
        return "gone on"

    scope.cancel()
    found = await stepped(work(), Blocking("bot"))

    assert found == "gone on"


@pytest.mark.parametrize(("app", "is_told"), [(good_app, True), (CommandApp("echo hello"), False)])
async def test_only_code_of_the_users_own_can_be_written_otherwise(
    app: Any, is_told: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_line, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(app_line, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(app_line, "MOST_SHARE", 0.0)

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await Engine(judge_model="offline/judge").evaluate(scenario(sample_size=3), app)

    assert any("has blocked the event loop" in each for each in told(caplog)) == is_told
