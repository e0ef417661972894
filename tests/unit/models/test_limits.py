"""A model with bounds."""

import asyncio
from contextlib import suppress
from functools import partial
from random import Random

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from simeval.core.settings import RetryConfig
from simeval.core.waits import REFUSALS
from simeval.errors import ModelError
from simeval.models.caller import Caller
from simeval.models.limits.bounds import Limited, Paced, Timed, Turns
from simeval.models.limits.governor import Governed
from simeval.models.limits.traffic import Budget
from simeval.models.protocol.model import Completion, Model, Request
from simeval.models.protocol.prompts import ChatRequest
from simeval.testing import ScriptedModel
from tests.support.doubles import TimedModel, any_request, failure, governed, never, work
from tests.support.fake_clock import FakeClockLoop, anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio


async def ask(model: Model, times: int) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(times):
            tasks.start_soon(model.complete, any_request(number))


@pytest.mark.parametrize("slots", [1, 2, 5])
async def test_calls_at_once_reach_the_slots_and_never_exceed_them(slots: int) -> None:
    model = ScriptedModel(work)

    await ask(Limited(model, anyio.Semaphore(slots)), 40)

    assert (model.peak, model.calls) == (slots, 40)


async def test_slots_that_are_shared_hold_for_all_who_share_them() -> None:
    slots, model = anyio.Semaphore(3), ScriptedModel(work)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, Limited(model, slots), 20)
        tasks.start_soon(ask, Limited(model, slots), 20)

    assert (model.peak, model.calls) == (3, 40)


async def test_a_slot_is_free_again_after_a_failure() -> None:
    async def fail(_request: Request) -> str:
        raise ModelError("m", kind="server", problem="HTTP 500")

    limited = Limited(ScriptedModel(fail), anyio.Semaphore(1))

    for _ in range(3):
        with pytest.raises(ModelError):
            await limited.complete(any_request())


async def test_a_call_that_takes_too_long_is_a_time_out() -> None:
    model = ScriptedModel(never)

    with pytest.raises(ModelError, match="no answer within 5 seconds") as raised:
        await Timed(model, seconds=5).complete(any_request().patient())

    assert (raised.value.kind, raised.value.model, raised.value.retryable) == ("timeout", "scripted/model", True)
    assert model.under_way == 0


async def test_a_call_in_time_is_answered_and_its_errors_pass_through() -> None:
    async def fail(_request: Request) -> str:
        raise ModelError("m", kind="content", problem="refused")

    assert (await Timed(ScriptedModel(work), seconds=5).complete(any_request())).text == "done"
    with pytest.raises(ModelError, match="refused"):
        await Timed(ScriptedModel(fail), seconds=5).complete(any_request())


async def test_a_cancelled_call_is_no_time_out() -> None:
    with anyio.move_on_after(5) as scope:
        await Timed(ScriptedModel(never), seconds=60).complete(any_request())

    assert scope.cancelled_caught


async def test_waiting_for_a_slot_costs_no_time_out() -> None:
    async def slow(_request: Request) -> str:
        await anyio.sleep(1)
        return "done"

    model = ScriptedModel(slow)

    await ask(Limited(Timed(model, seconds=4), anyio.Semaphore(1)), 8)

    assert model.calls == 8


async def test_paced_calls_are_started_in_the_order_asked() -> None:
    started: list[int] = []

    async def act(request: Request) -> str:
        started.append(request.seed)
        return await work(request)

    await ask(Paced(ScriptedModel(act), Turns()), 30)

    assert started == list(range(30))


async def test_at_most_one_paced_call_is_started_in_a_turn_of_the_loop() -> None:
    turn, started = 0, list[int]()

    async def act(request: Request) -> str:
        started.append(turn)
        return await work(request)

    async def count_turns() -> None:
        nonlocal turn
        while len(started) < 20:
            turn += 1
            await anyio.lowlevel.checkpoint()

    turns = Turns()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count_turns)
        tasks.start_soon(ask, Paced(ScriptedModel(act), turns), 10)
        tasks.start_soon(ask, Paced(ScriptedModel(act), turns), 10)

    assert len(set(started)) == 20


async def test_a_turn_of_the_loop_that_nobody_has_taken_costs_no_wait() -> None:
    turns, others = Turns(), list[str]()
    asyncio.get_running_loop().call_soon(others.append, "another callback")

    await turns.take()

    assert others == []


async def test_who_is_cancelled_in_line_for_a_turn_holds_up_nobody() -> None:
    turns, taken = Turns(), list[int]()

    async def take(place: int, scope: anyio.CancelScope) -> None:
        with scope:
            await turns.take()
            taken.append(place)

    scopes = [anyio.CancelScope() for _ in range(4)]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for place, scope in enumerate(scopes):
                tasks.start_soon(take, place, scope)
            scopes[2].cancel()

    assert taken == [0, 1, 3]


async def test_paced_calls_run_side_by_side() -> None:
    model = ScriptedModel(work)

    await ask(Paced(model, Turns()), 10)

    assert model.peak > 1


async def test_a_bounded_model_has_the_name_of_its_model_and_closes_it() -> None:
    bounds = (
        lambda model: Limited(model, anyio.Semaphore(1)),
        lambda model: Paced(model, Turns()),
        lambda model: Timed(model, seconds=1),
        governed,
    )

    for bound in bounds:
        inner = ScriptedModel(work)
        model: Model = bound(inner)
        await model.close()
        assert model.name == "scripted/model"
        assert inner.closed


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_a_governed_models_calls_at_once_reach_the_window_and_never_exceed_it(most: int) -> None:
    model = ScriptedModel(work)

    await ask(governed(model, most), 40)

    assert (model.peak, model.calls) == (most, 40)


