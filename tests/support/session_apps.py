"""A shop at a URL that keeps what it knows by session, and wants logins in each of the forms that such apps have."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from tests.support.serving import serving


@dataclass(slots=True)
class Shop:
    """It keeps what it was sent; a token is good for `uses` calls, and its bot only claims refunds where it `lies`."""

    url: str = ""
    uses: int = 1000
    lies: bool = False
    later: int = 0  # how many of the next messages are refused with 429
    bodies: list[Any] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # Content-Types
    headers: list[dict[str, str]] = field(default_factory=list)
    turns: Counter[str] = field(default_factory=Counter)  # by session
    orders: dict[str, str] = field(default_factory=dict)  # by session, how its order stands
    tokens: dict[str, int] = field(default_factory=dict)  # the calls that each is good for still
    asked: list[str] = field(default_factory=list)  # methods with paths

    async def login(self, request: web.Request) -> web.StreamResponse:
        """Give a token for a password."""
        body = await self._read(request)
        if body != {"user": "tester", "password": "let-me-in"}:
            return web.json_response({"error": f"unknown user {body}"}, status=401)
        token = f"tok-{len(self.tokens)}-abcdef"
        self.tokens[token] = self.uses
        return web.json_response({"data": {"access_token": token, "expires_in": 60}})

    async def text(self, request: web.Request) -> web.StreamResponse:
        """Give back the text that it is sent."""
        return web.Response(text=str(await self._read(request)))

    async def page(self, request: web.Request) -> web.StreamResponse:
        """Log in by a form, as pages do: with a redirection and a cookie."""
        body = await self._read(request)
        token = f"sid-{len(self.tokens)}-{body['user']}"
        self.tokens[token] = self.uses
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie("sid", token)
        return answer

    async def open(self, request: web.Request) -> web.StreamResponse:
        """Open a session, for whoever has a token."""
        await self._read(request)
        if not self._may(request):
            return web.json_response({"error": "log in"}, status=401)
        session = f"s{len(self.orders) + 1}"
        self.orders[session] = "delivered"
        return web.json_response({"id": session}, headers={"X-Session": session})

    async def message(self, request: web.Request) -> web.StreamResponse:
        """Answer in a session that the URL names and that is open."""
        session = request.match_info["session"]
        body = await self._read(request)
        if not self._may(request):
            return web.json_response({"error": f"token {request.headers.get('Authorization')} is over"}, status=401)
        if session not in self.orders:
            return web.json_response({"error": f"no session {session}"}, status=404)
        if self.later:
            self.later -= 1
            return web.Response(status=429, headers={"Retry-After": "0"})
        return self._said(session, body["text"])

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer in a session that the request names, wherever it does; any name opens one."""
        body = await self._read(request)
        body = body if isinstance(body, dict) else {"text": body}
        session = str(body.get("session") or request.headers.get("X-Session") or request.query.get("session") or "")
        session = session or f"new-{len(self.turns)}"
        return self._said(session, str(body.get("text") or request.query.get("text")))

    async def guarded(self, request: web.Request) -> web.StreamResponse:
        """Answer whoever has a token, in a header, in the query or as a cookie."""
        if not self._may(request):
            return web.json_response({"error": "the token is over"}, status=401)
        return await self.chat(request)

    async def state(self, request: web.Request) -> web.StreamResponse:
        """Tell how the order of a session stands, which the path, a header, the query or the body names."""
        body = await self._read(request)
        named = body.get("session") if isinstance(body, dict) else None
        named = named or request.match_info.get("session") or request.headers.get("X-Session")
        session = str(named or request.query.get("session"))
        if session not in self.orders:
            return web.json_response({"error": f"no session {session}"}, status=404)
        return web.json_response({"status": self.orders[session]})

    async def reset(self, request: web.Request) -> web.StreamResponse:
        """Set the order of a session as it is before a conversation."""
        body = await self._read(request)
        self.orders[str(body["session"])] = str(body.get("status", "delivered"))
        return web.Response(status=204)

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """Answer over a WebSocket whoever has a token."""
        if not self._may(request):
            return web.Response(status=401)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for frame in socket:
            await socket.send_str(f"you said {json.loads(frame.data)['text']}")
        return socket

    def _said(self, session: str, text: str) -> web.StreamResponse:
        self.turns[session] += 1
        self.orders.setdefault(session, "delivered")
        if "refund" in text.lower() and not self.lies:
            self.orders[session] = "refunded"
        return web.json_response(
            {"reply": f"{self.turns[session]}: I have refunded it. You said {text}", "id": session}
        )

    def _may(self, request: web.Request) -> bool:
        """Return whether a request has a token that is good, and use it once."""
        headers = request.headers.get("Authorization", "").removeprefix("Bearer "), request.headers.get("X-API-Key", "")
        given = [*headers, request.query.get("key", ""), request.cookies.get("sid", "")]
        token = next((each for each in given if self.tokens.get(each, 0) > 0), None)
        if token is not None:
            self.tokens[token] -= 1
        return token is not None

    async def _read(self, request: web.Request) -> Any:
        text = await request.text()
        kind = request.content_type
        body: Any = text
        if kind == "application/json" and text:
            body = json.loads(text)
        elif kind == "application/x-www-form-urlencoded":
            body = dict(parse_qsl(text, keep_blank_values=True))
        self.bodies.append(body)
        self.kinds.append(request.headers.get("Content-Type", ""))
        self.headers.append(dict(request.headers))
        self.asked.append(f"{request.method} {request.path_qs}")
        return body


@asynccontextmanager
async def shop(**options: Any) -> AsyncIterator[Shop]:
    """Serve it while it is needed."""
    served = Shop(**options)
    application = web.Application()
    for path in ("login", "text", "page", "chat", "guarded", "state", "reset"):
        application.router.add_route("*", f"/{path}", getattr(served, path))
    application.router.add_post("/sessions", served.open)
    application.router.add_post("/sessions/{session}/messages", served.message)
    application.router.add_get("/sessions/{session}/order", served.state)
    application.router.add_get("/socket", served.socket)
    async with serving(application) as served.url:
        yield served
