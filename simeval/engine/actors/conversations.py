"""Conversations: what the workers of the first pool do. One worker owns a trial from its start to its end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simeval.core.conversation import Beginning
from simeval.core.run_records import Start, TrialKey
from simeval.core.trial import Trial, TrialConversation
from simeval.core.writing_style import WritingStyleConfig
from simeval.engine.actors.app import Memory
from simeval.engine.actors.bookmark import Bookmark
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.recorder import Recorder
from simeval.engine.actors.simulator import Simulator
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.suites.scenario import ScenarioTest


@dataclass(frozen=True, slots=True)
class Conversations:
    """Holds the conversations of trials with simulated users.

    `scenarios` are those of the plans as they were written, where plans hold them clean of secrets: what a user is
    to know and to try, the simulator must be told. Those in `begun` go on where they were.
    """

    plans: Sequence[ScenarioPlan]
    caller: Caller
    dialogue: Dialogue
    writing_style: WritingStyleConfig
    scenarios: Sequence[ScenarioTest]
    recorder: Recorder
    begun: Mapping[TrialKey, Start]
    prompt: Prompt

    @property
    def notes(self) -> Sequence[str]:
        return ()

    async def hold(self, trial: Trial) -> TrialConversation:
        """Hold the conversation of a trial."""
        app, style = self.dialogue.app, self.writing_style.draw(trial.seed)
        memory, beginning = Memory(app.first_state(trial.seed)), Beginning()
        begun = self.begun.get((trial.scenario, trial.index))
        if begun is not None and begun.messages is not None:
            answered = sum(message.role == "assistant" for message in begun.messages)
            memory, beginning = Memory(json.loads(begun.state)), Beginning(begun.messages, turns=answered)
        bookmark = Bookmark(trial, self.recorder, self.dialogue.clean, hides=app.handler.hides, memory=memory)
        bookmark.is_in = beginning.turns > 0
        scenario = self.scenarios[trial.scenario]
        return await self.dialogue.hold(
            trial,
            Simulator(self.caller, scenario, style, trial.seed, beginning, bookmark, self.prompt),
            title=self.plans[trial.scenario].title,
            memory=memory,
            beginning=beginning,
            writing_style=style,
        )

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return a conversation that was held before as `hold` gave it."""
        return held
