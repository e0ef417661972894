"""What was said: messages and the finished conversation of a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import nan
from typing import Any, Literal, TypedDict

Speaker = Literal["user", "assistant"]
Ending = Literal["user", "max_turns", "app_error", "model_error", "settled", "recorded", "cut"]


class ChatMessage(TypedDict):
    """A message in the form chat models take."""

    role: str
    content: str


FIRST_TEXT = "first_text_seconds"  # in the metadata of an answer that was streamed
UNCHANGED: Any = object()  # the state of an AppResponse that names none: what it was before


@dataclass(frozen=True, slots=True)
class AppResponse:
    """What the app answered at one turn, and the state it wants back at the next (by default the same).

    `tool_calls` are kept in the transcript, one mapping a call, in whatever form the app reports them, and so is
    `metadata`, such as the model it used.
    """

    response: str
    state: Any = UNCHANGED
    tool_calls: Sequence[Mapping[str, Any]] | None = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance. `seconds` is how long its author took: for the app, the measured latency.

    Of one that was recorded elsewhere `started` may be None and `seconds` NaN, and `metadata` holds what its log
    says: "model", "prompt_tokens", "completion_tokens" and the like.
    """

    role: Speaker
    content: str
    started: datetime | None = None
    seconds: float = nan
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The transcript of one trial, with the writing style of its user and why it ended."""

    messages: tuple[Message, ...] = ()
    writing_style: Mapping[str, str] | None = None
    ended: Ending = "user"

    @property
    def responses(self) -> tuple[Message, ...]:
        """What the app said, in order."""
        return tuple(message for message in self.messages if message.role == "assistant")

    @property
    def output(self) -> str:
        """The last thing the app said; empty where it said nothing."""
        return next((message.content for message in reversed(self.messages) if message.role == "assistant"), "")

    @property
    def input(self) -> str:
        """The first thing the user said; empty where nothing was said."""
        return next((message.content for message in self.messages if message.role == "user"), "")

    def as_chat(self) -> list[ChatMessage]:
        """Return the transcript as chat messages."""
        return [{"role": message.role, "content": message.content} for message in self.messages]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What stands before a conversation that is to be held, or to go on where it was broken off.

    `system` is what an app that takes the whole history is to be told before all else; `turns` are those that the app
    has answered already.
    """

    messages: tuple[Message, ...] = ()
    system: str = ""
    turns: int = 0
