"""Trials of two apps at once: each conversation of a run is paired with one of the app it is compared with.

[dispatcher] ─Trial─► [the other, then this: hold] ─► [the other, then this: judge] ─Judgement of this─► [statistician]

So a place in flight, a trial of a budget and a trial in the store are a pair, and the statistician, when it takes one,
knows the other app's result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from simeval.core.trial import Judgement, Score, Trial, TrialConversation
from simeval.engine.executors.executor import Executor


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
