"""Commands to begin with: options here, their work in `commands`, which is imported only when it is needed."""

import re
from pathlib import Path
from typing import Any, NoReturn

import click

from simeval.cli import CONTEXT
from simeval.cli.options import (
    GroupedCommand,
    SettingsCommand,
    app_option,
    color_option,
    judge_option,
    only_option,
    overrides,
    screen_options,
    setting_options,
    user_option,
)
from simeval.core.app_handler import APP_FORMS

_APP = re.compile(r"[\w.-]{2,}:")  # the beginning of an app's name, and of no folder: C: is a drive

MESSAGE_OPTION = click.option(
    "--message",
    default="Hello, what can you do for me?",
    show_default=True,
    help="With --probe: what is said first; the code word follows.",
)


@click.command("try", context_settings=CONTEXT, cls=GroupedCommand)
@click.argument("suite", type=click.Path())
@app_option
@only_option("Try the first scenario with this tag, or with this text in its title.  [default: the suite's first]")
@click.option("--probe", is_flag=True, help="Show how the app is set up and read; SUITE may then be an app.")
@MESSAGE_OPTION
@judge_option
@user_option
@color_option
@setting_options("seed", "user_format", "model_options", "app_timeout_seconds", "prompts", "secret_patterns")
@click.pass_context
def try_(context: click.Context, /, *, probe: bool, message: str, **options: Any) -> None:
    """Hold one conversation of SUITE live on the screen, and show how it is judged.

    Nothing is concluded, and nothing kept. With --probe, and for the URL of an app, it holds two short conversations at
    once instead. Each sends a code word of its own and asks for it: so it shows the requests, how answers are read,
    whether the session is kept, and whether conversations mix.

    Exit status: 0; 1 --probe proved that the session is not kept, or that conversations mix; 2 the command, suite or
    app could not be used; 3 the conversation could not be held or judged.
    """
    from simeval.cli.run import leave
    from simeval.cli.try_one import try_suite

    if probe or "://" in options["suite"]:
        patterns = overrides(context).get("secret_patterns", ())
        _probe(options["app"] or options["suite"], message=message, color=options["color"], secret_patterns=patterns)
    leave(try_suite(context, **options))


@click.command(context_settings=CONTEXT)
@click.argument("app")
@MESSAGE_OPTION
@color_option
def probe(app: str, **options: Any) -> None:
    """Hold two short conversations with APP at once; `simeval try --probe` does the same."""
    _probe(app, **options)


def _probe(app: str, **options: Any) -> NoReturn:
    from simeval.cli.probe import probe as send

    raise SystemExit(send(app, **options))


@click.command(context_settings=CONTEXT)
@click.argument("name", required=False)
def prompts(name: str | None) -> None:
    """List the prompts that models are sent, or print the one called NAME, ready to save and edit.

    A saved one takes its place by `simeval run --prompt NAME=FILE`, or by the setting `prompts` of a suite; those of
    scorers by their arguments.
    """
    from simeval.cli.prompts import show_prompts

    raise SystemExit(show_prompts(name))


@click.command("help", context_settings=CONTEXT)
@click.argument("topic", required=False)
@click.pass_context
def help_(context: click.Context, /, topic: str | None) -> None:
    """Print the page of the documentation about TOPIC, or list the topics.

    TOPIC may also be a command: `simeval help run` is `simeval run --help`.
    """
    from simeval.cli.pages import show_page

    raise SystemExit(show_page(context.find_root(), topic))


@click.command(context_settings=CONTEXT)
@screen_options
def demo(**options: Any) -> None:
    """Run a small suite against an embedded app: no app of yours, no key and no network are needed."""
    from simeval.cli.demo import show_demo

    raise SystemExit(show_demo(**options))


@click.command(context_settings=CONTEXT)
def schema() -> None:
    """Print the JSON schema of suite files, with which editors complete and check them."""
    from simeval.cli.init import show_schema

    raise SystemExit(show_schema())


@click.command(context_settings=CONTEXT, cls=SettingsCommand)
@judge_option
@user_option
@click.option("--call", is_flag=True, help="Ask each of these models one short question.")
@color_option
@setting_options("store", "model_options", "model_timeout_seconds", "secret_patterns")
@click.pass_context
def doctor(context: click.Context, /, **options: Any) -> None:
    """Check whether everything a run needs is there: keys, models, the store, extras, versions.

    Models are called only with --call; those named in pyproject.toml are checked too. Exit status: 0 everything is
    fine; 1 something is not; 2 the command could not be used.
    """
    from simeval.cli.doctor import show_health

    raise SystemExit(show_health(context, **options))


@click.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the script that lets a shell complete commands and options, for its start-up file.

    bash: eval "$(simeval completion bash)" in ~/.bashrc. zsh: the same with zsh, in ~/.zshrc. fish: simeval completion
    fish > ~/.config/fish/completions/simeval.fish
    """
    from simeval.cli.completion import show_completion

    raise SystemExit(show_completion(context.find_root().command, shell))


@click.command()
@click.argument("folder", metavar="[FOLDER|APP]", default=".")
@click.option(
    "--app", help=f"The app that the suite is for: {APP_FORMS}.  [default: asked on a terminal, else a new app.py]"
)
def init(folder: str, app: str | None) -> None:
    """Write a commented starter suite into FOLDER, for your app or with an app handler to start from.

    `simeval init http://localhost:8000/chat` writes one here for that app. An app that is reached by a protocol is
    probed then, as `simeval try --probe` does; if it does not answer, the suite is written all the same.
    """
    from simeval.cli.init import write_starter

    if app is None and _APP.match(folder):
        folder, app = ".", folder
    raise SystemExit(write_starter(Path(folder), app))


FIRST_STEPS = (try_, probe, prompts, help_, demo, doctor, completion, schema, init)
