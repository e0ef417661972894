"""A dialogue: the user's side and the app as two actors over a pair of channels, in a task group that a worker owns.

[user] ─outbox─► transcript ─inbox─► [app]
   ▲                                   │
   └─inbox─ transcript ◄─outbox────────┘
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from logging import DEBUG
from traceback import format_exception
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream
from structlog.contextvars import bound_contextvars

from simeval.core.capture import STOPS_THE_RUN, first_leaf
from simeval.core.conversation import Beginning, Conversation, Ending, Message
from simeval.core.logs import log
from simeval.core.redaction import cleaned
from simeval.core.trial import UNNEEDED, Failure, Trial, TrialConversation, failure_of
from simeval.engine.actors.app import App, Memory
from simeval.engine.flow.demand import Demand
from simeval.errors import AppError, ModelError

NOTHING_SAID = Beginning()


class UserSide(Protocol):
    """Whoever writes the user's messages."""

    async def run(self, *, inbox: ObjectReceiveStream[Message], outbox: ObjectSendStream[Message]) -> Ending:
        """Talk to the end, and say how it ended."""


class _Transcribed(ObjectSendStream[Message]):
    """An actor's outbox: what is sent stands in the transcript from then on, so that no failure loses it."""

    def __init__(
        self, stream: MemoryObjectSendStream[Message], transcript: list[Message], told: Callable[[Message], None]
    ) -> None:
        self._stream, self._transcript, self._told = stream, transcript, told

    async def send(self, item: Message) -> None:
        self._transcript.append(item)
        self._told(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        self._stream.close()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Holds the dialogues of trials with an app."""

    app: App
    demand: Demand
    clean: Callable[[str], str]
    on_message: Callable[[Message], None] | None = None

    async def hold(
        self,
        trial: Trial,
        user: UserSide,
        *,
        title: str,
        memory: Memory,
        beginning: Beginning = NOTHING_SAID,
        writing_style: Mapping[str, str] | None = None,
    ) -> TrialConversation:
        """Hold one dialogue. What the app or the simulator's model got wrong is part of the result.

        A dialogue that is not needed any more ends where it is. What was said is clean of secrets from here
        on, and in the form a journal gives back: what is judged now and in a resumed run is the same.
        """
        ended: Ending = "settled"
        failure: Failure | None = UNNEEDED  # stays where the scope is cancelled
        said = list(beginning.messages)
        with bound_contextvars(scenario=title, trial=trial.index):
            with self.demand.scope(trial) as scope:
                answering = partial(self.app.run, beginning=beginning, memory=memory, scope=scope)
                ended, failure = await self._held(user, answering, said)
            conversation = Conversation(messages=tuple(said), writing_style=writing_style, ended=ended)
            held = TrialConversation(trial, cleaned(conversation, self.clean), failure)
            if log.isEnabledFor(DEBUG):
                log.debug("conversation", transcript=str(held.conversation), ended=held.conversation.ended)
        return held

    async def _held(
        self, user: UserSide, answering: Callable[..., Coroutine[Any, Any, None]], said: list[Message]
    ) -> tuple[Ending, Failure | None]:
        failure: Failure | None = None
        ended: Ending = "settled"
        try:
            ended = await _talk(user, answering, said, self._tell)
        except* STOPS_THE_RUN:
            raise
        except* (AppError, ModelError) as group:
            failure = failure_of(error := first_leaf(group), "simulator", clean=self.clean)
            if failure.stage == "app" and log.isEnabledFor(DEBUG):
                log.debug("traceback", text=self.clean("".join(format_exception(error.__cause__ or error))))
            ended = "app_error" if failure.stage == "app" else "model_error"
        if ended == "app_error" and failure is None:
            failure = Failure(stage="app", error="the app hung up", cause="app")
        return ended, failure

    def _tell(self, message: Message) -> None:
        """Show a message to whoever listens, clean of secrets."""
        if self.on_message is not None:
            self.on_message(*cleaned(Conversation(messages=(message,)), self.clean).messages)


async def _talk(
    user: UserSide,
    answering: Callable[..., Coroutine[Any, Any, None]],
    said: list[Message],
    told: Callable[[Message], None],
) -> Ending:
    """Let both sides talk, what they say going into `said`."""
    to_app, from_user = anyio.create_memory_object_stream[Message](1)
    to_user, from_app = anyio.create_memory_object_stream[Message](1)
    async with to_app, from_user, to_user, from_app, anyio.create_task_group() as actors:
        actors.start_soon(partial(answering, inbox=from_user, outbox=_Transcribed(to_user, said, told)))
        ended = await user.run(inbox=from_app, outbox=_Transcribed(to_app, said, told))
    return ended  # noqa: RET504  (inside the block, type checkers expect another return after it)
