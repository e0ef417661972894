"""What `simeval probe` does: one message to an app that is no function, and what was understood of its answer."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import anyio

from simeval.cli.entrants import read_suite
from simeval.cli.output import NOT_COMPLETED, show, status_of
from simeval.core.capture import Caught, capture, place_of, said_of
from simeval.core.conversation import SESSION
from simeval.core.redaction import Redactor
from simeval.core.serialization import plain
from simeval.core.tables import printable
from simeval.core.terminal import Color, Terminal, terminal_of
from simeval.errors import DefinitionError
from simeval.suites.apps.named import app_of
from simeval.suites.apps.outcomes import of_exception
from simeval.suites.apps.remote_app import SHOWN, Exchange, RemoteApp, TimedResponse
from simeval.suites.cast import Cast
from simeval.suites.files import SUFFIXES
from simeval.suites.worlds import secrets_of

LABEL = 12  # cells of the names before what is shown


def probe(named: str, *, message: str, color: Color) -> int:
    """Send one message and show what came of it; give the exit status."""

    def work() -> int:
        app = _app(named)
        exchange, seconds = anyio.run(_sent, app, message)
        terminal, redactor = terminal_of(sys.stdout, color), Redactor.of(())
        redactor.learn(secrets_of(app))
        for name, text in _parts(app, message, exchange, seconds):
            show("\n".join(_line(terminal, name, redactor.clean(text))), None)
        return NOT_COMPLETED if exchange.response is None else 0

    return status_of(work)


async def _sent(app: RemoteApp, message: str) -> tuple[Exchange, float]:
    async with app:
        clock = perf_counter()
        made = await capture(partial(app.exchange, [{"role": "user", "content": message}], {}))
        seconds = perf_counter() - clock
        if isinstance(made, Caught):  # an agent may raise anything
            said = said_of(made.error) + place_of(made.error)
            return Exchange("an error", "", failure=of_exception(made.error, said)), seconds
        exchange = made
        if exchange.response is not None:
            await app.leave(exchange.response.state)
        return exchange, exchange.response.seconds if isinstance(exchange.response, TimedResponse) else seconds


def _app(named: str) -> RemoteApp:
    """Return the app that a name means, or that a suite file describes. Raises DefinitionError."""
    is_suite = Path(named).suffix in SUFFIXES
    app = app_of(read_suite(named, Cast(), roles=())[1].app if is_suite else named)
    if not isinstance(app, RemoteApp):
        do = f"try it with `simeval try {named if is_suite else f'SUITE --app {named}'}`"
        found = f"{'its app' if is_suite else 'it'} is a function or a model, which needs no probe"
        raise DefinitionError(f"{'suite' if is_suite else 'app'} {named!r}", found=found, do=do)
    return app


def _parts(app: RemoteApp, message: str, exchange: Exchange, seconds: float) -> Iterator[tuple[str, str]]:
    yield "app", app.name
    yield "sent", message
    yield "came back", f"{exchange.status}, in {1000 * seconds:.0f} ms"
    yield "as it came", exchange.body[: 5 * SHOWN] or "nothing"
    yield from exchange.notes.items()
    if exchange.response is None:
        yield "no answer", str(exchange.failure or "")
        return
    yield "reply", exchange.response.response or "nothing: its text is empty"
    for call in exchange.response.tool_calls or ():
        yield "tool call", json.dumps(call, ensure_ascii=False)
    told = {name: value for name, value in exchange.response.metadata.items() if name not in (SESSION, *exchange.notes)}
    for name, value in told.items():
        yield name.replace("_", " "), value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    session = exchange.response.state["session"]
    kept = {"named by us": session["given"], "named by the app": session["theirs"], "cookies": session["cookies"]}
    yield "session", "; ".join(f"{name}: {value}" for name, value in kept.items() if value)


def _line(terminal: Terminal, name: str, text: str) -> list[str]:
    label = terminal.paint(name, "dim") + " " * max(1, LABEL - len(name))
    return terminal.wrap(printable(text), first=label, rest=" " * LABEL)
