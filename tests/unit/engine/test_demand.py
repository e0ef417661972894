"""Demand: what the end of a line wants of its beginning."""

import anyio
import pytest

from simeval.core.trial import Trial
from simeval.engine.flow import Demand

pytestmark = pytest.mark.anyio


def demand_of(scenarios: int = 2, *, largest: int = 10, places: int = 3) -> Demand:
    return Demand(scenarios, largest=largest, shared=anyio.Semaphore(places))


def granted(demand: Demand) -> list[int]:
    """Take all credits that are there."""
    return [demand.credits.receive_nowait() for _ in range(demand.credits.statistics().current_buffer_used)]


async def test_only_what_was_not_granted_yet_is_granted() -> None:
    with demand_of() as demand:
        demand.grant(0, 2)
        demand.grant(1, 2)
        granted(demand)

        demand.grant(1, 1)
        demand.grant(1, 4)

        assert granted(demand) == [1, 1]


async def test_credits_are_closed_with_the_last_scenario() -> None:
    with demand_of() as demand:
        demand.grant(0, 1)
        demand.grant(1, 1)
        granted(demand)

        demand.close(0, 1)
        assert (demand.is_closed(0), demand.is_over) == (True, False)
        demand.close(1, 1)

        assert demand.is_over
        with pytest.raises(anyio.EndOfStream):
            demand.credits.receive_nowait()


async def test_a_trial_under_way_ends_when_it_is_not_needed_any_more() -> None:
    ended = []
    with demand_of() as demand:
        demand.grant(0, 3)

        async with anyio.create_task_group() as trials:

            async def work(index: int) -> None:
                with demand.scope(Trial(0, index, seed=0)) as scope:
                    await anyio.sleep_forever()
                ended.append((index, scope.cancel_scope.cancelled_caught))

            trials.start_soon(work, 1)
            trials.start_soon(work, 2)
            await anyio.wait_all_tasks_blocked()
            demand.end_beyond(0, 2)
            await anyio.wait_all_tasks_blocked()
            assert ended == [(2, True)]
            demand.close(0, 0)

    assert ended == [(2, True), (1, True)]


async def test_what_is_prepared_for_a_scenario_ends_when_it_is_closed() -> None:
    ended = []
    with demand_of() as demand:

        async def prepare(scenario: int) -> None:
            with demand.preparing(scenario):
                await anyio.sleep_forever()
            ended.append(scenario)

        async with anyio.create_task_group() as preparing:
            preparing.start_soon(prepare, 0)
            preparing.start_soon(prepare, 1)
            await anyio.wait_all_tasks_blocked()
            demand.close(1, 0)
            await anyio.wait_all_tasks_blocked()
            assert ended == [1]
            preparing.start_soon(prepare, 1)
            demand.close(0, 0)

    assert sorted(ended) == [0, 1, 1]


async def test_leaving_gives_back_every_slot_that_was_taken() -> None:
    shared = anyio.Semaphore(3)
    with Demand(1, largest=1, shared=shared) as demand:
        await demand.slots.take()
        await demand.slots.take()
        demand.slots.give_back()
        assert (demand.slots.taken, shared.value) == (1, 2)

    assert shared.value == 3


async def test_an_expectation_is_settled_by_its_place() -> None:
    with demand_of() as demand:
        demand.settle(1, 0)

        assert [demand.is_settled(*place) for place in ((1, 0), (0, 0), (1, 1))] == [True, False, False]
