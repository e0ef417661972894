"""The line of pools of one run, and its four ways back.

    [dispatcher] ─Trial─► [conversations × N] ─TrialConversation─► [judge × M] ─TrialResult─► [statistician] ─► results
      ▲ ▲ ▲ ▲                 ▲            └──────► [recorder] ◄─────┘     ▲                 or [tabulator]
      │ │ │ └── demand ───────┴────────────────────────────────────────────┴──────────────────────────┤
      │ │ └── credits ────────────────────────────────────────────────────────────────────────────────┤
      │ └── slots ────────────────────────────────────────────────────────────────────────────────────┘
      └──────── stop ◄─ the caller, a budget, an error that ends the run

Beside it is the [preparer], which tells the statistician when a scenario's rubrics exist: its trials are dealt from
then on, or never, if it cannot be judged.

- demand: which trials and scores are still needed; work that is not is ended in place.
- credits: the right to have one more trial of a scenario dealt. Their channel holds all there can be, the others are
  bounded, so blocking sends cannot deadlock; when they are closed, the line ends in order.
- slots: the places in flight that this run has taken of those all runs share.
- stop: no more trials, or an end at once.

The actors are in engine/actors, but [conversations], which have pairs of simulator and app, are in engine/simulation;
they and the judges belong to an executor (engine/executors), in this process or elsewhere. Demand, credits and slots
have one owner, Demand in engine/flow, where stop is too; the budget and resuming are in engine/plans.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.capture import Caught, capture, first_leaf
from simeval.core.conversation import Conversation
from simeval.core.logs import log
from simeval.core.run_records import Cut, Prepared, Start
from simeval.core.setting_field import OnAppError
from simeval.core.trial import Failure, Preparation, Trial, TrialConversation, TrialResult, failure_of
from simeval.engine.actors.targets import Target
from simeval.engine.executors import Executor
from simeval.engine.flow import Demand, Recorder, Standing, StopSignal, run_pool
from simeval.engine.plans.cost_forecast import Admission, Spending
from simeval.engine.plans.resume import RestoredTrials, ShardPlan
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.errors import ModelUnusable, RunStopped, SimevalError, StoreError
from simeval.results.suite import RunRecord
from simeval.scorers.base import Scorer
from simeval.store.journal import RunResult

if TYPE_CHECKING:
    from simeval.engine.plans.cost_forecast import CostForecast
    from simeval.engine.plans.dataset_plan import ExperimentForecast

Wanted = Sequence[tuple[RunPlan, Scorer, Sequence[int]]]  # scorers that prepare, each with the places of its measures

END_SECONDS = 1.0  # how long the end of a run may take to be kept when it is ended at once


R = TypeVar("R", bound=RunResult, covariant=True)


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


async def prepare(
    plans: Sequence[RunPlan], demand: Demand, *, at_once: int, outbox: MemoryObjectSendStream[Prepared]
) -> None:
    """Prepare scenarios side by side. A scenario waits for its own scorers only, and one without any for nothing.

    It reports when each scenario is ready, and the preparation of each expectation, as soon as it is known.
    Preparations of a scenario end when it is closed. An error of a scorer is recorded with the score; but a model that
    cannot be used at all ends the run before anything is paid for.
    """
    wanted = {plan.position: _wanted(plan) for plan in plans}
    free = anyio.Semaphore(at_once)
    async with outbox, anyio.create_task_group() as preparing:
        for plan in plans:
            if not wanted[plan.position]:
                await outbox.send(Prepared(scenario=plan.position, is_ready=True))
        for plan in plans:
            if wanted[plan.position]:
                await free.acquire()
                preparing.start_soon(_prepare, plan, demand, wanted[plan.position], free, outbox)


async def _prepare(
    plan: RunPlan, demand: Demand, wanted: Wanted, free: anyio.Semaphore, outbox: MemoryObjectSendStream[Prepared]
) -> None:
    try:
        with demand.preparing(plan.position):
            async with anyio.create_task_group() as scorers:
                for of_case, scorer, places in wanted:
                    scorers.start_soon(_prepare_one, of_case, scorer, places, outbox)
            await outbox.send(Prepared(scenario=plan.position, is_ready=True))
    finally:
        free.release()


async def _prepare_one(
    plan: RunPlan, scorer: Scorer, places: Sequence[int], outbox: MemoryObjectSendStream[Prepared]
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


class Conclusion(Protocol[R]):
    """Makes a result of judgements."""

    async def conclude(self, *, inbox: MemoryObjectReceiveStream[TrialResult | Prepared]) -> None:
        """Say which trials are needed once a scenario is prepared, and take every judgement.

        Credits are closed when no more is needed.
        """

    @property
    def is_done(self) -> bool:
        """Whether all that was to be concluded is."""

    def standings(self, run: RunRecord) -> Sequence[Standing]:
        """Return the status of each scenario."""

    def result(self, run: RunRecord, *, unusable: str = "") -> R:
        """Return the results by now; `unusable` names the model that ended the run because it cannot be used."""


Forecast: TypeAlias = "CostForecast | ExperimentForecast"


OpenExecutor = Callable[  # of the run, the demand on it, and the known results
    [RunRecord, Demand, RestoredTrials], AbstractAsyncContextManager[Executor]
]


RECORDED = "what was recorded"  # the name of the app if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(Generic[R]):
    """The specification of a run: the source of its conversations, its conclusions, and their cost.

    Without a `target` the answers are the recorded ones. `roles` are those that models play besides the app, each with
    its model's name; `fields` are further ones of the run's record. `part` is the shard of a suite that the plans are.
    `kind`, `summary`, `preview` and `requirements`, each with a description of a pass, are for the log. If `quick`,
    scores cost nothing and are counted before they are stored. `ranks` order the trials; `warnings` are added to those
    of the plans.
    """

    kind: str
    summary: Mapping[str, Any]
    plans: Sequence[RunPlan]
    ranks: Sequence[int]
    target: Target | None
    roles: Sequence[tuple[str, str]]
    forecast: Callable[..., Forecast]  # of `canaries`
    executor: OpenExecutor
    conclusion: Callable[..., Conclusion[R]]  # of `demand`, `on_trial` and `known`
    preview: Callable[[Any], str] = str  # of the forecast
    requirements: Mapping[tuple[str, str], int] = field(default_factory=dict)
    user: str = ""
    part: ShardPlan | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    warnings: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class Pipeline(Generic[R]):
    """The actors of one run, joined by channels.

    `ranks` order the trials. `recorded` conversations, and `quick` scores, need not be safe before they are counted:
    nothing was paid for them. For all others it is safe that they have begun before their app is asked, so that it is
    known later which were in progress. `before_trials` gives further notes for the run's record; no trial is dealt
    before, and an end or a stop ends it, too.
    """

    plans: Sequence[RunPlan]
    demand: Demand
    executor: Executor
    statistician: Conclusion[R]
    recorder: Recorder
    stop: StopSignal
    spending: Spending
    known: RestoredTrials
    on_app_error: OnAppError
    clean: Callable[[str], str]
    before_trials: Callable[[], Awaitable[Sequence[str]]]
    ranks: Sequence[int]
    recorded: bool = False
    quick: bool = False
    _paid: int = field(default=0, init=False)  # trials that were finished at the run's expense
    _noted: Sequence[str] = field(default=(), init=False)  # before trials
    _reached: set[int] = field(default_factory=set, init=False)  # scenarios whose new cut has been dealt

    def __post_init__(self) -> None:
        if not self.known.from_another:
            self._paid = sum(self._is_known(held.trial) for held in self.known.held.values())

    async def run(self, run: RunRecord, workers: int, measured: Callable[[], Mapping[str, Any]]) -> R:
        """Run every trial that a verdict needs, at most `workers` at once, or until the run is stopped.

        Returns the results with the run's record, completed by `measured` at the end; both are stored. Errors that end
        the run by force are raised, with the results so far.
        """
        has_begun, failure = False, None
        async with self.recorder as recorder:
            with self.stop.line:
                await recorder.begin(run)
                has_begun = True
                failure = await self._work(workers)
            stopped = "" if self.statistician.is_done else self.stop.reason
            notes = (*run.notes, *self._noted, *self.executor.notes, *self.known.cut_note(self._reached))
            run = replace(run, **measured(), stopped=stopped, notes=notes)
            unusable = str(failure) if isinstance(failure, ModelUnusable) else ""
            conclude = partial(self.statistician.result, run, unusable=unusable)
            own = anyio.CapacityLimiter(1)  # others' threads may hang
            with anyio.CancelScope(shield=True):  # results are stored, even if the run is ended now
                result = await anyio.to_thread.run_sync(conclude, limiter=own)  # of many trials it takes seconds
            if has_begun and not isinstance(failure, StoreError):
                unkept = await self._record_end(result)
                failure = failure or unkept
            if failure is not None:
                if isinstance(failure, SimevalError):
                    failure.partial = result
                raise failure
        return result

    async def _record_end(self, result: RunResult) -> StoreError | None:
        """Store the results, with a time limit if the run was ended at once; return the error that prevented it."""
        with anyio.move_on_after(END_SECONDS if self.stop.line.cancel_called else None) as limit:
            try:
                await self.recorder.record(result, is_last=True)
            except StoreError as error:
                return error
        if limit.cancelled_caught:
            log.warning("the store did not take the end of the run in time; what it had by then is kept")
            self.recorder.give_up()
        return None

    async def _work(self, workers: int) -> Exception | None:
        """Let the line work; return the error that ended it by force, if any."""
        try:
            await self._run_pools(workers)
        except ExceptionGroup as group:
            failure = first_leaf(group)
            self.stop.stop(str(failure))
            return failure
        return None

    async def _run_pools(self, workers: int) -> None:
        dealt, trials = anyio.create_memory_object_stream[Trial](0)
        said, held = anyio.create_memory_object_stream[TrialConversation](workers)
        judged, judgements = anyio.create_memory_object_stream[TrialResult | Prepared](workers)
        pool = partial(run_pool, workers=workers)
        deals = partial(deal, demand=self.demand, stop=self.stop, trial_of=self._trial, admit=self._admit)
        deals = partial(deals, self.plans, outbox=dealt, on_deal=self._keep_cut, ranks=self.ranks)
        async with AsyncExitStack() as ends:
            for stream in (dealt, trials, said, held, judged, judgements):
                await ends.enter_async_context(stream)
            prepared = await ends.enter_async_context(judged.clone())
            async with anyio.create_task_group() as line:
                line.start_soon(self._begin_trials, deals, dealt, prepared, workers)
                line.start_soon(
                    partial(pool, self._hold, inbox=trials, outbox=said, on_error=self._conversation_failure)
                )
                line.start_soon(partial(pool, self._give, inbox=held, outbox=judged, on_error=self._judging_failure))
                await self.statistician.conclude(inbox=judgements)

    async def _begin_trials(
        self,
        deals: Callable[[], Coroutine[Any, Any, None]],
        dealt: MemoryObjectSendStream[Trial],
        prepared: MemoryObjectSendStream[Prepared],
        workers: int,
    ) -> None:
        """Prepare scenarios and deal their trials, until the run is stopped."""
        preparing = partial(prepare, self.plans, self.demand, at_once=workers, outbox=prepared)
        async with dealt, prepared:
            with self.stop.dealing:
                self._noted = await self.before_trials()
                async with anyio.create_task_group() as beginning:
                    beginning.start_soon(preparing)
                    beginning.start_soon(deals)

    def _trial(self, position: int, index: int) -> Trial:
        return self.plans[position].trial(index, self.known.times_dealt(position, index))

    async def _keep_cut(self, trial: Trial) -> None:
        """Keep that the run was cut off in a trial, before any that is dealt after it can begin."""
        if self.known.is_new_cut(trial):
            self._reached.add(trial.scenario)
            await self.recorder.note(Cut(trial))

    def _admit(self, trial: Trial) -> str:
        """Return whether a trial can be paid for; a known one costs nothing."""
        if self._is_known(trial):
            return "go"
        return self.spending.admits(in_flight=self.demand.slots.taken - 1, finished=self._paid)

    def _is_known(self, trial: Trial) -> bool:
        return self.known.is_whole(trial, len(self.plans[trial.scenario].measures))

    async def _hold(self, trial: Trial) -> TrialConversation:
        known = self.known.conversation(trial)
        if known is not None:
            known = await self.executor.recall(known)
            return await self.recorder.recorded(known) if self.known.from_another else known
        self.stop.under_way.begin(trial)
        await self._begin(trial)
        made = await self.executor.hold(trial)
        # Elsewhere its judgement, which is stored after it, is waited for; what was recorded can be read again.
        waits = self.quick and not self.recorded
        await (self.recorder.record(made) if waits else self.recorder.note(made))
        needed = self.demand.needs(trial.scenario, trial.index)
        if made.failure and made.has_app_failed and needed and self.on_app_error == "stop":
            raise RunStopped(self.plans[trial.scenario].title, trial.index, made.failure.error)
        return made

    async def _begin(self, trial: Trial) -> None:
        """Record that a trial begins, before its app is asked; one that continues has begun before."""
        begun = self.known.begun.get((trial.scenario, trial.index))
        if self.recorded or (begun is not None and not self.known.from_another):
            return
        start = Start(trial) if begun is None else replace(begun, trial=trial)
        self.demand.begin(trial, await self.recorder.note(start))

    async def _give(self, held: TrialConversation) -> TrialResult:
        trial = held.trial
        scores = self.known.scores_of(trial) if self.known.conversation(trial) else {}
        try:
            made = await self.executor.judge(held, scores)
            if self.known.from_another or not self._is_known(trial):
                self._paid += not self._is_known(trial)
                await (self.recorder.note(made) if self.quick else self.recorder.record(made))
        finally:
            self.stop.under_way.end(trial)
        return made

    def _conversation_failure(self, trial: Trial, error: Exception) -> TrialConversation:
        return TrialConversation(
            trial, Conversation(ended="model_error"), failure_of(error, "engine", clean=self.clean)
        )

    def _judging_failure(self, held: TrialConversation, error: Exception) -> TrialResult:
        failure: Failure = failure_of(error, "engine", clean=self.clean)
        results = (failure,) * len(self.plans[held.trial.scenario].measures)
        return TrialResult(trial=held.trial, conversation=held.conversation, results=results, failure=failure)
