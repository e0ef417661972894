"""The executor: holds conversations and measures them; schedule, statistics and store stay in one place.

[dispatcher] ─Trial─► [executor: hold] ─TrialConversation─► [executor: judge] ─Judgement─► [statistician]

LocalExecutor    the actors of this process
RemoteExecutor   ─Assignment─► a worker, which has a LocalExecutor ─Delivery─►
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from simeval.core.trial import Judgement, Score, Trial, TrialConversation
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
