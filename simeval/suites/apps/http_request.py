"""Requests over HTTP to an app: templates, connections that are held open, answers read to their end."""

import json
import os
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote, urlencode, urlsplit

import anyio

from simeval.core.network import AnswerTooLarge, bounded, cause_of, read_whole
from simeval.core.redaction import SHORTEST, is_secret_name, read_address, shown
from simeval.core.validation import require, require_one_of
from simeval.errors import DefinitionError
from simeval.suites.apps.asgi import ORIGIN, AsgiServer
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure, Outcome, Session, of_status, quoted, unreached
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import Event, Form, events_in, events_of, form_of, mistake_in, value_of
from simeval.suites.apps.templates import PLACES, filled, hidden, require_places, written

if TYPE_CHECKING:
    import aiohttp

UNAUTHORIZED = 401
SHORTEST_COOKIE = 16  # characters of one that is masked wherever it is
_SECRET_COOKIE = re.compile(  # by its name; others, such as theme, tz and last_order, have words of answers
    r"sess(?:ion|_?id|\b)|sid(?![a-z])|auth(?!or)|token|csrf|xsrf|remember", re.IGNORECASE
)
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}")  # no word, no number of an order
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

KEY = "APP_API_KEY"  # sent to apps behind a protocol, if set: never a provider's own key
KEY_TEMPLATE = f"${{{KEY}}}"

Encoding = Literal["json", "form", "text"]
ENCODINGS: Sequence[Encoding] = ("json", "form", "text")
CONTENT_TYPE = "Content-Type"
_FORM = "application/x-www-form-urlencoded"
_SENT_AS: Mapping[Encoding, str] = {"form": _FORM, "text": "text/plain; charset=utf-8"}


@dataclass(slots=True)
class Wire:
    """The connections of an app, for as long as anyone holds it open."""

    connected: "aiohttp.ClientSession | None" = None
    users: int = 0
    server: AsgiServer | None = None  # of an app that is served in this process
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        server = self.server and AsgiServer(self.server.app)
        return Wire, (None, 0, server)  # connections stay here; a copy of the app opens its own

    async def __aenter__(self) -> "Wire":
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
        self, request: "Request", kept: Session, reply: Reply, *, where: str = ""
    ) -> "AsyncIterator[aiohttp.ClientResponse]":
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
    def opened(self) -> "aiohttp.ClientSession":
        """The open connections. It must be held open."""
        assert self.connected is not None
        return self.connected


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


async def values_of(answer: "aiohttp.ClientResponse", reply: Reply) -> AsyncIterator[Any]:
    """Yield the values of a stream, or the one value that is no stream; otherwise as `events_from`."""
    async for event in events_from(answer, reply):
        yield event.value


