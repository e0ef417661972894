"""Ray actors: the workers of one run, and the one place that all take their calls from. Neither keeps results.

A worker holds the conversations of single trials, and measures them, for a run that another process conducts. Buckets
of requests and tokens are pure state with the time as argument. They fill up by the second and hold one second's worth.
Each call takes a request. It is let in while there are any tokens, is charged the average use of calls, and later the
difference to its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil, floor
from time import monotonic
from typing import Any, Self

import anyio

from simeval.core.app_handler import ExampleHandler
from simeval.core.capture import Caught, capture
from simeval.core.conversation import Conversation
from simeval.core.run_records import ResumableRun, Start, TrialKey, Usage
from simeval.core.settings import Settings
from simeval.core.trial import UNNEEDED, Score, TrialConversation, TrialResult, failure_of
from simeval.engine.executors import Assignment, Delivery, Executor
from simeval.engine.flow import Demand, StopSignal
from simeval.engine.plans.definition_changes import changes
from simeval.engine.plans.resume import MOST_CHANGES
from simeval.engine.run_context import EngineResources, RemoteWorkers, RunContext
from simeval.engine.simulation import Simulation
from simeval.errors import DefinitionError, ModelUnusable
from simeval.models.protocol.model import Model
from simeval.results.guarantee import doubt_of, earlier_of, with_history
from simeval.suites.scenario import ScenarioTest

KNOWN = Score.of(0.0)  # in the place of a score that the run has, so that it is not measured again


@dataclass(slots=True, kw_only=True)
class TrialWorker:
    """Does single trials of one run, any number at once. Used as a context, which is left when the run is over."""

    context: RunContext
    simulation: Simulation
    demand: Demand
    _executor: Executor = field(init=False)
    _begun: dict[TrialKey, Start] = field(default_factory=dict, init=False)
    _told: dict[str, Usage] = field(default_factory=dict, init=False)
    _ends: ExitStack = field(default_factory=ExitStack, init=False)

    @classmethod
    def of(
        cls,
        shared: EngineResources,
        suite: Sequence[ScenarioTest],
        app_handler: ExampleHandler,
        *,
        run_id: str,
        seed: int,
        definition: Mapping[str, Any],
    ) -> Self:
        """Make ready for a run. Raises DefinitionError where its results would depend on something else here."""
        settings = replace(shared.settings, seed=seed, shard=None, resume=None, cache=False, store=None)
        past = ResumableRun(run_id=run_id, seed=seed, started=datetime.now(UTC), definition=definition)
        context = RunContext(replace(shared, settings=settings, rubric_folder=None), None, StopSignal(), past)
        simulation = Simulation.of(context, suite, app_handler)
        part = simulation.part_in(definition)
        own = context.define(simulation.plans, simulation.target.name, user=shared.user.name, part=part)
        own = with_history(
            own, earlier_of(definition), doubt_of(definition)
        )  # of the run's store, which workers do not have
        simulation = simulation.only(part)
        differences = changes(definition, own)
        if differences:
            said = "; ".join(differences[:MOST_CHANGES])
            do = "run it with the suite and the options that the actors have"
            raise DefinitionError(f"run {run_id}", found=said, do=do)
        plans = simulation.plans
        demand = Demand(
            len(plans), largest=sum(plan.sample_size for plan in plans), shared=anyio.Semaphore(settings.concurrency)
        )
        return cls(context=context, simulation=simulation, demand=demand)

    def __post_init__(self) -> None:
        for plan in self.simulation.plans:
            self.demand.grant(plan.position, plan.sample_size)
        self._executor = self.simulation.executor(self.demand, self._begun)

    def __enter__(self) -> Self:
        self._ends.enter_context(self.demand)
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    async def do(self, assignment: Assignment) -> Delivery:
        """Hold the conversation of a trial, if it is not held already, and measure it."""
        trial = assignment.trial
        if assignment.begun is not None:
            self._begun[trial.scenario, trial.index] = assignment.begun
        self.context.known_rubrics.update(assignment.rubrics)
        for place in assignment.settled:
            self.demand.settle(trial.scenario, place)
        try:
            judgement = await self._done(assignment)
        except ModelUnusable as error:
            unusable = (error.model, error.kind, self.context.clean(error.problem))
            return Delivery(unusable=unusable, usage=self._used())
        return Delivery(judgement=judgement, usage=self._used())

    async def _done(self, assignment: Assignment) -> TrialResult:
        """Return the result of a trial, without the columns, which the run has."""
        trial, clean = assignment.trial, self.context.clean
        held = assignment.held
        if held is None:
            made = await capture(partial(self._executor.hold, trial))
            failed = Conversation(ended="model_error")
            held = (
                TrialConversation(trial, failed, failure_of(made.error, "engine", clean=clean))
                if isinstance(made, Caught)
                else made
            )
        known = dict.fromkeys(assignment.known, KNOWN)
        measured = await capture(partial(self._executor.judge, held, known))
        if isinstance(measured, Caught):
            failure = failure_of(measured.error, "engine", clean=clean)
            results: Any = (failure,) * len(self.simulation.plans[trial.scenario].measures)
        else:
            results = tuple(UNNEEDED if place in known else each for place, each in enumerate(measured.results))
        return TrialResult(trial=trial, conversation=held.conversation, results=results, failure=held.failure)

    def _used(self) -> Mapping[str, Usage]:
        """Return the usage since the last call."""
        now = {role: replace(used) for role, used in self.context.meter.ledger.by_role().items()}
        before, self._told = self._told, now
        return {role: _less(used, before.get(role, Usage())) for role, used in now.items()}


def _less(usage: Usage, before: Usage) -> Usage:
    """Return the usage after another."""
    earlier = asdict(before)
    found = {name: value and value - (earlier[name] or 0) for name, value in asdict(usage).items()}
    return Usage(**found)


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many there are a minute, None for any number, and how many there are now."""

    per_minute: float | None
    level: float

    def after(self, seconds: float) -> "Bucket":
        """Return it as it is so much later."""
        if self.per_minute is None:
            return self
        per_second = self.per_minute / 60
        return Bucket(self.per_minute, min(max(1.0, per_second), self.level + seconds * per_second))

    def taken(self, count: float) -> "Bucket":
        """Return it with so many less."""
        return self if self.per_minute is None else Bucket(self.per_minute, self.level - count)

    def seconds_until(self, level: float) -> float:
        """Return how long it takes until it has so many."""
        return 0.0 if self.per_minute is None else max(0.0, (level - self.level) * 60 / self.per_minute)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The requests and the tokens of one model."""

    requests: Bucket
    tokens: Bucket

    def take(self, wanted: int, *, tokens_each: float, correction: float, after: float) -> tuple[int, float, "Buckets"]:
        """Take up to so many calls, some seconds after they were last looked at.

        Returns how many are granted; if none is, after how many seconds to ask again; and the buckets afterwards.
        `correction` is by how much earlier calls used more tokens than they were charged.
        """
        requests, tokens = self.requests.after(after), self.tokens.taken(correction).after(after)
        granted = wanted
        if requests.per_minute is not None:
            granted = min(granted, floor(requests.level))
        if tokens.per_minute is not None:
            granted = min(granted, ceil(max(0.0, tokens.level) / tokens_each))
        wait = 0.0 if granted else max(requests.seconds_until(1.0), tokens.seconds_until(1.0))
        return granted, wait, Buckets(requests.taken(granted), tokens.taken(granted * tokens_each))


@dataclass(frozen=True, slots=True, kw_only=True)
class RayTask:
    """All that an actor needs to work for a run."""

    run_id: str
    seed: int
    definition: Mapping[str, Any]
    suite: Sequence[ScenarioTest]
    app_handler: ExampleHandler
    judges: Sequence[str | Model]
    user: str | Model
    settings: Settings


class TrialActor:
    """A worker as an async actor: any number of calls at once, each of which is one trial."""

    def __init__(self, task: RayTask, elsewhere: RemoteWorkers) -> None:
        self._task, self._elsewhere = task, elsewhere
        self._worker: TrialWorker | None = None

    async def ready(self) -> str:
        """Prepare; return the reason if that is impossible."""
        task = self._task
        try:
            shared = EngineResources.of(task.judges, task.user, task.settings, self._elsewhere)
            self._worker = TrialWorker.of(
                shared,
                task.suite,
                task.app_handler,
                run_id=task.run_id,
                seed=task.seed,
                definition=task.definition,
            )
            await shared.models.check()
        except DefinitionError as error:
            return str(error)
        shared.models.open()
        return ""

    async def do(self, assignment: Assignment) -> Delivery:
        """Hold the conversation of a trial, and measure it."""
        assert self._worker is not None
        return await self._worker.do(assignment)


@dataclass(slots=True)
class LimitsActor:
    """The limits of models, which all actors of a run take from."""

    requests_per_minute: float | None
    tokens_per_minute: float | None
    _there: dict[str, tuple[Buckets, float]] = field(default_factory=dict)

    def take(self, account: str, wanted: int, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; return how many are granted and, if none is, after how many seconds to ask again."""
        now = monotonic()
        first = Buckets(Bucket(self.requests_per_minute, 1.0), Bucket(self.tokens_per_minute, 1.0))
        buckets, then = self._there.get(account, (first, now))
        granted, wait, left = buckets.take(wanted, tokens_each=tokens_each, correction=correction, after=now - then)
        self._there[account] = left, now
        return granted, wait
