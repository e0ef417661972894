"""The server of the viewer: for one person's browser on this machine, and nobody else.

It is bound to the loopback interface, and every address begins with a random token, so that no other program's page
knows one. A cookie would be sent to every other server on this machine, whatever its port; the token is not sent
anywhere by itself. Of a name that is made to mean this machine (DNS rebinding) the Host gives it away, of another
page's request the Origin; what changes something needs the token in a header too, which no form can send.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from hmac import compare_digest
from typing import Any

from aiohttp import web

from simeval.cli.view.label_page import LabelPages
from simeval.cli.view.site import Answer, Site
from simeval.errors import DefinitionError, SimevalError

HOST = "127.0.0.1"
HEADER = "X-Simeval-Token"
LONGEST_REQUEST = 100_000  # bytes of what is posted
KINDS = {"html": "text/html", "json": "application/json"}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # beside the policy of each page
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def listening(port: int) -> socket.socket:
    """Return a socket on the loopback interface; 0 is any free port. Raises DefinitionError where it is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        do = "name another, or 0 for any that is free"
        raise DefinitionError("--port", found=f"{port} cannot be had ({error.strerror})", do=do) from error


def serve(site: Site, labels: LabelPages, listener: socket.socket, token: str) -> None:
    """Answer until Ctrl-C."""
    app = viewer(site, labels, port=listener.getsockname()[1], token=token)
    web.run_app(app, sock=listener, print=None, access_log=None)


def viewer(site: Site, labels: LabelPages, *, port: int, token: str) -> web.Application:
    """Return the application that answers for a site at a port, to who has the token."""
    hosts = {f"{HOST}:{port}", f"localhost:{port}"}
    reader = ThreadPoolExecutor(1)  # what was read is kept, and is for one at a time

    async def answered(make: Callable[..., Answer], *given: Any) -> web.Response:
        try:
            found = await asyncio.get_running_loop().run_in_executor(reader, make, *given)
        except SimevalError as error:
            status = 404 if isinstance(error, DefinitionError) else 503
            return web.json_response({"error": str(error)}, status=status)
        return web.Response(text=found.text, content_type=KINDS[found.kind], charset="utf-8")

    async def read(request: web.Request) -> web.Response:
        path = request.match_info["path"]
        answers = labels.answer if path.startswith("label/") else site.answer
        return await answered(answers, path, *([dict(request.query)] if answers == labels.answer else []))

    async def change(request: web.Request) -> web.Response:
        if not compare_digest(request.headers.get(HEADER, ""), token):
            return refused(f"the header {HEADER} is missing")
        if request.content_type != "application/json":
            return refused("only JSON is taken")
        try:
            given = await request.json()
        except ValueError:
            return web.json_response({"error": "this is no JSON"}, status=400)
        return await answered(labels.change, request.match_info["path"], given)

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host") not in hosts:
            answer: web.StreamResponse = refused("this server answers for this machine alone")
        elif request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
            answer = refused("another page asks")
        elif not compare_digest(request.match_info.get("token", "").encode(), token.encode()):
            answer = refused("the address needs the token that `simeval view` printed")
        else:
            answer = await handler(request)
        answer.headers.update(HEADERS)
        return answer

    app = web.Application(middlewares=[guarded], client_max_size=LONGEST_REQUEST)
    app.router.add_get("/{token}/{path:.*}", read)
    app.router.add_post("/{token}/{path:.*}", change)
    return app


def refused(why: str) -> web.Response:
    """Return a refusal."""
    return web.json_response({"error": why}, status=403)