async def events_from(
    answer: "aiohttp.ClientResponse", reply: Reply, hints: Mapping[int, str] = {}
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


async def text_of(answer: "aiohttp.ClientResponse") -> str:
    """Return the body of an answer as text. Raises AnswerTooLarge, which `Wire.sent` turns into an AppFailure."""
    return _text(await read_whole(answer.content), answer.charset)


def _text(body: bytes, charset: str | None) -> str:
    """Return a body as a text; in an unknown charset it is read as UTF-8."""
    try:
        return body.decode(charset or "utf-8", errors="replace")
    except LookupError:
        return body.decode(errors="replace")


def with_cookies(kept: Session, answer: "aiohttp.ClientResponse") -> Session:
    """Return the session of a conversation after an answer, which may have set cookies."""
    if "Set-Cookie" not in answer.headers:
        return kept
    cookies = {**kept.cookies, **{name: morsel.value for name, morsel in answer.cookies.items()}}
    return replace(kept, cookies=cookies)


def _told_by(answer: "aiohttp.ClientResponse", kept: Session) -> Mapping[str, str]:
    """Return the values of an answer that nobody is to see, with their names: in cookies, and in a redirection.

    The address of an answer that is none of a redirection, such as that of a new message, may have words of it.
    """
    set_here = {name: morsel.value for name, morsel in answer.cookies.items()}
    cookies = {name: value for name, value in {**kept.cookies, **set_here}.items() if _is_secret(name, value)}
    location = answer.headers.get("Location", "") if answer.status >= NO_ANSWER else ""
    return {**dict.fromkeys(read_address(location)[1], "Location"), **hidden_cookies(cookies)}


def _is_secret(name: str, value: str) -> bool:
    """Return whether a cookie of an app is secret: a judge reads the answers without its value."""
    is_named = is_secret_name(name) or _SECRET_COOKIE.search(name) is not None
    return is_named or _RANDOM.search(value) is not None


def hidden_cookies(cookies: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of cookies that nobody is to see, with their names; short ones as they are sent, `name=value`.

    A short value alone, such as "default", may be a word of an answer.
    """
    long = {name: value for name, value in cookies.items() if len(value) >= SHORTEST}
    return {value if len(value) >= SHORTEST_COOKIE else f"{name}={value}": name for name, value in long.items()}


def broken_off(reply: Reply) -> str:
    """Report that an answer broke off, and the part before that."""
    return f"its answer broke off after {quoted(reply.text)!r}" if reply.text else "its answer broke off"


@dataclass(frozen=True, slots=True)
class AddressedApp(ProtocolApp):
    """An app at an address."""

    _wire: Wire = field(default_factory=Wire, init=False, repr=False, compare=False)

    @property
    def _templates(self) -> Any:
        return KEY_TEMPLATE

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._wire.__aexit__()


def require_address(url: object, form: str, *, schemes: str = "https?", where: str = "app: url") -> None:
    """Raise DefinitionError for an invalid address; `form` shows a valid one."""
    is_address = isinstance(url, str) and re.match(rf"({schemes})://[^/\s]", url)
    require(bool(is_address), where, found=shown(url) if isinstance(url, str) else url, do=f"write {form}")
    if "{" in str(url):  # which is filled in later
        return
    try:
        urlsplit(str(url)).port  # noqa: B018
    except ValueError as error:
        raise DefinitionError(where, found=f"found {shown(str(url))!r} ({error})", do="correct it") from error


def key_headers(url: str, *, for_app: str = "") -> dict[str, str]:
    """Return the headers with the key of the environment, if it is set and this is the origin of the app's URL."""
    is_theirs = not for_app or urlsplit(url)[:2] == urlsplit(for_app)[:2]
    return {"Authorization": f"Bearer {os.environ[KEY]}"} if KEY in os.environ and is_theirs else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """A request with places that are filled in each time. With GET, `request` is the query.

    `where` is its name in errors. Raises DefinitionError for a request that cannot be sent, or not under its
    Content-Type.
    """

    where: str
    url: str
    method: str = "POST"
    request: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    encoding: Encoding | None = None
    methods: Sequence[str] = ("POST", "PUT", "GET")
    _encoding: Encoding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_address(self.url, "one that begins with http:// or https://", where=f"{self.where}: url")
        require_one_of(self.method, self.methods, f"{self.where}: method")
        object.__setattr__(self, "_encoding", self._checked_encoding())

    @property
    def parts(self) -> Mapping[str, Any]:
        """The templates by their names."""
        return {"url": self.url, "request": self.request, "headers": self.headers}

    def require_places(self, known: Collection[str] = PLACES) -> None:
        """Raise DefinitionError for a place with an unknown name, or in another tool's notation."""
        for name, part in self.parts.items():
            require_places(part, f"{self.where}: {name}", known, any_case=name != "request")

    def made(self, values: Mapping[str, Any]) -> Request:
        """Return the request with these values in its places."""
        url = written(self.url, values, quote=lambda text: quote(text, safe=""))
        headers = {name: written(value, values) for name, value in self.headers.items()}
        if self.request is None:
            return Request(method=self.method, url=url, headers=headers)
        content = filled(self.request, values)
        if self.method == "GET":
            return Request(method=self.method, url=url, headers=headers, query=[*_pairs(content)])
        if self._encoding == "json":
            return Request(method=self.method, url=url, headers=headers, body=content)
        data = urlencode([*_pairs(content)]) if self._encoding == "form" else content
        if not _content_type(headers):
            headers = {CONTENT_TYPE: _SENT_AS[self._encoding], **headers}
        return Request(method=self.method, url=url, headers=headers, data=str(data).encode())

    def _checked_encoding(self) -> Encoding:
        """Return how the body is written: by the given encoding, else the Content-Type, else JSON."""
        require_no_json_text(self.request, f"{self.where}: request")
        if self.encoding is not None:
            require_one_of(self.encoding, ENCODINGS, f"{self.where}: encoding")
        if self.method == "GET" or self.request is None:
            fits = self.request is None or isinstance(self.request, Mapping)
            do = "with GET, give the names and values of the query"
            require(fits, f"{self.where}: request", found=self.request, do=do)
            do = "leave it out: with GET, `request` is the query" if self.method == "GET" else "give a request, too"
            require(self.encoding is None, f"{self.where}: encoding", found=self.encoding, do=do)
            return "json"
        kind = _content_type(self.headers)
        found = self.encoding or _encoding_of(kind) or "json"
        self._require_fit(found, kind)
        return found

    def _require_fit(self, encoding: Encoding, kind: str) -> None:
        """Raise DefinitionError if the request cannot be written so, or its Content-Type contradicts it."""
        where, of_kind = f"{self.where}: headers", _encoding_of(kind)
        if kind.startswith("multipart/"):
            do = f"use {_FORM} with a mapping as `request`, or leave the header out to send JSON"
            raise DefinitionError(where, found=f"{CONTENT_TYPE} is {kind}, which cannot be sent", do=do)
        if of_kind not in (encoding, None) and (of_kind, encoding) != ("text", "json"):
            found = f"{CONTENT_TYPE} is {kind}, and encoding is {encoding}"
            raise DefinitionError(where, found=found, do="leave one of the two out")
        if encoding == "form":
            do = "a form is sent: give the names and values of its fields"
            require(isinstance(self.request, Mapping), f"{self.where}: request", found=self.request, do=do)
        if encoding == "text" and not isinstance(self.request, str):
            found = f"{CONTENT_TYPE} is {kind}" if kind else "encoding is text"
            do = "give a text, or leave that out to send JSON"
            raise DefinitionError(f"{self.where}: request", found=f"{found}, and the request is no text", do=do)


def require_no_json_text(request: Any, where: str) -> None:
    """Raise DefinitionError for JSON that is written as a text: a message with a quote in it would break it."""
    if isinstance(request, str) and request.lstrip()[:1] in ("{", "["):
        try:
            json.loads(request)
        except ValueError:
            return
        do = "write it as a mapping, without the quotes around it: a message may have quotes in it"
        raise DefinitionError(where, found=f"found a text that is JSON: {request:.80}", do=do)


def _content_type(headers: Mapping[str, str]) -> str:
    found = next((value for name, value in headers.items() if name.lower() == CONTENT_TYPE.lower()), "")
    return found.partition(";")[0].strip().lower()


def _encoding_of(kind: str) -> Encoding | None:
    """Return the encoding that a Content-Type names; None if it names none."""
    if not kind or "${" in kind:
        return None
    return "json" if kind.endswith("json") else "form" if kind == _FORM else "text"


def _pairs(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a form or a query: a list of plain values is several fields, any other value JSON."""
    for name, value in content.items():
        is_list = isinstance(value, list) and not any(isinstance(each, (Mapping, list)) for each in value)
        for each in value if is_list else [value]:
            if each is not None:
                yield name, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
