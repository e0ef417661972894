"""The command `simeval generate` with its options."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT
from simeval.cli.options import GroupedCommand, setting_options


@click.command(context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("sources", type=click.Path(path_type=Path), nargs=-1)
@click.option("--describe", "description", default="", metavar="TEXT", help="What the app is and does, in your words.")
@click.option(
    "--model", default="offline/judge", show_default=True, help="LiteLLM name of the model that proposes them."
)
@click.option(
    "--scenarios", "count", type=click.IntRange(1, 500), default=12, show_default=True, help="How many are proposed."
)
@click.option("--out", metavar="PATH", help="Where the suite is written.  [default: standard output]")
@setting_options("seed", "model_options", "model_concurrency", "model_timeout_seconds", "prompts", "secret_patterns")
@click.pass_context
def generate(context: click.Context, /, **options: Any) -> None:
    """Propose scenarios from SOURCES, for a person to edit: documents, datasets, logs, or folders of them.

    Each has the tag `proposed`, a counterexample, and the words of the source that it rests on. Exit status: 0; 2 the
    command or a source could not be used; 3 the model could not be asked.
    """
    from simeval.extras.proposals.generate import generate as write_suite

    raise SystemExit(write_suite(context, **options))
