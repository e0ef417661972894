"""A conversation for the model that plays its user: roles reversed, one after the other, word for word.

A provider takes the first turn from "user" and the last, and no two of one role in a row; a model that plays a person
keeps to its part if the person's words are its own ("assistant") and the app's are the other side's ("user").
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import cycle

from simeval.core.conversation import STATUS, ChatMessage, Message
from simeval.core.media import shown
from simeval.core.setting_choices import UserFormat

NOTHING_SAID = "(The chatbot sent an empty message.)"
FENCE_DIGITS = 8

# Texts that tokenizers of common models take for the bounds of a turn; and characters a person does not see.
_CONTROL = re.compile(r"<(?=\||/?s>|<SYS>>|</SYS>>|(?:start|end)_of_turn>|(?:bos|eos)>)|\[(?=/?INST\])", re.IGNORECASE)
_MARK = re.compile(r"\[(\s*(?:END|GIVE\s+UP|HANDED\s+OVER|NOT\s+KNOWN)\s*)\]", re.IGNORECASE)
_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make one each time
_UNSEEN = r"[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\t\n\u200c\u200d\ufe0e\ufe0f]]"


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
