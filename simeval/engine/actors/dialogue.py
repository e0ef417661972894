"""A dialogue: the user's side sends its messages and gets the app's answers; both make the transcript."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from logging import DEBUG
from traceback import format_exception
from typing import Protocol

from simeval.core.capture import STOPS_THE_RUN
from simeval.core.conversation import Beginning, Conversation, Ending, Message
from simeval.core.logs import log, named
from simeval.core.redaction import cleaned
from simeval.core.trial import UNNEEDED, Failure, Stage, Trial, TrialConversation, failure_of
from simeval.engine.actors.app import App, AppSession, Memory
from simeval.engine.actors.listener import Listener
from simeval.engine.actors.mixing import Ear
from simeval.engine.actors.toolbox import Toolbox
from simeval.engine.flow.demand import Demand
from simeval.errors import AppError, AppNotAsked, CannotTell, CheckFailed, ModelError, NotMeasured, WorldError

NOTHING_SAID = Beginning()
ENDED_BY: Mapping[Stage, Ending] = {
    "app": "app_error",
    "app_access": "not_asked",
    "world": "world_error",
    "check": "check_failed",
}


OF_ONE_TRIAL = (AppError, AppNotAsked, ModelError, WorldError, CheckFailed, NotMeasured, CannotTell)


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
