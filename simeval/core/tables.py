"""Plain-text tables and paragraphs for terminals and logs."""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest

LINE = 110
GAP = 2  # cells between columns
LEFT_OUT = "left out for lack of room: {} (--json - has all)"  # columns
_CI_COMMAND = re.compile(r"(?<!\S):(?=:[A-Za-z-]+[ :])|#(?=#\[)")  # GitHub reads ::error:: and ##[error] in a job's log
_HARMLESS = "\n\t\u200c\u200d"  # joiners hold an emoji of several people, and words of Persian, together

LONGEST_WORD = 2_000  # characters without a space: wrapping takes the square of them
LONGEST_TEXT = 50_000
_LONG_WORD = re.compile(rf"(\S{{{LONGEST_WORD}}})(\S+)")

_R = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RIGHT_TO_LEFT = re.compile(f"{_R}+(?:[ .,:;!?\"'()-]+{_R}+)*")
_ISOLATED = "\u2068\\g<0>\u2069"  # the inside is ordered by itself, and does not turn the rest of its line around


def render_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Sequence[int], room: int | None = None
) -> str:
    """Write rows under headers; the first columns are wrapped at `widths`, the others at the width of a line.

    Columns are as wide as a terminal shows them: of Chinese and of emoji each character takes two places. A row of one
    cell is a heading, as wide as the table. A table that is wider than the `room` there is becomes a list: of each row
    the first cell, and the others below it.
    """
    from wcwidth import ljust, width, wrap  # 30 ms, which a program without tables saves

    most = [*widths, *[LINE] * len(headers)]
    columns, is_heading = range(len(headers)), [len(row) == 1 < len(headers) for row in rows]
    wrapped = [
        [wrap(shortened(text), places, break_on_hyphens=False) or [""] for text, places in zip(row, most, strict=False)]
        for row in rows
    ]
    figures = [row for row, is_alone in zip(wrapped, is_heading, strict=True) if not is_alone]
    size = [max([width(headers[c]), *(width(line) for row in figures for line in row[c])]) for c in columns]
    if room is not None and sum(size) + GAP * (len(headers) - 1) > room:
        return _stacked(headers, rows, room)
    lines = [list(headers), ["-" * size[c] for c in columns]]
    for row, cells, is_alone in zip(rows, wrapped, is_heading, strict=True):
        room_of_all = sum(size) + GAP * (len(headers) - 1)
        heading = [[line] for line in wrap(shortened(row[0]), room_of_all, break_on_hyphens=False)]
        lines += heading if is_alone else map(list, zip_longest(*cells, fillvalue=""))
    spaces = " " * GAP
    return "\n".join(spaces.join(map(ljust, map(isolated, line), size)).rstrip() for line in lines)


def table_width(columns: Mapping[str, Sequence[str]]) -> int:
    """Return how many cells the widest line of a table takes, with columns under these headers."""
    from wcwidth import width

    return sum(max(map(width, [name, *cells])) for name, cells in columns.items()) + GAP * (len(columns) - 1)


def _stacked(headers: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> str:
    """Write each row as a list of its cells; a first cell that is empty belongs to the row before."""
    from wcwidth import wrap

    lines: list[str] = []
    for first, *others in rows:
        lines += wrap(shortened(first), room, break_on_hyphens=False) if first else []
        for header, cell in zip(headers[1:], others, strict=bool(others)):
            if cell not in ("", "-"):
                cells = shortened(f"{header}: {cell}")
                lines += wrap(cells, room, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        lines.append("")
    return "\n".join(map(isolated, lines[:-1]))


def shortened(text: str) -> str:
    """Return a text that can be laid out at once: very long words and texts are cut, with the length left out."""
    if len(text) <= LONGEST_WORD:
        return text
    cut = _LONG_WORD.sub(lambda found: f"{found[1]}… ({len(found[2]):,} more characters)", text[:LONGEST_TEXT])
    left_out = len(text) - LONGEST_TEXT
    return f"{cut}… ({left_out:,} more characters)" if left_out > 0 else cut


def line_of(room: int | None) -> int:
    """Return the width of a line for so much room; None means unlimited."""
    return min(room or LINE, LINE)


def indent(text: str, spaces: int, *, width: int = LINE) -> str:
    """Wrap a text at the width of a line, every line of it indented."""
    from wcwidth import wrap

    margin = " " * spaces
    lines = [
        line
        for paragraph in shortened(text).splitlines()
        for line in wrap(
            paragraph, width, initial_indent=margin, subsequent_indent=margin + "  ", break_on_hyphens=False
        )
        or [""]
    ]
    return "\n".join(map(isolated, lines))


def isolated(line: str) -> str:
    """Keep right-to-left text from turning around the text beside it."""
    return _RIGHT_TO_LEFT.sub(_ISOLATED, line)


def printable(text: str) -> str:
    """Replace control characters, which could rewrite a terminal, by a mark, and take commands to a CI job apart."""
    text = "".join(character if character.isprintable() or character in _HARMLESS else "\ufffd" for character in text)
    return _CI_COMMAND.sub(r"\g<0> ", text) if "::" in text or "##[" in text else text
