"""A dialogue: the simulated user sends its messages and reads the app's answers; both make the transcript.

A bookmark is the place in a conversation from which it can go on after an interruption. It exists only while the app is
not answering: an interrupted answer may not be asked for again, because slow ones, which are interrupted more often,
tend to be bad. So it is removed, safely, before the app is asked. An interrupted message of the simulated user is
written again, as after a failed call.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutinefunction
from logging import DEBUG
from time import perf_counter
from typing import Protocol

import anyio

from simeval.core.capture import STOPS_THE_RUN, Caught, attempt, place_of
from simeval.core.conversation import GIVEN, HELD_ANEW, LEFT, Beginning, Conversation, Ending, Message
from simeval.core.faces import load
from simeval.core.logs import log, named, warn_all
from simeval.core.redaction import clean_values, cleaned, traceback_of
from simeval.core.run_records import Start, TrialKey
from simeval.core.serialization import survives_json
from simeval.core.setting_field import UserFormat
from simeval.core.trial import UNNEEDED, Failure, Stage, Trial, TrialConversation, failure_of
from simeval.core.validation import require
from simeval.engine.actors.app import App, AppSession, Memory
from simeval.engine.actors.handler import Toolbox
from simeval.engine.flow import Demand, Recorder
from simeval.engine.users.state import Hands, Progress, UserState, decide, draw_patience, read_state
from simeval.errors import AppError, AppNotAsked, CannotTell, CheckFailed, ModelError, NotMeasured, WorldError, said_of
from simeval.evaluators.scores import SUCCESS_RATING
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import UserTurn
from simeval.scorers.base import Scorer
from simeval.scorers.conditions import StateMatch
from simeval.scorers.returned import select
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import Check, Step

SHARED = "give the class of its object, or keep what it remembers in state or by session_id"
ONE_SESSION = "see that each conversation has a session of its own: {session} in its request"
FIRST = 24  # conversations of a run that are listened to
RUN, NEW = 8, 2  # words in a row that are no chance, where so many of them are new to a conversation
MOST = 4_000  # characters of a message that are looked at
_WORD = re.compile(r"\w+")

NOTHING_SAID = Beginning()
ENDED_BY: Mapping[Stage, Ending] = {
    "app": "app_error",
    "app_access": "not_asked",
    "world": "world_error",
    "check": "check_failed",
}


OF_ONE_TRIAL = (AppError, AppNotAsked, ModelError, WorldError, CheckFailed, NotMeasured, CannotTell)

YOUNG_SECONDS = 2.0  # a younger conversation keeps no bookmark: there is little to lose, and each costs two records

ATTACKER = "simeval.extras.attacks.attacker:Attacker"  # a feature that attaches from outside
GIVEN_BY_SCRIPT: Mapping[str, bool] = {GIVEN: True}

Look = Callable[[Conversation], Awaitable[Conversation]]


@dataclass(slots=True)
class Listener:
    """A function that is called with every message. Raises DefinitionError for anything else."""

    function: Callable[[Message], object]
    _is_told: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        do = "give a plain function that takes a Message"
        fits = callable(self.function) and not isinstance(self.function, type)
        is_async = any(map(iscoroutinefunction, (self.function, getattr(self.function, "__call__", None))))  # noqa: B004
        require(fits and not is_async, "listen", found=self.function, do=do)

    def hear(self, message: Message) -> None:
        """Call it; the first error is a warning."""
        failed = attempt(partial(self.function, message))
        if isinstance(failed, Caught) and not self._is_told:
            self._is_told = True
            warn_all(f"the listener failed: {said_of(failed.error)}{place_of(failed.error)}; the evaluation goes on")


@dataclass(slots=True)
class Mixing:
    """Listens to the first conversations of a run; `found` is the proof that they mix, if there is one.

    A proof is a run of words that one user wrote and that is in the answer to another, though the app had never used it
    before the user did, and some of the words are in neither that other conversation nor the scenario.
    """

    advice: str
    found: str = ""
    heard: dict[str, tuple[TrialKey, str]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    _of: set[TrialKey] = field(default_factory=set)
    _scenarios: dict[int, set[str]] = field(default_factory=dict)

    def ear(self, trial: Trial, scenario: object) -> "Ear | None":
        """Return a listener to the conversation of a trial; None if that is not needed any more."""
        key = (trial.scenario, trial.index)
        if self.found or (len(self._of) >= FIRST and key not in self._of):
            return None
        self._of.add(key)
        if trial.scenario not in self._scenarios:
            self._scenarios[trial.scenario] = {*_words(repr(scenario).replace("\\n", " "))}
        return Ear(self, key, {*self._scenarios[trial.scenario]})

    def _tell(self, key: TrialKey, other: TrialKey, words: str, said: str) -> None:
        scenario = "" if key[0] == other[0] else " of another scenario"
        self.found = (
            f"your app mixes conversations: the answer to trial {key[1]} repeats what trial {other[1]}{scenario} said "
            f'("{words}", of "{said[:80]}"); {self.advice}'
        )
        warn_all(self.found)


@dataclass(slots=True)
class Ear:
    """Listens to one conversation; `own` are the words of its user and its scenario."""

    mixing: Mixing
    key: TrialKey
    own: set[str]

    def asked(self, text: str) -> None:
        """Hear the user."""
        words = _words(text[:MOST])
        for run in _runs(words):
            if run not in self.mixing.answered:
                self.mixing.heard.setdefault(run, (self.key, text))
        self.own.update(words)

    def answered(self, text: str) -> None:
        """Hear the app."""
        mixing = self.mixing
        for run in _runs(_words(text[:MOST])):
            other, said = mixing.heard.get(run, (self.key, ""))
            if other != self.key and not mixing.found and sum(word not in self.own for word in run.split()) >= NEW:
                mixing._tell(self.key, other, run, said)
            mixing.answered.add(run)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _runs(words: Sequence[str]) -> list[str]:
    return [" ".join(words[place : place + RUN]) for place in range(len(words) - RUN + 1)]


class Exchange(Protocol):
    """Sends a message and returns the answer: the app's, or the one that is `given`."""

    async def __call__(self, message: Message, given: Message | None = None) -> Message:
        """Send it. Raises the errors of the app's session."""


