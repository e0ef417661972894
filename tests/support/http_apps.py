"""An app behind a URL, in each of the forms that such apps have, good and bad."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.serving import serving

HTML = "<html><title>Oops</title></html>"


@dataclass(slots=True)
class WebApp:
    """A server on this machine; it keeps the bodies and headers that it was sent."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def plain(self, request: web.Request) -> web.StreamResponse:
        """Say how many turns this conversation has had, which a cookie tells."""
        body = await self._kept(request)
        turn = 1 + int(request.cookies.get("turns", "0"))
        said: dict[str, Any] = {
            "reply": f"{turn}: {body['message']}",
            "data": {"calls": [{"name": "menu"}], "texts": ["a", "b"]},
        }
        said["tool_calls"] = [{"name": "look_up"}]
        answer = web.json_response(said, headers={"X-Conversation": "c-1"})
        answer.set_cookie("turns", str(turn))
        return answer

    async def named(self, request: web.Request) -> web.StreamResponse:
        """Name the conversation at its first turn, and go on in it then."""
        body = await self._kept(request)
        return web.json_response({"answer": "again" if body["session"] == "s-7" else "first", "id": {"of": "s-7"}})

    async def text(self, request: web.Request) -> web.StreamResponse:
        """Answer with a text."""
        self.headers.append(dict(request.headers))
        return web.Response(text=f"You said {request.query.get('message', 'nothing')}.")

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer as OpenAI's Chat Completions."""
        body = await self._kept(request)
        message = {"role": "assistant", "content": f"{len(body['messages'])} messages", "tool_calls": [{"id": "1"}]}
        return web.json_response({"choices": [{"message": message}]})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Answer in server-sent events."""
        lines = [
            ": ping",
            "",
            "event: text",
            *_data("Hel"),
            *_data("lo"),
            *_data(None),
            "data: [DONE]",
            "",
            *_data("!"),
        ]
        return await _streamed(request, "text/event-stream", lines)

    async def lines(self, request: web.Request) -> web.StreamResponse:
        """Answer in lines of JSON."""
        return await _streamed(request, "application/x-ndjson", ['{"text": "Hel"}', "", '{"text": "lo"}'])

    async def broken(self, request: web.Request) -> web.StreamResponse:
        """Break off in the middle of a stream."""
        answer = await _begun(request, "text/event-stream")
        await answer.write(b'data: {"text": "Hel"}\n\n')
        await asyncio.sleep(0)
        assert request.transport is not None
        request.transport.close()
        return answer

    async def silent(self, request: web.Request) -> web.StreamResponse:
        """Answer in a stream without a text."""
        return await _streamed(request, "text/event-stream", ['data: {"type": "ping"}', ""])

    async def words(self, request: web.Request) -> web.StreamResponse:
        """Answer in texts, of which some look like JSON."""
        return await _streamed(request, "text/event-stream", ["data: Hi ", "", "data: 5", "", "data:  true", ""])

    async def failing(self, request: web.Request) -> web.StreamResponse:
        """Tell an error in the middle of a stream."""
        lines = ['data: {"text": "Hel"}', "", 'data: {"error": "overloaded"}', ""]
        return await _streamed(request, "text/event-stream", lines)

    async def moved(self, _request: web.Request) -> web.StreamResponse:
        """Say that the app is elsewhere."""
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:9/other"})

    async def page(self, _request: web.Request) -> web.StreamResponse:
        """Answer with a page."""
        return web.Response(text=HTML, content_type="text/html")

    async def error(self, _request: web.Request) -> web.StreamResponse:
        """Fail."""
        return web.json_response({"error": "the database is away"}, status=500)

    async def hanging(self, _request: web.Request) -> web.StreamResponse:
        """Answer nothing."""
        await self.ended.wait()
        return web.Response()

    async def odd(self, _request: web.Request) -> web.StreamResponse:
        """Answer with JSON that has no text where one is looked for."""
        return web.json_response({"data": {"n": 3}})

    async def _kept(self, request: web.Request) -> Any:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        return body


@asynccontextmanager
async def web_app() -> AsyncIterator[WebApp]:
    """Serve it while it is needed."""
    served = WebApp()
    application = web.Application()
    for handle in (
        served.plain,
        served.named,
        served.text,
        served.chat,
        served.events,
        served.lines,
        served.broken,
        served.silent,
        served.page,
        served.words,
        served.failing,
        served.moved,
        served.error,
        served.hanging,
        served.odd,
    ):
        kept: Callable[[web.Request], Awaitable[web.StreamResponse]] = handle
        application.router.add_route("*", f"/{handle.__name__}", kept)
    application.router.add_post("/v1/chat/completions", served.chat)
    async with serving(application) as served.url:
        try:
            yield served
        finally:
            served.ended.set()


def _data(text: str | None) -> list[str]:
    return [f"data: {json.dumps({'type': 'end'} if text is None else {'delta': {'text': text}})}", ""]


async def _begun(request: web.Request, kind: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": kind})
    await answer.prepare(request)
    return answer


async def _streamed(request: web.Request, kind: str, lines: list[str]) -> web.StreamResponse:
    answer = await _begun(request, kind)
    await answer.write("".join(f"{line}\n" for line in lines).encode())
    return answer
