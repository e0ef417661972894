"""The work of `simeval help`: print a page of the documentation, which the wheel has with it."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from simeval.cli.usage import Misused
from simeval.core.terminal import indent, line_of, room_of
from simeval.core.validation import closest

PACKAGE = Path(__file__).resolve().parents[1]
PAGES = ("start.md", "guides/*.md", "reference/glossary.md", "reference/originals.md")
QUESTIONS = ("start", "rate-limits", "state", "judge-is-wrong", "ci-is-red", "cost", "notebook")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_NOT_FOR_TERMINALS = re.compile(r"^!\[.*\n\n?| \{ #[\w-]+ \}$", re.MULTILINE)
_BLOCK = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)


def show_page(root: click.Context, topic: str | None) -> int:
    """Print the page of a topic, the help of a command, or the topics, and return the exit status. Raises Misused."""
    pages = _pages()
    group = root.command
    commands = group.list_commands(root) if isinstance(group, click.Group) else []
    if topic is None:
        click.echo(_topics(pages))
    elif topic in pages:
        click.echo_via_pager(_plain(pages[topic].read_text(encoding="utf-8")))
    elif isinstance(group, click.Group) and topic in commands and (command := group.get_command(root, topic)):
        click.echo(command.get_help(click.Context(command, info_name=topic, parent=root)))
    else:
        raise Misused(
            f"there is no page {topic!r}; {closest(topic, [*pages, *commands]) or '`simeval help` lists them.'}"
        )
    return 0


def _pages() -> Mapping[str, Path]:
    """Return the pages by their names: those in the wheel, or else those of the source tree."""
    packed = PACKAGE / "pages"
    folder = packed if packed.exists() else PACKAGE.parent / "docs"
    return {path.stem: path for pattern in PAGES for path in sorted(folder.glob(pattern))}


def _topics(pages: Mapping[str, Path]) -> str:
    first = [f"  {name:<16}{_title(pages[name])}" for name in QUESTIONS if name in pages]
    others = ", ".join(name for name in pages if name not in QUESTIONS)
    more = indent(f"Also: {others}.", 0, width=line_of(room_of(sys.stdout) or 80))
    return "\n".join(["`simeval help TOPIC` prints a page.", "", *first, "", more])


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _plain(markdown: str) -> str:
    """Return a page without pictures, anchors and the addresses of links; code stays as it is."""
    parts = _BLOCK.split(_NOT_FOR_TERMINALS.sub("", markdown))
    return "".join(part if _BLOCK.fullmatch(part) else _LINK.sub(r"\1", part) for part in parts)
