"""The line of pools of one run.

schedule ──Trial──► conversations ──Held──► judges ──Judgement──► statistician
    ▲                     └────────────► recorder ◄────┘              │
    └───────────────────────────── credits ◄──────────────────────────┘
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.capture import first_leaf
from simeval.core.conversation import Conversation
from simeval.core.logs import log
from simeval.core.settings import OnAppError
from simeval.core.trial import Failure, Judgement, Trial, TrialConversation, failure_of
from simeval.engine.actors.dispatcher import TrialSlots, deal
from simeval.engine.actors.judge import Judge
from simeval.engine.actors.recorder import Recorder
from simeval.engine.flow.demand import Demand
from simeval.engine.flow.pool import run_pool
from simeval.engine.flow.stop import StopSignal
from simeval.engine.plans.budget import Spending
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.errors import RunStopped, SimevalError, StoreError
from simeval.results.suite import RunRecord
from simeval.store.journal import RunResult

END_SECONDS = 1.0  # how long the end of a run may take to be kept when it is ended at once


R = TypeVar("R", bound=RunResult, covariant=True)


class Source(Protocol):
    """Where conversations come from: simulated users, a dataset."""

    @property
    def demand(self) -> Demand:
        """Which trials can still be needed."""

    @property
    def notes(self) -> Sequence[str]:
        """What the run's record is to say of its conversations at the end."""

    async def hold(self, trial: Trial) -> TrialConversation:
        """Return the conversation of a trial."""

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return one that was held before as `hold` gave it."""


class Conclusion(Protocol[R]):
    """What is made of judgements."""

    async def conclude(
        self, *, inbox: MemoryObjectReceiveStream[Judgement], credits: MemoryObjectSendStream[int]
    ) -> None:
        """Grant credits, take every judgement, and close the credits when no more is needed."""

    @property
    def is_done(self) -> bool:
        """Whether all that was to be concluded is."""

    def result(self, run: RunRecord) -> R:
        """Return what was found by now."""


@dataclass(slots=True, kw_only=True)
class Pipeline(Generic[R]):
    """The actors of one run, joined by channels.

    `recorded` conversations, and `quick` scores, need not be safe before they are counted: nothing was paid for them.
    """

    plans: Sequence[RunPlan]
    conversations: Source
    judge: Judge
    statistician: Conclusion[R]
    recorder: Recorder
    slots: TrialSlots
    stop: StopSignal
    spending: Spending
    known: RestoredTrials
    on_app_error: OnAppError
    clean: Callable[[str], str]
    recorded: bool = False
    quick: bool = False
    _paid: int = field(default=0, init=False)  # trials that were finished at the run's expense

    def __post_init__(self) -> None:
        if not self.known.from_another:
            self._paid = sum(self._is_known(held.trial) for held in self.known.held.values())

    async def run(self, run: RunRecord, workers: int, measured: Callable[[], Mapping[str, Any]]) -> R:
        """Run every trial that a verdict needs, at most `workers` at once, or until the run is stopped.

        Gives the results with the run's record, completed by what `measured` gives at the end; both are kept. What
        ends a run by force is raised, with the results there are.
        """
        has_begun, failure = False, None
        async with self.recorder as recorder:
            with self.stop.line:
                await recorder.begin(run)
                has_begun = True
                failure = await self._work(workers)
            stopped = "" if self.statistician.is_done else self.stop.reason
            run = replace(run, **measured(), stopped=stopped, notes=(*run.notes, *self.conversations.notes))
            result = self.statistician.result(run)
            if has_begun and not isinstance(failure, StoreError):
                unkept = await self._record_end(result)
                failure = failure or unkept
            if failure is not None:
                if isinstance(failure, SimevalError):
                    failure.partial = result
                raise failure
        return result

    async def _record_end(self, result: RunResult) -> StoreError | None:
        """Keep the results, where the run was ended at once not at any cost; give what kept them from being kept."""
        with anyio.move_on_after(END_SECONDS if self.stop.line.cancel_called else None) as limit:
            try:
                await self.recorder.record(result)
            except StoreError as error:
                return error
        if limit.cancelled_caught:
            log.warning("the store did not take the end of the run in time; what it had by then is kept")
            self.recorder.give_up()
        return None

    async def _work(self, workers: int) -> Exception | None:
        """Let the line work; give what ended it by force, if something did."""
        try:
            await self._run_pools(workers)
        except ExceptionGroup as group:
            failure = first_leaf(group)
            self.stop.stop(str(failure))
            return failure
        return None

    async def _run_pools(self, workers: int) -> None:
        total = sum(plan.sample_size for plan in self.plans)
        demand = self.conversations.demand
        credit, credits = anyio.create_memory_object_stream[int](total)
        dealt, trials = anyio.create_memory_object_stream[Trial](0)
        said, held = anyio.create_memory_object_stream[TrialConversation](workers)
        judged, judgements = anyio.create_memory_object_stream[Judgement](workers)
        pool = partial(run_pool, workers=workers)
        deals = partial(deal, self.plans, demand=demand, stop=self.stop, admit=self._admit)
        async with AsyncExitStack() as ends:
            for stream in (credit, credits, dealt, trials, said, held, judged, judgements):
                await ends.enter_async_context(stream)
            async with anyio.create_task_group() as line:
                line.start_soon(partial(deals, credits=credits, outbox=dealt, slots=self.slots))
                line.start_soon(self.judge.prepare)
                line.start_soon(
                    partial(pool, self._hold, inbox=trials, outbox=said, on_error=self._conversation_failure)
                )
                line.start_soon(partial(pool, self._give, inbox=held, outbox=judged, on_error=self._judging_failure))
                await self.statistician.conclude(inbox=judgements, credits=credit)

    def _admit(self, trial: Trial) -> str:
        """Say whether a trial can be paid for; what is known costs nothing."""
        if self._is_known(trial):
            return "go"
        return self.spending.admits(in_flight=self.slots.taken - 1, finished=self._paid)

    def _is_known(self, trial: Trial) -> bool:
        """Return whether all that a trial can come to is known."""
        held = self.known.conversation(trial)
        if held is None:
            return False
        return held.failure is not None or len(self.known.scores_of(trial)) == len(self.plans[trial.scenario].measures)

    async def _hold(self, trial: Trial) -> TrialConversation:
        known = self.known.conversation(trial)
        if known is not None:
            known = await self.conversations.recall(known)
            return await self.recorder.recorded(known) if self.known.from_another else known
        made = await self.conversations.hold(trial)
        await (self.recorder.note(made) if self.recorded else self.recorder.record(made))
        failed = made.failure is not None and made.failure.stage == "app"
        needed = self.conversations.demand.needs(trial.scenario, trial.index)
        if made.failure and failed and needed and self.on_app_error == "stop":
            raise RunStopped(self.plans[trial.scenario].title, trial.index, made.failure.error)
        return made

    async def _give(self, held: TrialConversation) -> Judgement:
        trial = held.trial
        scores = self.known.scores_of(trial) if self.known.conversation(trial) else {}
        made = await self.judge.judge(held, scores)
        if self._is_known(trial) and not self.known.from_another:
            return made
        self._paid += not self._is_known(trial)
        await (self.recorder.note(made) if self.quick else self.recorder.record(made))
        return made

    def _conversation_failure(self, trial: Trial, error: Exception) -> TrialConversation:
        return TrialConversation(
            trial, Conversation(ended="model_error"), failure_of(error, "engine", clean=self.clean)
        )

    def _judging_failure(self, held: TrialConversation, error: Exception) -> Judgement:
        failure: Failure = failure_of(error, "engine", clean=self.clean)
        results = (failure,) * len(self.plans[held.trial.scenario].measures)
        return Judgement(trial=held.trial, conversation=held.conversation, results=results, failure=failure)
