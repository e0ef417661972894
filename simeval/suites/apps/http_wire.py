"""Requests over HTTP to an app: connections while it is held open, answers read to their end, failures named."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from simeval.core.network import AnswerTooLarge, bounded, cause_of, read_whole
from simeval.core.redaction import SHORTEST, read_address, shown
from simeval.suites.apps.asgi import ORIGIN, AsgiCallable, AsgiServer
from simeval.suites.apps.remote_app import AppFailure, Outcome, Session, of_status, quoted, unreached
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import Event, Form, events_in, events_of, form_of, mistake_in, value_of
from simeval.suites.apps.templates import hidden

if TYPE_CHECKING:
    import aiohttp

UNAUTHORIZED = 401
SHORTEST_COOKIE = 16  # characters of one that is masked wherever it is
IDLE_SECONDS = 4.0  # how long a connection is kept for the next turn: servers close it after 5, in the middle of one
SERVER_SENT = "text/event-stream"
_STREAMS: Mapping[str, Form] = {
    SERVER_SENT: "server-sent events",
    **dict.fromkeys(
        (
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/x-jsonl",
            "application/jsonlines",
            "application/x-jsonlines",
            "application/stream+json",
            "application/json-seq",
        ),
        "lines of JSON",
    ),
}
_AI_SDK = "x-vercel-ai-data-stream"  # the header of its older protocol, whose type is a plain text's
_LETS_NOBODY_IN = re.compile(  # a page that wants a login, or a proof that a person asks
    r"type=[\"']?password|\b(?:log|sign)[ -]?in\b|captcha|just a moment|checking your browser|verify (?:that )?you are",
    re.IGNORECASE,
)
NO_ANSWER = 300  # the lowest status without an answer
_KEY, _BODY = "it wants a key: `headers:` sends one", "it wants another request: `request:` says what is sent"
HINTS: Mapping[int, str] = {  # for an app that a suite describes, by the status
    400: _BODY,
    401: _KEY,
    403: _KEY,
    404: "check the path of its URL",
    405: "check the path of its URL, or set `method:`",
    415: _BODY,
    422: _BODY,
    429: "it takes fewer requests at a time: --app-rpm or --app-concurrency",
}


@dataclass(slots=True)
class Wire:
    """The connections of an app, for as long as anyone holds it open."""

    connected: aiohttp.ClientSession | None = None
    users: int = 0
    server: AsgiServer | None = None  # of an app that is served in this process
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        app = self.server and self.server.app
        return _wire_of, (app,)  # connections stay here; a copy of the app opens its own

    async def __aenter__(self) -> Wire:
        """Keep connections open, until as many have left as entered."""
        import aiohttp  # it takes a while to load

        if self.server is not None and not self.server.origin:
            async with self._opening:
                if not self.server.origin:
                    await self.server.open()
        self.users += 1  # whoever could not open it has not entered
        if self.connected is None:
            self.connected = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.users -= 1
        if not self.users and self.connected is not None:
            connected, self.connected = self.connected, None
            server, self.server = self.server, self.server and AsgiServer(self.server.app)  # whoever enters now has new
            await connected.close()
            if server is not None:
                await server.close()

    @asynccontextmanager
    async def sent(
        self, request: Request, kept: Session, reply: Reply, *, where: str = ""
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request of a conversation, and yield the response; `where` names its address in failures.

        Raises AppFailure, also if the answer breaks off while it is read.
        """
        import aiohttp

        reply.sent = request.parts
        try:
            async with (
                self,
                self.opened.request(
                    request.method,
                    self._at(request.url),
                    json=request.body,
                    data=request.data,
                    params=request.query,
                    headers={"traceparent": kept.new_traceparent(), **request.headers},
                    cookies=dict(kept.cookies) or None,  # for an empty dict aiohttp makes a jar
                    allow_redirects=False,  # it would take headers with keys to another server
                ) as answer,
            ):
                reply.status = f"HTTP {answer.status}, {answer.content_type}"
                reply.hides = {**reply.hides, **_told_by(answer, kept)}
                yield answer
        except AppFailure as failure:
            failure.args = (hidden(str(failure), (), reply.hides),)
            raise
        except AnswerTooLarge as error:
            raise reply.too_large(error) from error
        except aiohttp.ClientPayloadError as error:
            raise AppFailure(broken_off(reply)) from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise unreached(shown(where or request.url), error) from error
        except (aiohttp.ClientError, OSError) as error:
            why = "" if isinstance(error, aiohttp.ServerDisconnectedError) else f" ({cause_of(error)})"
            raise AppFailure(f"{shown(where or request.url)} closed the connection without an answer{why}") from error

    def _at(self, url: str) -> str:
        """Return the address of a URL: of an app that is served here, the one that it has now."""
        return url if self.server is None else url.replace(ORIGIN, self.server.origin, 1)

    @property
    def opened(self) -> aiohttp.ClientSession:
        """The open connections. It must be held open."""
        assert self.connected is not None
        return self.connected


