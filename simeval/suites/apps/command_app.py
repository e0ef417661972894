"""An app that is a program: it is started for each turn, reads JSON, and writes its answer."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shutil import which
from tempfile import TemporaryFile
from typing import Any

import anyio

from simeval.core.conversation import AppResponse, ChatMessage
from simeval.core.validation import require
from simeval.suites.apps.remote_app import AppFailure, Exchange, Session, quoted
from simeval.suites.apps.replies import Reading, Reply, value_of

_READING = Reading(tool_calls=("tool_calls",), context=("context",), session=("session",))


@dataclass(frozen=True, slots=True)
class CommandApp:
    """An app that is a program, started once for each turn.

    It reads one JSON object with `message`, `messages` and `session`, and writes its answer: a text, or JSON with
    "reply" and perhaps "tool_calls", "context" and "session", which it is given at the next turn. Raises
    DefinitionError where there is no such program.
    """

    command: str

    def __post_init__(self) -> None:
        program = (shlex.split(self.command) or [""])[0]
        do = "write cmd:PROGRAM ARGUMENTS, with a program that is on the PATH"
        require(which(program) is not None, f"app cmd:{self.command}", found=program, do=do)

    @property
    def name(self) -> str:
        """The command."""
        return f"cmd:{self.command}"

    async def __aenter__(self) -> "CommandApp":
        """Open nothing: each turn has a process of its own."""
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer the last of these messages. Raises AppFailure."""
        return (await self.exchange(messages, state)).answer()

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Run the program with the messages of a conversation, and return what it wrote."""
        kept = Session.of(state)
        asked = {
            "message": messages[-1]["content"],
            "messages": list(messages),
            "session": kept.theirs or kept.given,
        }
        with TemporaryFile() as written:  # and no pipe, which breaks where the program does not read it to its end
            written.write(json.dumps(asked).encode())
            written.seek(0)
            done = await anyio.run_process(shlex.split(self.command), stdin=written, check=False)
        body, complaint = (out.decode("utf-8", "replace").strip() for out in (done.stdout, done.stderr))
        status, reply = f"exit status {done.returncode}", Reply(_READING)
        if done.returncode:
            return Exchange(status, body, failure=f"{status}: {quoted(complaint[-500:] or body) or 'it wrote nothing'}")
        if not body:
            return Exchange(status, body, failure="it wrote nothing on its standard output")
        try:
            reply.take(value_of(body))
        except AppFailure as failure:
            return Exchange(status, body, failure=str(failure))
        state = Session(kept.given, reply.session or kept.theirs).state()
        response = AppResponse(reply.text, state, tuple(reply.tool_calls), context=reply.context)
        return Exchange(status, body, response=response)
