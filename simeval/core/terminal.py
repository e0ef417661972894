"""The properties of an output for layout: its width in cells, its colours, and the characters it can hold."""

import codecs
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from errno import EBADF, EPIPE, ESHUTDOWN
from io import TextIOWrapper
from itertools import zip_longest
from math import floor, log10
from shutil import get_terminal_size
from typing import Literal, TextIO

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

Color = Literal["auto", "always", "never"]
Display = Literal["live", "plain", "log", "none"]  # of a run under way
Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

WIDTH = 100  # if the width of a line is unknown
NARROWEST, WIDEST = 30, 140  # longer lines are hard to read
_SGR: dict[Style, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
DRAWN = "━·┃●✓✗→…≥≤"  # characters of a terminal that can draw
SIGNS = {  # in ASCII; none of them means another one
    "━": "=",
    "·": ".",
    "┃": "|",
    "●": "o",
    "✓": "+",
    "✗": "x",
    "→": "->",
    "…": "...",
    "≥": ">=",
    "≤": "<=",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "*",
    "±": "+/-",
    "µ": "u",
    "∞": "inf",
    "≠": "!=",
    "✅": "+",
    "❌": "x",
    "❔": "?",
    "⚠": "!",
    "▲": "^",
    "\u2068": "",
    "\u2069": "",
}
_ASCII = str.maketrans(SIGNS)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Lays out text for lines of `width` cells: of Chinese and of emoji each character takes two.

    Where it `draws`, it has more characters than ASCII.
    """

    width: int = WIDTH
    colour: bool = False
    draws: bool = True

    @property
    def columns(self) -> int:
        """How many cells of a line are used."""
        return min(max(self.width, NARROWEST), WIDEST)

    def paint(self, text: str, *styles: Style) -> str:
        """Colour a text, if colours are on."""
        if not self.colour or not text or not styles:
            return text
        return f"\x1b[{';'.join(_SGR[style] for style in styles)}m{text}\x1b[0m"

    def wrap(self, text: str, *, first: str = "", rest: str | None = None, width: int | None = None) -> list[str]:
        """Break a text into lines, the first and the rest with these beginnings; its own line breaks are kept."""
        from wcwidth import width as cells  # 30 ms, which a program that prints nothing saves
        from wcwidth import wrap

        text = shortened(self._in_signs(text))
        margin = " " * cells(first) if rest is None else rest
        begin, room = first, max(width or self.columns, max(cells(first), cells(margin)) + 8)
        lines = []
        for each in text.splitlines() or [""]:
            blanks = [" " * cells(begin), " " * cells(margin)]
            broken = wrap(each, room, initial_indent=blanks[0], subsequent_indent=blanks[1], break_on_hyphens=False)
            for line in broken or blanks[:1]:
                lines.append(f"{begin}{isolated(line[cells(begin) :])}".rstrip())
                begin = margin
        return lines

    def cells(self, text: str) -> int:
        """Return how many cells a text takes."""
        from wcwidth import width

        return int(width(text))

    def beside(self, left: Sequence[str], right: Sequence[str], *, at: int) -> list[str]:
        """Put lines beside others, which are at most `at` cells wide."""
        from wcwidth import ljust

        count = max(len(left), len(right))
        lines = zip([*left, *[""] * (count - len(left))], [*right, *[""] * (count - len(right))], strict=True)
        return [f"{ljust(one, at)}{other}".rstrip() for one, other in lines]

    def finished(self, lines: Sequence[str]) -> str:
        """Join lines, in characters that can be written."""
        return self._in_signs("\n".join(lines))

    def _in_signs(self, text: str) -> str:
        return text if self.draws else text.translate(_ASCII)


PLAIN = Terminal()


def one_line(text: str) -> str:
    """Return a text on one line, without characters that could rewrite a terminal."""
    return " ".join(printable(text).split())


def terminal_of(stream: TextIO, color: Color = "auto") -> Terminal:
    """Return the terminal of a stream: as wide as it is, coloured if it is a terminal, or if requested.

    `NO_COLOR` and `FORCE_COLOR` decide if `color` does not, COLUMNS sets the width of other streams.
    """
    is_terminal = stream.isatty()
    environment = os.environ
    is_wanted = is_terminal and environment.get("TERM") != "dumb"
    if environment.get("FORCE_COLOR"):
        is_wanted = environment["FORCE_COLOR"] not in ("0", "false")
    if environment.get("NO_COLOR"):
        is_wanted = False
    return Terminal(
        width=room_of(stream) or WIDTH,
        colour=is_wanted if color == "auto" else color == "always",
        draws=_can_write(DRAWN, stream),
    )


def make_printable() -> None:
    """Let standard output and error write characters they cannot hold in similar ones, else escaped.

    An app's text may hold any character. A stream that was closed before the program began takes everything to nowhere;
    opened here, no other file gets its number.
    """
    codecs.register_error(_IN_ASCII, _in_ascii)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_IN_ASCII)


_IN_ASCII = "simeval.in_ascii"


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Return the characters that an encoding lacks in ASCII: an error handler for `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(each) or each.encode("ascii", "backslashreplace").decode() for each in lacking), error.end


def printed() -> Terminal:
    """Return the output of `print`: as wide as the terminal, if it is one, and without colours."""
    try:
        return terminal_of(sys.stdout, "never")
    except (AttributeError, ValueError):  # it is missing, or closed
        return PLAIN


def printed_room() -> int | None:
    """Return how many cells a line of `print` has; None if no terminal sets it."""
    try:
        return room_of(sys.stdout)
    except (AttributeError, ValueError):
        return None


def room_of(stream: TextIO) -> int | None:
    """Return how many cells a line has; None for a stream that is no terminal, with lines of any length."""
    return get_terminal_size().columns if stream.isatty() or os.environ.get("COLUMNS") else None


def _can_write(characters: str, stream: TextIO) -> bool:
    try:
        characters.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def written(stream: TextIO, write: Callable[[], object]) -> None:
    """Write to a stream; if its reader has ended, as `head` does, the rest is dropped and everything else goes on.

    Raises OSError for another reason, such as a full disk; the rest is dropped then, too.
    """
    try:
        write()
        stream.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        if error.errno not in (EPIPE, EBADF, ESHUTDOWN):
            raise


def counted_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if that fits."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show_p(p: float) -> str:
    """Write a p-value with three digits, never as a bare zero."""
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.4f}"


def say_p(p: float) -> str:
    """Write a p-value into a sentence."""
    shown = show_p(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def show_number(value: float) -> str:
    """Write a number in six digits, a small one in two and without an exponent."""
    if value == 0 or abs(value) >= 1e-4:
        return f"{value:g}"
    return f"{value:.{1 - floor(log10(abs(value)))}f}".rstrip("0")


def show_share(share: float) -> str:
    """Write a share as a percentage, with a decimal only if it is needed."""
    return f"{100 * share:.4g}%"


def show_shares(shares: Sequence[float]) -> str:
    """Write a share before and after."""
    return " -> ".join(show_share(round(each, 3)) for each in shares)