def _wire_of(app: AsgiCallable | None) -> Wire:
    return Wire(server=app and AsgiServer(app))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: `body` is JSON, or `data` is sent as it is; `query` are names with their values."""

    url: str
    body: Any = None
    data: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    query: Sequence[tuple[str, str]] | None = None

    def parts(self) -> Mapping[str, str]:
        """Return its parts by their names, as a person reads them."""
        found = {
            "sent": f"{self.method} {shown(self.url)}",
            "query": ", ".join(f"{name}={value}" for name, value in self.query or ()),
            "headers": ", ".join(f"{name}: {value}" for name, value in self.headers.items()),
            "body": json.dumps(self.body, ensure_ascii=False) if self.body is not None else "",
            "data": (self.data or b"").decode("utf-8", "replace"),
        }
        return {name: part for name, part in found.items() if part}


async def values_of(answer: aiohttp.ClientResponse, reply: Reply, hints: Mapping[int, str] = {}) -> AsyncIterator[Any]:
    """Yield the values of a stream, or the one value that is no stream; otherwise as `events_from`."""
    async for event in events_from(answer, reply, hints):
        yield event.value


async def events_from(
    answer: aiohttp.ClientResponse, reply: Reply, hints: Mapping[int, str] = {}
) -> AsyncIterator[Event]:
    """Yield the events of a stream, or the one value that is no stream. Raises AppFailure if it is no answer.

    `hints` give advice on a status.
    """
    kind = answer.content_type
    form: Form | None = "lines of the AI SDK" if _AI_SDK in answer.headers else _STREAMS.get(kind)
    if answer.status < NO_ANSWER and form:
        reply.is_stream = True
        async for event in events_of(bounded(answer.content.iter_any()), form):
            reply.keep(f"{event.name}: {event.came}\n" if event.name else f"{event.came}\n")
            yield event
        return
    body = await text_of(answer)
    reply.keep(body)
    if answer.status >= NO_ANSWER:
        elsewhere = answer.headers.get("Location")
        said = quoted(body).removeprefix(f"{answer.status}: ") or answer.reason
        said = f"it redirects to {read_address(elsewhere)[0]}" if elsewhere else said
        hint = f" ({hints[answer.status]})" if answer.status in hints else ""
        raise of_status(f"HTTP {answer.status}: {said}{hint}", answer.status, answer.headers, body=body)
    if kind == "text/html":
        outcome: Outcome = "key" if _LETS_NOBODY_IN.search(body) else "failed"
        said = f"it answered with a page of HTML and not with JSON or text: {quoted(body)}"
        raise AppFailure(said, outcome=outcome)
    for event in _events_of_whole(body.removeprefix("\ufeff"), kind, reply):
        yield event


def _events_of_whole(body: str, kind: str, reply: Reply) -> Iterator[Event]:
    """Yield the events of a body, which may be a stream under another type. Raises AppFailure.

    A body that is sent as JSON must be JSON; one without anything is an empty text.
    """
    value = value_of(body)
    is_json = value != body or not body or mistake_in(body) is None
    if form := None if is_json else form_of(body):
        reply.is_stream = True
        yield from events_in(body, form)
    elif not is_json and kind.endswith(("/json", "+json")):
        raise AppFailure(f"it says JSON and is none ({mistake_in(body)}): {quoted(body)}")
    else:
        yield Event(value)


async def text_of(answer: aiohttp.ClientResponse) -> str:
    """Return the body of an answer as text. Raises AnswerTooLarge, which `Wire.sent` turns into an AppFailure."""
    return _text(await read_whole(answer.content), answer.charset)


def _text(body: bytes, charset: str | None) -> str:
    """Return a body as a text; in an unknown charset it is read as UTF-8."""
    try:
        return body.decode(charset or "utf-8", errors="replace")
    except LookupError:
        return body.decode(errors="replace")


def with_cookies(kept: Session, answer: aiohttp.ClientResponse) -> Session:
    """Return the session of a conversation after an answer, which may have set cookies."""
    if "Set-Cookie" not in answer.headers:
        return kept
    cookies = {**kept.cookies, **{name: morsel.value for name, morsel in answer.cookies.items()}}
    return replace(kept, cookies=cookies)


def _told_by(answer: aiohttp.ClientResponse, kept: Session) -> Mapping[str, str]:
    """Return the values of an answer that nobody is to see, with their names: in cookies, and in a redirection."""
    cookies = {**kept.cookies, **{name: morsel.value for name, morsel in answer.cookies.items()}}
    _, elsewhere = read_address(answer.headers.get("Location", ""))
    return {**dict.fromkeys(elsewhere, "Location"), **hidden_cookies(cookies)}


def hidden_cookies(cookies: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of cookies that nobody is to see, with their names; short ones as they are sent, `name=value`.

    A short value alone, such as "default", may be a word of an answer.
    """
    long = {name: value for name, value in cookies.items() if len(value) >= SHORTEST}
    return {value if len(value) >= SHORTEST_COOKIE else f"{name}={value}": name for name, value in long.items()}


def broken_off(reply: Reply) -> str:
    """Report that an answer broke off, and the part before that."""
    return f"its answer broke off after {quoted(reply.text)!r}" if reply.text else "its answer broke off"
