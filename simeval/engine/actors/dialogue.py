"""A dialogue: the user's side sends its messages and gets the app's answers; both make the transcript."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from logging import DEBUG
from traceback import format_exception
from typing import Protocol

from simeval.core.capture import STOPS_THE_RUN, Caught, attempt, place_of, said_of
from simeval.core.conversation import Beginning, Conversation, Ending, Message
from simeval.core.logs import log, named, warn_all
from simeval.core.redaction import cleaned
from simeval.core.run_records import TrialKey
from simeval.core.trial import UNNEEDED, Failure, Stage, Trial, TrialConversation, failure_of
from simeval.core.validation import require
from simeval.engine.actors.app import App, AppSession, Memory
from simeval.engine.actors.handler import Toolbox
from simeval.engine.flow import Demand
from simeval.errors import AppError, AppNotAsked, CannotTell, CheckFailed, ModelError, NotMeasured, WorldError

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
                ended, failure = await self._held(user, session, said, ear)
            conversation = Conversation(messages=tuple(said), writing_style=writing_style, ended=ended)
            held = TrialConversation(trial, cleaned(conversation, self.clean), failure)
            if log.is_enabled_for(DEBUG):
                log.debug("conversation", transcript=str(held.conversation), ended=held.conversation.ended)
        return held

    async def _held(
        self, user: UserSide, session: AppSession, said: list[Message], ear: Ear | None
    ) -> tuple[Ending, Failure | None]:
        async def exchange(message: Message, given: Message | None = None) -> Message:
            said.append(message)  # from here on no failure loses it
            self._tell(message)
            if ear is not None:
                ear.asked(message.content)
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
                log.debug("traceback", text=self.clean("".join(format_exception(error.__cause__ or error))))
            return ENDED_BY.get(failure.stage, "model_error"), failure
        finally:
            await session.leave()

    def _tell(self, message: Message) -> None:
        """Show a message to whoever listens, clean of secrets."""
        if self.listener is not None:
            self.listener.hear(*cleaned(Conversation(messages=(message,)), self.clean).messages)
