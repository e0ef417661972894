"""Deadlines of calls, learnt from what calls of the same model take."""

from contextlib import suppress
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from simeval.core.settings import RetryConfig
from simeval.errors import ModelError
from simeval.models.caller import Caller
from simeval.models.limits.bounds import Timed
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import ChatRequest
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request, failure, never, work
from tests.support.fake_clock import FakeClockLoop, anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio


async def answer_in(seconds: float, model: Timed, times: int) -> None:
    """Answer hurried requests, each after so many seconds."""
    model.model = ScriptedModel(partial(_after, seconds))
    for seed in range(times):
        await model.complete(any_request(seed))


async def _after(seconds: float, _request: Request) -> str:
    await anyio.sleep(seconds)
    return "done"


@pytest.fixture
def _durations_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simeval.models.limits.bounds.perf_counter", anyio.current_time)


@pytest.mark.usefixtures("_durations_of_the_loop")
@pytest.mark.parametrize(("usual", "deadline"), [(0.1, 3.0), (2.0, 10.0), (20.0, 60.0)])
async def test_a_hurried_call_has_many_times_what_calls_take_and_some_seconds_at_least(
    usual: float, deadline: float
) -> None:
    timed = Timed(ScriptedModel(work), seconds=60)
    await answer_in(usual, timed, 50)
    timed.model = ScriptedModel(never)
    start = anyio.current_time()

    with pytest.raises(ModelError, match="no answer within"):
        await timed.complete(any_request())

    assert anyio.current_time() - start == pytest.approx(deadline)


@pytest.mark.usefixtures("_durations_of_the_loop")
async def test_a_call_that_is_not_hurried_has_all_its_time() -> None:
    timed = Timed(ScriptedModel(work), seconds=60)
    await answer_in(0.1, timed, 50)
    timed.model = ScriptedModel(partial(_after, 50.0))

    assert (await timed.complete(any_request().patient())).text == "done"


@pytest.mark.usefixtures("_durations_of_the_loop")
async def test_a_deadline_that_is_learnt_holds_for_calls_under_way() -> None:
    timed = Timed(ScriptedModel(never), seconds=60)
    start = anyio.current_time()
    ended: list[float] = []

    async def hang() -> None:
        with pytest.raises(ModelError, match="no answer within"):
            await timed.complete(any_request())
        ended.append(anyio.current_time() - start)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang)
        await anyio.lowlevel.checkpoint()
        await answer_in(0.01, timed, 50)

    assert ended == [pytest.approx(3.0)]


@pytest.mark.usefixtures("_durations_of_the_loop")
async def test_a_model_that_becomes_slow_is_given_more_time() -> None:
    timed = Timed(ScriptedModel(work), seconds=60)
    await answer_in(0.1, timed, 50)
    timed.model = ScriptedModel(partial(_after, 10.0))

    for seed in range(26):
        with suppress(ModelError):
            await timed.complete(any_request(seed))

    assert (await timed.complete(any_request())).text == "done"


async def test_the_last_attempt_has_all_the_time_and_an_apps_calls_are_never_hurried() -> None:
    asked: list[bool] = []

    async def act(request: Request) -> str:
        asked.append(request.is_hurried)
        raise failure("timeout")

    caller = Caller(ScriptedModel(act), RetryConfig(max_attempts=3, backoff_multiplier=0))
    for request in (any_request(), ChatRequest(history=[{"role": "user", "content": "hello"}])):
        with pytest.raises(ModelError):
            await caller.text(request)

    assert asked == [True, True, False, False, False, False]


@pytest.mark.usefixtures("_durations_of_the_loop")
async def test_a_call_of_a_role_that_is_not_known_gets_less_once_others_are_known_to_be_quick() -> None:
    timed = Timed(ScriptedModel(never), seconds=60)
    start = anyio.current_time()
    ended: list[float] = []

    async def hang() -> None:
        with pytest.raises(ModelError, match="no answer within"):
            await timed.complete(ChatRequest(history=[], is_hurried=True))
        ended.append(anyio.current_time() - start)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang)
        await anyio.lowlevel.checkpoint()
        await answer_in(0.01, timed, 50)

    assert ended == [pytest.approx(6.0)]


@pytest.mark.usefixtures("_durations_of_the_loop")
@pytest.mark.parametrize(("usual", "deadline"), [(0.2, 6.0), (1.0, 20.0), (5.0, 60.0)])
async def test_the_first_call_of_a_role_has_twenty_times_what_others_take(usual: float, deadline: float) -> None:
    timed = Timed(ScriptedModel(work), seconds=60)
    await answer_in(usual, timed, 50)
    timed.model = ScriptedModel(never)
    start = anyio.current_time()

    with pytest.raises(ModelError, match="no answer within"):
        await timed.complete(ChatRequest(history=[], is_hurried=True))

    assert anyio.current_time() - start == pytest.approx(deadline)
