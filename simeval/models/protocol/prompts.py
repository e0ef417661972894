"""The requests of the four roles, with the prompts they render to; their texts are those of `prompt_texts`.

With a change here to what a model reads, the versions of the prompts that it changes are to be raised.

Transcripts and everything else that comes from outside are escaped and fenced in tags, and the models are
told that what stands there is data: an app cannot address its judge. What was said can be read back from a prompt
to the letter.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from typing import ClassVar, Self

from simeval.core.controls import ControlKind, Controls
from simeval.core.conversation import ChatMessage, Message
from simeval.core.serialization import plain
from simeval.models.protocol.prompt_texts import Prompt, built_in
from simeval.models.protocol.replies import Grade, OpeningReply, Reply, RubricReply, UserReply
from simeval.models.protocol.request import ModelRequest

# All that a reader cannot see, or sees in another place than it stands: controls other than tab and line feed, marks of
# direction, what has no width, tags and selectors of variants that can spell a hidden text, halves of surrogate pairs
# (which no JSON in UTF-8 can hold). Joiners and the selectors of text and emoji belong to scripts.
# And wide and small forms of markup, which a reader may take for it.
_HIDDEN = (
    r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufffc\ufffe\uffff\ufe60\ufe64\ufe65\uff06\uff1c\uff1e]"
    r"--[\t\n\u200c\u200d\ufe0e\ufe0f\p{Prepended_Concatenation_Mark}\p{Script=Egyptian_Hieroglyphs}]]"
)


def escaped(text: str) -> str:
    """Return a text without markup and invisible characters: each stands there as an entity."""
    text = escape(text, quote=False)
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # five times as quick as to search
    import regex  # only where there is something to search

    return regex.sub(_HIDDEN, lambda match: f"&#x{ord(match[0]):X};", text, flags=regex.V1)


def _tag(name: str, content: str) -> str:
    return f"<{name}>\n{escaped(content)}\n</{name}>"


def _list(name: str, entry: str, key: str, items: Mapping[str, str]) -> str:
    """Write named texts, each in an element of its own, so that none can pass for another."""
    lines = [f'<{entry} {key}="{named}">{escaped(text)}</{entry}>' for named, text in items.items()]
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def render_transcript(messages: Sequence[Message]) -> str:
    """Write a conversation with one escaped, numbered element for each message."""
    lines = ["<conversation>"]
    for number, message in enumerate(messages, 1):
        calls = "".join(
            f"\n<tool_call>{escaped(json.dumps(plain(call), ensure_ascii=False))}</tool_call>"
            for call in message.tool_calls
        )
        content = escaped(message.content)
        lines.append(f'<message number="{number}" from="{message.role}">{content}{calls}</message>')
    return "\n".join([*lines, "</conversation>"])


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTurn(ModelRequest):
    """Asks for a simulated user's next message."""

    given: str
    when: str
    writing_style: Mapping[str, str] | None
    history: Sequence[Message]
    seed: int
    temperature: float = 0.8
    max_tokens: int | None = 400
    prompt: Prompt = field(default_factory=partial(built_in, "user"))

    role: ClassVar[str] = "user"

    @property
    def reply(self) -> type[Reply]:
        return UserReply if self.history else OpeningReply

    def first_messages(self) -> list[ChatMessage]:
        style = self.writing_style and _list("writing_style", "axis", "name", self.writing_style)
        person = self.prompt.render(
            "user", given=_tag("given", self.given), when=_tag("when", self.when), writing_style=style or None
        )
        talk = (
            self.prompt.render("next", conversation=render_transcript(self.history))
            if self.history
            else self.prompt.render("first")
        )
        return _chat(self.prompt.render("system"), f"{person}\n\n{talk}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRequest(ModelRequest):
    """Asks a judge to rate a conversation by a rubric."""

    given: str
    when: str
    expected_behavior: str
    levels: Mapping[str, str]
    conversation: Sequence[Message]
    seed: int
    max_tokens: int | None = 800
    prompt: Prompt = field(default_factory=partial(built_in, "judge"))

    role: ClassVar[str] = "judge"
    reply: ClassVar[type[Reply]] = Grade

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            given=_tag("given", self.given),
            when=_tag("when", self.when),
            expected_behavior=_tag("expected_behavior", self.expected_behavior),
            rubric=_list("rubric", "level", "score", self.levels),
            conversation=render_transcript(self.conversation),
        )
        return _chat(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRequest(GradeRequest):
    """Asks a judge to rate a control, as it is asked to rate any conversation; `must_pass` says what it must find."""

    conversation: Sequence[Message] = ()
    seed: int = 0
    must_pass: bool = False

    role: ClassVar[str] = "control"

    def showing(self, controls: Controls, kind: ControlKind) -> Self:
        """Return the request with the conversation of a control."""
        about = {"given": self.given, "when": self.when, "expected_behavior": self.expected_behavior}
        return replace(self, conversation=controls.conversation(kind, **about), must_pass=kind == "example")


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricRequest(ModelRequest):
    """Asks for the ten levels of a rubric."""

    given: str
    when: str
    expected_behavior: str
    max_tokens: int | None = 1500
    prompt: Prompt = field(default_factory=partial(built_in, "rubric"))

    role: ClassVar[str] = "rubric"
    reply: ClassVar[type[Reply]] = RubricReply

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            given=_tag("given", self.given),
            when=_tag("when", self.when),
            expected_behavior=_tag("expected_behavior", self.expected_behavior),
        )
        return _chat(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(ModelRequest):
    """Asks a model that is itself the app under test for its next answer."""

    history: Sequence[ChatMessage]
    temperature: float = 0.8
    max_tokens: int | None = 2000

    role: ClassVar[str] = "app"
    reply: ClassVar[type[Reply] | None] = None

    def first_messages(self) -> Sequence[ChatMessage]:
        return self.history


def _chat(system: str, user: str) -> list[ChatMessage]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
