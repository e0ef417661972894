"""The preparer: lets the scorers of each scenario prepare, before its first trial is dealt."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from simeval.core.capture import Caught, capture
from simeval.core.preparation import Preparation, Prepared
from simeval.engine.flow.demand import Demand
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.errors import ModelUnusable
from simeval.scorers.base import Scorer

Wanted = Sequence[tuple[RunPlan, Scorer, Sequence[int]]]  # scorers that prepare, each with the places of its measures


@dataclass(frozen=True, slots=True)
class Preparer:
    """Prepares scenarios side by side. A scenario waits for its own scorers only, and one without any for nothing.

    Preparations of a scenario end when it is closed. An error of `prepare` is recorded with the score; but a model that
    cannot be used at all ends the run before anything is paid for.
    """

    plans: Sequence[RunPlan]
    demand: Demand

    async def prepare(self, *, at_once: int, outbox: MemoryObjectSendStream[Prepared]) -> None:
        """Report when each scenario is ready, and the preparation of each expectation, as soon as it is known."""
        wanted = {plan.position: _wanted(plan) for plan in self.plans}
        free = anyio.Semaphore(at_once)
        async with outbox, anyio.create_task_group() as preparing:
            for plan in self.plans:
                if not wanted[plan.position]:
                    await outbox.send(Prepared(scenario=plan.position, is_ready=True))
            for plan in self.plans:
                if wanted[plan.position]:
                    await free.acquire()
                    preparing.start_soon(self._prepare, plan, wanted[plan.position], free, outbox)

    async def _prepare(
        self, plan: RunPlan, wanted: Wanted, free: anyio.Semaphore, outbox: MemoryObjectSendStream[Prepared]
    ) -> None:
        try:
            with self.demand.preparing(plan.position):
                async with anyio.create_task_group() as scorers:
                    for of_case, scorer, places in wanted:
                        scorers.start_soon(self._prepare_one, of_case, scorer, places, outbox)
                await outbox.send(Prepared(scenario=plan.position, is_ready=True))
        finally:
            free.release()

    async def _prepare_one(
        self, plan: RunPlan, scorer: Scorer, places: Sequence[int], outbox: MemoryObjectSendStream[Prepared]
    ) -> None:
        made = await capture(partial(scorer.prepare, plan.columns))
        if isinstance(made, Caught) and isinstance(made.error, ModelUnusable):
            raise made.error
        if isinstance(made, Preparation):
            await outbox.send(Prepared(scenario=plan.position, found=dict.fromkeys(places, made)))


def _wanted(plan: RunPlan) -> Wanted:
    """Return the scorers to prepare, of all cases; judges are the same in each, so those of the first trial's alone."""
    first = plan.of_trial(0)
    wanted: dict[int, tuple[RunPlan, Scorer, list[int]]] = {}
    for each in (first, *(case for case in plan.cases if case is not first)):
        for place, measure in enumerate(each.measures):
            is_shared = each is not first and measure.expected_behavior is not None
            if type(measure.scorer).prepare is not Scorer.prepare and not is_shared:
                wanted.setdefault(id(measure.scorer), (each, measure.scorer, []))[2].append(place)
    return list(wanted.values())
