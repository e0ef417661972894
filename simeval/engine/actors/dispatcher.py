"""The schedule deals trials, round the scenarios or one after the other, against credits.

A credit is the right to have one more trial of a scenario under way. The statistician grants them and
closes them when every scenario has its verdict; that ends the line in order. It grants no more of them than
verdicts can need.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from heapq import heappop, heappush

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.trial import Trial
from simeval.engine.flow.demand import Demand
from simeval.engine.flow.stop import StopSignal
from simeval.engine.plans.budget import Admission
from simeval.engine.plans.scenario_plan import RunPlan


async def deal(
    plans: Sequence[RunPlan],
    *,
    outbox: MemoryObjectSendStream[Trial],
    demand: Demand,
    stop: StopSignal,
    trial_of: Callable[[int, int], Trial],
    admit: Callable[[Trial], Admission],
    on_deal: Callable[[Trial], Awaitable[None]],
    ranks: Sequence[int],
) -> None:
    """Turn each credit into the next trial of its scenario, as soon as fewer trials are in flight than may be.

    Of the scenarios with a credit, the first is the one with the lowest of `ranks`; of equals, the one with the fewest
    granted before. Credits for trials that are not needed any more are dropped. The actor that concludes on a trial
    gives its slot back. `trial_of` makes the trial of a scenario that has an index; `admit` decides whether it can be
    paid for: "go", "wait" (for those in flight), or why the run stops; `on_deal` gets each in the order dealt.
    """
    slots, next_index = demand.slots, [0] * len(plans)
    async with demand.credits as credits, outbox:
        async for position in by_rank(credits, ranks):
            if not demand.needs(position, next_index[position]):
                continue
            await slots.take()
            trial = trial_of(position, next_index[position])
            while demand.needs(position, trial.index) and (admission := admit(trial)) != "go":
                if admission != "wait":
                    stop.stop(admission)  # cancels the scope that this is in
                await slots.wait_for_one()
            if not demand.needs(position, trial.index):
                slots.give_back()
                continue
            await on_deal(trial)
            await outbox.send(trial)
            next_index[position] += 1


async def by_rank(credits: MemoryObjectReceiveStream[int], ranks: Sequence[int]) -> AsyncIterator[int]:
    """Yield the scenarios of credits as they come; of those that wait, the lowest rank with the fewest before.

    So scenarios of one rank are dealt in rounds, and those of a rank of their own to their end.
    """
    waiting: list[tuple[int, int, int]] = []
    taken = [0] * len(ranks)

    def push(position: int) -> None:
        heappush(waiting, (ranks[position], taken[position], position))
        taken[position] += 1

    while True:
        if not waiting:
            try:
                push(await credits.receive())
            except anyio.EndOfStream:
                return
        with suppress(anyio.WouldBlock, anyio.EndOfStream):
            while True:
                push(credits.receive_nowait())
        yield heappop(waiting)[2]
