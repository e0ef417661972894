"""The part of GitHub's API that comments take, on loopback, in a thread of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST = 65_536


@dataclass(slots=True)
class FakeGitHub:
    """The comments of pull request 7 of shop/bot; a token that is not "write" may only read."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def answer(self, method: str, target: str, token: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Return the status and the reply to a request."""
        url = urlsplit(target)
        self.asked.append(method)
        if method == "GET" and url.path == "/repos/shop/bot/issues/7/comments":
            asked = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
            first = (asked["page"] - 1) * asked["per_page"]
            return 200, self.comments[first : first + asked["per_page"]]
        if token != "Bearer write":
            return 403, {"message": "Resource not accessible by integration"}
        if len(body["body"]) > LONGEST:
            return 422, {"message": "Body is too long (maximum is 65536 characters)"}
        if method == "POST" and url.path == "/repos/shop/bot/issues/7/comments":
            self.comments.append({"id": len(self.comments) + 1, "html_url": "https://shop/7#new", **body})
            return 201, self.comments[-1]
        if method == "PATCH" and url.path.startswith("/repos/shop/bot/issues/comments/"):
            found = self.comments[int(url.path.rpartition("/")[2]) - 1]
            found.update(body)
            return 200, found
        return 404, {"message": "Not Found"}

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve, and give the address."""
        github = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                status, reply = github.answer(self.command, self.path, self.headers.get("Authorization", ""), body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(reply).encode())

            do_GET = do_POST = do_PATCH = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
