"""An app that is a program: it is started for each turn, reads JSON, and writes its answer."""

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shutil import which
from tempfile import TemporaryFile
from typing import ClassVar

import anyio

from simeval.core.conversation import ChatMessage
from simeval.core.media import content_text
from simeval.errors import DefinitionError
from simeval.suites.apps.outcomes import AppFailure, of_exit_status
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import Session, quoted
from simeval.suites.apps.replies import Reading, Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import PLACES, places_in

PROGRAM = Reading(tool_calls=("tool_calls",), context=("context",), session=("session",))


@dataclass(frozen=True, slots=True)
class CommandApp(ProtocolApp):
    """An app that is a program, started once for each turn.

    It reads one JSON object with `message`, `messages` and `session`, and writes its answer: a text, or JSON with
    "reply" and perhaps "tool_calls", "context" and "session", which it is given at the next turn. Raises
    DefinitionError where there is no such program.
    """

    command: str
    takes_parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_program(self.command, "cmd:PROGRAM ARGUMENTS")
        if places := places_in(self.command) & {*PLACES}:
            found, do = f"found {{{min(places)}}}", "leave it out: the program reads JSON with it on its standard input"
            raise DefinitionError(f"app {self.name!r}", found=found, do=do)

    @property
    def name(self) -> str:
        """The command."""
        return f"cmd:{self.command}"

    @property
    def _reading(self) -> Reading:
        return PROGRAM

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        asked = {
            "message": content_text(messages[-1]["content"]),
            "messages": list(messages),
            "session": kept.theirs or kept.given,
        }
        with TemporaryFile() as written:  # and no pipe, which breaks where the program does not read it to its end
            written.write(json.dumps(asked).encode())
            written.seek(0)
            known = {**os.environ, "TRACEPARENT": kept.new_traceparent()}
            done = await anyio.run_process(shlex.split(self.command), stdin=written, check=False, env=known)
        reply.came, complaint = (out.decode("utf-8", "replace").strip() for out in (done.stdout, done.stderr))
        reply.status = f"exit status {done.returncode}"
        if done.returncode:
            said = quoted(complaint[-500:] or reply.came) or "it wrote nothing"
            raise of_exit_status(f"{reply.status}: {said}", done.returncode)
        if not reply.came:
            raise AppFailure("it wrote nothing on its standard output")
        reply.take(value_of(reply.came))
        return replace(kept, theirs=reply.session or kept.theirs)


def require_program(command: str, form: str) -> None:
    """Raise DefinitionError where the program of a command line is not there; `form` says how to write one."""
    program = (shlex.split(command) or [""])[0]
    if which(program) is None:
        do = f"write {form}, with a program that is on the PATH"
        found = f"there is no program {program!r}"
        raise DefinitionError(f"app {form.partition(':')[0]}:{command}", found=found, do=do)
