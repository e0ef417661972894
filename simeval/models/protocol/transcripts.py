"""The part of a conversation shown to a judge: all of it, or its beginning and its end if it is too long."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from simeval.core import media
from simeval.core.conversation import Message
from simeval.core.serialization import plain

CHARACTERS_A_TOKEN = 4
END_STATE = "end_state"  # the app's state in the metadata of its last answer, for the judge
FRAME = 40  # characters around a message or a tool call
MARK_TOKENS = 12  # of the note in place of a text's middle
_SIGNS = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]")
_OTHERS = re.compile(r"[\u0250-\u10ff\u1200-\u1dff\u2c00-\u2e7f\ua4d0-\uabff\ufb50-\ufeff]")
_NAMES = ("name", "tool", "tool_name")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Which messages are left out, by their numbers from 1: a middle part, or none.

    `most` is how many tokens a shown text, a message or a tool call, may have: the middle of a longer one is left out,
    too.
    """

    left_out: range = range(0)
    messages: int = 0
    most: float = inf
    cut: Sequence[int] = ()  # the numbers of messages that are shown in part

    def __str__(self) -> str:
        gap = [f"messages {self.left_out[0]} to {self.left_out[-1]} of {self.messages}"] if self.left_out else []
        parts = [f"the middle of message {number}" for number in self.cut]
        return ", ".join([*gap, *parts]) or "nothing"

    @property
    def is_whole(self) -> bool:
        """Whether all of the conversation is shown."""
        return not (self.left_out or self.cut)


def excerpt(messages: Sequence[Message], most_tokens: int | None) -> Excerpt:
    """Return the shown part of a conversation within so many tokens, as estimated by `tokens_in`.

    The first two messages and the last two always are, if need be without the middle of their longest texts; then those
    after the beginning and before the end, by turns, as long as they fit.
    """
    if most_tokens is None:
        return Excerpt(messages=len(messages))
    sizes = [_size(message) for message in messages]
    if sum(sizes) <= most_tokens:
        return Excerpt(messages=len(messages))
    first = min(2, len(messages))
    last = max(first, len(messages) - 2)  # the part left out is messages[first:last]
    ends = [*range(first), *range(last, len(messages))]
    room = most_tokens - sum(sizes[each] for each in ends)
    if room < 0:
        return _cut(messages, ends, most_tokens)
    while first < last:
        at_end = (len(messages) - last) <= first
        size = sizes[last - 1] if at_end else sizes[first]
        if size > room:
            break
        room -= size
        first, last = (first, last - 1) if at_end else (first + 1, last)
    return Excerpt(range(first + 1, last + 1), len(messages))


def _cut(messages: Sequence[Message], shown: Sequence[int], most_tokens: int) -> Excerpt:
    """Return an excerpt of the messages at these places, whose longest texts are cut to one length that fits."""
    texts = sorted(tokens_in(text) for place in shown for text in texts_of(messages[place]))
    room = most_tokens - FRAME / CHARACTERS_A_TOKEN * len(texts)
    most, left = 0.0, len(texts)
    for size in texts:  # the shortest are shown whole, as long as all others may be as long
        most = room / left
        if size > most:
            break
        room, left = room - size, left - 1
    most = max(1.0, most - MARK_TOKENS)
    cut = [place + 1 for place in shown if any(tokens_in(text) > most for text in texts_of(messages[place]))]
    left_out = range(3, len(messages) - 1) if len(messages) > len(shown) else range(0)
    return Excerpt(left_out, len(messages), most, cut)


def texts_of(message: Message) -> Sequence[str]:
    """Return the texts of a message for a judge: the message, and each tool call."""
    return [media.shown(message.content), *(json.dumps(plain(call), ensure_ascii=False) for call in message.tool_calls)]


def tokens_in(text: str) -> float:
    """Return about how many tokens a text has: four Latin letters each, two of other alphabets, one Chinese sign."""
    markup = sum(map(text.count, "&<>"))  # which is shown as entities
    if text.isascii():
        return markup + len(text) / CHARACTERS_A_TOKEN
    signs, others = len(_SIGNS.findall(text)), len(_OTHERS.findall(text))
    return markup + signs + others / 2 + (len(text) - signs - others) / CHARACTERS_A_TOKEN


def beginning_and_end(text: str, most: float) -> tuple[str, str, int]:
    """Return the beginning and the end of a text that are of so many tokens, and how many characters are between."""
    if tokens_in(text) <= most:
        return text, "", 0
    head, tail = _within(text, most / 2), _within(text[::-1], most / 2)
    return text[:head], text[len(text) - tail :], len(text) - head - tail


def _within(text: str, most: float) -> int:
    """Return how many of the first characters of a text are of so many tokens."""
    low, high = 0, min(len(text), int(most * CHARACTERS_A_TOKEN))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_in(text[:middle]) <= most else (low, middle - 1)
    return low


def end_state(messages: Sequence[Message]) -> str | None:
    """Return the state at the end in the app's last answer, as JSON; None if it has none."""
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


def _size(message: Message) -> float:
    return sum(tokens_in(text) + FRAME / CHARACTERS_A_TOKEN for text in texts_of(message))
