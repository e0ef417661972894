"""The requests of the four roles, with the prompts they render to; their texts are those of `prompt_texts`.

A change here to the text that a model reads requires new versions of the changed prompts.

Transcripts and everything else that comes from outside are escaped and fenced in tags, and the prompts declare fenced
text to be data: an app cannot address its judge. Messages can be read back from a prompt exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache, partial
from html import escape
from math import inf
from typing import ClassVar, Literal, Self

from simeval.core.conversation import ChatMessage, Message, named_data
from simeval.core.feedback import LabelledExample
from simeval.core.setting_field import UserFormat, day_of, in_words
from simeval.core.trial import ControlKind
from simeval.models.protocol import prompt_texts
from simeval.models.protocol.model import (
    AttackReply,
    AuditReply,
    Grade,
    ModelRequest,
    OpeningReply,
    PlainReply,
    PlainStayingReply,
    PlainStuckReply,
    Reply,
    RubricReply,
    StayingReply,
    StuckReply,
    UserReply,
    grade_on,
)
from simeval.models.protocol.prompt_texts import (
    Excerpt,
    Prompt,
    beginning_and_end,
    built_in,
    end_state,
    excerpt,
    texts_of,
    tool_name,
)

CONVERSATION = "<conversation>"
LABEL_TOKENS = 4  # of an answer that is a label: some models put a space or a mark before it
Moment = Literal["first", "held", "stuck", "free"]  # of a conversation, for its user
_READ_AS: Mapping[UserFormat, Mapping[Moment, type[UserReply]]] = {
    "json": {"first": OpeningReply, "held": StayingReply, "stuck": StuckReply, "free": UserReply},
    "text": {"first": PlainStayingReply, "held": PlainStayingReply, "stuck": PlainStuckReply, "free": PlainReply},
}


# All that a reader cannot see, or sees in another place than it is: controls other than tab and line feed, marks of
# direction, characters without width, tags and selectors of variants that can spell a hidden text, halves of surrogate
# pairs (which no JSON in UTF-8 can hold). Joiners and the selectors of text and emoji belong to scripts. And wide and
# small forms of markup, which a reader may take for it.
_HIDDEN = (
    r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufffc\ufffe\uffff\ufe60\ufe64\ufe65\uff06\uff1c\uff1e]"
    r"--[\t\n\u200c\u200d\ufe0e\ufe0f\p{Prepended_Concatenation_Mark}\p{Script=Egyptian_Hieroglyphs}]]"
)


def escaped(text: str) -> str:
    """Return a text without markup and invisible characters, each as an entity, and with data by its name and size."""
    text = escape(named_data(text), quote=False)
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # five times as quick as to search
    import regex  # only if there is something to search

    return regex.sub(_HIDDEN, lambda match: f"&#x{ord(match[0]):X};", text, flags=regex.V1)


@lru_cache(maxsize=1_000)  # a scenario is the same in each of its trials
def tagged(name: str, content: str) -> str:
    """Return a text in a tag of a name, escaped, so that it cannot leave it."""
    return f"<{name}>\n{escaped(content)}\n</{name}>"


def _list(name: str, entry: str, key: str, items: Mapping[str, str]) -> str:
    """Write named texts, each in an element of its own, so that none can pass for another."""
    return _written(name, entry, key, tuple(items.items()))


@lru_cache(maxsize=1_000)
def _written(name: str, entry: str, key: str, items: tuple[tuple[str, str], ...]) -> str:
    lines = [f'<{entry} {key}="{named}">{escaped(text)}</{entry}>' for named, text in items]
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def _examples(examples: Sequence[LabelledExample]) -> str:
    said = {True: "pass", False: "fail"}
    lines = [f'<example people="{said[each.passes]}">{escaped(each.transcript)}</example>' for each in examples]
    return "\n".join(["<examples>", *lines, "</examples>"])


def render_transcript(messages: Sequence[Message], shown: Excerpt | None = None) -> str:
    """Write a conversation with one escaped, numbered element for each message that is `shown`, by default all."""
    lines, most = [CONVERSATION], inf if shown is None else shown.most
    for number, message in enumerate(messages, 1):
        if shown is not None and number in shown.left_out:
            lines += [_left_out(messages, shown)] if number == shown.left_out[0] else []
            continue
        content, *called = texts_of(message)
        content = _shortened(content, most)
        calls = "".join(f"\n<tool_call>{_shortened(call, most)}</tool_call>" for call in called) if called else ""
        lines.append(f'<message number="{number}" from="{message.role}">{content}{calls}</message>')
    return "\n".join([*lines, "</conversation>"])


def _shortened(text: str, most: float) -> str:
    """Return a text escaped, and without its middle if it has more than so many tokens."""
    if most == inf:
        return escaped(text)
    head, tail, between = beginning_and_end(text, most)
    gap = f'<left_out characters="{between}"/>' if between else ""
    return f"{escaped(head)}{gap}{escaped(tail)}"


def _left_out(messages: Sequence[Message], shown: Excerpt) -> str:
    """Write a note in place of messages that are left out: their numbers, and the tools they called."""
    first, last = shown.left_out[0], shown.left_out[-1]
    names = [tool_name(call) for message in messages[first - 1 : last] for call in message.tool_calls]
    calls = "".join(f"\n<tool_call>{escaped(name)}</tool_call>" for name in names)
    return f'<left_out messages="{first} to {last}">{calls}</left_out>'


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTurn(ModelRequest):
    """Asks for a simulated user's next message.

    `is_held` means that the user cannot leave now, `untold` are details that it has not given yet: both come at the
    end, after the content of all earlier requests, too. The history is given in turns of a chat with roles reversed,
    word for word; the app's tool calls and retrieved texts are not in it.
    """

    given: str
    when: str
    writing_style: Mapping[str, str] | None
    history: Sequence[Message]
    seed: int
    is_held: bool = False
    untold: Sequence[str] = ()
    format: UserFormat = "json"
    temperature: float = 0.8
    max_tokens: int | None = 400
    prompt: Prompt = field(default_factory=partial(built_in, "user"))

    role: ClassVar[str] = "user"

    @property
    def reply(self) -> type[Reply] | None:
        """The form that is asked for: the same at every turn, so that requests begin alike wherever it is counted."""
        return None if self.format == "text" else UserReply

    @property
    def reads(self) -> type[UserReply]:
        """The type of the model's answer."""
        return _READ_AS[self.format][self._moment]

    @property
    def stop(self) -> Sequence[str]:
        """The end of the line that a message in plain text is to be."""
        return ("\n",) if self.format == "text" else ()

    @property
    def place_of_problem(self) -> int:
        """The system prompt: the last message is the app's."""
        return 0

    def first_messages(self) -> list[ChatMessage]:
        """Return the part that is the same at every turn, then the messages, and at the end the new part."""
        style, fenced = tuple((self.writing_style or {}).items()), _fence(self.given, self.when)
        said = prompt_texts.reversed_roles(
            self.history,
            opener=self.prompt.render("opener"),
            format=self.format,
            examples=self.prompt.parts["text_examples"] if self.format == "text" else "",
        )
        said[-1]["content"] = f"{fenced.without_mark(said[-1]['content'])}\n\n{self._last(fenced)}"
        return [
            {"role": "system", "content": _user_system(self.prompt, self.format, self.given, self.when, style)},
            *said,
        ]

    def shared(self) -> Mapping[int, int]:
        """Return where what the scenario's trials have in common ends, and what this trial's turns have."""
        fenced, said = _fence(self.given, self.when), self.first_messages()
        of_trial = _fenced_style(fenced, tuple((self.writing_style or {}).items()))
        of_all, *_ = said[0]["content"].split(of_trial) if of_trial else [said[0]["content"]]
        return {0: len(of_all), len(said) - 1: len(said[-1]["content"]) - len(self._last(fenced))}

    def _last(self, fenced: prompt_texts.Fence) -> str:
        """Return the end of the user's prompt: the details it has not given yet, and whether it may leave."""
        return fenced(_last(self.prompt, self._moment, ", ".join(self.untold)))

    @property
    def _moment(self) -> Moment:
        if not self.history:
            return "first"
        return "free" if not self.is_held else "stuck" if was_asked_before(self.history) else "held"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTurn(UserTurn):
    """Asks for a simulated attacker's next message; its messages that were `refused` are not in the history."""

    refused: Sequence[str] = ()
    prompt: Prompt = field(default_factory=partial(built_in, "attack"))

    @property
    def reply(self) -> type[Reply] | None:
        return None if self.format == "text" else AttackReply

    @property
    def reads(self) -> type[UserReply]:
        return PlainStayingReply if self.format == "text" else AttackReply

    @property
    def stop(self) -> Sequence[str]:
        return ()

    def shared(self) -> Mapping[int, int]:
        return {}

    def first_messages(self) -> list[ChatMessage]:
        fenced = prompt_texts.Fence(self.given, self.when, *self.refused)
        system = self.prompt.render(
            "system",
            fence=fenced.notice,
            given=fenced(self.given),
            when=fenced(self.when),
            refused="\n".join(map(fenced, self.refused)) or None,
            form=self.prompt.render(self.format),
        )
        opener = self.prompt.render("opener")
        return [
            {"role": "system", "content": system},
            *prompt_texts.reversed_roles(self.history, opener=opener, format=self.format, has_status=False),
        ]


