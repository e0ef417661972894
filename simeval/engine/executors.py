"""Executors hold conversations and measure them; schedule, statistics and store stay in one place.

[dispatcher] ─Trial─► [executor: hold] ─TrialConversation─► [executor: judge] ─TrialResult─► [statistician]

LocalExecutor    the actors of this process
RemoteExecutor   ─Assignment─► a worker, which has a LocalExecutor ─Delivery─►
PairedExecutor   each conversation is paired with one of the app that the run is compared with

A place in flight, a trial of a budget and a trial in the store are then a pair, and the statistician, when it takes
one, knows the other app's result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import anyio

from simeval.core.capture import Caught, capture, place_of
from simeval.core.logs import named
from simeval.core.redaction import clean_values
from simeval.core.run_records import Start, Usage
from simeval.core.serialization import plain
from simeval.core.trial import UNNEEDED, Failure, RubricRecord, Score, Trial, TrialConversation, TrialResult, failure_of
from simeval.engine.flow import Demand
from simeval.engine.plans.scenario_plan import Measure, RunPlan
from simeval.errors import SimevalError
from simeval.results.text import speaks_against
from simeval.scorers.base import conversation_columns

NOTHING: Mapping[int, Score] = {}


def cleaned_score(score: Score, clean: Callable[[str], str]) -> Score:
    """Return a score clean of secrets, in the form that a journal gives back."""
    return replace(
        score,
        reasoning=clean(score.reasoning),
        details=clean_values(plain(score.details), clean) if score.details else {},
        ratings=tuple(
            replace(each, judge=clean(each.judge), reasoning=clean(each.reasoning)) for each in score.ratings
        ),
    )


def failure_to_measure(error: Exception, *, clean: Callable[[str], str], name: str = "") -> Failure:
    """Return the failure of a scorer: with its `name` and the place, unless the error has its own remedy."""
    failure = failure_of(error, "scorer", clean=clean)
    if isinstance(error, SimevalError):
        return failure
    return replace(failure, error=f"{f'{name}: ' if name else ''}{failure.error}{place_of(error)}")


def _asks(measure: Measure) -> bool:
    """Return whether a judge makes a measure."""
    return measure.expected_behavior is not None


def _is_unmet(result: Score | Failure, measure: Measure) -> bool:
    return isinstance(result, Score) and speaks_against(result, measure.evaluators)


def is_quick(measures: Mapping[int, Measure]) -> bool:
    """Return whether the one scorer of these measures takes no longer than to start a task for it would."""
    return next(iter(measures.values())).scorer.quick


class Source(Protocol):
    """Where conversations come from: simulated users, a dataset."""

    @property
    def notes(self) -> Sequence[str]:
        """Return notes on its conversations for the run's record at the end."""

    async def hold(self, trial: Trial) -> TrialConversation:
        """Return the conversation of a trial."""

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return a conversation that was held before as `hold` gave it."""


class Executor(Source, Protocol):
    """The source of conversations, and their judge."""

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        """Return a score or a failure for each expectation; `known` are those there are, by their positions."""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Holds and measures in this process. Expectations of one conversation are measured at once, each on its own."""

    source: Source
    plans: Sequence[RunPlan]
    demand: Demand
    clean: Callable[[str], str]

    @property
    def notes(self) -> Sequence[str]:
        return self.source.notes

    async def hold(self, trial: Trial) -> TrialConversation:
        return await self.source.hold(trial)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return await self.source.recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score] = NOTHING) -> TrialResult:
        """Return a score or a failure for each expectation; all fail if the conversation did, or is not needed now.

        If the app gave no answer any more, and that is no evidence about it, requirements found unmet by then stay so.
        `known` are existing scores, by the position of their expectation.
        """
        plan = self.plans[held.trial.scenario].of_trial(held.trial.index)
        results: list[Score | Failure]
        if held.failure is not None and not held.failure.is_no_reply:
            results = [held.failure] * len(plan.measures)
        else:
            results = [known.get(position, UNNEEDED) for position in range(len(plan.measures))]
            unjudged = {place: held.failure for place, each in enumerate(plan.measures) if held.failure and _asks(each)}
            with named(scenario=plan.title, trial=held.trial.index), self.demand.scope(held.trial):
                results = await self._measure_all(plan, held, {**known, **unjudged})
        if held.failure is not None and held.failure.is_no_reply:
            measured = zip(results, plan.measures, strict=True)
            results = [each if _is_unmet(each, measure) else held.failure for each, measure in measured]
        return TrialResult(
            trial=held.trial,
            conversation=held.conversation,
            results=tuple(results),
            failure=held.failure,
            columns=held.columns,
        )

    async def _measure_all(
        self, plan: RunPlan, held: TrialConversation, known: Mapping[int, Score | Failure]
    ) -> list[Score | Failure]:
        conversation = held.conversation
        columns: dict[str, object] = {
            **plan.columns,
            "seed": held.trial.seed,
            **(
                {"conversation": conversation} if all(map(_asks, plan.measures)) else conversation_columns(conversation)
            ),
            **held.columns,
        }
        found: dict[int, Score | Failure] = dict.fromkeys(range(len(plan.measures)), UNNEEDED)
        found.update(known)
        needed: dict[int, dict[int, Measure]] = {}  # each scorer measures once, whatever is taken from that
        for place, measure in enumerate(plan.measures):
            if place not in known and not self.demand.is_settled(plan.position, place):
                needed.setdefault(id(measure.scorer), {})[place] = measure

        async def measure_by(measures: Mapping[int, Measure]) -> None:
            found.update(await self._measure(measures, columns, plan.columns))

        slow = [measures for measures in needed.values() if not is_quick(measures)]
        for measures in needed.values():
            if is_quick(measures) or len(slow) == 1:
                await measure_by(measures)
        if len(slow) > 1:
            async with anyio.create_task_group() as measuring:
                for measures in slow:
                    measuring.start_soon(measure_by, measures)
        return [found[position] for position in range(len(plan.measures))]

    async def _measure(
        self, measures: Mapping[int, Measure], columns: Mapping[str, object], situation: Mapping[str, object]
    ) -> Mapping[int, Score | Failure]:
        """Measure by the one scorer of all these measures, and take each one's value from the result.

        A behaviour is judged in the plan's `situation`, whatever columns an example has.
        """
        first = next(iter(measures.values()))
        own = (
            {**columns, **situation, "expected_behavior": first.expected_behavior}
            if first.expected_behavior
            else columns
        )
        made = await capture(partial(first.scorer.measure, own))
        found: dict[int, Score | Failure] = {}
        for place, measure in measures.items():
            taken = made if isinstance(made, Caught) else await capture(partial(self._take, measure, made))
            if isinstance(taken, Caught):
                found[place] = failure_to_measure(taken.error, clean=self.clean, name=first.scorer.name)
            else:
                found[place] = taken
        return found

    async def _take(self, measure: Measure, measured: object) -> Score:
        return cleaned_score(measure.take(measured), self.clean)


