"""What `simeval attack` does: it makes the suite of the families, which is run as any other is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from simeval.cli.options import overrides
from simeval.cli.run import run_suite
from simeval.core.settings import Settings
from simeval.errors import DefinitionError
from simeval.suites.attacks.attack import STOP, Attack
from simeval.suites.files import Suite


def attack_app(
    context: click.Context,
    *,
    families: str | None,
    at_most: float,
    secrets: Sequence[str],
    system_prompt: str | None,
    forbidden_tools: Sequence[str],
    **options: Any,
) -> int:
    """Attack an app, and give the exit status."""

    def suite(project: Settings) -> Suite:
        settings = project if project.stop else project.overridden({"stop": STOP})
        attack = Attack(
            families=[name.strip() for name in families.split(",")] if families else (),
            at_most=at_most,
            secrets=secrets,
            system_prompt=_text(system_prompt) if system_prompt else "",
            forbidden_tools=forbidden_tools,
        )
        return Suite(attack.scenarios(settings.overridden(overrides(context))), settings)

    return run_suite(context, suite=suite, **options)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        do = "name a file with the app's system prompt"
        raise DefinitionError("--system-prompt", found=f"{path} cannot be read ({error})", do=do) from None