class UserSide(Protocol):
    """Whoever writes the user's messages."""

    async def run(self, exchange: Exchange) -> Ending:
        """Talk to the end, and return how it ended; `exchange` sends a message and returns the answer."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Holds the dialogues of trials with an app."""

    app: App
    demand: Demand
    clean: Callable[[str], str]
    listener: Listener | None = None

    @property
    def notes(self) -> Sequence[str]:
        """Return notes on the app for the run's record: of its answers, and of its code that did not end."""
        function = self.app.handler.function
        doubts = function.doubts if isinstance(function, ProtocolApp) else ()
        return (*map(self.clean, doubts), *self.app.left.notes)

    async def hold(
        self,
        trial: Trial,
        user: UserSide,
        *,
        title: str,
        memory: Memory,
        beginning: Beginning = NOTHING_SAID,
        writing_style: Mapping[str, str] | None = None,
        toolbox: Toolbox | None = None,
        ear: Ear | None = None,
    ) -> TrialConversation:
        """Hold one dialogue. Errors of the app or the simulator's model are part of the result. An `ear` hears it.

        A dialogue that is not needed any more ends at once. The messages are clean of secrets from here on, and in the
        form a journal gives back: judges see the same now and in a resumed run.
        """
        ended: Ending = "settled"
        failure: Failure | None = UNNEEDED  # remains if the scope is cancelled
        said = list(beginning.messages)
        with named(scenario=title, trial=trial.index):
            with self.demand.scope(trial) as scope:
                session = self.app.open(beginning, memory, scope, toolbox)
                ended, failure = await self._held(trial, user, session, said, ear)
            conversation = Conversation(messages=tuple(said), writing_style=writing_style, ended=ended)
            held = TrialConversation(trial, cleaned(conversation, self.clean), failure)
            if log.is_enabled_for(DEBUG):
                log.debug("conversation", transcript=str(held.conversation), ended=held.conversation.ended)
        return held

    async def _held(
        self, trial: Trial, user: UserSide, session: AppSession, said: list[Message], ear: Ear | None
    ) -> tuple[Ending, Failure | None]:
        async def exchange(message: Message, given: Message | None = None) -> Message:
            said.append(message)  # from here on no failure loses it
            self._tell(message)
            if ear is not None:
                ear.asked(message.content)
            await self.demand.has_begun(trial)
            answer = await session.answer(message) if given is None else session.told(message, given)
            if ear is not None:
                ear.answered(answer.content)
            said.append(answer)
            self._tell(answer)
            return answer

        try:
            return await user.run(exchange), None
        except STOPS_THE_RUN:
            raise
        except OF_ONE_TRIAL as error:
            failure = failure_of(error, "simulator", clean=self.clean)
            if failure.stage in ("app", "app_access") and log.is_enabled_for(DEBUG):
                log.debug("traceback", text=self.clean(traceback_of(error.__cause__ or error)))
            return ENDED_BY.get(failure.stage, "model_error"), failure
        finally:
            await session.leave()

    def _tell(self, message: Message) -> None:
        """Show a message to whoever listens, clean of secrets."""
        if self.listener is not None:
            self.listener.hear(*cleaned(Conversation(messages=(message,)), self.clean).messages)


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
