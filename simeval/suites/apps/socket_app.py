"""An app behind a WebSocket: a connection a conversation, a message made of a template for each turn.

open ──► opening (the app's own first frames) ──► message ──► answer ──► message ...
silent connection ──► a frame that nobody asked for: the app greets late
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio

from simeval.core.conversation import ChatMessage
from simeval.core.network import AnswerTooLarge, cause_of, most_bytes
from simeval.core.redaction import shown
from simeval.suites.apps.before import Expired, MayRenew
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_request import UNAUTHORIZED, Wire, broken_off, require_address
from simeval.suites.apps.remote_app import AppFailure, Session, of_close_code, of_status, quoted, unreached
from simeval.suites.apps.replies import Reply, Wanted, marks_of, speaks
from simeval.suites.apps.streams import DONE, Event, value_of
from simeval.suites.apps.templates import MISSING, written

if TYPE_CHECKING:
    import aiohttp

QUIET_SECONDS = 1.0  # the longest silence of an app that greets, as far as nothing else is known
LONGEST_QUIET_SECONDS = 30.0  # once for an app: one that greets late may also answer late
LONGEST_GREETING_SECONDS = 10.0  # the longest wait for a greeting, on the silent connection and after it
AT_HAND_SECONDS = 0.001  # for frames that have come


@dataclass(slots=True)
class SocketLine:
    """The connection of one conversation, which holds those of its app open."""

    socket: aiohttp.ClientWebSocketResponse
    wire: Wire
    opened: float = field(default_factory=perf_counter)
    is_greeted: bool = False  # or no greeting is waited for any more

    @property
    def age(self) -> float:
        """The seconds since it was opened."""
        return perf_counter() - self.opened

    async def close(self) -> None:
        """Close it."""
        await self.socket.close()
        await self.wire.__aexit__()

    async def heard(self, reply: Reply) -> Any:
        """Return the value of the next frame. Raises AppFailure if the connection is closed."""
        import aiohttp

        frame = await self.socket.receive()
        if self.socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
            raise AppFailure(str(AnswerTooLarge(most_bytes())))
        if frame.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            code = f" (code {self.socket.close_code})" if self.socket.close_code else ""
            raise of_close_code(f"{broken_off(reply)}: it closed the connection{code}", self.socket.close_code)
        text = frame.data if isinstance(frame.data, str) else frame.data.decode("utf-8", "replace")
        reply.keep(f"{text}\n")
        if text.startswith('0{"sid"'):
            raise AppFailure("it speaks Socket.IO, which is more than a WebSocket; call it from a handler of yours")
        return None if text == DONE else value_of(text)

    async def heard_within(self, seconds: float | None, reply: Reply) -> Any:
        """Return the value of the next frame, or MISSING if none comes in time. Raises AppFailure."""
        with anyio.move_on_after(seconds):
            return await self.heard(reply)
        return MISSING


@dataclass(slots=True)
class Opening:
    """How an app opens conversations: with a number of frames (None: unknown), or up to one that ends them.

    An app that seems not to greet may do so late. A silent connection finds that out: it is opened before the first
    conversation, and watched for ten seconds while conversations go on. `quiet_seconds` after it was opened it had
    heard nothing.
    """

    frames: int | None = None
    is_ended: bool = False
    silent: SocketLine | None = None
    quiet_seconds: float = 0.0
    watched: anyio.Lock = field(default_factory=anyio.Lock)

    def __reduce__(self) -> tuple[type[Opening], tuple[int | None, bool]]:
        return Opening, (self.frames, self.is_ended)

    def is_due(self, line: SocketLine, age: float) -> bool:
        """Return whether the app has greeted a line of this age, and nobody has noticed."""
        return bool(self.frames) and not line.is_greeted and age >= self.quiet_seconds

    def is_over(self, count: int, *, is_last: bool) -> bool:
        """Return whether nothing more comes after so many frames."""
        return is_last if self.is_ended and count else self.frames is not None and count >= self.frames


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketApp(DescribedApp):
    """An app that answers over a WebSocket, whose connection is the conversation.

    `request`, `headers`, `reply`, `tool_calls`, `context`, `session` (a path), `where`, `fail_if`, `before` and `title`
    are as HttpApp's; a request that is a text is sent as it is. The answer is the first frame with a text. If it comes
    in several, `until` names their last one: by a path that it has, with anything but false or null there, or by a
    field and its value, such as {"type": "done"}; then their texts are joined.

    An app that `greets` sends frames before the first message; they open the conversation, and answer nothing. Unless
    this is given, it is found out: the first conversation listens before it asks and after the answer, and a second,
    silent connection is watched for ten seconds.

    Raises DefinitionError for invalid arguments, when it is made, and for a variable that is not set, when it is
    opened.
    """

    until: str | Mapping[str, Any] | None = None
    greets: bool | None = None
    _last: Sequence[Wanted] = field(init=False, repr=False, compare=False)
    _opening: Opening = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_address(self.url, "one that begins with ws:// or wss://", schemes="wss?")
        self._check(self.request)
        object.__setattr__(self, "_last", () if self.until is None else marks_of(self.until, "app: until"))
        object.__setattr__(self, "_opening", Opening(0 if self.greets is False else None))

    @property
    def _described(self) -> list[Any]:
        until = dict(self.until) if isinstance(self.until, Mapping) else self.until
        return [*super(SocketApp, self)._described, until]

    @property
    def session_warning(self) -> str:
        """Its connection is the session."""
        return ""

    async def _asked(
        self, messages: Sequence[ChatMessage], kept: Session, reply: Reply, may_renew: MayRenew = lambda: False
    ) -> Session:
        if kept.line is None:
            await self._open_silent(kept)
        line: SocketLine = kept.line or await self._opened(kept, may_renew)
        reply.status, reply.is_stream = "a WebSocket", self.until is not None
        try:
            is_unsure = False
            if kept.line is None:
                is_unsure = await self._hear_opening(line, reply)
            else:
                await self._hear_nothing(line, reply)
            kept = replace(kept, theirs=reply.session or kept.theirs)
            content = self._content(self._values(messages, kept))
            await self._say(content if isinstance(content, str) else json.dumps(content), line.socket, reply)
            await self._hear_answer(line, reply, is_unsure=is_unsure)
        except BaseException:  # also when cancelled: nobody else knows of the connection yet
            await self.leave({"line": line})
            raise
        return replace(kept, theirs=reply.session or kept.theirs, line=line)

    async def leave(self, state: Mapping[str, Any]) -> None:
        """Close the connection of a conversation, and with the last one the silent connection."""
        await super(SocketApp, self).leave(state)
        if self._wire.users == 1:
            await self._close_silent()

    async def __aexit__(self, *exc: object) -> None:
        if self._wire.users == 2:  # this one and the silent connection
            await self._close_silent()
        await super(SocketApp, self).__aexit__(*exc)

    async def _opened(self, kept: Session, may_renew: MayRenew = lambda: False) -> SocketLine:
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
            return await self._wire.opened.ws_connect(
                written(self.url, values), headers=headers, max_msg_size=most_bytes()
            )
        except aiohttp.WSServerHandshakeError as error:
            if error.status == UNAUTHORIZED and may_renew():
                raise Expired from error
            kind = error.headers.get("Content-Type", "nothing").partition(";")[0] if error.headers else "nothing"
            said = f"HTTP {error.status}: it opens no WebSocket, but answers with {kind}"
            raise of_status(said, error.status, error.headers) from error
        except aiohttp.ClientConnectorError as error:
            raise unreached(shown(self.url), error) from error
        except (aiohttp.ClientError, OSError) as error:
            raise AppFailure(f"{shown(self.url)} opens no WebSocket ({cause_of(error)})") from error

    async def _hear_opening(self, line: SocketLine, reply: Reply) -> bool:
        """Take in the frames before the first message. Return whether it is unknown if there are any.

        Raises AppFailure.
        """
        known, opening, count, is_last = self._opening.frames, Reply(self._read), 0, False
        while not self._opening.is_over(count, is_last=is_last):
            value = await line.heard_within(self._patience(count), reply)
            if value is MISSING:
                break
            opening.hear(Event(value))
            is_last = self._is_last(value)
            is_of_use = speaks(value, self._read) or opening.session != reply.session or is_last
            reply.session, count = opening.session, count + is_of_use
        if opening.speaks:
            reply.keep_greeting(opening.text if self.until else opening.lines)
        line.is_greeted = known != 0 and bool(known or count)
        if known is None and count:
            self._opening.frames, self._opening.is_ended = count, is_last
        return known is None and not count

    def _patience(self, count: int) -> float | None:
        """Return the seconds to wait for the next frame of an opening, after so many."""
        if self._opening.frames is not None:
            return _quiet(max(LONGEST_GREETING_SECONDS, 2 * self._opening.quiet_seconds))
        return None if self.greets and not count else _quiet(QUIET_SECONDS)

    async def _hear_nothing(self, line: SocketLine, reply: Reply) -> None:
        """Read a late greeting. Raise AppFailure if the app has sent more than its answer."""
        await self._watch_silent()
        if self._opening.frames and not line.is_greeted:
            await self._hear_opening(line, reply)
        while (value := await line.heard_within(AT_HAND_SECONDS, reply)) is not MISSING:
            if speaks(value, self._read):  # the next answer would be taken for another's
                self._opening.frames = None if self.greets is None else self._opening.frames  # it may have greeted late
                raise AppFailure(_said_more(value))

    async def _say(self, text: str, socket: aiohttp.ClientWebSocketResponse, reply: Reply) -> None:
        reply.begin()
        reply.sent = partial(dict, sent="a frame", body=text)
        try:
            await socket.send_str(text)
        except OSError as error:
            raise AppFailure("it has closed the connection") from error

    async def _hear_answer(self, line: SocketLine, reply: Reply, *, is_unsure: bool) -> None:
        """Take in the frames of the answer, and find out whether they were a late greeting.

        Where that `is_unsure`, listen for more. Raises AppFailure.
        """
        await self._hear_whole(line, reply)
        age = line.age
        more = await self._more_after(line, reply) if is_unsure and not self._opening.frames else MISSING
        clock = perf_counter()
        await self._watch_silent(AT_HAND_SECONDS if more is MISSING else _quiet(max(line.age, QUIET_SECONDS)))
        if self._opening.is_due(line, age):
            line.is_greeted = True
            reply.pass_over(0.0 if more is MISSING else perf_counter() - clock)
            reply.greeted()
            await self._hear_whole(line, reply, more)
        elif more is not MISSING:
            raise AppFailure(_said_more(more))
        elif is_unsure:
            self._opening.frames = self._opening.frames or 0

    async def _hear_whole(self, line: SocketLine, reply: Reply, first: Any = MISSING) -> None:
        """Take in frames up to the end of an answer, or of a greeting. Raises AppFailure."""
        value = await line.heard(reply) if first is MISSING else first
        while not self._is_complete(value, reply):
            value = await line.heard(reply)
        reply.end()

    def _is_complete(self, value: Any, reply: Reply) -> bool:
        """Take in a frame, and return whether the answer is complete. Raises AppFailure."""
        if value is not None:
            reply.hear(Event(value))
        if self.until is None:
            if not reply.speaks:
                return False
        elif not self._is_last(value):
            return False
        reply.settle("frame of its answer")
        return True

    def _is_last(self, value: Any) -> bool:
        return bool(self._last) and all(each.is_met(Event(value)) for each in self._last)

    async def _more_after(self, line: SocketLine, reply: Reply) -> Any:
        """Return the app's message after its answer, sent unasked; MISSING if it is silent."""
        deadline = perf_counter() + _quiet(_patience_after(line.age))
        while (left := deadline - perf_counter()) > 0:
            value = await line.heard_within(left, reply)
            if value is MISSING or speaks(value, self._read):
                return value
        return MISSING

    async def _open_silent(self, kept: Session) -> None:
        """Open the connection that shows whether the app greets, before the first conversation begins."""
        if self.greets is not None or self._opening.frames is not None:
            return
        async with self._opening.watched:
            if self._opening.silent is None:
                with suppress(AppFailure):  # then answers alone show it
                    self._opening.silent = await self._opened(replace(kept, given=uuid4().hex))

    async def _watch_silent(self, seconds: float = AT_HAND_SECONDS) -> None:
        """Find out whether the silent connection was greeted, or is within so many seconds."""
        opening = self._opening
        if opening.silent is None:
            return
        async with opening.watched:
            if (silent := opening.silent) is None:
                return
            age = silent.age
            heard = await self._hears_unasked(silent, seconds)
            if heard is None and age < LONGEST_GREETING_SECONDS:
                opening.quiet_seconds = age
                return
            opening.frames = (opening.frames or 1) if heard else opening.frames
            await self._close_silent()

    async def _hears_unasked(self, silent: SocketLine, seconds: float) -> bool | None:
        """Return whether the app sends something within so many seconds; None if it is silent."""
        aside = Reply(self._read)
        with anyio.move_on_after(seconds):
            try:
                while not speaks(await silent.heard(aside), self._read):
                    pass
            except AppFailure:
                return False
            return True
        return None

    async def _close_silent(self) -> None:
        silent, self._opening.silent = self._opening.silent, None
        await super(SocketApp, self).leave({"line": silent})


def _patience_after(seconds: float) -> float:
    """Return for how long an app may be silent after a first frame that took so long, if that was a greeting."""
    return min(max(QUIET_SECONDS, seconds), LONGEST_QUIET_SECONDS)


def _quiet(seconds: float) -> float:
    """Return for how long to listen: not longer than a quarter of the time that is left for the answer."""
    return min(seconds, max(0.0, anyio.current_effective_deadline() - anyio.current_time()) / 4)


def _said_more(value: Any) -> str:
    said = quoted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    do = "name the last frame of an answer with `until:`; if it greets, write `greets: true`"
    return f"it said more after its answer, without being asked: {said}; {do}"
