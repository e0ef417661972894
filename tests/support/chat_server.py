"""A chat endpoint that answers each request as a function of its body says, and remembers the bodies."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Body = Mapping[str, Any]
Answer = Callable[[Body], tuple[int, Body | str]]


@dataclass(slots=True)
class ChatServer:
    """A server that is running: where, and what it was asked."""

    base_url: str = ""
    bodies: list[Body] = field(default_factory=list)


@asynccontextmanager
async def chat_server(answer: Answer) -> AsyncIterator[ChatServer]:
    """Listen on a free port of this machine while the block runs."""
    running = ChatServer()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read() or "{}")
        running.bodies.append({**body, "path": request.path})
        key = {"authorization": request.headers.get("Authorization")} if request.method == "GET" else {}
        status, said = answer({**body, **key})
        if isinstance(said, str):
            return web.Response(text=said, status=status, content_type="text/event-stream")
        return web.json_response(said, status=status)

    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        running.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield running
    finally:
        await runner.cleanup()


def said(text: str | None, *, finish_reason: str = "stop", prompt_tokens: int = 10, **more: Any) -> tuple[int, Body]:
    """Return the answer that a model said something."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason, **more}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
    return 200, {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def streamed(*events: Body) -> tuple[int, str]:
    """Return the answer that comes as these events."""
    head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    lines = [json.dumps({**head, **event}) for event in events]
    return 200, "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])


def refused(message: str, *, status: int = 400, **more: Any) -> tuple[int, Body]:
    """Return the answer that a request is refused."""
    return status, {"error": {"message": message, "type": "invalid_request_error", "code": None, **more}}
