"""Serve an ASGI app, such as one of FastAPI or Starlette, in this process while it is evaluated.

lifespan: startup ──► a free port of 127.0.0.1 ──► request ──► scope, receive, send ──► response ──► shutdown
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from simeval.core.capture import Caught, capture, place_of
from simeval.errors import DefinitionError, said_of

if TYPE_CHECKING:
    from aiohttp import web

AsgiCallable = Callable[..., Awaitable[None]]  # of a scope, and functions that receive and send events
Scope = MutableMapping[str, Any]
ORIGIN = "http://asgi"  # in the addresses of an app that is served here
CLOSING_SECONDS = 5.0
BROKEN = 500  # the least status by which an app says that it failed
_VERSIONS = {"version": "3.0", "spec_version": "2.3"}


def is_asgi(found: object) -> bool:
    """Return whether an object, or a function, is an ASGI app."""
    if not callable(found) or isinstance(found, type):
        return False
    called = found if inspect.isroutine(found) else type(found).__call__
    names = [*inspect.signature(called).parameters] if inspect.isroutine(called) else []
    return names[-3:] == ["scope", "receive", "send"]


def path_of_chat(app: object) -> str:
    """Return the path of the only route that takes a POST. Raises DefinitionError if there are several, or none."""
    routes = [each for each in getattr(app, "routes", ()) if "POST" in (getattr(each, "methods", None) or ())]
    paths = [str(each.path) for each in routes if "{" not in str(each.path)]
    if len(paths) != 1:
        found = f"an ASGI app with {', '.join(paths) if paths else 'no known path'} for POST"
        do = "write HttpApp(asgi=app, url='/chat'), in a suite app: {asgi: 'server:app', url: /chat}"
        raise DefinitionError("app", found=found, do=do)
    return paths[0]


@dataclass(slots=True)
class AsgiServer:
    """An ASGI app, served on a free port."""

    app: AsgiCallable
    origin: str = ""
    _state: dict[str, Any] = field(default_factory=dict)  # which the lifespan gives to requests
    _runner: web.ServerRunner | None = None
    _life: _Lifespan | None = None

    async def open(self) -> None:
        """Start the app and serve it. Raises DefinitionError if it says that it cannot start."""
        from aiohttp import web

        self._life = _Lifespan(self.app, self._state)
        await self._life.start()
        self._runner = web.ServerRunner(web.Server(self._answered), shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Serve no more, and shut the app down."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._life is not None:
            await self._life.stop()

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        exchange = _Exchange(request, await request.content.read())  # of any size: a limit is the app's own
        came = await capture(partial(self.app, self._scope(request), exchange.receive, exchange.send))
        if isinstance(came, Caught) and exchange.response is None:
            return web.Response(status=500, text=said_of(came.error) + place_of(came.error))
        with suppress(ConnectionError):  # nobody waits for it any more
            await exchange.send_held()
        if isinstance(came, Caught) and not exchange.over.is_set() and request.transport is not None:
            request.transport.abort()  # in the middle of an answer, which breaks off
        return exchange.response or web.Response(status=500, text="the app gave no response")

    def _scope(self, request: web.BaseRequest) -> Scope:
        path = request.rel_url.raw_path
        return {
            "type": "http",
            "asgi": _VERSIONS,
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": request.rel_url.raw_query_string.encode(),
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.raw_headers],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 80),
            "state": dict(self._state),
        }


@dataclass(slots=True)
class _Exchange:
    """One request to an ASGI app, and its response as far as it came.

    A response of an error is held until the app has ended: frameworks send it, and then raise the error that tells why.
    """

    request: web.BaseRequest
    body: bytes | None
    response: web.StreamResponse | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    held: list[Scope] = field(default_factory=list)

    async def receive(self) -> Scope:
        """Return the request, and once the response is complete, the end of the connection."""
        if self.body is None:
            await self.over.wait()
            return {"type": "http.disconnect"}
        body, self.body = self.body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, event: Scope) -> None:
        """Take a part of the response."""
        if self.held or event.get("status", 0) >= BROKEN:
            self.held.append(event)
        else:
            await self._write(event)
        if event["type"] == "http.response.body" and not event.get("more_body", False):
            self.over.set()

    async def send_held(self) -> None:
        """Send a response that was held."""
        for event in self.held:
            await self._write(event)

    async def _write(self, event: Scope) -> None:
        from aiohttp import web

        if event["type"] == "http.response.start":
            self.response = web.StreamResponse(status=event["status"])
            for name, value in event.get("headers", ()):
                self.response.headers.add(bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))
            await self.response.prepare(self.request)
        elif event["type"] == "http.response.body" and self.response is not None:
            await self.response.write(event.get("body", b""))
            if not event.get("more_body", False):
                await self.response.write_eof()


class _Lifespan:
    """The start and the end of an ASGI app; one that knows no lifespan has neither."""

    def __init__(self, app: AsgiCallable, state: dict[str, Any]) -> None:
        self._app, self._state = app, state
        self._asked: asyncio.Queue[Scope] = asyncio.Queue()
        self._told: asyncio.Queue[Scope | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the app. Raises DefinitionError if it says that it cannot start."""
        self._task = asyncio.create_task(self._lived())
        self._asked.put_nowait({"type": "lifespan.startup"})
        told = await self._told.get()
        if told is not None and told["type"] == "lifespan.startup.failed":
            found = f"its start failed: {told.get('message') or 'without a reason'}"
            raise DefinitionError("app", found=found, do="correct its lifespan")

    async def stop(self) -> None:
        """Shut it down, and wait for a few seconds at most."""
        if self._task is None:
            return
        self._asked.put_nowait({"type": "lifespan.shutdown"})
        done, _ = await asyncio.wait([self._task], timeout=CLOSING_SECONDS)
        if not done:
            self._task.cancel()

    async def _lived(self) -> None:
        scope = {"type": "lifespan", "asgi": _VERSIONS, "state": self._state}
        await capture(partial(self._app, scope, self._asked.get, self._told.put))
        self._told.put_nowait(None)  # it has ended, or knows no lifespan
