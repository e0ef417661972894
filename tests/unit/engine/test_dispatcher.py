"""The dispatcher: in which order credits are dealt."""

import anyio
import pytest

from simeval.engine.actors.dispatcher import by_rank

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
