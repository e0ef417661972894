"""Writes a table for each group of settings into the page that asks for them."""

from dataclasses import Field, fields
from itertools import groupby
from typing import Any

from simeval.core.setting_field import about_of, choices
from simeval.core.settings import Settings

ASKED = "<!-- the settings -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the tables in the place that it names."""
    return markdown.replace(ASKED, tables())


def tables() -> str:
    """Return a table for each group of settings, in their order."""
    parts = []
    for group, members in groupby(fields(Settings), key=lambda each: about_of(each).group):
        rows = [f"| {' | '.join(_row(each))} |" for each in members]
        parts.append(
            "\n".join(
                [f"**{group}**", "", "| setting | option | meaning | default |", "| --- | --- | --- | --- |", *rows]
            )
        )
    return "\n\n".join(parts)


def _row(each: "Field[Any]") -> tuple[str, str, str, str]:
    about = about_of(each)
    few = [f"`{_shown(value)}`" for value in choices(each.type) if value is not None]
    values = f" {', '.join(few[:-1])} or {few[-1]}." if few and few != ["`true`", "`false`"] else ""
    option = f"`{about.flag}`" if about.flag else ""
    if "`anytime`" in few:
        option, values = f"{option}, `{about.flag.replace('--', '--no-')}`", f"{values} The option has the first two."
    return f"`{each.name}`", option, f"{about.help}{values}", _default(each)


def _default(each: "Field[Any]") -> str:
    if each.default is None:
        return about_of(each).unset or "none"
    return f"`{_shown(each.default)}`" if each.default != () else "none"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
