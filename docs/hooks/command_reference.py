"""Writes the options of each command into the page that asks for them, from the program itself."""

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import click

from simeval.cli.main import main
from simeval.cli.options import SettingOption

ASKED = re.compile(r"^<!-- (simeval [a-z -]+) -->$", re.MULTILINE)
_NOTES = re.compile(r"(\s*\[[^][]*\])+$")  # what click says after the help: a default, a range
_CODE = re.compile(r"(`[^`]+`)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with each `<!-- simeval COMMAND -->` replaced by what that command takes."""
    return ASKED.sub(lambda asked: reference_of(asked[1]), markdown)


def all_commands() -> Iterator[tuple[str, click.Context]]:
    """Yield every command that can be called, as it is typed, with its context."""
    for context in _inside(click.Context(main, info_name="simeval")):
        inner = _inside(context) if isinstance(context.command, click.Group) else [context]
        yield from ((each.command_path, each) for each in inner)


def _inside(group: click.Context) -> Iterator[click.Context]:
    assert isinstance(group.command, click.Group)
    for name in group.command.list_commands(group):
        command = group.command.get_command(group, name)
        assert command is not None
        yield click.Context(command, info_name=name, parent=group)


def options_of(context: click.Context) -> list[click.Option]:
    """Return the options of a command, its own first, then those of settings in their groups; --help is left out."""
    found = [each for each in context.command.get_params(context) if isinstance(each, click.Option)]
    own = (each for each in found if each.name not in ("help", "help_all"))
    return sorted(own, key=lambda each: isinstance(each, SettingOption))


def reference_of(path: str) -> str:
    """Return what a command says of itself, how it is called, and a table of each group of its options."""
    context = dict(all_commands())[path]
    usage = context.get_usage().removeprefix("Usage: ")
    lines = [_as_text(cleandoc(context.command.help or "")), "", "```text", usage, "```", ""]
    groups: dict[str, list[str]] = {}
    for each in options_of(context):
        groups.setdefault(_group(each), []).append(_row(each, context))
    for group, rows in groups.items():
        lines += [f"**{group}**", "", "| option | what it does | default |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def _group(option: click.Option) -> str:
    return option.group if isinstance(option, SettingOption) else "Options"


def _row(option: click.Option, context: click.Context) -> str:
    names, said = option.get_help_record(context) or ("", "")
    notes = _NOTES.search(said)
    told = [part for note in re.findall(r"\[(.*?)\]", notes[0]) for part in note.split("; ")] if notes else []
    defaults = [re.sub(r"^default(?:, )?(.*?: )", r"\1", each).removeprefix(": ") for each in told if "default" in each]
    ranges = "".join(f" ({each})" for each in told if "default" not in each)
    return f"| `{names}` | {_as_text(_NOTES.sub('', said) + ranges)} | {_as_text(', '.join(defaults))} |"


def _as_text(said: str) -> str:
    """Return words of the program as Markdown: what stands in backticks is code, all else is shown as it is."""
    parts = _CODE.split(said)
    return "".join(each if _CODE.match(each) else re.sub(r"([*_<>\[\]|])", r"\\\1", each) for each in parts)
