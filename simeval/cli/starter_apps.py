"""The app of a starter suite: the question of `simeval init`, and the app's section in its suite."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from simeval.core.terminal import printed
from simeval.core.validation import require
from simeval.errors import DefinitionError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of, names_object
from simeval.suites.apps.socket_app import SocketApp

SUITE = Path(__file__).with_name("starter") / "suite.yaml"
HANDLER = "app:handle"  # the function that a starter comes with

_AT_URL = """\
app:
  url: {app}
  # What it is sent at each turn: {{message}} is what the user says, {{messages}} all that was said, {{session}} an id.
  request: {{message: "{{message}}", session: "{{session}}"}}
  # headers: {{Authorization: "Bearer ${{MY_KEY}}"}}   # ${{NAME}} is an environment variable
  # reply: $.output.text         # where its answer has the text; by default under reply, answer, content or the like
  # tool_calls: $.output.calls   # and so on: session, context
  # fail_if: {{success: false}}    # an answer with this is a failure, whatever its status
"""

_UNTIL = """\
  # until: {type: done}          # the last frame of an answer, where it comes in several; or a path, such as $.done
"""


def checked(named: str) -> str:
    """Return the name of an app. Raises DefinitionError if it names none; a module may still be to be written."""
    if not names_object(named) or lies_in(Path(), named):
        app_of(named)
    return named


def lies_in(folder: Path, named: str) -> bool:
    """Return whether a folder has the module, or the package that it is in, of an app named as MODULE:OBJECT."""
    top = folder / named.partition(":")[0].partition(".")[0]
    return top.with_suffix(".py").is_file() or top.is_dir()


def _object(named: str) -> str:
    require(names_object(named), "app", found=named, do="name it as MODULE:OBJECT")
    return named


@dataclass(frozen=True, slots=True)
class AppKind:
    """One kind of app: its description, the form and beginning of its names, and its check."""

    what: str
    example: str
    prefix: str = ""
    check: Callable[[str], str] = checked


KINDS = (
    AppKind("a Python function, for which app.py is a beginning", HANDLER),
    AppKind("an agent in Python: OpenAI Agents SDK, pydantic-ai, LangGraph or ADK", "my_module:agent", check=_object),
    AppKind("a URL that is sent JSON", "http://localhost:8000/chat", check=lambda named: HttpApp(url=named).url),
    AppKind("OpenAI's Chat Completions", "openai:http://localhost:8000/v1#MODEL", "openai:"),
    AppKind("OpenAI's Responses", "openai-responses:http://localhost:8000/v1#MODEL", "openai-responses:"),
    AppKind("A2A", "a2a:http://localhost:9999", "a2a:"),
    AppKind("AG-UI", "agui:http://localhost:8000/", "agui:"),
    AppKind("a tool of an MCP server, a URL or a program", "mcp:http://localhost:8000/mcp#TOOL", "mcp:"),
    AppKind("a WebSocket", "ws://localhost:8000/chat", check=lambda named: SocketApp(url=named).url),
    AppKind("a program that reads JSON and writes its answer", "cmd:python bot.py", "cmd:"),
)


def asked_app(named: str | None) -> str:
    """Return the name of the app: as given, as a person answers on a terminal, or the starter's own.

    Raises DefinitionError for anything but an app's name.
    """
    if named is not None:
        return checked(named)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return HANDLER
    click.echo("Which of these is your app?")
    for number, kind in enumerate(KINDS, 1):
        click.echo("\n".join(printed().wrap(kind.what, first=f"{number:4}  ")))
    kind = KINDS[click.prompt("Its number", type=click.IntRange(1, len(KINDS)), default=1) - 1]
    if kind.example == HANDLER:
        return HANDLER
    click.echo(f"Name it, such as {kind.example}")
    while True:
        said = click.prompt("Your app").strip()
        try:
            return kind.check(said if said.startswith(kind.prefix) else f"{kind.prefix}{said}")
        except DefinitionError as error:
            click.echo(str(error))


def app_section(named: str) -> str:
    """Return the section of a suite about its app."""
    if re.match(r"(https?|wss?)://", named):
        return _AT_URL.format(app=json.dumps(named)) + (_UNTIL if named.startswith("ws") else "")
    return f"app: {json.dumps(named)}\n"


def is_reached(named: str) -> bool:
    """Return whether an app is reached by a protocol, so that it can be probed."""
    return not names_object(named) and ":" in named
