"""GitHub's Markdown, as step summaries and comments show it: texts that cannot break it, in a page of bounded size."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from simeval.core.terminal import isolated, one_line, printable

MOST_BYTES = 60_000  # a comment holds 65,536 characters, a step summary a megabyte
LONGEST_TEXT = 400  # characters of a cell or a line
LONGEST_BLOCK = 6_000  # characters of a folded block
LONGEST_REPORT = 14_000  # characters of a report that is one block: of four bytes each at the most
FOR_THE_REST = 600  # bytes for the note on the parts left out
BREAK = "\u200b"  # seen by nobody; a name or a number behind it is not looked up
_MEANT = re.compile(r"[&<>\"'\\`*_\[\]{}|~$#^!]")
_LOOKED_UP = re.compile(r"(@|#|\bGH-|\bwww\.|:(?=//))(?=[\w/])", re.IGNORECASE)
_AT_THE_START = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|(?=[-+=]))(.)")
_TICKS = re.compile("`+")
_NO_ISOLATES = dict.fromkeys(map(ord, "\u2068\u2069"))  # a text that was printed for a terminal has some


def escaped(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text as one line that shows it as it is: no markup, no link, nobody mentioned, no issue referred to."""
    line = shortened(one_line(text), most)
    unlinked = _LOOKED_UP.sub(rf"\1{BREAK}", line)
    plain = _MEANT.sub(lambda found: f"&#{ord(found[0])};", unlinked)
    return isolated(_AT_THE_START.sub(lambda found: f"{found[1]}&#{ord(found[2])};", plain))


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text that is longer than so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def fenced(text: str, most: int = LONGEST_BLOCK) -> str:
    """Return a text as a block that is shown letter by letter; of a long one the middle is left out, and named."""
    bare = text.translate(_NO_ISOLATES)
    lines = [isolated(line) for line in printable(_without_middle(bare, most)).splitlines()]
    longest = max((len(found[0]) for line in lines for found in _TICKS.finditer(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def folded(summary: str, inner: str) -> str:
    """Return a block that is opened by a click; `summary` is escaped, `inner` Markdown."""
    return f"<details><summary>{summary}</summary>\n\n{inner}\n\n</details>"


def table_row(cells: Sequence[str]) -> str:
    """Return a row of a table; its cells are escaped."""
    return f"| {' | '.join(cells)} |"


def table_head(headers: Sequence[str]) -> str:
    """Return the head of a table."""
    return "\n".join([table_row(headers), table_row(["---"] * len(headers))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Blocks of one kind, the most important first: of a table its rows, under the `head` of the table.

    `noun` names one of them. `share` is how much of the room that is left they may take.
    """

    noun: str
    blocks: Sequence[str]
    head: str = ""
    is_table: bool = False
    share: float = 1.0


def fitted(head: str, parts: Sequence[Part], foot: str = "", *, whole: str, most: int = MOST_BYTES) -> str:
    """Join parts to a page of at most `most` bytes, which names the parts left out, and where the `whole` is."""
    room = most - FOR_THE_REST - _size(head) - _size(foot)
    said, left_out = [head], []
    for part in parts:
        if not part.blocks:
            continue
        kept = _fitting(part, part.share * room)
        if kept:
            said.append(_joined(part, kept))
            room -= _size(said[-1])
        if len(kept) < len(part.blocks):
            left_out.append(f"{len(part.blocks) - len(kept):,} of {len(part.blocks):,} {part.noun}s")
    cut = f"Left out, to stay within {most // 1000} kB: {', '.join(left_out)}. {whole}" if left_out else ""
    return "\n\n".join(each for each in (*said, cut, foot) if each) + "\n"


def _fitting(part: Part, room: float) -> Sequence[str]:
    """Return as many of the first blocks as there is room for."""
    sizes = accumulate((_size(block) for block in part.blocks), initial=_size(part.head))
    return part.blocks[: sum(size <= room for size in sizes) - 1] if room > _size(part.head) else ()


def _joined(part: Part, blocks: Sequence[str]) -> str:
    parts = [*([part.head] if part.head else []), *blocks]
    return ("\n" if part.is_table else "\n\n").join(parts)


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="replace")) + 2  # the lines between blocks


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters are left out here …\n{text[-half:]}"
