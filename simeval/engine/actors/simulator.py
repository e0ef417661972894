"""The simulated user: it writes messages and reads the app's answers.

A bookmark: the place in a conversation from which it can go on after an interruption.

It exists only while the app is not answering: an interrupted answer may not be asked for again, because slow ones,
which are interrupted more often, tend to be bad. So it is removed, safely, before the app is asked. An interrupted
message of the simulated user is written again, as after a failed call.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import perf_counter

import anyio

from simeval.core.conversation import GIVEN, HELD_ANEW, LEFT, Beginning, Conversation, Ending, Message
from simeval.core.faces import load
from simeval.core.redaction import clean_values, cleaned
from simeval.core.run_records import Start
from simeval.core.serialization import survives_json
from simeval.core.setting_choices import UserFormat
from simeval.core.trial import Trial
from simeval.engine.actors.app import Memory
from simeval.engine.actors.dialogue import Exchange
from simeval.engine.actors.recorder import Recorder
from simeval.engine.users.state import Hands, Progress, UserState, decide, draw_patience, read_state
from simeval.errors import CheckFailed
from simeval.evaluators.ratings import SUCCESS_RATING
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import UserTurn
from simeval.scorers.base import Scorer
from simeval.scorers.conditions import StateMatch
from simeval.scorers.returned import select
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import Check, Step

YOUNG_SECONDS = 1.0  # a younger conversation keeps no bookmark: there is little to lose, and each costs two records

ATTACKER = "simeval.extras.attacks.attacker:Attacker"  # a feature that attaches from outside
GIVEN_BY_SCRIPT: Mapping[str, bool] = {GIVEN: True}

Look = Callable[[Conversation], Awaitable[Conversation]]


@dataclass(slots=True)
class Bookmark:
    """The bookmark of one trial; `is_in` is whether it exists, `memory` is that of its app.

    It never exists if the app `hides` its memory, in neither its state nor the history it is given.
    """

    trial: Trial
    recorder: Recorder
    clean: Callable[[str], str]
    hides: bool
    memory: Memory
    is_in: bool = False
    _since: float = field(default_factory=anyio.current_time)
    _read: int = 0  # messages that were looked at for secrets
    _has_secret: bool = False
    _state: str = ""  # that was looked at last
    _has_secret_state: bool = False

    async def take_out(self) -> None:
        """Let nothing go on from here any more; safe when this returns."""
        if self.is_in:
            await self.recorder.record(Start(self.trial))
            self.is_in = False

    async def put_in(self, messages: Sequence[Message]) -> None:
        """Let the conversation go on from here, if it has lasted and can be stored.

        It can if the app's state is plain JSON, and neither that nor a message holds a secret: a store has none.
        """
        is_young = anyio.current_time() - self._since < YOUNG_SECONDS
        if is_young or self.hides or not survives_json(self.memory.state):
            return
        new, state = Conversation(messages=tuple(messages[self._read :])), self.memory.state
        self._read = len(messages)
        self._has_secret = self._has_secret or cleaned(new, self.clean) != new
        if (encoded := json.dumps(state)) != self._state:
            self._state, self._has_secret_state = encoded, clean_values(state, self.clean) != state
        if not self._has_secret and not self._has_secret_state:
            await self.recorder.note(Start(self.trial, tuple(messages), encoded))
            self.is_in = True


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


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares checks of a script with the conversation so far.

    `judge` makes the scorer of a sentence that judges rule on; `look` adds the state of its world to a conversation.
    """

    judge: Callable[[str], Scorer]
    situation: Mapping[str, object]
    look: Look | None = None

    async def misses(self, check: Check, said: Sequence[Message]) -> str:
        """Return why a check does not hold; empty if it does. Raises NotMeasured, CannotTell and ModelError."""
        conversation = Conversation(messages=tuple(said))
        if check.judged is not None:
            return await self._judged(check.judged, conversation)
        if check.tools is not None:
            return check.tools.score(conversation).reasoning
        if check.state is not None:
            seen = await self.look(conversation) if self.look else conversation
            return StateMatch(state=check.state).score(seen).reasoning
        return check.misses(said[-1].content)

    async def _judged(self, sentence: str, conversation: Conversation) -> str:
        columns = {**self.situation, "conversation": conversation, "expected_behavior": sentence}
        score = select(await self.judge(sentence).measure(columns), None, name="check")
        return "" if score.value >= SUCCESS_RATING else f"the judge does not find that {sentence!r}"


@dataclass(frozen=True, slots=True)
class Scripted:
    """The user's side of a trial by a script; the simulator talks where the script has it."""

    simulator: Simulator
    script: Sequence[Step]
    checker: Checker
    attack_prompt: Prompt

    async def run(self, exchange: Exchange) -> Ending:
        """Do each step in turn; the conversation ends after the last. Raises CheckFailed, and the errors of steps.

        A simulated user that leaves ends its own step; it has left if that is the last turn.
        """
        said: list[Message] = []
        ended: Ending = "script_over"
        for place, step in enumerate(self.script):
            if step.user is not None:
                following = self.script[place + 1 : place + 2]
                await self._say(step.user, following[0].app if following else None, said, exchange)
                ended = "script_over"
            elif step.simulate is not None:
                answered = sum(message.role == "user" for message in said)
                turns = self.simulator.scenario.max_turns - answered if step.simulate == "to_end" else step.simulate
                left = await self.simulator.talk(exchange, said, turns=turns)
                ended = left if left in LEFT else "script_over"
            elif step.attack is not None:
                attacker = load(ATTACKER)(self.simulator, step.attack, self.attack_prompt)
                ended = await attacker.talk(exchange, said)
            elif (check := step.checks) is not None and (why := await self.checker.misses(check, said)):
                turn = sum(message.role == "assistant" for message in said)
                raise CheckFailed(turn, place + 1, why)
        return ended

    async def _say(self, text: str, answer: str | None, said: list[Message], exchange: Exchange) -> None:
        anew = {HELD_ANEW: list(self.simulator.held_anew)} if self.simulator.held_anew and not said else {}
        message = Message(role="user", content=text, metadata={**GIVEN_BY_SCRIPT, **anew})
        given = None if answer is None else Message(role="assistant", content=answer, metadata=GIVEN_BY_SCRIPT)
        said += await self.simulator.exchanged(message, exchange, given)
