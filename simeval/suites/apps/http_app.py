"""An app behind a URL: a request made of a template for each turn, and what its reply says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from simeval.core.conversation import ChatMessage
from simeval.core.validation import require, require_one_of
from simeval.suites.apps.addressed_app import require_address
from simeval.suites.apps.described_app import DescribedApp
from simeval.suites.apps.http_wire import HINTS, Request, events_from, with_cookies
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reply
from simeval.suites.apps.templates import written

if TYPE_CHECKING:
    import aiohttp


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApp(DescribedApp):
    """An app that answers at a URL, a request a turn.

    `request` is the body, JSON with the places {message} (what the user says now), {messages} (the whole conversation,
    a list of role and content) and {session} (an id of the conversation); with GET it is the query. ${NAME} stands for
    an environment variable, in headers too.

    `reply`, `tool_calls` and `context` (what was retrieved) are paths into the answer, such as
    $.choices[0].message.content; without `reply` an answer is a text, or JSON that has one under "reply", "response",
    "answer", "message", "content", "text" or "output", and without `tool_calls` they are under that name, if anywhere.
    Server-sent events, lines of JSON and the AI SDK's streams are read to their end and joined; of several kinds of
    events `where` names those that are text, such as {"type": "token"}. `session` says where the app names the
    conversation: a path, header:NAME or cookie:NAME; then {session} is that, and null at the first turn. Cookies are
    sent back in the same conversation; a redirection is not followed.
    `title` is what reports call the app, by default its address with a mark of what else is described here.

    Raises DefinitionError for what cannot be used, when it is made, and for a variable that is not set, when it is
    opened.
    """

    method: Literal["POST", "PUT", "GET"] = "POST"

    def __post_init__(self) -> None:
        require_address(self.url, "one that begins with http:// or https://")
        require_one_of(self.method, ("POST", "PUT", "GET"), "app: method")
        self._check([self.request, self.url])
        is_fit = self.method != "GET" or isinstance(self.request, Mapping)
        require(is_fit, "app: request", found=self.request, do="with GET, give the names and values of the query")

    @property
    def _described(self) -> list[Any]:
        described = [self.request, self.method, sorted(self.headers), self.reply, self.tool_calls, self.context]
        return [*described, self.session, *self._described_later]

    async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
        async with self._wire.sent(self._request(messages, kept), kept, reply, where=self.url) as answer:
            async for event in events_from(answer, reply, HINTS):
                if reply.is_stream:
                    reply.hear(event)
                else:
                    reply.take(event.value)
            if reply.is_stream:
                reply.settle()
            return self._kept(with_cookies(kept, answer), reply, answer)

    def _request(self, messages: Sequence[ChatMessage], kept: Session) -> Request:
        values, is_query = self._values(messages, kept), self.method == "GET"
        content = self._content(values)
        return Request(
            method=self.method,
            url=written(self.url, values, quote=lambda text: quote(text, safe="")),
            body=None if is_query else content,
            query={name: str(value) for name, value in content.items() if value is not None} if is_query else None,
            headers=self._sent_headers(values),
        )

    def _kept(self, before: Session, reply: Reply, answer: aiohttp.ClientResponse) -> Session:
        theirs = reply.session
        if self.session and self.session.startswith("header:"):
            theirs = answer.headers.get(self.session.partition(":")[2])
        elif self.session and self.session.startswith("cookie:"):
            cookie = answer.cookies.get(self.session.partition(":")[2])
            theirs = cookie.value if cookie else None
        return replace(before, theirs=theirs or before.theirs)
