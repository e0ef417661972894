"""An app that is a model: what it waits for others is not its own, and a call that is lost is missing data."""

from typing import Any, cast

import anyio
import pytest

from simeval.core.conversation import Beginning, Message
from simeval.core.run_records import Ledger
from simeval.core.settings import RetryConfig, Settings
from simeval.core.trial import failure_of
from simeval.engine.actors.app import App, Memory, model_handler
from simeval.engine.actors.app_line import AppLine, gate_of
from simeval.engine.actors.handler import Handler
from simeval.errors import ModelError
from simeval.models.limits import governor, traffic
from simeval.models.protocol.model import Completion, Request
from simeval.models.registry import Models
from simeval.testing import ScriptedModel
from tests.support.fake_clock import anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio

TIMEOUT = 8.0


@pytest.fixture(autouse=True)
def _clock_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (governor, traffic):
        monkeypatch.setattr(module, "monotonic", anyio.current_time)
    monkeypatch.setattr("simeval.models.limits.bounds.perf_counter", anyio.current_time)


def app_of(model: ScriptedModel, **settings: Any) -> App:
    """Return the app that a model is, with a second's time-out of a call in reserve."""
    models = Models(Settings(retry_config=RetryConfig(max_attempts=2, backoff_multiplier=0), **settings))
    caller = models.caller(models.get(model, "app"), Ledger(), role="app")
    handler = Handler.of(model_handler(caller, timeout_seconds=TIMEOUT))
    return App(handler, AppLine("the app", gate_of(50), 300), anyio.CapacityLimiter(50), TIMEOUT, is_model=True)


async def answer_of(app: App) -> Message:
    """Say one thing to an app and return what it answers."""
    scope = cast("Any", None)  # only a handler in a thread has one
    return await app.open(Beginning(), Memory(1), scope).answer(Message(role="user", content="hi"))


async def lost(model: ScriptedModel) -> ModelError:
    """Return the error for which an app that is this model does not answer."""
    with pytest.raises(ModelError) as raised:
        await answer_of(app_of(model))
    return raised.value


def slow(seconds: float) -> ScriptedModel:
    async def answer(_: Request) -> str:
        await anyio.sleep(seconds)
        return "hello"

    return ScriptedModel(answer)


async def test_waiting_in_line_is_no_part_of_its_time_nor_of_its_latency() -> None:
    app = app_of(slow(3.5), model_concurrency=1)
    answers: list[Message] = []

    async def ask() -> None:
        answers.append(await answer_of(app))

    async with anyio.create_task_group() as asking:
        for _ in range(12):
            asking.start_soon(ask)

    assert [answer.content for answer in answers] == ["hello"] * 12
    assert [answer.seconds for answer in answers] == pytest.approx([3.5] * 12, abs=0.1)


async def test_a_call_that_takes_longer_than_the_apps_time_is_missing_and_no_failure_of_the_app() -> None:
    error = await lost(slow(9))

    assert "no answer within 8 seconds" in str(error)
    failure = failure_of(error, "simulator", clean=str)
    assert (failure.stage, failure.cause) == ("app_access", "timeout")


async def test_what_its_users_would_meet_as_well_is_the_apps_failure() -> None:
    refusing = ScriptedModel([ModelError("m", kind="content", problem="flagged")])

    assert failure_of(await lost(refusing), "simulator", clean=str).stage == "app"


async def test_an_answer_that_was_cut_stands_and_says_so() -> None:
    answer = await answer_of(app_of(ScriptedModel([Completion(text="I can", is_cut=True)])))

    assert (answer.content, answer.metadata) == ("I can", {"finish_reason": "length"})
