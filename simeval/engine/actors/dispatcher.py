"""The schedule deals trials, round the scenarios, against credits.

A credit is the right to have one more trial of a scenario under way. The statistician grants them and
closes them when every scenario has its verdict; that ends the line in order. It grants no more of them than
verdicts can need.
"""

from collections.abc import Callable, Sequence
from typing import Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.trial import Trial
from simeval.engine.flow.demand import Demand
from simeval.engine.flow.stop import StopSignal
from simeval.engine.plans.budget import Admission
from simeval.engine.plans.scenario_plan import RunPlan


class TrialSlots:
    """The places in flight that one run has taken of those all runs share; left, the context gives all back."""

    def __init__(self, shared: anyio.Semaphore) -> None:
        self._shared, self.taken = shared, 0
        self._given_back = anyio.Event()

    async def take(self) -> None:
        """Wait for a free place."""
        await self._shared.acquire()
        self.taken += 1

    def give_back(self) -> None:
        """Free one place."""
        self.taken -= 1
        self._shared.release()
        self._given_back.set()
        self._given_back = anyio.Event()

    async def wait_for_one(self) -> None:
        """Wait until a place is given back."""
        await self._given_back.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        while self.taken:
            self.give_back()


async def deal(
    plans: Sequence[RunPlan],
    *,
    credits: MemoryObjectReceiveStream[int],
    outbox: MemoryObjectSendStream[Trial],
    slots: TrialSlots,
    demand: Demand,
    stop: StopSignal,
    admit: Callable[[Trial], Admission],
) -> None:
    """Turn each credit into the next trial of its scenario, as soon as fewer trials are in flight than may be.

    Credits for trials that are not `wanted` any more are dropped. Whoever concludes on a trial gives its place
    back. `admit` says whether a trial can be paid for: "go", "wait" (for those in flight), or why the run stops.
    """
    next_index = [0] * len(plans)
    with stop.dealing:
        async with credits, outbox:
            async for position in credits:
                if not demand.needs(position, next_index[position]):
                    continue
                await slots.take()
                trial = plans[position].trial(next_index[position])
                while demand.needs(position, trial.index) and (admission := admit(trial)) != "go":
                    if admission != "wait":
                        stop.stop(admission)  # cancels this scope
                    await slots.wait_for_one()
                if not demand.needs(position, trial.index):
                    slots.give_back()
                    continue
                await outbox.send(trial)
                next_index[position] += 1
