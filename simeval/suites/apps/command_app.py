"""An app that is a program: it is started for each turn, reads JSON, and writes its answer."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from shutil import which
from subprocess import DEVNULL
from tempfile import TemporaryFile
from typing import IO, ClassVar

import anyio

from simeval.core.conversation import ChatMessage, content_text
from simeval.core.network import AnswerTooLarge, bounded
from simeval.core.redaction import shown
from simeval.errors import DefinitionError
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure, Session, of_exit_status, quoted
from simeval.suites.apps.replies import Reading, Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import PLACES, places_in

_COMPLAINT = 10_000  # bytes at the end of a program's error output
PROGRAM = Reading(tool_calls=("tool_calls",), context=("context",), session=("session",))
LONGEST_END = 500  # characters of a program's standard error


@dataclass(frozen=True, slots=True)
class CommandApp(ProtocolApp):
    """An app that is a program, started once for each turn.

    It reads one JSON object with `message`, `messages` and `session`, and writes its answer: a text, or JSON with
    "reply" and optionally "tool_calls", "context" and "session", which it gets at the next turn. Raises DefinitionError
    if there is no such program.
    """

    command: str
    takes_parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_program(self.command, "cmd:PROGRAM ARGUMENTS")
        if places := places_in(self.command) & {*PLACES}:
            found, do = f"found {{{min(places)}}}", "leave it out: the program reads JSON with it on its standard input"
            raise DefinitionError(f"app {self.name!r}", found=found, do=do)

    @property
    def _named(self) -> str:
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
        text = json.dumps(asked)
        reply.sent = partial(dict, sent="JSON on its standard input", body=text)
        with TemporaryFile() as written:  # and no pipe, which breaks if the program does not read it to its end
            written.write(text.encode())
            written.seek(0)
            known = {**os.environ, "TRACEPARENT": kept.new_traceparent()}
            status, out, complaint = await said_by(shlex.split(self.command), stdin=written, env=known)
        reply.status = f"exit status {status}"
        reply.keep(out)
        if status:
            said = quoted(_end_of(complaint) or out) or "it wrote nothing"
            raise of_exit_status(f"{reply.status}: {said}", status)
        if not out:
            raise AppFailure("it wrote nothing on its standard output")
        reply.take(value_of(out))
        return replace(kept, theirs=reply.session or kept.theirs)


async def said_by(
    command: Sequence[str], *, env: Mapping[str, str], stdin: IO[bytes] | int = DEVNULL
) -> tuple[int, str, str]:
    """Run a program; return its exit status, its output and its complaint. Raises AppFailure for an endless one."""
    with TemporaryFile() as complaints:
        async with await anyio.open_process(command, stdin=stdin, stderr=complaints, env=env) as process:
            assert process.stdout is not None
            try:
                out = b"".join([piece async for piece in bounded(process.stdout)])
            except AnswerTooLarge as error:
                process.kill()
                raise AppFailure(str(error)) from error
            status = await process.wait()
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - _COMPLAINT))
        complaint = complaints.read()
    return status, out.decode("utf-8", "replace").strip(), complaint.decode("utf-8", "replace").strip()


def require_program(command: str, form: str) -> None:
    """Raise DefinitionError if the program of a command line does not exist; `form` shows a valid one."""
    program = (shlex.split(command) or [""])[0]
    if which(program) is None:
        protocol, named = form.partition(":")[0], shown(f"cmd:{program}").removeprefix("cmd:")
        do = f"write {form}, with a program that is on the PATH"
        found = f"there is no program {named!r}"
        raise DefinitionError(f"app {shown(f'{protocol}:{command}')}", found=found, do=do)


def _end_of(complaint: str) -> str:
    """Return the last words of a program's output: no word is cut, since it may be a key."""
    end = complaint[-LONGEST_END:]
    return end if end == complaint else end.partition("\n")[2] or end.partition(" ")[2]
