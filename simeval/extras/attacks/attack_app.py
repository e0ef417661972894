"""The work of `simeval attack`: make the suite of the families, which is run as any other is."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from simeval.cli.options import overrides
from simeval.core.settings import Settings
from simeval.core.validation import require, require_share
from simeval.errors import DefinitionError
from simeval.extras.attacks.attack import STOP, Attack
from simeval.suites.apps.named import app_of, names_object
from simeval.suites.files import SUFFIXES, Line, Suite


def attack_app(
    context: click.Context,
    *,
    app: str,
    families: str | None,
    at_most: float,
    secrets: Sequence[str],
    system_prompt: str | None,
    forbidden_tools: Sequence[str],
    must_not: Sequence[str],
    simulated: bool,
    **options: Any,
) -> int:
    """Attack an app, and give the exit status."""

    def suite(project: Settings) -> Suite:
        if app.endswith(SUFFIXES):
            found = "this is a file, and no app"
            raise DefinitionError(
                f"app {app!r}", found=found, do=f"`simeval run {app}` runs the attack of a suite file"
            )
        require_share(at_most, "--at-most")
        settings = project if project.stop else project.overridden({"stop": STOP})
        attack = Attack(
            families=() if families is None else _names(families),
            at_most=at_most,
            secrets=secrets,
            system_prompt="" if system_prompt is None else _text(system_prompt),
            forbidden_tools=forbidden_tools,
            must_not=must_not,
            simulated=simulated,
        )
        scenarios = attack.scenarios(settings.overridden(overrides(context)))
        line = _line_of(app)
        return Suite(scenarios, settings, lines={each.title: line for each in scenarios} if line else {})

    from simeval.cli.run import run_suite  # the engine, which the help of the command does without

    return run_suite(context, suite=suite, app=app, **options)


def _line_of(app: str) -> Line | None:
    """Return the place of the function that is the app; None if it is none, or is in no file."""
    if not names_object(app):
        return None
    try:
        found: Any = app_of(app)
        handler = inspect.unwrap(found)
        file, (_, line) = inspect.getsourcefile(handler), inspect.getsourcelines(handler)
    except (TypeError, OSError):
        return None
    return (file, line) if file else None


def _names(families: str) -> list[str]:
    names = [name.strip() for name in families.split(",") if name.strip()]
    require(bool(names), "--families", found=families, do="name one or more, or leave the option out")
    return names


def _text(path: str) -> str:
    do = "name a file with the app's system prompt"
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DefinitionError("--system-prompt", found=f"{path} cannot be read ({why})", do=do) from None
    if not text.strip():
        raise DefinitionError("--system-prompt", found=f"{path} is empty", do=do)
    return text
