"""An app behind a URL: a request made of a template for each turn, and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from simeval.core.conversation import ChatMessage
from simeval.suites.apps.addressed_app import require_address
from simeval.suites.apps.before import Expired, MayRenew
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_request import Encoding, RequestTemplate
from simeval.suites.apps.http_wire import HINTS, UNAUTHORIZED, events_from, with_cookies
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.session_ids import SessionIds

if TYPE_CHECKING:
    import aiohttp

_LOGIN = "the login of `before:` is not accepted; if a new login ends the one before it, write `per: run`"


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
    "answer", "message", "content", "text" or "output", and without `tool_calls` they are under that name, if anywhere.
    Server-sent events, lines of JSON and the AI SDK's streams are read to their end and joined; of several kinds of
    events `where` names those that are text, such as {"type": "token"}. `session` is where the app names the
    conversation: a path, header:NAME or cookie:NAME; then {session} is that name, and null at the first turn. Cookies
    are sent back in the same conversation; a redirection is not followed. `title` is the app's name in reports, by
    default its address with a mark for the rest of this description.

    Raises DefinitionError for invalid arguments, when it is made, and for a variable that is not set, when it is
    opened.
    """

    method: Literal["POST", "PUT", "GET"] = "POST"
    encoding: Encoding | None = None
    _template: RequestTemplate = field(init=False, repr=False, compare=False)
    _ids: SessionIds = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
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
    def doubt(self) -> str:
        """Words on a session that the app does not keep, once its answers have shown it."""
        return self._ids.found

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
