"""How the messages of MCP reach a server: as requests over HTTP, or as lines to a program and from it."""

import base64
import json
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from simeval.core.network import AnswerTooLarge, most_bytes
from simeval.extras.protocols.json_rpc import call, errors_told, result_in
from simeval.suites.apps.http_request import Request, Wire, key_headers, values_of, with_cookies
from simeval.suites.apps.remote_app import AppFailure, Session, quoted
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import value_of

PROBE_SECONDS = 5.0  # some programs answer nothing before the handshake
END_SECONDS = 2.0  # how long a program may take to end when nothing more is written to it
_NAMED = "tools/call"


class McpLine(Protocol):
    """The line to a server that one conversation has; `version` is the protocol's, None before the handshake."""

    version: str | None
    reply: Reply

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request, and return its result. Raises AppFailure."""

    async def tell(self, method: str) -> None:
        """Send a notification. Raises AppFailure."""

    def probing(self) -> AbstractContextManager[anyio.CancelScope]:
        """Bound a request that some servers do not answer."""

    async def close(self) -> None:
        """End the session."""


@dataclass(slots=True)
class HttpLine:
    """A line by streamable HTTP; the server may give the session a name."""

    wire: Wire
    url: str
    kept: Session
    version: str | None = None
    session: str | None = None
    reply: Reply = field(default_factory=Reply)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        called = call(method, params)
        headers = {"Mcp-Method": method, **({"Mcp-Name": _safe(params["name"])} if method == _NAMED else {})}
        with errors_told():
            async with self.wire.sent(self._request(called, headers), self.kept, self.reply) as answer:
                self.kept = with_cookies(self.kept, answer)
                self.session = answer.headers.get("Mcp-Session-Id", self.session)
                async for value in values_of(answer, self.reply):
                    if (found := result_in(value, called)) is not None:
                        return found
        raise AppFailure(f"its stream ended without an answer to {method}")

    async def tell(self, method: str) -> None:
        async with self.wire.sent(self._request({"jsonrpc": "2.0", "method": method}), self.kept, Reply()):
            pass

    def probing(self) -> AbstractContextManager[anyio.CancelScope]:
        return nullcontext(anyio.CancelScope())

    async def close(self) -> None:
        if self.session is not None:  # a courtesy, which servers may refuse
            request = replace(self._request(None), method="DELETE")
            try:
                async with self.wire.sent(request, self.kept, Reply()):
                    self.session = None
            except AppFailure:
                return

    def _request(self, body: Any, headers: Mapping[str, str] | None = None) -> Request:
        known = {"MCP-Protocol-Version": self.version, "Mcp-Session-Id": self.session}
        accept = {"Accept": "application/json, text/event-stream"}
        said = {name: value for name, value in known.items() if value is not None}
        return Request(url=self.url, body=body, headers={**accept, **said, **(headers or {}), **key_headers(self.url)})


@dataclass(slots=True)
class ProcessLine:
    """A line to a program of its own: a message a line, in both directions."""

    process: Process
    complaints: IO[bytes]
    lines: BufferedByteReceiveStream
    version: str | None = None
    reply: Reply = field(default_factory=Reply)

    @classmethod
    async def of(cls, command: str) -> "ProcessLine":
        """Start the program."""
        complaints = TemporaryFile()  # noqa: SIM115 (it is open as long as the line)
        process = await anyio.open_process(shlex.split(command), stderr=complaints)
        assert process.stdout is not None
        return cls(process, complaints, BufferedByteReceiveStream(process.stdout))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        called = call(method, params)
        self.reply.sent = partial(dict, sent="a line", body=json.dumps(called))
        await self._write(called)
        while True:
            try:
                line = await self.lines.receive_until(b"\n", most_bytes())
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError) as error:
                raise AppFailure(await self._ended(method)) from error
            except anyio.DelimiterNotFound as error:
                raise AppFailure(str(AnswerTooLarge(most_bytes()))) from error
            text = line.decode("utf-8", "replace")
            self.reply.status = "a line"
            self.reply.keep(f"{text}\n")
            value = value_of(text)
            if isinstance(value, Mapping) and "method" in value and "id" in value:  # the server asks us
                refused = {"code": -32601, "message": "simeval answers no requests"}
                known = {"result": {}} if value["method"] == "ping" else {"error": refused}
                await self._write({"jsonrpc": "2.0", "id": value["id"], **known})
            elif (found := result_in(value, called)) is not None:
                return found

    async def tell(self, method: str) -> None:
        await self._write({"jsonrpc": "2.0", "method": method})

    def probing(self) -> AbstractContextManager[anyio.CancelScope]:
        return anyio.move_on_after(PROBE_SECONDS)

    async def close(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with anyio.move_on_after(END_SECONDS):
            await self.process.wait()
        if self.process.returncode is None:
            self.process.kill()
        await self.process.aclose()
        self.complaints.close()

    async def _write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            await self.process.stdin.send(f"{json.dumps(message)}\n".encode())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise AppFailure(await self._ended(str(message.get("method")))) from error

    async def _ended(self, method: str) -> str:
        """Report that the program ended, with its error output."""
        with anyio.move_on_after(END_SECONDS):
            await self.process.wait()
        self.complaints.seek(0)
        said = quoted(self.complaints.read().decode("utf-8", "replace").strip()[-500:])
        status = f"exit status {self.process.returncode}"
        return f"it ended without an answer to {method} ({status}{f': {said}' if said else ''})"


def _safe(text: str) -> str:
    """Return a text in the form that headers of MCP have."""
    is_plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    return text if is_plain else f"=?base64?{base64.b64encode(text.encode()).decode()}?="
