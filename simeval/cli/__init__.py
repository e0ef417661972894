"""The command line."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import click

ALL = "simeval.help_all"  # the key in a context under which help shows everything


@cache
def _flags() -> Mapping[str, str]:
    """Return the options of settings, and of models, by their names in files and in Python."""
    from simeval.cli.options import FLAGS  # takes a while to load

    named = {name.replace("_", "-"): flag.removeprefix("--") for name, flag in FLAGS.items()}
    return named | {"sample-size": "samples", "user-simulator-model": "user-model"}


def _by_setting(token: str) -> str:
    return _flags().get(token, token)


CONTEXT: dict[str, Any] = {  # of every command
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "token_normalize_func": _by_setting,
}


def _show_all(context: click.Context, option: click.Parameter, value: Any) -> None:  # noqa: ARG001
    if value:
        context.meta[ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


help_all = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show everything, by group."
)
