"""A printed report in blocks, which are laid out in as much room as lines have, also when a store gives them back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from simeval.core.conversation import Conversation
from simeval.core.serialization import Json, decode_conversation, encode_conversation
from simeval.core.tables import indent, isolated, line_of, render_table
from simeval.core.terminal import PLAIN
from simeval.core.transcript import transcript_lines

Block: TypeAlias = Json  # in the form JSON has
Blocks: TypeAlias = list[list[Block]]  # paragraphs, separated by empty lines

_MARGIN = " " * 6  # of a transcript


def prose(said: str, *, spaces: int = 0) -> list[Block]:
    """Return a text with every line indented by so many spaces; an empty one is no block."""
    return [{"text": said, "spaces": spaces}] if said else []


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Sequence[int]) -> list[Block]:
    """Return rows under headers, as `render_table` takes them; without rows there is no table."""
    return [{"headers": [*headers], "rows": [[*row] for row in rows], "widths": [*widths]}] if rows else []


def transcript(conversation: Conversation) -> list[Block]:
    """Return the messages of a conversation."""
    return [{"conversation": encode_conversation(conversation)}]


def laid_out(blocks: Blocks, room: int | None = None) -> str:
    """Write blocks in lines of so much `room`; without, tables are as wide as they are."""
    return "\n\n".join("\n".join(_lines(each, room) for each in paragraph) for paragraph in blocks if paragraph)


def _lines(block: Mapping[str, Any], room: int | None) -> str:
    if "headers" in block:
        return render_table(block["headers"], block["rows"], widths=block["widths"], room=room)
    if "conversation" in block:
        terminal = PLAIN if room is None else replace(PLAIN, width=room)
        return "\n".join(transcript_lines(decode_conversation(block["conversation"]), terminal, margin=_MARGIN))
    return indent(block["text"], block["spaces"], width=line_of(room))


def headline_of(report: Sequence[Sequence[Block]]) -> str:
    """Return the line of a report with the outcome: the last but one."""
    return isolated([line for block in report[-1] for line in block["text"].splitlines()][-2])
