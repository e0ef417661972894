"""Plain-text tables and paragraphs for terminals and logs."""

from collections.abc import Sequence
from textwrap import wrap

LINE = 110


def render_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Sequence[int]) -> str:
    """Write rows under headers; the first columns are wrapped at `widths`, the others stay on one line."""
    cells = [[_cell(text, widths[i] if i < len(widths) else LINE) for i, text in enumerate(row)] for row in rows]
    columns = range(len(headers))
    size = [max([len(headers[c]), *(len(line) for row in cells for line in row[c])]) for c in columns]
    lines = ["  ".join(headers[c].ljust(size[c]) for c in columns), "  ".join("-" * size[c] for c in columns)]
    for row in cells:
        height = max(len(cell) for cell in row)
        padded = [[*cell, *[""] * (height - len(cell))] for cell in row]
        lines += ["  ".join(padded[c][n].ljust(size[c]) for c in columns) for n in range(height)]
    return "\n".join(line.rstrip() for line in lines)


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


def _cell(text: str, width: int) -> list[str]:
    return wrap(text, width) or [""]
