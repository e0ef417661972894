"""An app behind a WebSocket: a connection a conversation, a message made of a template for each turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from simeval.core.conversation import ChatMessage
from simeval.core.unreached import cause_of
from simeval.suites.apps.addressed_app import require_address
from simeval.suites.apps.before import Expired, MayRenew
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_wire import UNAUTHORIZED, Wire, broken_off
from simeval.suites.apps.outcomes import AppFailure, of_close_code, of_status, unreached
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reply, value_of
from simeval.suites.apps.templates import MISSING, found_at, steps_of, written

if TYPE_CHECKING:
    import aiohttp


@dataclass(slots=True)
class SocketLine:
    """The connection of one conversation, which holds those of its app open."""

    socket: aiohttp.ClientWebSocketResponse
    wire: Wire

    async def close(self) -> None:
        """Close it."""
        await self.socket.close()
        await self.wire.__aexit__()


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketApp(DescribedApp):
    """An app that answers over a WebSocket, whose connection is the conversation.

    `request`, `headers`, `reply`, `tool_calls`, `context`, `session` (a path), `before` and `title` are as HttpApp's; a
    request that is a text is sent as it is. The answer is the first frame with a text. Where it comes in several,
    `until` is a path that their last one has, with anything but false or null there: then their texts are joined.

    Raises DefinitionError for what cannot be used, when it is made, and for a variable that is not set, when it is
    opened.
    """

    until: str | None = None
    _until: Sequence[str | int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_address(self.url, "one that begins with ws:// or wss://", schemes="wss?")
        self._check(self.request)
        object.__setattr__(self, "_until", steps_of(self.until, "app: until") if self.until else ())

    @property
    def _described(self) -> list[Any]:
        return [*super(SocketApp, self)._described, self.until]

    @property
    def session_warning(self) -> str:
        """Its connection is the session."""
        return ""

    async def _asked(
        self, messages: Sequence[ChatMessage], kept: Session, reply: Reply, may_renew: MayRenew = lambda: False
    ) -> Session:
        line: SocketLine = kept.line or await self._opened(kept, may_renew)
        content = self._content(self._values(messages, kept))
        try:
            await self._say(content if isinstance(content, str) else json.dumps(content), line.socket, reply)
            while not await self._hears(line.socket, reply):
                pass
        except BaseException:  # also where it is ended: nobody else knows of the connection yet
            await self.leave({"line": line})
            raise
        return replace(kept, theirs=reply.session or kept.theirs, line=line)

    async def _opened(self, kept: Session, may_renew: MayRenew) -> SocketLine:
        await self._wire.__aenter__()
        try:
            return SocketLine(await self._connected(kept, may_renew), self._wire)
        except BaseException:
            await self._wire.__aexit__()
            raise

    async def _connected(self, kept: Session, may_renew: MayRenew) -> aiohttp.ClientWebSocketResponse:
        import aiohttp

        values = {**self._values([{"role": "user", "content": ""}], kept), "messages": ""}
        values["session"] = values["session"] or kept.given
        headers = {"traceparent": kept.new_traceparent(), **self._sent_headers(values)}
        if kept.cookies:
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.cookies.items()), **headers}
        try:
            return await self._wire.opened.ws_connect(written(self.url, values), headers=headers, max_msg_size=0)
        except aiohttp.WSServerHandshakeError as error:
            if error.status == UNAUTHORIZED and may_renew():
                raise Expired from error
            kind = error.headers.get("Content-Type", "nothing").partition(";")[0] if error.headers else "nothing"
            said = f"HTTP {error.status}: it opens no WebSocket, but answers with {kind}"
            raise of_status(said, error.status, error.headers) from error
        except aiohttp.ClientConnectorError as error:
            raise unreached(self.url, error) from error
        except (aiohttp.ClientError, OSError) as error:
            raise AppFailure(f"{self.url} opens no WebSocket ({cause_of(error)})") from error

    async def _say(self, text: str, socket: aiohttp.ClientWebSocketResponse, reply: Reply) -> None:
        reply.status, reply.is_stream = "a WebSocket", bool(self._until)
        try:
            await socket.send_str(text)
        except OSError as error:
            raise AppFailure("it has closed the connection") from error

    async def _hears(self, socket: aiohttp.ClientWebSocketResponse, reply: Reply) -> bool:
        """Take in the next frame, and return whether the answer is complete. Raises AppFailure."""
        import aiohttp

        frame = await socket.receive()
        if frame.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            code = f" (code {socket.close_code})" if socket.close_code else ""
            raise of_close_code(f"{broken_off(reply)}: it closed the connection{code}", socket.close_code)
        text = frame.data if isinstance(frame.data, str) else frame.data.decode("utf-8", "replace")
        reply.came += f"{text}\n"
        value = value_of(text)
        reply.take(value, streamed=True)
        if not self._until:
            return bool(reply.texts)
        is_last = found_at(value, self._until) not in (MISSING, None, False)
        if is_last and not reply.texts:
            raise AppFailure("no text is found in any frame of its answer; say where with `reply:`")
        return is_last
