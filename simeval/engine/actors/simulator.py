"""The simulated user: an actor that writes messages and reads the app's answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.conversation import Ending, Message, Transcript
from simeval.engine.actors.bookmark import Bookmark
from simeval.models.caller import Caller
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
    bookmark: Bookmark

    async def run(
        self,
        transcript: Transcript,
        *,
        inbox: MemoryObjectReceiveStream[Message],
        outbox: MemoryObjectSendStream[Message],
    ) -> Ending:
        """Talk until the user has had enough or `max_turns` messages are written; say which it was.

        What the transcript holds already counts. The app answers every message, the last one too; one that hangs up
        ends the talk. Raises ModelError.
        """
        async with inbox, outbox:
            for _ in range(transcript.turns, self.scenario.max_turns):
                message, goes_on = await self._write(transcript)
                if not message.content:
                    return "user"
                await self.bookmark.take_out()
                if not await exchange(message, transcript, inbox=inbox, outbox=outbox):
                    return "app_error"
                if not goes_on:
                    return "user"
                await self.bookmark.put_in(transcript)
            return "max_turns"

    async def _write(self, transcript: Transcript) -> tuple[Message, bool]:
        started, clock = datetime.now(UTC), perf_counter()
        history = tuple(transcript.messages)
        request = UserTurn(
            given=self.scenario.given,
            when=self.scenario.when,
            writing_style=self.writing_style,
            history=history,
            seed=self.seed,
        )
        reply = await self.caller.ask(request, UserReply if history else OpeningReply)
        seconds = perf_counter() - clock
        return Message(role="user", content=reply.message, started=started, seconds=seconds), reply.goes_on


async def exchange(
    message: Message,
    transcript: Transcript,
    *,
    inbox: MemoryObjectReceiveStream[Message],
    outbox: MemoryObjectSendStream[Message],
) -> bool:
    """Say one message of a user's and hear the answer, both into the transcript; give False where the app hung up."""
    transcript.messages.append(message)
    try:
        await outbox.send(message)
        transcript.messages.append(await inbox.receive())
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return False
    return True
