"""The simulated user: an actor that writes messages and reads the app's answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from simeval.core.conversation import Beginning, Ending, Message
from simeval.engine.actors.bookmark import Bookmark
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import UserTurn
from simeval.models.protocol.replies import OpeningReply, UserReply
from simeval.suites.scenario import ScenarioTest


@dataclass(frozen=True, slots=True)
class Simulator:
    """Plays the user of one trial."""

    caller: Caller
    scenario: ScenarioTest
    writing_style: Mapping[str, str] | None
    seed: int
    beginning: Beginning
    bookmark: Bookmark
    prompt: Prompt

    async def run(self, *, inbox: ObjectReceiveStream[Message], outbox: ObjectSendStream[Message]) -> Ending:
        """Talk until the user has had enough or `max_turns` messages are written; say which it was.

        What stands before counts. The app answers every message, the last one too; one that hangs up ends the talk.
        Raises ModelError.
        """
        said = list(self.beginning.messages)
        async with inbox, outbox:
            for _ in range(self.beginning.turns, self.scenario.max_turns):
                message, goes_on = await self._write(tuple(said))
                if not message.content:
                    return "user"
                await self.bookmark.take_out()
                answer = await exchange(message, inbox=inbox, outbox=outbox)
                if answer is None:
                    return "app_error"
                said += (message, answer)
                if not goes_on:
                    return "user"
                await self.bookmark.put_in(said)
            return "max_turns"

    async def _write(self, history: tuple[Message, ...]) -> tuple[Message, bool]:
        started, clock = datetime.now(UTC), perf_counter()
        request = UserTurn(
            given=self.scenario.given,
            when=self.scenario.when,
            writing_style=self.writing_style,
            history=history,
            seed=self.seed,
            prompt=self.prompt,
        )
        reply = await self.caller.ask(request, UserReply if history else OpeningReply)
        seconds = perf_counter() - clock
        return Message(role="user", content=reply.message, started=started, seconds=seconds), reply.goes_on


async def exchange(
    message: Message, *, inbox: ObjectReceiveStream[Message], outbox: ObjectSendStream[Message]
) -> Message | None:
    """Say one message of a user's and return the answer; None where the app hung up."""
    try:
        await outbox.send(message)
        return await inbox.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return None
