"""What a judge is shown of a conversation: all of it, or its beginning and its end where it is too long."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simeval.core.conversation import Message
from simeval.core.media import shown
from simeval.core.serialization import plain

CHARACTERS_A_TOKEN = 4
END_STATE = "end_state"  # what an app says in the metadata of its last answer for the judge to see
FRAME = 40  # characters around a message
_NAMES = ("name", "tool", "tool_name")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Which messages are left out, by their numbers from 1: a middle part, or none."""

    left_out: range = range(0)
    messages: int = 0

    def __str__(self) -> str:
        return f"messages {self.left_out[0]} to {self.left_out[-1]} of {self.messages}" if self.left_out else "nothing"


def excerpt(messages: Sequence[Message], most_tokens: int | None) -> Excerpt:
    """Return what is shown of a conversation within so many tokens, four characters each.

    The first two messages and the last two always are; then those after the beginning and before the end, by turns, as
    long as they fit.
    """
    if most_tokens is None or len(messages) <= 4:
        return Excerpt(messages=len(messages))
    sizes, room = [_size(message) for message in messages], most_tokens * CHARACTERS_A_TOKEN
    if sum(sizes) <= room:
        return Excerpt(messages=len(messages))
    first, last = 2, len(messages) - 2  # what is left out is messages[first:last]
    room -= sum(sizes[:first]) + sum(sizes[last:])
    while first < last:
        at_end = (len(messages) - last) <= first
        size = sizes[last - 1] if at_end else sizes[first]
        if size > room:
            break
        room -= size
        first, last = (first, last - 1) if at_end else (first + 1, last)
    return Excerpt(range(first + 1, last + 1), len(messages))


def end_state(messages: Sequence[Message]) -> str | None:
    """Return what the app's last answer says of its state at the end, as JSON; None where it says nothing."""
    last = next((each for each in reversed(messages) if each.role == "assistant"), None)
    if last is None or END_STATE not in last.metadata:
        return None
    return json.dumps(plain(last.metadata[END_STATE]), ensure_ascii=False)


def tool_name(call: Mapping[str, object]) -> str:
    """Return the name of a tool that was called, in whatever form the app reports it."""
    inner = call.get("function")
    forms = [call, inner] if isinstance(inner, Mapping) else [call]
    named = (form[key] for form in forms for key in _NAMES if isinstance(form.get(key), str))
    return str(next(named, "a tool without a name"))


def _size(message: Message) -> int:
    calls = sum(len(json.dumps(plain(call), ensure_ascii=False)) for call in message.tool_calls)
    return len(shown(message.content)) + calls + FRAME
