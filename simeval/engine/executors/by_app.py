"""Several apps in one run: each scenario is put to each; the place of a trial's scenario identifies its app."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simeval.core.trial import Judgement, Score, Trial, TrialConversation
from simeval.engine.executors.executor import LocalExecutor


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
