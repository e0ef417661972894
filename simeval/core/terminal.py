"""The properties of an output for layout: its width in cells, its colours, and the characters it can hold."""

import codecs
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from errno import EBADF, EPIPE, ESHUTDOWN
from io import TextIOWrapper
from shutil import get_terminal_size
from typing import Literal, TextIO

from simeval.core.tables import isolated, printable, shortened

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
    """Write to a stream; if its reader has ended, as `head` does, the rest is dropped and everything else goes on."""
    try:
        write()
        stream.flush()
    except OSError as error:
        if error.errno not in (EPIPE, EBADF, ESHUTDOWN):
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
