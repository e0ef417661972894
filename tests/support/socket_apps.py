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

    One that greets `late` does so on no connection before it has got so many messages in all.
    """

    greeting: Frames = ()
    answers: Callable[[int, str], Frames] = one_frame
    greets_late: int = 0
    url: str = ""
    opened: int = 0
    asked: int = 0
    bodies: list[Any] = field(default_factory=list)
    may_greet: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Hold a conversation."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.opened += 1
        self._count(0)
        greeting = asyncio.create_task(self._greet(socket))
        number = 0
        async for frame in socket:
            number += 1
            self._count(1)
            body = json.loads(frame.data)
            self.bodies.append(body)
            if self.may_greet.is_set():
                await greeting
            await _send(socket, self.answers(number, body["message"]))
        greeting.cancel()
        return socket

    def _count(self, messages: int) -> None:
        self.asked += messages
        if self.asked >= self.greets_late:
            self.may_greet.set()

    async def _greet(self, socket: web.WebSocketResponse) -> None:
        await self.may_greet.wait()
        await _send(socket, self.greeting)


async def _send(socket: web.WebSocketResponse, frames: Frames) -> None:
    for frame in frames:
        await socket.send_str(json.dumps(frame))


@asynccontextmanager
async def socket_server(served: SocketServer) -> AsyncIterator[SocketServer]:
    """Serve it while it is needed."""
    application = web.Application()
    application.router.add_get("/", served.handle)
    async with serving(application) as address:
        served.url = address.replace("http", "ws", 1)
        yield served
