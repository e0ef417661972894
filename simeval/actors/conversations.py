"""Conversations: what the workers of the first pool do. One worker owns a trial from its start to its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from simeval.actors.dialogue import Dialogue
from simeval.actors.plan import ScenarioPlan
from simeval.actors.simulator import Simulator
from simeval.actors.wanted import Wanted
from simeval.conversation import Transcript
from simeval.models.retries import Caller
from simeval.outcome import Held, Trial
from simeval.scenario import ScenarioTest
from simeval.settings import WritingStyleConfig


@dataclass(frozen=True, slots=True)
class Conversations:
    """Holds the conversations of trials with simulated users.

    `scenarios` are those of the plans as they were written, where plans hold them clean of secrets: what a user is
    to know and to try, the simulator must be told.
    """

    plans: Sequence[ScenarioPlan]
    caller: Caller
    dialogue: Dialogue
    writing_style: WritingStyleConfig
    scenarios: Sequence[ScenarioTest] = ()

    @property
    def wanted(self) -> Wanted:
        """Which trials can still be needed."""
        return self.dialogue.wanted

    async def hold(self, trial: Trial) -> Held:
        """Hold the conversation of a trial."""
        plan = self.plans[trial.scenario]
        scenario = self.scenarios[trial.scenario] if self.scenarios else plan.scenario
        style = self.writing_style.draw(trial.seed)
        return await self.dialogue.hold(
            trial,
            Simulator(self.caller, scenario, style, trial.seed),
            Transcript(),
            title=plan.title,
            state=self.dialogue.app.first_state(trial.seed),
            writing_style=style,
        )

    async def recall(self, held: Held) -> Held:
        """Give a conversation that was held before as `hold` gave it."""
        return held
