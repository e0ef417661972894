"""The dispatcher: in which order credits are dealt."""

from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint

from simeval.core.trial import Trial
from simeval.engine.flow import Demand, StopSignal
from simeval.engine.pipeline import by_rank, deal

pytestmark = pytest.mark.anyio


async def test_scenarios_take_turns_whatever_the_order_of_their_credits() -> None:
    grants, credits = anyio.create_memory_object_stream[int](10)
    for scenario in (0, 0, 0, 1, 2, 2):
        grants.send_nowait(scenario)
    grants.close()

    async with credits:
        assert [scenario async for scenario in by_rank(credits, [0, 0, 0])] == [0, 1, 2, 0, 2, 0]


async def test_a_scenario_that_is_ready_late_catches_up() -> None:
    grants, credits = anyio.create_memory_object_stream[int](10)
    for scenario in (0, 0, 0, 0):
        grants.send_nowait(scenario)

    async with grants, credits:
        dealt = by_rank(credits, [0, 0])
        first = [await anext(dealt), await anext(dealt)]
        for scenario in (1, 1):
            grants.send_nowait(scenario)
        grants.close()

        assert first == [0, 0]
        assert [scenario async for scenario in dealt] == [1, 1, 0, 0]


async def test_a_place_for_a_trial_that_is_not_needed_any_more_goes_to_the_next() -> None:
    async def note(_: Trial) -> None:
        await checkpoint()

    out, inbox = anyio.create_memory_object_stream[Trial](0)
    with Demand(2, largest=4, shared=anyio.Semaphore(1)) as demand:
        await demand.slots.take()  # one trial is under way
        demand.grant(0, 1)
        demand.grant(1, 1)
        dealing = partial(
            deal,
            [None, None],  # type: ignore[list-item]
            outbox=out,
            demand=demand,
            stop=StopSignal(),
            trial_of=lambda scenario, index: Trial(scenario, index, 0),
            admit=lambda _: "go",
            on_deal=note,
            ranks=[0, 0],
        )
        async with inbox, anyio.create_task_group() as tasks:
            tasks.start_soon(dealing)
            await anyio.wait_all_tasks_blocked()  # it waits for a place for the first scenario
            demand.close(0, 0)
            demand.slots.give_back()
            with anyio.fail_after(30):
                dealt = await inbox.receive()
            demand.grant_no_more()

    assert dealt.scenario == 1
