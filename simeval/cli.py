"""The command line: options here, what they do in `commands`, which is imported only when it is needed."""

from pathlib import Path
from typing import Any

import click

from simeval.version import __version__

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__)
def main() -> None:
    """Simulate users against a conversational AI app, judge the conversations, conclude with statistics."""


@main.command(context_settings=CONTEXT)
@click.argument("suite")
@click.option("--app", default=None, help="The app: MODULE:HANDLER, or a model's name.  [default: offline/app]")
@click.option("--judge-model", help="LiteLLM name of the judge.  [default: offline/judge]")
@click.option("--user-model", help="LiteLLM name of the simulated user.  [default: the judge's]")
@click.option(
    "--model-option", "model_options", multiple=True, metavar="NAME=VALUE", help="Goes into every LiteLLM call."
)
@click.option("--samples", type=click.IntRange(1), help="Trials for each scenario, whatever the suite says.")
@click.option("--seed", type=int, help="Fixes writing styles and trial seeds.  [default: drawn and shown]")
@click.option("--concurrency", type=click.IntRange(1), default=50, show_default=True, help="Trials in flight.")
@click.option(
    "--model-concurrency", type=click.IntRange(1), default=50, show_default=True, help="Calls at once to a model."
)
@click.option("--app-concurrency", type=click.IntRange(1), help="Turns the app answers at once.  [default: all]")
@click.option("--app-timeout", type=float, default=60.0, show_default=True, help="Seconds for a turn of the app.")
@click.option("--model-timeout", type=float, default=60.0, show_default=True, help="Seconds for a call to a model.")
@click.option(
    "--on-app-error",
    type=click.Choice(["fail", "exclude", "stop"]),
    default="fail",
    show_default=True,
    help="What an app's error does to its trial.",
)
@click.option("--max-error-rate", type=float, default=0.1, show_default=True, help="Share of trials that may be lost.")
@click.option("--store", type=click.Path(path_type=Path), help="Append every finished step to this JSON-lines file.")
@click.option("--json", "json_path", metavar="PATH", help="Write the result as JSON; - for standard output.")
@click.option("--junit", "junit_path", metavar="PATH", help="Write the result as JUnit XML.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info",
    show_default=True,
    help="debug shows every prompt, reply and judge's reasoning.",
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def run(**options: Any) -> None:
    """Run a suite: a YAML file, a folder of them, or MODULE:OBJECT.

    Exit status: 0 every verdict passed; 1 some verdict is fail or inconclusive; 2 the command, suite or
    app could not be used; 3 the run could not be completed; 130 it was interrupted.
    """
    from simeval.commands import leave, run_suite

    leave(run_suite(**options))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
def init(folder: Path) -> None:
    """Write a commented starter suite and an app handler into FOLDER."""
    from simeval.starter import write_starter

    raise SystemExit(write_starter(folder))


if __name__ == "__main__":
    main()
