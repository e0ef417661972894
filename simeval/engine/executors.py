"""The executor: holds conversations and measures them; schedule, statistics and store stay in one place.

[dispatcher] ─Trial─► [executor: hold] ─TrialConversation─► [executor: judge] ─Judgement─► [statistician]

LocalExecutor    the actors of this process
RemoteExecutor   ─Assignment─► a worker, which has a LocalExecutor ─Delivery─►

Trials of two apps at once: each conversation of a run is paired with one of the app it is compared with.

[dispatcher] ─Trial─► [the other, then this: hold] ─► [the other, then this: judge] ─Judgement of this─► [statistician]

So a place in flight, a trial of a budget and a trial in the store are a pair, and the statistician, when it takes one,
knows the other app's result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from simeval.core.run_records import RubricRecord, Start
from simeval.core.trial import Judgement, Score, Trial, TrialConversation
from simeval.core.usage import Usage
from simeval.engine.actors.judge import Judge


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

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> Judgement:
        """Return a score or a failure for each expectation; `known` are those there are, by their positions."""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """Holds and measures in this process."""

    source: Source
    judging: Judge

    @property
    def notes(self) -> Sequence[str]:
        return self.source.notes

    async def hold(self, trial: Trial) -> TrialConversation:
        return await self.source.hold(trial)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return await self.source.recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> Judgement:
        return await self.judging.judge(held, known)


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

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> Judgement:
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

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> Judgement:
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

    judgement: Judgement | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    unusable: tuple[str, Any, str] | None = None


class TrialLost(Exception):
    """A worker is gone with a trial under way."""


class Workers(Protocol):
    """The workers of a run in other places."""

    async def do(self, assignment: Assignment) -> Delivery:
        """Have a trial held and measured, once. Raises TrialLost where its worker is lost."""
