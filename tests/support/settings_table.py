"""The tables of settings in the documentation, written from the settings: `python -m tests.support.settings_table`."""

import sys
from dataclasses import Field, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from simeval.core.setting_field import about_of, choices
from simeval.core.settings import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN = "<!-- settings: written by python -m tests.support.settings_table -->\n"
END = "<!-- end of settings -->\n"


def page() -> Path:
    """Return the page that has the tables."""
    [found] = [path for path in DOCS.rglob("*.md") if BEGIN in path.read_text(encoding="utf-8")]
    return found


def tables() -> str:
    """Return a table for each group of settings, in the order they stand in."""
    parts = []
    for group, members in groupby(fields(Settings), key=lambda each: about_of(each).group):
        rows = [_row(each) for each in members]
        parts.append(f"**{group}**\n\n| setting | option | meaning | default |\n| --- | --- | --- | --- |\n")
        parts[-1] += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return "\n" + "\n".join(parts) + "\n"


def written(text: str) -> str:
    """Return a page with the tables in their place."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{tables()}{END}{rest.split(END)[1]}"


def _row(each: "Field[Any]") -> tuple[str, str, str, str]:
    said = about_of(each)
    few = [f"`{_shown(value)}`" for value in choices(each.type) if value is not None]
    values = f" {', '.join(few[:-1])} or {few[-1]}." if few and few != ["`true`", "`false`"] else ""
    option = f"`{said.flag}`" if said.flag else ""
    if "`anytime`" in few:
        option, values = f"{option}, `{said.flag.replace('--', '--no-')}`", f"{values} The option has the first two."
    return f"`{each.name}`", option, f"{said.help}{values}", _default(each)


def _default(each: "Field[Any]") -> str:
    if each.default is None:
        return about_of(each).unset or "none"
    return f"`{_shown(each.default)}`" if each.default != () else "none"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    target = page()
    target.write_text(written(target.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote the tables of {target}\n")
