"""The viewer for tests: started as its users start it, on a port of this machine's own."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from tests.support.command_line import PATIENCE_SECONDS, Started, started

HELD = """
from itertools import count
from pathlib import Path
from time import sleep

numbers = count()

def app(message, state):
    if "number" not in state:
        state["number"] = next(numbers)
    number = state["number"]
    while number >= 3 and not Path("go").exists():
        sleep(0.02)
    return "I track orders and start returns.", state
"""  # it answers three conversations, and the others when it may


@dataclass(frozen=True, slots=True)
class Viewer:
    """A viewer that was started in a folder, and answers at an address."""

    folder: Path
    address: str
    process: Started

    @property
    def token(self) -> str:
        return urlsplit(self.address).path.split("/")[1]

    def ask(self, path: str, *, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, str]:
        """Ask for a path of the server, as any program of this machine can; give the status and the answer."""
        place = urlsplit(self.address)
        connection = HTTPConnection(str(place.hostname), place.port or 0, timeout=PATIENCE_SECONDS)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@contextmanager
def viewing(folder: Path, *arguments: str) -> Iterator[Viewer]:
    """Start the viewer in a folder, and end it by Ctrl-C."""
    process = started(folder, "view", "--no-open", *arguments, lines=0)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address, line
        yield Viewer(folder, address[0], process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=PATIENCE_SECONDS)[1]
        finally:
            process.kill()
    assert (process.returncode, said) == (0, "")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served_files(folder: Path) -> Iterator[str]:
    """Serve a folder as any server of files does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
