"""A conversation for people: each speaker's messages, the tool calls, and the times."""

import json
from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

from simeval.core.counted import counted_of
from simeval.core.media import shown
from simeval.core.tables import printable
from simeval.core.terminal import PLAIN, Style, Terminal
from simeval.core.tool_calls import called_tool

if TYPE_CHECKING:
    from simeval.core.conversation import Conversation, Message

SHORT = 60  # cells; shorter lines have no room for the speaker beside the text
SPEAKER = len("assistant") + 2  # cells for the speaker
LONGEST_CALL = 300  # characters of a tool call that are shown
SLOW_SECONDS = 0.05  # the shortest time of an answer that is shown
_COLOURS: Mapping[str, Style] = {"user": "cyan", "assistant": "bold"}


def transcript_lines(
    conversation: "Conversation",
    terminal: Terminal = PLAIN,
    *,
    margin: str = "",
    most: int | None = None,
    answer: int | None = None,
) -> list[str]:
    """Return the lines of a conversation; of a longer one than `most` messages only the last.

    Where the app's `answer` of this number, from 1, is not among those, it is the last message that is there.
    """
    messages = conversation.messages
    begin, end = 0 if most is None else max(0, len(messages) - most), len(messages)
    places = [place for place, message in enumerate(messages) if message.is_response]
    if most is not None and answer is not None and places[answer - 1 : answer] and places[answer - 1] < begin:
        end = places[answer - 1] + 1
        begin = max(0, end - most)
    left_out = [(begin, "earlier"), (len(messages) - end, "later")]
    earlier, later = ([margin + terminal.paint(_hidden(n, which), "dim")] if n else [] for n, which in left_out)
    shown = [line for message in messages[begin:end] for line in message_lines(message, terminal, margin)]
    return [*earlier, *shown, *later] or [margin + terminal.paint("nothing was said", "dim")]


def _hidden(n: int, which: str) -> str:
    return f"… {counted_of(n, f'{which} message')}"


def message_lines(message: "Message", terminal: Terminal, margin: str = "") -> list[str]:
    """Return the lines of one message: speaker and text, and below it its tool calls, and the time."""
    if terminal.columns < SHORT:  # the speaker is above the text
        inner, head = f"{margin}  ", [margin + terminal.paint(message.role, _COLOURS[message.role])]
        return [*head, *terminal.wrap(printable(shown(message.content)), first=inner), *_more(message, terminal, inner)]
    inner = margin + " " * SPEAKER
    who = terminal.paint(message.role, _COLOURS[message.role]) + " " * (SPEAKER - len(message.role))
    said = terminal.wrap(printable(shown(message.content)), first=margin + who, rest=inner)
    return [*said, *_more(message, terminal, inner)]


def _more(message: "Message", terminal: Terminal, margin: str) -> list[str]:
    """Return the lines below a message: its tool calls, and the seconds it took."""
    lines = []
    for call in message.tool_calls:
        lines += terminal.wrap(show_call(call), first=f"{margin}→ ")
    if message.role == "assistant" and not isnan(message.seconds) and message.seconds >= SLOW_SECONDS:
        lines.append(margin + terminal.paint(f"{message.seconds:.1f} s", "dim"))
    return lines


def show_call(call: Mapping[str, Any]) -> str:
    """Write a tool call, in any form the app reports: name, arguments, its result, or why it failed."""
    called = called_tool(call)
    shown, gave = [_brief(each) for each in called.arguments], [f"→ {_brief(each)}" for each in called.results]
    gave += [f"→ error: {_brief(each)}" for each in called.errors]
    if not shown and not gave and not called.name:
        shown = [_brief(call)]
    return printable(" ".join([called.name or "tool call", *shown, *gave]))


def _brief(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_CALL else f"{text[: LONGEST_CALL - 1]}…"
