"""How trials flow through a run: order, bounds, rounds, and an end from outside."""

from typing import Any

import anyio
import pytest

from simeval import (
    Expectation,
    QuantileEvaluator,
    WritingStyleConfig,
)
from simeval.scorers import metrics
from tests.support.gates import Gate
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio


PATIENCE_SECONDS = 60


async def test_trials_are_concluded_in_the_order_dealt_whatever_order_they_finish_in() -> None:
    arrived: list[anyio.Event] = []

    async def last_first(message: str, state: dict[str, Any]) -> str:
        place = len(arrived)
        arrived.append(anyio.Event())
        if place == 29:
            arrived[place].set()
        await arrived[place].wait()
        if place:
            arrived[place - 1].set()
        return "ok"

    with anyio.fail_after(PATIENCE_SECONDS):
        result = await Engine(seed=1, concurrency=30).evaluate(scenario(max_turns=1), last_first)

    assert [judgement.trial.index for judgement in result.judgements] == list(range(30))


async def test_trials_in_flight_are_bounded_and_the_bound_is_reached() -> None:
    gate = Gate(7)

    async def app(message: str, state: dict[str, Any]) -> str:
        async with gate:
            return "ok"

    with anyio.fail_after(PATIENCE_SECONDS):
        await Engine(seed=1, concurrency=7).evaluate([scenario("a"), scenario("b")], app)

    assert gate.peak == 7


async def test_two_evaluations_of_one_engine_share_its_limits() -> None:
    engine, gate = Engine(seed=1, concurrency=5), Gate(5)

    async def app(message: str, state: dict[str, Any]) -> str:
        async with gate:
            return "ok"

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.evaluate, scenario("a"), app)
            tasks.start_soon(engine.evaluate, scenario("b"), app)

    assert gate.peak == 5


async def test_the_apps_own_limit_holds() -> None:
    gate = Gate(3)

    async def app(message: str, state: dict[str, Any]) -> str:
        async with gate:
            return "ok"

    with anyio.fail_after(PATIENCE_SECONDS):
        await Engine(seed=1, concurrency=20, app_concurrency=3).evaluate(scenario(), app)

    assert gate.peak == 3


async def test_scenarios_are_dealt_in_rounds() -> None:
    order: list[str] = []

    async def app(messages: list[dict[str, str]], state: dict[str, Any]) -> str:
        order.append(messages[0]["content"])
        return "ok"

    tests = [
        scenario(
            name,
            when=name,
            max_turns=1,
            sample_size=3,
            then=Expectation(scorer=metrics.turn_count, evaluator=QuantileEvaluator(at_most=3)),
        )
        for name in ("x", "y")
    ]
    plain = WritingStyleConfig(enabled=False)
    await Engine(seed=1, concurrency=1, writing_style_config=plain).evaluate(tests, app)

    assert order == ["X", "Y"] * 3


class StuckApp:
    """Never answers; whoever waits for `asked` may end the run then."""

    def __init__(self) -> None:
        self.asked = anyio.Event()

    async def __call__(self, message: str, state: Any) -> str:
        self.asked.set()
        await anyio.sleep_forever()
        return "never"


async def test_cancelling_from_outside_ends_everything() -> None:
    app = StuckApp()
    before = anyio.get_running_tasks()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Engine(seed=1, app_timeout_seconds=7200).evaluate, [scenario("a"), scenario("b")], app)
            await app.asked.wait()
            tasks.cancel_scope.cancel()

    assert anyio.get_running_tasks() == before


async def test_an_engine_whose_run_was_cancelled_can_be_used_again() -> None:
    engine, app = Engine(seed=1, concurrency=2), StuckApp()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.evaluate, scenario(), app)
            await app.asked.wait()
            tasks.cancel_scope.cancel()
        result = await engine.evaluate(scenario(), good_app)

    assert result.passed
