"""The work of `simeval try --probe`: two short conversations with an app at once, and how its answers are read."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from simeval.cli.entrants import read_suite
from simeval.cli.output import NOT_COMPLETED, exit_status, show
from simeval.cli.two_talks import Proof, Talk, Turn, held
from simeval.core.capture import defined_at
from simeval.core.conversation import SESSION
from simeval.core.redaction import Redactor
from simeval.core.serialization import plain
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.terminal import Color, Terminal, printable, terminal_of
from simeval.errors import DefinitionError, SimevalError
from simeval.suites.apps.named import app_of, name_of, secrets_of
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import SHOWN
from simeval.suites.cast import Cast
from simeval.suites.files import SUFFIXES

MESSAGE = "Hello, what can you do for me?"
LABEL = 12  # cells of the names before the text
WRONG = 1
SECONDS_AT_INIT = 20.0  # for an answer, where nobody has asked to see one


@exit_status
def probe(named: str, *, message: str, color: Color, secret_patterns: Sequence[str] = ()) -> int:
    """Hold two conversations, show their results, and return the exit status."""
    app, settings = _app(named)
    clean = _cleaner(app, [*settings.secret_patterns, *secret_patterns])
    return _show(app, anyio.run(held, app, message, settings.app_timeout_seconds), color, clean)


def first_look(named: str) -> str:
    """Show an app's answers, as `probe` does; return why it cannot be seen yet, else ""."""
    try:
        app = app_of(named)
        talks = anyio.run(held, app, MESSAGE, SECONDS_AT_INIT)
    except SimevalError as error:
        return str(error)
    if not any(talk.answers for talk in talks):
        return _cleaner(app).clean(talks[0].turns[0].problem)
    _show(app, talks, "auto", _cleaner(app))
    return ""


def _app(named: str) -> tuple[Any, Settings]:
    """Return the app that a name means, or that a suite file describes, and its settings. Raises DefinitionError."""
    is_suite, settings = Path(named).suffix in SUFFIXES, DEFAULTS
    app: Any = named
    if is_suite:
        suite, cast = read_suite(named, Cast())
        app, settings = cast.app, suite.settings
    app = app_of(app)
    if isinstance(app, str):
        do = f"try it with `simeval try {named if is_suite else f'SUITE --app {named}'}`"
        found = f"{'its app' if is_suite else 'it'} is a model, which needs no probe"
        raise DefinitionError(f"{'suite' if is_suite else 'app'} {named!r}", found=found, do=do)
    return app, settings


def _cleaner(app: Any, patterns: Sequence[str | re.Pattern[str]] = ()) -> Redactor:
    redactor = Redactor.of((), patterns=patterns)
    redactor.learn(secrets_of(app))
    return redactor


def _show(app: Any, talks: Sequence[Talk], color: Color, redactor: Redactor) -> int:
    """Show two conversations and their proofs; return the exit status."""
    terminal, proof = terminal_of(sys.stdout, color), Proof.of(talks)
    for name, text in _parts(app, talks, proof):
        show("\n".join(_line(terminal, name, redactor.clean(text))), None)
    is_answered = all(turn.answer for talk in talks for turn in talk.turns)
    return WRONG if proof.is_wrong else 0 if is_answered else NOT_COMPLETED


def _parts(app: Any, talks: Sequence[Talk], proof: Proof) -> Iterator[tuple[str, str]]:
    handler = talks[0].handler
    place = "" if isinstance(app, ProtocolApp) else defined_at(handler.function)
    yield "app", f"{name_of(app)} ({place})" if place else name_of(app)
    first, *later = talks[0].turns
    if not first.sent:
        yield "sent", first.said
    if not isinstance(app, ProtocolApp):
        yield "given", ", ".join((*handler.places, *handler.names.values()))
    for name, text in first.sent.items():
        yield name, text[: 5 * SHOWN]
    yield from _answer(first, {})
    for turn in later:
        yield "then sent", _changed(first.sent, turn.sent) or turn.said
        yield from _answer(turn, first.exchange.notes if first.exchange else {})
    for turn in talks[1].turns:
        if turn.problem and not any(each.problem == turn.problem for each in talks[0].turns):
            yield "no answer", f"in the other conversation: {turn.problem}"
    if talks[0].answers:
        yield "session", proof.session
        yield "two at once", proof.at_once


def _answer(turn: Turn, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield how a turn was answered, but for notes that are known."""
    status = turn.exchange.status if turn.exchange else "an answer" if turn.answer else "nothing"
    yield "came back", f"{status}, in {1000 * turn.seconds:.0f} ms"
    notes = turn.exchange.notes if turn.exchange else {}
    if turn.exchange:
        yield "as it came", turn.exchange.body[: 5 * SHOWN] or "nothing"
    yield from ((name, note) for name, note in notes.items() if known.get(name) != note)
    if turn.answer is None:
        yield "no answer", turn.problem
        return
    yield "reply", turn.answer.content or "nothing: its text is empty"
    for call in turn.answer.tool_calls:
        yield "tool call", json.dumps(plain(call), ensure_ascii=False)
    for name, value in turn.answer.metadata.items():
        if name not in (SESSION, *notes):
            shown = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
            yield name.replace("_", " "), shown


def _changed(first: Mapping[str, str], second: Mapping[str, str]) -> str:
    """Return the differences of a second request from the first: of JSON, the fields."""
    changed = [_fields(part, first.get(name, "")) for name, part in second.items() if part != first.get(name)]
    return "\n".join(changed)[: 5 * SHOWN]


def _fields(part: str, before: str) -> str:
    try:
        new, old = json.loads(part), json.loads(before)
        different = {name: value for name, value in new.items() if name not in old or old[name] != value}
    except (ValueError, AttributeError, TypeError):
        return part
    return json.dumps(different, ensure_ascii=False)


def _line(terminal: Terminal, name: str, text: str) -> list[str]:
    label = terminal.paint(name, "dim") + " " * max(1, LABEL - len(name))
    return terminal.wrap(printable(text), first=label, rest=" " * LABEL)