@dataclass(frozen=True, slots=True)
class ByApp:
    """An executor with one for each app; each has so many `scenarios`, side by side."""

    executors: Sequence[LocalExecutor]
    scenarios: int

    @property
    def notes(self) -> Sequence[str]:
        return [*dict.fromkeys(note for each in self.executors for note in each.notes)]

    async def hold(self, trial: Trial) -> TrialConversation:
        return await self._of(trial).hold(trial)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return await self._of(held.trial).recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        return await self._of(held.trial).judge(held, known)

    def _of(self, trial: Trial) -> LocalExecutor:
        return self.executors[trial.scenario // self.scenarios]


class Beside(Protocol):
    """The other side of each trial; it keeps its results to itself."""

    @property
    def notes(self) -> Sequence[str]:
        """Return its notes for the run's record."""

    async def hold(self, trial: Trial) -> None:
        """Hold the conversation of a trial with the other app, unless it exists."""

    async def judge(self, trial: Trial) -> None:
        """Measure it, and pass the result on."""


@dataclass(frozen=True, slots=True)
class PairedExecutor:
    """An executor whose trials have another app's beside them, which comes first."""

    executor: Executor
    other: Beside

    @property
    def notes(self) -> Sequence[str]:
        return [*self.executor.notes, *self.other.notes]

    async def hold(self, trial: Trial) -> TrialConversation:
        await self.other.hold(trial)
        return await self.executor.hold(trial)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        if held.failure is None or not held.failure.is_cut:  # of a trial that the run was cut off in both are missing
            await self.other.hold(held.trial)
        return await self.executor.recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        await self.other.judge(held.trial)
        return await self.executor.judge(held, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One trial for a worker.

    A conversation that was `held` before is only measured, one that was `begun` continues. Expectations in the places
    of `settled` need no more scores, of any trial; those of `known` have theirs of this one. `rubrics` are those of its
    scenario that a model wrote, by their keys.
    """

    trial: Trial
    held: TrialConversation | None = None
    begun: Start | None = None
    settled: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    rubrics: Mapping[str, RubricRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The result of an assignment. `judgement` is missing only if a model is unusable.

    `usage` is its worker's usage since its last delivery. `unusable` reports a model to which no call can succeed (its
    name, the kind of error, the problem): that ends the run, as it does in one process.
    """

    judgement: TrialResult | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    unusable: tuple[str, Any, str] | None = None


class TrialLost(Exception):
    """A worker is gone with a trial under way."""


class Workers(Protocol):
    """The workers of a run in other places."""

    async def do(self, assignment: Assignment) -> Delivery:
        """Have a trial held and measured, once. Raises TrialLost where its worker is lost."""
