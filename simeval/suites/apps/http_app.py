"""An app behind a URL: a request made of a template for each turn, and what its reply says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote
from uuid import uuid4

from simeval.core.conversation import AppResponse, ChatMessage
from simeval.core.validation import require, require_one_of
from simeval.suites.apps.remote_app import AppFailure, Exchange, Session, quoted
from simeval.suites.apps.replies import Reading, Reply, events_of, value_of
from simeval.suites.apps.templates import filled, hidden, places_in, require_variables, steps_of, written

if TYPE_CHECKING:
    import aiohttp

SERVER_SENT, JSON_LINES = "text/event-stream", ("application/x-ndjson", "application/jsonl")
USUAL_REQUEST = {"message": "{message}", "session": "{session}"}
NO_ANSWER = 300  # the status from which on there is none
_ELSEWHERE = ("header:", "cookie:")


@dataclass(slots=True)
class _Connection:
    """The connections of an app, for as long as anyone holds it open."""

    session: aiohttp.ClientSession | None = None
    users: int = 0

    def __reduce__(self) -> tuple[type[_Connection], tuple[()]]:
        return _Connection, ()  # connections stay where they are; who gets a copy of the app opens its own


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApp:
    """An app that answers at a URL, a request a turn.

    `request` is the body, JSON with the places {message} (what the user says now), {messages} (the whole conversation,
    a list of role and content) and {session} (an id of the conversation); with GET it is the query. ${NAME} stands for
    an environment variable, in headers too.

    `reply`, `tool_calls` and `context` (what was retrieved) are paths into the answer, such as
    $.choices[0].message.content; without `reply` an answer is a text, or JSON that has one under "reply", "response",
    "answer", "message", "content", "text" or "output". Server-sent events and lines of JSON are read to their end and
    joined. `session` says where the app names the conversation: a path, header:NAME or cookie:NAME; then {session} is
    that, and null at the first turn. Cookies are sent back in the same conversation; a redirection is not followed.
    `title` is what reports call the app, by default its address with a mark of what else is described here.

    Raises DefinitionError for what cannot be used, when it is made, and for a variable that is not set, when it is
    opened.
    """

    url: str
    request: Any = field(default_factory=lambda: dict(USUAL_REQUEST))
    method: Literal["POST", "PUT", "GET"] = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: str | None = None
    tool_calls: str | None = None
    context: str | None = None
    session: str | None = None
    title: str | None = None
    _reading: Reading = field(init=False, repr=False, compare=False)
    _connection: _Connection = field(default_factory=_Connection, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_address = isinstance(self.url, str) and re.match(r"https?://[^/\s]", self.url)
        require(bool(is_address), "app: url", found=self.url, do="write one that begins with http:// or https://")
        require_one_of(self.method, ("POST", "PUT", "GET"), "app: method")
        places = places_in([self.request, self.url])
        do = "put {message}, or {messages} for the whole conversation, where it wants what the user says"
        require(bool(places & {"message", "messages"}), "app: request", found=self.request, do=do)
        is_fit = self.method != "GET" or isinstance(self.request, Mapping)
        require(is_fit, "app: request", found=self.request, do="with GET, give the names and values of the query")
        by_path = self.session if self.session and not self.session.startswith(_ELSEWHERE) else None
        reading = {
            name: steps_of(path, f"app: {name}") if path else ()
            for name, path in (
                ("reply", self.reply),
                ("tool_calls", self.tool_calls),
                ("context", self.context),
                ("session", by_path),
            )
        }
        object.__setattr__(self, "_reading", Reading(**reading))

    @property
    def name(self) -> str:
        """Its title, or its address with a mark that tells apart what else is described."""
        described = [self.request, self.method, sorted(self.headers), self.reply, self.tool_calls, self.context]
        described.append(self.session)
        if self.title or described == [USUAL_REQUEST, "POST", [], None, None, None, None]:
            return self.title or self.url
        return f"{self.url} ({sha256(json.dumps(described).encode()).hexdigest()[:6]})"

    async def __aenter__(self) -> HttpApp:
        """Keep connections open, until as many have left as entered. Raises DefinitionError for a variable not set."""
        import aiohttp  # it takes a while to load

        require_variables(self._templates, "app")
        held = self._connection
        held.users += 1
        if held.session is None:
            held.session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        held = self._connection
        held.users -= 1
        if not held.users and held.session is not None:
            session, held.session = held.session, None
            await session.close()

    async def __call__(self, messages: list[ChatMessage], state: dict[str, Any]) -> AppResponse:
        """Answer the last of these messages. Raises AppFailure."""
        return (await self.exchange(messages, state)).answer()

    async def exchange(self, messages: Sequence[ChatMessage], state: Mapping[str, Any]) -> Exchange:
        """Send the messages of a conversation, of which the last is new, and return what came back."""
        import aiohttp

        status = "no answer"
        kept, reply = Session.of(state), Reply(self._reading)
        try:
            async with self._sent(messages, kept) as answer:
                status = f"HTTP {answer.status}, {answer.content_type}"
                await _read(answer, reply)
                state = self._kept(kept, reply, answer).state()
        except aiohttp.ClientPayloadError:
            came = f" after {quoted(reply.text)!r}" if reply.text else ""
            return self._failed(status, reply, f"its answer broke off{came}")
        except (aiohttp.ClientError, OSError) as error:
            return self._failed(status, reply, f"{self.url} cannot be reached ({error or type(error).__name__})")
        except AppFailure as failure:
            return self._failed(status, reply, str(failure))
        response = AppResponse(reply.text, state, tuple(reply.tool_calls), context=reply.context)
        return Exchange(status, hidden(reply.came, self._templates), response=response)

    @property
    def _templates(self) -> list[Any]:
        return [self.url, self.request, self.headers]

    def _failed(self, status: str, reply: Reply, said: str) -> Exchange:
        """Return what came back, without the values of environment variables."""
        return Exchange(status, hidden(reply.came, self._templates), failure=hidden(said, self._templates))

    @asynccontextmanager
    async def _sent(self, messages: Sequence[ChatMessage], kept: Session) -> AsyncIterator[aiohttp.ClientResponse]:
        values: Mapping[str, Any] = {
            "message": messages[-1]["content"],
            "messages": list(messages),
            "session": kept.theirs if self.session else kept.given,
        }
        content = filled(self.request, values)
        query = {name: str(value) for name, value in content.items() if value is not None} if self._is_query else None
        trace = {"traceparent": f"00-{kept.given}-{uuid4().hex[:16]}-01"}
        async with (
            self as opened,
            opened._connected.request(
                self.method,
                written(self.url, values, quote=lambda text: quote(text, safe="")),
                json=None if self._is_query else content,
                params=query,
                headers={**trace, **{name: written(value, values) for name, value in self.headers.items()}},
                cookies=dict(kept.cookies),
                allow_redirects=False,  # it would take headers with keys to another server
            ) as answer,
        ):
            yield answer

    @property
    def _is_query(self) -> bool:
        return self.method == "GET"

    @property
    def _connected(self) -> aiohttp.ClientSession:
        assert self._connection.session is not None
        return self._connection.session

    def _kept(self, before: Session, reply: Reply, answer: aiohttp.ClientResponse) -> Session:
        theirs = reply.session
        if self.session and self.session.startswith("header:"):
            theirs = answer.headers.get(self.session.partition(":")[2])
        elif self.session and self.session.startswith("cookie:"):
            cookie = answer.cookies.get(self.session.partition(":")[2])
            theirs = cookie.value if cookie else None
        cookies = {**before.cookies, **{name: morsel.value for name, morsel in answer.cookies.items()}}
        return Session(before.given, theirs or before.theirs, cookies)


async def _read(answer: aiohttp.ClientResponse, reply: Reply) -> None:
    """Take in what came. Raises AppFailure where it is no answer."""
    kind = answer.content_type
    if answer.status < NO_ANSWER and (kind == SERVER_SENT or kind in JSON_LINES):
        async for event in events_of(answer.content, are_server_sent=kind == SERVER_SENT):
            reply.came += f"{event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n"
            reply.take(event, streamed=True)
        if not reply.texts:
            raise AppFailure("no text is found in any event of its stream; say where with `reply:`")
        return
    reply.came = await answer.text(errors="replace")
    if answer.status >= NO_ANSWER:
        elsewhere = answer.headers.get("Location")
        said = f"it redirects to {elsewhere}" if elsewhere else quoted(reply.came) or answer.reason
        raise AppFailure(f"HTTP {answer.status}: {said}")
    if kind == "text/html":
        raise AppFailure(f"it answered with a page of HTML and not with JSON or text: {quoted(reply.came)}")
    reply.take(value_of(reply.came))
