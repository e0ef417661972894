"""Conversations: what the workers of the first pool do. One worker owns a trial from its start to its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from simeval.core.conversation import Transcript
from simeval.core.settings import WritingStyleConfig
from simeval.core.trial import Trial, TrialConversation
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.simulator import Simulator
from simeval.engine.flow.demand import Demand
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.models.caller import Caller
from simeval.suites.scenario import ScenarioTest


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
    def demand(self) -> Demand:
        """Which trials can still be needed."""
        return self.dialogue.demand

    @property
    def notes(self) -> Sequence[str]:
        return ()

    async def hold(self, trial: Trial) -> TrialConversation:
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

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return a conversation that was held before as `hold` gave it."""
        return held
