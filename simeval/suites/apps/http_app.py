"""An app behind a URL: a request made of a template for each turn, and its reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from simeval.core.conversation import ChatMessage
from simeval.core.faces import load
from simeval.core.logs import warn_all
from simeval.core.validation import require
from simeval.suites.apps.asgi import ORIGIN, AsgiCallable, AsgiServer, is_asgi
from simeval.suites.apps.before import Expired, MayRenew
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_request import (
    HINTS,
    UNAUTHORIZED,
    Encoding,
    RequestTemplate,
    Wire,
    events_from,
    require_address,
    with_cookies,
)
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.streams import value_of
from simeval.suites.apps.templates import path_of

if TYPE_CHECKING:
    import aiohttp

Ids = Mapping[str, str]  # values that look like the name of a session, by their path in an answer
TURNS = 48  # answers of a run that are looked at
CONVERSATIONS = 16  # that they are from: the first answers of many at once prove nothing
PROOF = 2  # conversations in which the name changes

_ID_NAMES = re.compile(r"(session|thread|conversation|chat|dialog(ue)?|context)_?(id|key)", re.IGNORECASE)
_BARE_NAMES = re.compile(r"session|thread", re.IGNORECASE)
_ID = re.compile(r"(?=\S*\d)\S{6,}|\S{16,}")  # under a bare name

_LOGIN = "the login of `before:` is not accepted; if a new login ends the one before it, write `per: run`"


def ids_of(body: str) -> Ids:
    """Return the values in an answer that look like the name of a session, by their paths."""
    value = value_of(body)
    lines = [line[line.find("{") :] for line in body.splitlines() if "{" in line]
    values = map(value_of, lines) if isinstance(value, str) else [value]
    return {path_of(steps): found for each in values for steps, found in _ids_in(each, ())}


def changed_id(conversations: Sequence[tuple[Ids, Ids]]) -> tuple[str, str, str] | None:
    """Return the path of a name that differs between two turns of each conversation, and its values in the first."""
    for path, value in conversations[0][0].items() if conversations else ():
        pairs = [(before.get(path), after.get(path)) for before, after in conversations]
        if all(None not in pair and pair[0] != pair[1] for pair in pairs):
            return path, value, conversations[0][1][path]
    return None


@dataclass(slots=True)
class SessionIds:
    """Looks at so many answers of a run as are `left`, and warns once if each turn is a new conversation to the app."""

    left: int = TURNS
    found: str = ""
    _last: dict[str, Ids] = field(default_factory=dict)
    _pairs: dict[str, tuple[Ids, Ids]] = field(default_factory=dict)

    def listens_to(self, conversation: str) -> bool:
        """Return whether another answer of a conversation is needed."""
        is_looked_at = conversation in self._last or len(self._last) < CONVERSATIONS
        return is_looked_at and self.left > 0 and not self.found

    def hear(self, conversation: str, body: str, advice: Callable[[str], str]) -> None:
        """Take in an answer; `advice` gives the words on a name at a path that changes."""
        self.left -= 1
        ids = ids_of(body)
        if conversation in self._last:
            self._pairs[conversation] = (self._last[conversation], ids)
        self._last[conversation] = ids
        changed = changed_id(list(self._pairs.values())) if len(self._pairs) >= PROOF else None
        if changed:
            path, before, after = changed
            self.found = (
                f'each turn is a new conversation to your app: {path} of its answer is new at every turn ("{before}", '
                f'then "{after}"){advice(path)}'
            )
            warn_all(self.found)


def _ids_in(value: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the values that look like the name of a session, with the steps to each."""
    named = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, part in named:
        if isinstance(part, Mapping | list):
            yield from _ids_in(part, (*steps, name))
        elif isinstance(part, str | int) and not isinstance(part, bool) and part != "":
            is_id = _ID_NAMES.fullmatch(str(name)) or (_BARE_NAMES.fullmatch(str(name)) and _ID.fullmatch(str(part)))
            if is_id:
                yield (*steps, name), str(part)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApp(DescribedApp):
    """An app that answers at a URL, a request a turn.

    `request` is the body, JSON with the places {message} (the user's new message), {messages} (the whole conversation,
    a list of role and content) and {session} (an id of the conversation); with GET it is the query. ${NAME} is an
    environment variable, in headers too. Its `encoding` is "json", "form" or "text"; by default that of the
    Content-Type in `headers`, or else JSON. `before` are requests before the first turn (a login, a session), which
    give further places; after a 401 the login ones are made again, and so is the turn.

    `reply`, `tool_calls` and `context` (retrieved texts) are paths into the answer, such as
    $.choices[0].message.content; without `reply` an answer is a text, or JSON that has one under "reply", "response",
    "answer", "message", "content", "text" or "output" that does not repeat the user's, and without `tool_calls` they
    are under that name, if anywhere. Server-sent events, lines of JSON and the AI SDK's streams are read to their end
    and joined; of several kinds of events `where` names those that are text, such as {"type": "token"}. An answer with
    one of the values of `fail_if`, such as {"success": False}, or with anything at that path, such as "$.error", is a
    failure of the app, whatever its status. `session` is where the app names the conversation: a path, header:NAME or
    cookie:NAME; then {session} is that name, and null at the first turn. Cookies are sent back in the same
    conversation; a redirection is not followed. `title` is the app's name in reports, by default its address with a
    mark for the rest of this description.

    With `asgi`, an ASGI app such as one of FastAPI, `url` is a path: the app is started, and served in this process.

    Raises DefinitionError for invalid arguments, when it is made, and for a variable that is not set, when it is
    opened.
    """

    asgi: AsgiCallable | None = None
    method: Literal["POST", "PUT", "GET"] = "POST"
    encoding: Encoding | None = None
    _template: RequestTemplate = field(init=False, repr=False, compare=False)
    _ids: SessionIds = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.asgi is not None:
            object.__setattr__(self, "_wire", Wire(server=AsgiServer(self.asgi)))
            object.__setattr__(self, "url", f"{ORIGIN}{self.url}" if self.url.startswith("/") else self.url)
            is_there = is_asgi(self.asgi) and self.url.startswith(f"{ORIGIN}/")
            do = "give an ASGI app, and the path of its chat as url, such as /chat"
            require(is_there, "app: asgi", found=self.url if is_asgi(self.asgi) else self.asgi, do=do)
        require_address(self.url, "one that begins with http:// or https://")
        self._check([self.request, self.url])
        template = RequestTemplate(
            where="app",
            url=self.url,
            method=self.method,
            request=self.request,
            headers=self.headers,
            encoding=self.encoding,
        )
        object.__setattr__(self, "_template", template)
        needs_none = self.takes_parts or self.session_warning
        object.__setattr__(self, "_ids", SessionIds(0) if needs_none else SessionIds())

    @property
    def name(self) -> str:
        """Return its title, or its address; an ASGI app has its own name there, as others have the same path."""
        found: str = super(HttpApp, self).name
        if self.title or self.asgi is None:
            return found
        return found.replace(ORIGIN, load("simeval.suites.apps.named:name_of")(self.asgi), 1)

    @property
    def doubts(self) -> Sequence[str]:
        """Words on its answers, and on a session that it does not keep, once they have shown it."""
        found = super(HttpApp, self).doubts
        return (*found, self._ids.found) if self._ids.found else found

    @property
    def _described(self) -> list[Any]:
        described = [self.request, self.method, sorted(self.headers), self.reply, self.tool_calls, self.context]
        described += [self.session, *([self.encoding] if self.encoding else [])]
        return [*described, *self._described_later]

    async def _asked(
        self, messages: Sequence[ChatMessage], kept: Session, reply: Reply, may_renew: MayRenew = lambda: False
    ) -> Session:
        request = self._template.made(self._values(messages, kept))
        async with self._wire.sent(request, kept, reply, where=self.url) as answer:
            if answer.status == UNAUTHORIZED and may_renew():
                raise Expired
            async for event in events_from(answer, reply, {**HINTS, UNAUTHORIZED: _LOGIN} if self.before else HINTS):
                if reply.is_stream:
                    reply.hear(event)
                else:
                    reply.take(event.value)
            if reply.is_stream:
                reply.settle()
            reply.require_answer(answer.status)
            if self._ids.listens_to(kept.given):
                self._ids.hear(kept.given, reply.came, self.session_advice)
            return self._kept(with_cookies(kept, answer), reply, answer)

    def _kept(self, before: Session, reply: Reply, answer: aiohttp.ClientResponse) -> Session:
        theirs = reply.session
        if self.session and self.session.startswith("header:"):
            theirs = answer.headers.get(self.session.partition(":")[2])
        elif self.session and self.session.startswith("cookie:"):
            cookie = answer.cookies.get(self.session.partition(":")[2])
            theirs = cookie.value if cookie else None
        return replace(before, theirs=theirs) if theirs and theirs != before.theirs else before
