"""Conversations as models are shown them: a judge's transcript, and a simulated user's chat.

A conversation for the model that plays its user: roles reversed, one after the other, word for word.

A provider takes the first turn from "user" and the last, and no two of one role in a row; a model that plays a person
keeps to its part if the person's words are its own ("assistant") and the app's are the other side's ("user").
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import cycle
from math import inf

from simeval.core import media
from simeval.core.conversation import STATUS, ChatMessage, Message
from simeval.core.media import shown
from simeval.core.serialization import plain
from simeval.core.setting_choices import UserFormat

CHARACTERS_A_TOKEN = 4
END_STATE = "end_state"  # the app's state in the metadata of its last answer, for the judge
FRAME = 40  # characters around a message or a tool call
MARK_TOKENS = 12  # of the note in place of a text's middle
_SIGNS = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]")
_OTHERS = re.compile(r"[\u0250-\u10ff\u1200-\u1dff\u2c00-\u2e7f\ua4d0-\uabff\ufb50-\ufeff]")
_NAMES = ("name", "tool", "tool_name")

NOTHING_SAID = "(The chatbot sent an empty message.)"
FENCE_DIGITS = 8

# Texts that tokenizers of common models take for the bounds of a turn; and characters a person does not see.
_CONTROL = re.compile(r"<(?=\||/?s>|<SYS>>|</SYS>>|(?:start|end)_of_turn>|(?:bos|eos)>)|\[(?=/?INST\])", re.IGNORECASE)
_MARK = re.compile(r"\[(\s*(?:END|GIVE\s+UP|HANDED\s+OVER|NOT\s+KNOWN)\s*)\]", re.IGNORECASE)
_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make one each time
_UNSEEN = r"[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\t\n\u200c\u200d\ufe0e\ufe0f]]"


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


class Fence:
    """Fences texts by a mark made from some of them, so that it cannot occur in those; in others it is undone.

    A mark from a scenario's text is the same in all of its trials, and so is everything before the first difference.
    """

    def __init__(self, *texts: str) -> None:
        self.mark = sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:FENCE_DIGITS]

    @property
    def notice(self) -> str:
        """How the fence looks, for the prompt to name it."""
        return f"[{self.mark}]"

    def __call__(self, text: str) -> str:
        """Return a text between two marks, unchanged but for characters that no person sees."""
        return f"[{self.mark}]\n{self.without_mark(seen(text))}\n[/{self.mark}]"

    def without_mark(self, text: str) -> str:
        """Return a text in which the mark is broken, should it occur."""
        return text.replace(self.mark, f"{self.mark[:1]} {self.mark[1:]}") if self.mark in text else text


@lru_cache(maxsize=2_000)  # a message is shown again at every turn
def seen(text: str) -> str:
    """Return the text that a person sees: data by its name; a tokenizer's marks of a turn are parted by a space."""
    text = shown(text)
    if not (text.isascii() and text.replace("\n", "").isprintable()):
        import regex  # only if there is something to search

        text = regex.sub(_UNSEEN, "", text, flags=regex.V1)
    return _CONTROL.sub(lambda match: f"{match[0]} ", text)


@lru_cache
def example_turns(text: str) -> tuple[tuple[str, str], ...]:
    """Return the turns of example chats, by their paragraphs: the other side's and one's own by turns."""
    return tuple(zip(cycle(("user", "assistant")), text.split("\n\n")))


def reversed_roles(
    history: Sequence[Message], *, opener: str, format: UserFormat, has_status: bool = True, examples: str = ""
) -> list[ChatMessage]:
    """Return a conversation in turns for the model that plays its user, after an `opener` of the other side's.

    The user's messages are there in the form to write them in. `examples` go before it.
    """
    turns: list[ChatMessage] = [{"role": role, "content": said} for role, said in example_turns(examples) if said]
    turns.append({"role": "user", "content": opener})
    for message in history:
        if message.role == "user":
            status = message.metadata.get(STATUS, "open") if has_status else None
            own = message.content if format == "text" else _own(status, message.content)
            turn: ChatMessage = {"role": "assistant", "content": own}
        else:
            heard = seen(message.content)
            heard = _MARK.sub(r"(\1)", heard) if format == "text" else heard
            turn = {"role": "user", "content": heard if heard.strip() else NOTHING_SAID}
        if turn["role"] == turns[-1]["role"]:
            turns[-1]["content"] += f"\n\n{turn['content']}"
        else:
            turns.append(turn)
    return turns


@lru_cache(maxsize=2_000)  # as what is seen
def _own(status: str | None, message: str) -> str:
    return _as_json({"message": message} if status is None else {"status": status, "message": message})
