"""The commands `simeval persona init`, `check` and `calibrate`, with their options."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import json_option

LONGEST = 200  # characters of a command's description, in a list of them


class UncutGroup(click.Group):
    """A group that lists the descriptions of its commands in full."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the first sentence of each command's help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(LONGEST)) for name, each in self.commands.items()])


@click.group(context_settings=CONTEXT, cls=UncutGroup)
def persona() -> None:
    """Create, check and calibrate the persona of a brand."""


@persona.command("init", context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path), default=Path("persona.yaml"))
def persona_init(file: Path) -> None:
    """Write a commented persona to start from into FILE (persona.yaml)."""
    from simeval.extras.brand.persona import write_persona

    raise SystemExit(write_persona(file))


@persona.command("check", context_settings=CONTEXT)
@click.argument("file", type=click.Path(path_type=Path))
def persona_check(file: Path) -> None:
    """Show the measures of the persona in FILE, and the parts that are not measured, with the reason.

    Exit status: 0, or 2 for a mistake in it, reported with its line and field.
    """
    from simeval.extras.brand.persona import check_persona

    raise SystemExit(check_persona(file))


@persona.command("calibrate", context_settings=CONTEXT)
@click.argument("persona", type=click.Path(path_type=Path))
@click.argument("labelled", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where the traits model is written (JSON).")
@click.option("--test", type=click.Path(path_type=Path), help="More labelled turns, to measure the model on.")
@click.option("--seed", type=int, default=0, show_default=True, help="Fixes the folds and the intervals.")
@json_option("report")
def persona_calibrate(**options: Any) -> None:
    """Fit the traits of PERSONA (YAML) to LABELLED turns: JSON lines with text, label (on or off) and session.

    It reports the ROC-AUC on held-out sessions (five folds that keep sessions whole), before by the persona's rules and
    after by the model, with an interval over sessions. Exit status: 0, or 2 for input that could not be used.
    """
    from simeval.extras.brand.calibration import calibrate_persona

    raise SystemExit(calibrate_persona(**options))