async def test_governed_calls_are_started_in_the_order_asked() -> None:
    started: list[int] = []

    async def act(request: Request) -> str:
        started.append(request.seed)
        return await work(request)

    await ask(governed(ScriptedModel(act), 3), 30)

    assert started == list(range(30))


async def test_waiting_in_line_costs_no_time_out() -> None:
    async def slow(_request: Request) -> str:
        await anyio.sleep(1)
        return "done"

    model = ScriptedModel(slow)

    await ask(governed(Timed(model, seconds=4), 1), 8)

    assert model.calls == 8


async def test_governed_calls_keep_to_their_pace() -> None:
    model = TimedModel(["done"])

    await ask(governed(model, 50, Budget(100.0)), 21)

    assert model.times[-1] - model.times[0] == pytest.approx(20 / 100)


async def test_a_retry_after_holds_back_the_refused_call_and_no_other() -> None:
    model = TimedModel(["done", failure("rate_limit", retry_after=3600), "done"])
    one = governed(model)
    await one.complete(any_request())
    with pytest.raises(ModelError, match="rate_limit"):
        await one.complete(any_request())

    with anyio.fail_after(60):
        await ask(one, 5)

    assert one.answers == 6


async def test_a_retry_after_holds_back_every_call_where_most_are_refused() -> None:
    model = TimedModel(["done", *[failure("rate_limit", retry_after=0.2)] * 20, "done"])
    one = governed(model, most=20)
    await one.complete(any_request())
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(_quietly, one)

    await ask(one, 5)

    assert min(model.times[21:]) - model.times[1] >= 0.2


async def test_a_refused_call_waits_for_its_own_retry_after_while_others_are_answered() -> None:
    times: list[float] = []

    async def act(request: Request) -> str:
        await anyio.sleep(0.001)
        if request.seed != 7:
            return "done"
        times.append(anyio.current_time())
        if len(times) == 1:
            raise failure("rate_limit", retry_after=0.2)
        return "done"

    assert await ask_beside_others(ScriptedModel(act), 7) == "done"
    assert times[1] - times[0] >= 0.2


async def test_a_longer_retry_after_than_is_waited_for_is_the_callers_to_see() -> None:
    model = ScriptedModel(["done", failure("rate_limit", retry_after=3600)])
    one = governed(model)
    await one.complete(any_request())

    with pytest.raises(ModelError) as raised:
        await one.complete(any_request())

    assert raised.value.retry_after == 3600


def refusing(seed: int, times: int) -> ScriptedModel:
    """Return a model that refuses the request of a seed so many times, and answers all others."""
    left = times

    async def act(request: Request) -> str:
        nonlocal left
        await anyio.sleep(0.001)
        if request.seed == seed and left > 0:
            left -= 1
            raise failure("rate_limit")
        return "done"

    return ScriptedModel(act)


async def ask_beside_others(model: ScriptedModel, seed: int) -> str:
    """Ask with two attempts while others ask for ever."""
    caller = Caller(model, RetryConfig(max_attempts=2, backoff_multiplier=0))

    async def others() -> None:
        while True:
            await caller.text(any_request())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        try:
            with anyio.fail_after(60):
                text = await caller.text(any_request(seed))
        finally:
            tasks.cancel_scope.cancel()
    return text


async def test_a_call_that_is_refused_while_others_are_answered_has_attempts_to_spare() -> None:
    assert await ask_beside_others(refusing(7, times=2 + REFUSALS - 1), 7) == "done"


async def test_a_call_that_is_always_refused_fails_in_the_end() -> None:
    model = refusing(7, times=1000)

    with pytest.RaisesGroup(pytest.RaisesExc(ModelError, match="rate_limit")):
        await ask_beside_others(model, 7)


async def _cancel_at_random(seed: int, most: int) -> Governed:
    """Ask a model that answers, fails, is refused and waits; cancel every call at a random moment of its life."""
    random = Random(seed)

    async def act(_request: Request) -> str:
        for _ in range(random.randrange(6)):
            await anyio.lowlevel.checkpoint()
        kind = random.choice(["done", "rate_limit", "timeout", "server", "malformed"])
        if kind != "done":
            raise failure(kind)  # type: ignore[arg-type]
        return kind

    async def call(one: Governed, turns: int) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(_quietly, one))
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

    one = governed(ScriptedModel(act), most)
    async with anyio.create_task_group() as calls:
        for _ in range(30):
            calls.start_soon(call, one, random.randrange(15))
    return one


async def _quietly(one: Governed) -> None:
    with suppress(ModelError):
        await one.complete(any_request())


@settings(max_examples=40)
@given(seed=some.integers(0, 10**6), most=some.integers(1, 8))
def test_calls_cancelled_at_any_moment_leave_no_slot_behind(seed: int, most: int) -> None:
    async def check() -> None:
        one = await _cancel_at_random(seed, most)
        assert one.traffic.in_flight == 0
        one.model = ScriptedModel(work)
        assert (await one.complete(any_request())).text == "done"

    anyio.run(check, backend_options={"loop_factory": FakeClockLoop})


@pytest.mark.parametrize(("counted", "warnings"), [(2048, 1), (5000, 0), (900, 0)])
async def test_a_prompt_of_which_few_tokens_are_counted_may_have_been_cut_off_and_that_is_said_once(
    counted: int, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    model = governed(ScriptedModel([Completion(text="yes", prompt_tokens=counted)]))
    long = ChatRequest(history=[{"role": "user", "content": "word " * 4000}])

    for _ in range(2):
        await model.complete(long)

    assert caplog.text.count("may have cut the prompt off") == warnings
