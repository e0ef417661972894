"""The server of the viewer: for one person's browser on this machine, and nobody else.

It is bound to the loopback interface, and every address begins with a random token, so that no other program's page
knows one. A cookie would be sent to every other server on this machine, whatever its port; the token is not sent
anywhere by itself. A name that is made to mean this machine (DNS rebinding) is given away by the Host, another page's
request by the Origin; a change needs the token in a header too, which no form can send.
"""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hmac import compare_digest
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from simeval.core.garbage import collected_seldom
from simeval.errors import DefinitionError, SimevalError
from simeval.extras.viewer.label_page import LabelPages
from simeval.extras.viewer.site import Answer, Site

HOST = "127.0.0.1"
HEADER = "X-Simeval-Token"
LONGEST_REQUEST = 100_000  # bytes of a posted body
KINDS = {"html": "text/html", "json": "application/json"}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # beside the policy of each page
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def listening(port: int) -> socket.socket:
    """Return a socket on the loopback interface; 0 is any free port. Raises DefinitionError if it is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        do = "name another, or 0 for any that is free"
        raise DefinitionError("--port", found=f"{port} cannot be used ({error.strerror})", do=do) from error


def serve(site: Site, labels: LabelPages, listener: socket.socket, token: str) -> None:
    """Answer until Ctrl-C."""
    app = viewer(site, labels, port=listener.getsockname()[1], token=token)
    with collected_seldom():
        web.run_app(app, sock=listener, print=None, access_log=None)


def viewer(site: Site, labels: LabelPages, *, port: int, token: str) -> web.Application:
    """Return the application that answers for a site at a port, to callers with the token."""
    answers = _Answers(site, labels, token)
    app = web.Application(middlewares=[_guard(port, token)], client_max_size=LONGEST_REQUEST)
    app.router.add_get("/{token}/{path:.*}", answers.read)
    app.router.add_post("/{token}/{path:.*}", answers.change)
    return app


class _Answers:
    """Answers admitted requests, one at a time: data read from the store are kept for the next."""

    def __init__(self, site: Site, labels: LabelPages, token: str) -> None:
        self._site, self._labels, self._token = site, labels, token
        self._reader = ThreadPoolExecutor(1)

    async def read(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if path.startswith("label/"):
            return await self._answered(self._labels.answer, path, dict(request.query))
        return await self._answered(self._site.answer, path)

    async def change(self, request: web.Request) -> web.Response:
        if not _is_same(request.headers.get(HEADER, ""), self._token):
            return _refused(f"the header {HEADER} is missing")
        if request.content_type != "application/json":
            return _refused("only JSON is taken")
        try:
            given = await request.json()
        except ValueError:
            return web.json_response({"error": "this is no JSON"}, status=400)
        return await self._answered(self._labels.change, request.match_info["path"], given)

    async def _answered(self, make: Callable[..., Answer], *given: Any) -> web.Response:
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._reader, make, *given)
        except SimevalError as error:
            status = 404 if isinstance(error, DefinitionError) else 503
            return web.json_response({"error": str(error)}, status=status)
        body = found.text.encode("utf-8", "backslashreplace")  # an app's text may hold half of a surrogate pair
        return web.Response(body=body, content_type=KINDS[found.kind], charset="utf-8")


def _guard(port: int, token: str) -> Middleware:
    """Return middleware that admits requests of this machine's own pages, with the token in their address."""
    hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get("Host", "")
        answer: web.StreamResponse
        if host not in hosts:
            answer = _refused("this server answers for this machine alone")
        elif request.headers.get("Origin", f"http://{host}") != f"http://{host}":
            answer = _refused("the page of another server asks")
        elif not _is_same(request.match_info.get("token", ""), token):
            answer = _refused("the address needs the token that `simeval view` printed")
        else:
            answer = await handler(request)
        answer.headers.update(HEADERS)
        return answer

    return guarded


def _is_same(given: str, token: str) -> bool:
    return compare_digest(given.encode("utf-8", errors="replace"), token.encode())


def _refused(why: str) -> web.Response:
    return web.json_response({"error": why}, status=403)
