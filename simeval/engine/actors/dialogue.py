"""A dialogue: the user's side and the app as two actors over a pair of channels, in a task group that a worker owns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from logging import DEBUG
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from structlog.contextvars import bound_contextvars

from simeval.core.capture import STOPS_THE_RUN, first_leaf
from simeval.core.conversation import Ending, Message, Transcript
from simeval.core.logs import log
from simeval.core.serialization import cleaned
from simeval.core.trial import UNNEEDED, Failure, Trial, TrialConversation, failure_of
from simeval.engine.actors.app import App
from simeval.engine.flow.demand import Demand, TrialScope
from simeval.errors import AppError, ModelError


class UserSide(Protocol):
    """Whoever writes the user's messages."""

    async def run(
        self,
        transcript: Transcript,
        *,
        inbox: MemoryObjectReceiveStream[Message],
        outbox: MemoryObjectSendStream[Message],
    ) -> Ending:
        """Talk to the end, append what both say to the transcript, and say how it ended."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Holds the dialogues of trials with an app."""

    app: App
    demand: Demand
    clean: Callable[[str], str]

    async def hold(
        self,
        trial: Trial,
        user: UserSide,
        transcript: Transcript,
        *,
        title: str,
        writing_style: Mapping[str, str] | None = None,
    ) -> TrialConversation:
        """Hold one dialogue. What the app or the simulator's model got wrong is part of the result.

        A dialogue that is not needed any more ends where it is. What was said is clean of secrets from here
        on, and in the form a journal gives back: what is judged now and in a resumed run is the same.
        """
        ended: Ending = "settled"
        failure: Failure | None = UNNEEDED  # stays where the scope is cancelled
        with bound_contextvars(scenario=title, trial=trial.index):
            with self.demand.stay(trial) as stay:
                ended, failure = await self._held(user, transcript, stay)
            said = transcript.finish(writing_style=writing_style, ended=ended)
            held = TrialConversation(trial, cleaned(said, self.clean), failure)
            if log.isEnabledFor(DEBUG):
                log.debug("conversation", transcript=_as_lines(held), ended=held.conversation.ended)
        return held

    async def _held(self, user: UserSide, transcript: Transcript, stay: TrialScope) -> tuple[Ending, Failure | None]:
        failure: Failure | None = None
        ended: Ending = "user"
        try:
            ended = await self._talk(user, transcript, stay)
        except* STOPS_THE_RUN:
            raise
        except* (AppError, ModelError) as group:
            failure = failure_of(first_leaf(group), "simulator", clean=self.clean)
            ended = "app_error" if failure.stage == "app" else "model_error"
        if ended == "app_error" and failure is None:
            failure = Failure(stage="app", error="the app hung up", cause="app")
        return ended, failure

    async def _talk(self, user: UserSide, transcript: Transcript, stay: TrialScope) -> Ending:
        to_app, from_user = anyio.create_memory_object_stream[Message](1)
        to_user, from_app = anyio.create_memory_object_stream[Message](1)
        async with to_app, from_user, to_user, from_app, anyio.create_task_group() as actors:
            answering = partial(self.app.run, transcript, stay=stay)
            actors.start_soon(partial(answering, inbox=from_user, outbox=to_user))
            ended = await user.run(transcript, inbox=from_app, outbox=to_app)
        return ended  # noqa: RET504  (inside the block, type checkers expect another return after it)


def _as_lines(held: TrialConversation) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in held.conversation.messages)
