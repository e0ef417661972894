"""Conversations: what the workers of the first pool do. One worker owns a trial from its start to its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from logging import DEBUG

import anyio
from structlog.contextvars import bound_contextvars

from simeval.actors.app import App
from simeval.actors.plan import ScenarioPlan
from simeval.actors.simulator import Simulator
from simeval.actors.wanted import Stay, Wanted
from simeval.capture import STOPS_THE_RUN, first_leaf
from simeval.conversation import Conversation, Ending, Message, Transcript
from simeval.errors import AppError, ModelError
from simeval.logs import log
from simeval.models.redact import clean_values
from simeval.models.retries import Caller
from simeval.outcome import UNNEEDED, Failure, Held, Trial, failure_of
from simeval.scenario import ScenarioTest
from simeval.settings import Settings
from simeval.transcripts import plain


@dataclass(frozen=True, slots=True)
class Conversations:
    """Holds the conversations of trials: simulator and app are two actors over a pair of channels.

    `scenarios` are those of the plans as they were written, where plans hold them clean of secrets: what a user is
    to know and to try, the simulator must be told.
    """

    plans: Sequence[ScenarioPlan]
    caller: Caller
    app: App
    settings: Settings
    wanted: Wanted
    clean: Callable[[str], str]
    scenarios: Sequence[ScenarioTest] = ()

    async def hold(self, trial: Trial) -> Held:
        """Hold one conversation. What the app or the simulator's model got wrong is part of the result.

        A conversation that is not wanted any more ends where it is. What was said is clean of secrets from here
        on, and in the form a journal gives back: what is judged now and in a resumed run is the same.
        """
        plan, transcript = self.plans[trial.scenario], Transcript()
        style = self.settings.writing_style.draw(trial.seed)
        held: Held | None = None
        with bound_contextvars(scenario=plan.scenario.title, trial=trial.index):
            with self.wanted.stay(trial) as stay:
                held = await self._hold(plan, trial, style, transcript, stay)
            if held is None:  # the scope was cancelled
                held = Held(trial, transcript.finish(writing_style=style, ended="settled"), UNNEEDED)
            held = self._cleaned(held)
            if log.isEnabledFor(DEBUG):
                log.debug("conversation", transcript=_as_lines(held), ended=held.conversation.ended)
        return held

    async def _hold(
        self, plan: ScenarioPlan, trial: Trial, style: Mapping[str, str] | None, transcript: Transcript, stay: Stay
    ) -> Held:
        scenario = self.scenarios[trial.scenario] if self.scenarios else plan.scenario
        simulator = Simulator(self.caller, scenario, style, trial.seed)
        failure: Failure | None = None
        ended: Ending = "user"
        try:
            ended = await self._talk(simulator, transcript, stay)
        except* STOPS_THE_RUN:
            raise
        except* (AppError, ModelError) as group:
            failure = failure_of(first_leaf(group), "simulator", clean=self.clean)
            ended = "app_error" if failure.stage == "app" else "model_error"
        if ended == "app_error" and failure is None:
            failure = Failure(stage="app", error="the app hung up", cause="app")
        return Held(trial, transcript.finish(writing_style=style, ended=ended), failure)

    async def _talk(self, simulator: Simulator, transcript: Transcript, stay: Stay) -> Ending:
        to_app, from_user = anyio.create_memory_object_stream[Message](1)
        to_user, from_app = anyio.create_memory_object_stream[Message](1)
        async with to_app, from_user, to_user, from_app, anyio.create_task_group() as actors:
            answering = partial(self.app.run, transcript, seed=simulator.seed, stay=stay)
            actors.start_soon(partial(answering, inbox=from_user, outbox=to_user))
            ended = await simulator.run(transcript, inbox=from_app, outbox=to_app)
        return ended  # noqa: RET504  (inside the block, type checkers expect another return after it)

    def _cleaned(self, held: Held) -> Held:
        return replace(held, conversation=cleaned(held.conversation, self.clean))


def cleaned(conversation: Conversation, clean: Callable[[str], str]) -> Conversation:
    """Give a conversation clean of secrets, in the form that a journal gives back."""
    messages = tuple(
        replace(
            message,
            content=clean(message.content),
            tool_calls=tuple(clean_values(plain(call), clean) for call in message.tool_calls),
            metadata=clean_values(plain(message.metadata), clean) if message.metadata else {},
        )
        for message in conversation.messages
    )
    return replace(conversation, messages=messages)


def _as_lines(held: Held) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in held.conversation.messages)
