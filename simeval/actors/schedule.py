"""The schedule deals trials, round the scenarios, against credits.

A credit is the right to have one more trial of a scenario under way. The statistician grants them and
closes them when every scenario has its verdict; that ends the line in order. It grants no more of them than
verdicts can need.
"""

from collections.abc import Sequence
from typing import Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.actors.plan import ScenarioPlan
from simeval.actors.wanted import Wanted
from simeval.outcome import Trial


class Places:
    """The places in flight that one run has taken of those all runs share; left, the context gives all back."""

    def __init__(self, shared: anyio.Semaphore) -> None:
        self._shared, self._taken = shared, 0

    async def take(self) -> None:
        """Wait for a free place."""
        await self._shared.acquire()
        self._taken += 1

    def give_back(self) -> None:
        """Free one place."""
        self._taken -= 1
        self._shared.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        while self._taken:
            self.give_back()


async def deal(
    plans: Sequence[ScenarioPlan],
    *,
    credits: MemoryObjectReceiveStream[int],
    outbox: MemoryObjectSendStream[Trial],
    places: Places,
    wanted: Wanted,
) -> None:
    """Turn each credit into the next trial of its scenario, as soon as fewer trials are in flight than may be.

    Credits for trials that are not `wanted` any more are dropped. Whoever concludes on a trial gives its place
    back.
    """
    next_index = [0] * len(plans)
    async with credits, outbox:
        async for position in credits:
            if not wanted.needs(position, next_index[position]):
                continue
            await places.take()
            if not wanted.needs(position, next_index[position]):
                places.give_back()
                continue
            await outbox.send(plans[position].trial(next_index[position]))
            next_index[position] += 1
