"""Trials of two apps at once: each conversation of a run has another beside it, of the app that it is held against.

[dispatcher] ─Trial─► [the other, then this: hold] ─► [the other, then this: judge] ─Judgement of this─► [statistician]

So a place in flight, a trial of a budget and a trial in the store are a pair, and the statistician, when it takes one,
knows what the other app came to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from simeval.core.trial import Judgement, Score, Trial, TrialConversation
from simeval.engine.executors.executor import Executor


class Beside(Protocol):
    """The other side of each trial; what becomes of it it keeps to itself."""

    @property
    def notes(self) -> Sequence[str]:
        """What the run's record is to say of it."""

    async def hold(self, trial: Trial) -> None:
        """Have the conversation of a trial with the other app, where it is not there."""

    async def judge(self, trial: Trial) -> None:
        """Measure it, and tell whoever concludes."""


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
