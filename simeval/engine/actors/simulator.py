"""The simulated user: it writes messages and reads the app's answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter

from simeval.core.conversation import HELD_ANEW, Beginning, Ending, Message
from simeval.core.setting_choices import UserFormat
from simeval.engine.actors.bookmark import Bookmark
from simeval.engine.actors.dialogue import Exchange
from simeval.engine.users.hands import Hands
from simeval.engine.users.state import Progress, UserState, decide, draw_patience, read_state
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import UserTurn
from simeval.suites.scenario import ScenarioTest


@dataclass(frozen=True, slots=True)
class Simulator:
    """Plays the user of one trial: its state decides when it may leave, the model words its messages.

    `held_anew` are the faults of the trial's earlier conversations that were given up. With `hands` it does as the app
    asks.
    """

    caller: Caller
    scenario: ScenarioTest
    writing_style: Mapping[str, str] | None
    seed: int
    format: UserFormat
    held_anew: Sequence[str]
    beginning: Beginning
    bookmark: Bookmark
    prompt: Prompt
    hands: Hands | None = None

    async def run(self, exchange: Exchange) -> Ending:
        """Talk until the user leaves or `max_turns` messages are written; return how it ended.

        Earlier messages count. The user leaves after reading an answer, with a last message or without one. The app
        answers every message, the last one too. Raises ModelError, and the errors of `exchange`.
        """
        said = list(self.beginning.messages)
        return await self.talk(exchange, said, turns=self.scenario.max_turns - self.beginning.turns)

    async def talk(self, exchange: Exchange, said: list[Message], *, turns: int) -> Ending:
        """Talk on after the messages in `said`, and add to them, for at most so many turns; otherwise as `run`."""
        patience, progress = draw_patience(self.seed), Progress()
        for _ in range(turns):
            scenario = self.hands.informed(self.scenario) if self.hands else self.scenario
            state = read_state(scenario, said, patience=patience, progress=progress)
            if state.has_had_enough:
                return "gave_up"
            message, ending = await self._write(scenario, state, tuple(said))
            if ending and not message.content:
                return ending
            await self.bookmark.take_out()
            said += await self.exchanged(message, exchange)
            if ending:
                return ending
            await self.bookmark.put_in(said)
        return "turn_limit"

    async def exchanged(
        self, message: Message, exchange: Exchange, given: Message | None = None
    ) -> tuple[Message, Message]:
        """Send a message, with the user's actions before it, hear the answer, and do the actions it asks for."""
        if self.hands:
            message = replace(message, tool_calls=self.hands.taken())
        answer = await exchange(message, given)
        if self.hands:
            await self.hands.follow(answer.content)
        return message, answer

    async def _write(
        self, scenario: ScenarioTest, state: UserState, history: tuple[Message, ...]
    ) -> tuple[Message, Ending | None]:
        started, clock = datetime.now(UTC), perf_counter()
        request = UserTurn(
            given=scenario.given,
            when=scenario.when,
            writing_style=self.writing_style,
            history=history,
            seed=self.seed,
            is_held=state.is_held,
            untold=state.untold,
            format=self.format,
            prompt=self.prompt,
        )
        answers = [each.content for each in history if each.role == "assistant" and "{" in each.content]
        reply = await self.caller.ask(request, request.reads, quoted_texts=answers)
        seconds = perf_counter() - clock
        message, ending = decide(state, reply, history)
        metadata = {HELD_ANEW: list(self.held_anew)} if self.held_anew and not history else message.metadata
        said = message.content
        return Message(role="user", content=said, started=started, seconds=seconds, metadata=metadata), ending