def was_asked_before(history: Sequence[Message]) -> bool:
    """Return whether a user has replied to an answer before, so that it may have admitted it lacks knowledge."""
    return sum(message.role == "user" for message in history) > 1


_fence = lru_cache(maxsize=1_000)(prompt_texts.Fence)  # of a scenario it is always the same


@lru_cache(maxsize=1_000)  # at each turn of a conversation it is the same
def _user_system(prompt: Prompt, form: str, given: str, when: str, writing_style: tuple[tuple[str, str], ...]) -> str:
    """Return the system prompt of a simulated user, with a fence around all texts of others."""
    fenced = _fence(given, when)
    return prompt.render(
        "system",
        form=prompt.render(form),
        fence=fenced.notice,
        given=fenced(given),
        when=fenced(when),
        writing_style=_fenced_style(fenced, writing_style),
    )


def _fenced_style(fenced: prompt_texts.Fence, writing_style: tuple[tuple[str, str], ...]) -> str | None:
    return fenced("\n".join(f"{axis}: {text}" for axis, text in writing_style)) if writing_style else None


@lru_cache(maxsize=1_000)
def _last(prompt: Prompt, moment: Moment, untold: str) -> str:
    return prompt.render("last", untold=untold or None, moment=prompt.render(moment))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(ModelRequest):
    """Asks a judge whether the simulated user of a conversation did its part.

    `expected` is the behaviour that the user cannot know; without one it is "".
    """

    given: str
    when: str
    expected: str = ""
    conversation: Sequence[Message]
    ended: str
    max_tokens: int | None = 800
    prompt: Prompt = field(default_factory=partial(built_in, "audit"))

    role: ClassVar[str] = "audit"
    reply: ClassVar[type[Reply]] = AuditReply

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            given=tagged("given", self.given),
            when=tagged("when", self.when),
            expected=tagged("expected", self.expected) if self.expected else None,
            conversation=render_transcript(self.conversation),
            ended=tagged("ended", self.ended),
        )
        return chat_of(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest(ModelRequest):
    """Asks a judge about a conversation.

    `facts` and `reference`, an answer as it should be, are for the judge alone; an absent one is "". `examples` are
    other conversations, which people judged by the same expectation. If a transcript is estimated to take more than
    `most_tokens`, its middle is left out. A conversation shown as a `control` has a known right verdict; the request
    has the very same words, and so has that to the second judge, to whom a conversation is `escalated`.
    """

    given: str
    when: str
    facts: str = ""
    reference: str = ""
    examples: Sequence[LabelledExample] = ()
    conversation: Sequence[Message]
    most_tokens: int | None = None
    held_on: str | None = None
    seed: int
    max_tokens: int | None = 800
    control: ControlKind | None = None
    escalated: bool = False

    @property
    def role(self) -> str:
        """The role that usage is summed by: two judges of an escalation each have their own."""
        if self.control is not None:
            return "control"
        return "escalation" if self.escalated else "judge"

    @property
    def shown(self) -> Excerpt:
        """The messages that the judge is shown."""
        return excerpt(self.conversation, self.most_tokens)

    @property
    def day(self) -> date | None:
        """The day of the conversation: `held_on`, else that of its first message; None if it is not known."""
        if self.held_on is not None:
            return date.fromisoformat(self.held_on)
        started = self.conversation[0].started if self.conversation else None
        return None if started is None else day_of(started)

    def shared(self) -> Mapping[int, int]:
        """Return where the conversation begins: the part before it is the same in all trials."""
        place = len(said := self.first_messages()) - 1
        return {place: max(0, said[place]["content"].find(CONVERSATION))}

    def texts(self) -> Mapping[str, str | None]:
        """Return the texts for the places that all prompts of judges have."""
        state, day = end_state(self.conversation), self.day
        return {
            "given": tagged("given", self.given),
            "when": tagged("when", self.when),
            "facts": tagged("facts", self.facts) if self.facts else None,
            "reference": tagged("reference", self.reference) if self.reference else None,
            "examples": _examples(self.examples) if self.examples else None,
            "conversation": render_transcript(self.conversation, self.shown if self.most_tokens else None),
            "date": None if day is None else in_words(day),
            "end_state": None if state is None else tagged("end_state", state),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRequest(JudgeRequest):
    """Asks a judge to rate a conversation by a rubric."""

    expected_behavior: str
    levels: Mapping[str, str]
    prompt: Prompt = field(default_factory=partial(built_in, "judge"))

    reply: ClassVar[type[Reply]] = Grade

    @property
    def reads(self) -> type[Grade]:
        """The type of the judge's answer: the message that it names is looked up among the assistant's."""
        numbered = enumerate(self.conversation, 1)
        return grade_on(tuple(number for number, message in numbered if message.role == "assistant"))

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            **self.texts(),
            expected_behavior=tagged("expected_behavior", self.expected_behavior),
            rubric=_list("rubric", "level", "score", self.levels),
        )
        return chat_of(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaRequest(JudgeRequest):
    """Asks a judge to rule on criteria, by their numbers; `reply` is made for them and the conversation."""

    criteria: Mapping[str, str]
    reply: type[Reply]
    max_tokens: int | None = 2000
    prompt: Prompt = field(default_factory=partial(built_in, "criteria"))

    def first_messages(self) -> list[ChatMessage]:
        criteria = _list("criteria", "criterion", "number", self.criteria)
        return chat_of(self.prompt.render("system"), self.prompt.render("user", **self.texts(), criteria=criteria))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGradeRequest(JudgeRequest):
    """Asks a judge to rate a conversation by the label of a rubric's level, one token; `levels` are by their labels."""

    expected_behavior: str
    levels: Mapping[str, str]
    probabilities: bool = True
    max_tokens: int | None = LABEL_TOKENS
    prompt: Prompt = field(default_factory=partial(built_in, "judge_label"))

    reply: ClassVar[type[Reply] | None] = None

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render(
            "user",
            **self.texts(),
            expected_behavior=tagged("expected_behavior", self.expected_behavior),
            rubric=_list("rubric", "level", "label", self.levels),
        )
        return chat_of(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRulingRequest(JudgeRequest):
    """Asks a judge whether one criterion is met, in a word."""

    criterion: str
    probabilities: bool = True
    max_tokens: int | None = LABEL_TOKENS
    prompt: Prompt = field(default_factory=partial(built_in, "criterion_label"))

    reply: ClassVar[type[Reply] | None] = None

    def first_messages(self) -> list[ChatMessage]:
        user = self.prompt.render("user", **self.texts(), criteria=tagged("criterion", self.criterion))
        return chat_of(self.prompt.render("system"), user)


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
            given=tagged("given", self.given),
            when=tagged("when", self.when),
            expected_behavior=tagged("expected_behavior", self.expected_behavior),
        )
        return chat_of(self.prompt.render("system"), user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(ModelRequest):
    """Asks a model that is itself the app under test for its next answer."""

    history: Sequence[ChatMessage]
    temperature: float = 0.8
    max_tokens: int | None = 2000
    is_hurried: bool = False  # an app's failure is data

    role: ClassVar[str] = "app"
    reply: ClassVar[type[Reply] | None] = None

    def first_messages(self) -> Sequence[ChatMessage]:
        return self.history

    def again(self, attempt: int, problem: str) -> Self:  # noqa: ARG002
        """Return the request with another seed alone: an app's prompt and temperature are its own."""
        return replace(self, seed=self.further_seed(attempt))


def chat_of(system: str, user: str) -> list[ChatMessage]:
    """Return the messages of a chat that begins with these two."""
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
