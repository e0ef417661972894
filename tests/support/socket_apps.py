"""Apps behind a WebSocket that greet, or do not, and answer in one frame or several."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.serving import serving

Frames = Sequence[Any]


def one_frame(number: int, message: str) -> Frames:
    """Answer in one frame."""
    return [{"text": f"answer {number} to {message}"}]


@dataclass(slots=True)
class SocketServer:
    """A server of an app: its `greeting`, what it `answers` to the message of a number, and when it greets.

    One that greets `late` does so on no connection before it has got a first message on any.
    """

    greeting: Frames = ()
    answers: Callable[[int, str], Frames] = one_frame
    greets_late: bool = False
    url: str = ""
    opened: int = 0
    bodies: list[Any] = field(default_factory=list)
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Hold a conversation."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.opened += 1
        waiting: asyncio.Queue[str | None] = asyncio.Queue()
        speaking = asyncio.create_task(self._speak(socket, waiting))
        async for frame in socket:
            self.was_asked.set()
            waiting.put_nowait(frame.data)
        waiting.put_nowait(None)
        self.was_asked.set()
        await asyncio.gather(speaking, return_exceptions=True)
        return socket

    async def _speak(self, socket: web.WebSocketResponse, waiting: asyncio.Queue[str | None]) -> None:
        if self.greets_late:
            await self.was_asked.wait()
        for frame in self.greeting:
            await socket.send_str(json.dumps(frame))
        number = 0
        while (asked := await waiting.get()) is not None:
            number += 1
            body = json.loads(asked)
            self.bodies.append(body)
            for frame in self.answers(number, body["message"]):
                await socket.send_str(json.dumps(frame))


@asynccontextmanager
async def socket_server(served: SocketServer) -> AsyncIterator[SocketServer]:
    """Serve it while it is needed."""
    application = web.Application()
    application.router.add_get("/", served.handle)
    async with serving(application) as address:
        served.url = address.replace("http", "ws", 1)
        yield served
