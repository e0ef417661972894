"""Whatever scorers and callbacks of live traffic do, the app never notices."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from threading import Event
from typing import ClassVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from simeval.core.trial import Failure
from simeval.errors import DefinitionError, ModelUnusable, RunStopped
from simeval.extras.online.evaluator import OnlineEvaluator
from simeval.models.protocol.model import Model
from simeval.scorers.base import Scorer
from simeval.testing import ScriptedModel
from tests.support.live import GRADE, PATIENCE_SECONDS, SAID, Fine, Helpful, Impatient, Stuck, adds_up, raising, settled

pytestmark = pytest.mark.anyio


@pytest.fixture
def gate() -> Iterator[Event]:
    """What keeps a thread, until the test has ended."""
    event = Event()
    yield event
    event.set()


@pytest.mark.parametrize(
    "error",
    [
        KeyError("no such thing"),
        ModelUnusable("m", kind="authentication", problem="HTTP 401"),
        RunStopped("title", 1, "it raised"),
        ExceptionGroup("group", [ModelUnusable("m", kind="authentication", problem="HTTP 401")]),
        SystemExit(3),
        asyncio.CancelledError("left"),
        TimeoutError(),
        RecursionError(),
        StopIteration(),
    ],
    ids=repr,
)
async def test_whatever_a_scorer_raises_is_counted_and_costs_nobody_else(error: BaseException) -> None:
    async with OnlineEvaluator([raising(error), Fine()], workers=2) as evaluator:
        for _ in range(20):
            evaluator.submit(SAID)
        await settled(evaluator)

    assert (evaluator.counts["raising"].failed, evaluator.counts["Fine"].scored) == (20, 20)
    assert isinstance(evaluator.counts["raising"].last_failure, Failure)


@pytest.mark.parametrize("error", [SystemExit(3), KeyError("x"), asyncio.CancelledError()], ids=repr)
async def test_whatever_a_scorer_raises_in_its_thread_is_counted(error: BaseException) -> None:
    def leave(output: str) -> bool:
        raise error

    async with OnlineEvaluator([leave]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)

    assert evaluator.counts["leave"].failed == 10


async def test_the_first_failure_of_a_scorer_is_logged_and_the_last_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    def picky(number: int) -> bool:
        raise ValueError(f"number {number}")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator([picky], workers=1) as evaluator:
            for number in range(5):
                evaluator.submit(SAID, number=number)

    last = evaluator.counts["picky"].last_failure
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "scorer picky: ValueError: number 0" in caplog.text
    assert last is not None
    assert (last.stage, last.cause) == ("scorer", "ValueError")
    assert last.error.startswith("ValueError: number 4 (test_online_isolation.py:")


async def test_a_scorer_that_never_answers_holds_up_no_other() -> None:
    async with OnlineEvaluator([Stuck(), Fine()], queue_size=100, drain_seconds=0.01) as evaluator:
        for _ in range(100):
            evaluator.submit(SAID)
        with anyio.fail_after(PATIENCE_SECONDS):
            while evaluator.counts["Fine"].scored < 100:
                await anyio.lowlevel.checkpoint()

    assert (evaluator.counts["Stuck"].scored, evaluator.counts["Stuck"].dropped) == (0, 100)


async def test_a_scorer_that_takes_too_long_fails() -> None:
    async with OnlineEvaluator([Impatient()]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await settled(evaluator)

    failure = evaluator.counts["Impatient"].last_failure
    assert evaluator.counts["Impatient"].failed == 10
    assert failure is not None
    assert "no score within 0.01 seconds" in failure.error


async def test_calls_that_never_return_hold_as_many_threads_as_there_are_workers(gate: Event) -> None:
    started: list[int] = []

    class Blocked(Scorer):
        timeout_seconds: ClassVar[float | None] = 0.2

        def score(self, output: str) -> bool:
            started.append(1)
            return gate.wait(PATIENCE_SECONDS)

    before = threading.active_count()
    async with OnlineEvaluator([Blocked(), Fine()], workers=3) as evaluator:
        for _ in range(40):
            evaluator.submit(SAID)
        await settled(evaluator)

        last = evaluator.counts["Blocked"].last_failure
        assert (len(started), evaluator.counts["Blocked"].failed) == (3, 40)
        assert threading.active_count() <= before + 6
        assert last is not None
        assert "3 calls that got no answer in time are still running" in last.error
    assert evaluator.counts["Fine"].scored == 40


async def test_the_apps_own_threads_are_left_to_the_app(gate: Event) -> None:
    def blocked(output: str) -> bool:
        return gate.wait(PATIENCE_SECONDS)

    app_threads = anyio.to_thread.current_default_thread_limiter()
    async with OnlineEvaluator([blocked], workers=4, drain_seconds=0) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await anyio.wait_all_tasks_blocked()

        assert app_threads.borrowed_tokens == 0


async def test_leaving_finishes_what_is_queued() -> None:
    async def slow(output: str) -> bool:
        await anyio.sleep(0.001)
        return True

    async with OnlineEvaluator([slow]) as evaluator:
        for _ in range(100):
            evaluator.submit(SAID)

    assert evaluator.counts["slow"].scored == 100


async def test_leaving_waits_no_longer_than_it_was_told_to() -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        async with OnlineEvaluator([Stuck(), Fine()], drain_seconds=0.5) as evaluator:
            for _ in range(30):
                evaluator.submit(SAID)

    assert (evaluator.counts["Stuck"].dropped, evaluator.counts["Fine"].scored) == (30, 30)


@pytest.mark.parametrize("place", ["scorer", "callback"])
async def test_what_goes_on_though_it_is_cancelled_is_left_behind(place: str, caplog: pytest.LogCaptureFixture) -> None:
    released = anyio.Event()

    async def stubborn(*_told: object) -> bool:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()
        return True

    async def asked(output: str) -> bool:
        return await stubborn(output)

    scorers, told = ([asked], None) if place == "scorer" else ([Fine()], stubborn)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with OnlineEvaluator(scorers, on_score=told, drain_seconds=0.01, workers=2) as evaluator:
            for _ in range(5):
                evaluator.submit(SAID)
            await anyio.wait_all_tasks_blocked()
    released.set()

    assert adds_up(evaluator)
    assert [record.getMessage() for record in caplog.records] == [
        f"scorer {next(iter(evaluator.counts))}: it goes on though it was cancelled, and is left behind"
    ]


async def test_the_end_of_the_app_is_not_waited_with() -> None:
    evaluator = OnlineEvaluator([Stuck()], drain_seconds=1000)

    async def app() -> None:
        async with evaluator:
            evaluator.submit(SAID)
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert evaluator.counts["Stuck"].dropped == 1


async def test_the_end_of_the_app_ends_the_wait_for_the_queue() -> None:
    evaluator = OnlineEvaluator([Stuck()], drain_seconds=1000)

    async def app() -> None:
        async with evaluator:
            evaluator.submit(SAID)

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert evaluator.counts["Stuck"].dropped == 1


async def test_the_apps_own_error_goes_on_as_it_is() -> None:
    async def app() -> None:
        async with OnlineEvaluator([Stuck()], drain_seconds=1000) as evaluator:
            evaluator.submit(SAID)
            await anyio.wait_all_tasks_blocked()
            raise KeyError("the app's own")

    with anyio.fail_after(PATIENCE_SECONDS), pytest.raises(KeyError, match="the app's own"):
        await app()


async def test_before_and_after_its_life_an_evaluator_drops() -> None:
    evaluator = OnlineEvaluator([Fine()])

    before = evaluator.submit(SAID)
    async with evaluator:
        within = evaluator.submit(SAID)
    after = evaluator.submit(SAID)

    assert (before, within, after) == (False, True, False)
    assert (evaluator.counts["Fine"].scored, evaluator.counts["Fine"].dropped) == (1, 2)
    with pytest.raises(DefinitionError, match="make a new one"):
        await evaluator.__aenter__()


def test_when_its_loop_is_closed_an_evaluator_drops() -> None:
    async def live() -> OnlineEvaluator:
        async with OnlineEvaluator([Fine()]) as evaluator:
            return evaluator

    evaluator = asyncio.run(live())
    taken = []
    thread = threading.Thread(target=lambda: taken.append(evaluator.submit(SAID)))
    thread.start()
    thread.join(PATIENCE_SECONDS)

    assert taken == [False]
    assert evaluator.counts["Fine"].dropped == 1


async def test_other_threads_may_submit() -> None:
    async with OnlineEvaluator([Fine()], queue_size=1000) as evaluator:

        def serve() -> None:
            for _ in range(100):
                evaluator.submit(SAID)

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(anyio.to_thread.run_sync, serve)
        with anyio.fail_after(PATIENCE_SECONDS):
            while evaluator.submitted < 400:
                await anyio.lowlevel.checkpoint()

    assert evaluator.counts["Fine"].scored == 400


async def test_a_callback_that_raises_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_told: object) -> None:
        raise RuntimeError("no database")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator(
            [Fine()], on_score=broken, on_drop=broken, watch={"Fine.fine": 0.9}, workers=1
        ) as evaluator:
            for _ in range(100):
                evaluator.submit(output="bad")

    assert evaluator.counts["Fine"].scored == 100
    assert caplog.text.count("no database") == 1


async def test_a_model_that_cannot_be_closed_costs_the_app_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Sticky(ScriptedModel):
        async def close(self) -> None:
            raise OSError("still open")

    async def act(_request: object) -> str:
        return GRADE

    async with OnlineEvaluator([Helpful(model=Sticky(act))]) as evaluator:
        evaluator.submit(SAID)

    assert evaluator.counts["Helpful"].scored == 1
    assert "still open" in caplog.text


async def test_a_model_that_cannot_be_used_is_a_failure_of_its_scorer_alone() -> None:
    model: Model = ScriptedModel([ModelUnusable("scripted/model", kind="authentication", problem="HTTP 401")])

    async with OnlineEvaluator([Helpful(model=model), Fine()]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await settled(evaluator)

    last = evaluator.counts["Helpful"].last_failure
    assert (evaluator.counts["Helpful"].failed, evaluator.counts["Fine"].scored) == (10, 10)
    assert last is not None
    assert last.cause == "authentication"
