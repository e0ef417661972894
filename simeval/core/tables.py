"""Plain-text tables and paragraphs for terminals and logs."""

from collections.abc import Sequence
from io import StringIO
from itertools import zip_longest
from textwrap import wrap

LINE = 110


def render_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Sequence[int]) -> str:
    """Write rows under headers; the first columns are wrapped at `widths`, the others at the width of a line.

    Columns are as wide as a terminal shows them: of Chinese and of emoji each character takes two places.
    """
    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for _, width in zip_longest(headers, widths, fillvalue=LINE):
        table.add_column(max_width=width, overflow="fold")
    table.add_row(*headers)
    table.add_row(*[Rule(characters="-")] * len(headers))
    for row in rows:
        table.add_row(*(" ".join(cell.split()) for cell in row))
    written = StringIO()
    width = len(headers) * (LINE + 2)
    console = Console(
        file=written, width=width, color_system=None, force_jupyter=False, markup=False, emoji=False, highlight=False
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def indent(text: str, spaces: int) -> str:
    """Wrap a text at the width of a line, every line of it indented."""
    margin = " " * spaces
    lines = [
        line
        for paragraph in text.splitlines()
        for line in wrap(paragraph, LINE, initial_indent=margin, subsequent_indent=margin + "  ") or [""]
    ]
    return "\n".join(lines)


def printable(text: str) -> str:
    """Replace control characters, which could rewrite a terminal, by a mark."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)
