"""Messages, their images and other data, and the finished conversation of a trial."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan, nan
from typing import Any, Literal, TypedDict

from simeval.core.serialization import Json, plain
from simeval.core.terminal import PLAIN, Style, Terminal, counted_of, printable

SHORTEST_DATA = 1_000  # characters; shorter texts hold no data that is worth a name
LONG_WORD = 60  # characters; data has no shorter lines
KINDS = ("image", "audio", "video", "file", "document")  # words in the type of a part that is no text
PARTS = "content_parts"  # in a message's metadata: its content in parts, if some are no text
_TYPES = ("mediaType", "media_type", "mimeType", "mime_type")
_WORD = r"[A-Za-z0-9+/_-]"
_LONG = re.compile(rf"{_WORD}{{{LONG_WORD}}}")
_DATA = re.compile(
    rf"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*,(?P<data>[^\s\"'<>()\[\]]{{100,}})"
    rf"|(?<!{_WORD})(?P<bare>{_WORD}{{500,}}={{0,2}}|(?:{_WORD}{{60,76}}\r?\n){{8,}}{_WORD}*={{0,2}})"
)
_BEGINNINGS: Mapping[str, str] = {  # of data in base 64
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
    "SUQz": "audio/mpeg",
}

Speaker = Literal["user", "assistant"]
Ending = Literal[
    "goal_satisfied",  # the user left: the goal was reached, and that was confirmed
    "gave_up",  # the user left: had enough
    "handed_off",  # the user left: passed on to somebody else
    "not_in_scenario",  # the user left: the app could not go on without facts that the scenario lacks
    "turn_limit",
    "app_error",
    "not_asked",  # the app answered "later", refused our key or was not reached
    "model_error",
    "world_error",
    "script_over",
    "check_failed",
    "settled",
    "recorded",
    "cut",
    "user",  # of older runs: the user left, for whatever reason
    "max_turns",  # of older runs: the turn limit
]
UserFaultKind = Literal[
    "repeats_itself",
    "speaks_as_assistant",
    "empty_message",
    "left_while_asked",
    "never_states_goal",
    "leaks_expectation",
    "changes_fact",
    "switches_language",
    "recites_script",
    "plays_both_sides",
    "breaks_character",
    "only_thanks",
    "invents_fact",
    "part_unsaid",
    "ignores_answer",
]
LEFT: tuple[Ending, ...] = ("goal_satisfied", "gave_up", "handed_off", "not_in_scenario")
STATUS = "status"  # in a message's metadata: how its simulated author found the answer before it
HELD_ANEW = "held_anew"  # in a first message's: the faults of the trial's earlier conversations that were given up
GIVEN = "given_by_script"  # in a message's: a script gave it; neither the simulated user nor the app wrote it
ATTACK = "attack"  # in an attacker's message: how it goes on from the answer before, which may be taken back
AttackMove = Literal["goes_on", "instead"]
SESSION = "session"  # in the metadata of an answer: the name of the conversation, by us or by the app
WORLD = "trial_world"  # in a last message's: the trial's world at the end; in an answer's: after it, where asked for
RECORDED_ANSWER = "recorded_answer"  # in a replayed message's: columns with the earlier answer to it
USER_FAULTS = "user_faults"  # in a message's metadata: the faults of its simulated author, each kind with its evidence

_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RESULTS = ("result", "output", "response")
_ERRORS = ("error",)
_IDS = ("id", "call_id", "tool_call_id")

SHORT = 60  # cells; shorter lines have no room for the speaker beside the text
SPEAKER = len("assistant") + 2  # cells for the speaker
LONGEST_CALL = 300  # characters of a tool call that are shown
SLOW_SECONDS = 0.05  # the shortest time of an answer that is shown
_COLOURS: Mapping[str, Style] = {"user": "cyan", "assistant": "bold"}


def named_data(text: str) -> str:
    """Return a text with data, such as an image in base 64, replaced by its kind and size."""
    if len(text) < SHORTEST_DATA or max(map(len, text.split()), default=0) < LONG_WORD:
        return text  # twenty times as quick as to search
    if "data:" not in text and _LONG.search(text) is None:
        return text  # seven times as quick
    return _DATA.sub(_named, text)


def part_name(part: Mapping[str, Any]) -> str | None:
    """Return the name of a part of a message that is no text, in whichever form it is written; None for another."""
    told = " ".join([str(part.get("type") or ""), *map(str, part)]).lower()
    kind = next((each for each in KINDS if each in told), None)
    data_keys = {"inlineData", "inline_data", "fileData", "file_data"} & part.keys()
    if (kind is None and not data_keys) or isinstance(part.get("text"), str):
        return None
    inside = list(_texts(part))
    named = next((value for key, value in inside if key in _TYPES), None)
    data = max((value for _, value in inside), key=len, default="")
    uri = _DATA.fullmatch(data)
    if uri is not None and uri["type"]:
        return _name(named or uri["type"], data)
    is_data = len(data) >= 24 and re.fullmatch(rf"{_WORD}+={{0,2}}", data) is not None
    return _name(named or _type_of(data, kind or "file"), data) if is_data else f"[{named or kind or 'file'}]"


def has_parts(content: object) -> bool:
    """Return whether the content of a message has a part that is no text."""
    return isinstance(content, list) and any(isinstance(each, Mapping) and part_name(each) for each in content)


def content_text(content: object) -> str:
    """Return the text of a message's content, its other parts by their names."""
    if isinstance(content, str):
        return content
    found = []
    for part in content if isinstance(content, list) else ():
        text = part.get("text") or part_name(part) if isinstance(part, Mapping) else part
        found += [str(text)] if text else []
    return "\n".join(found)


def _texts(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in a part, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _texts(each, str(name))


def _named(found: re.Match[str]) -> str:
    if found["data"] is not None:
        return _name(found["type"] or "data", found[0])
    bare = found["bare"]
    is_mixed = all(any(map(test, bare)) for test in (str.isupper, str.islower, str.isdigit))
    return _name(_type_of(bare, "base64"), bare) if is_mixed else bare


def _type_of(data: str, otherwise: str) -> str:
    return next((kind for begin, kind in _BEGINNINGS.items() if data.startswith(begin)), otherwise)


def _name(kind: str, data: str) -> str:
    """Return the name of data, with its size: of base 64 three bytes in four characters."""
    payload = data.partition(",")[2] if data.startswith("data:") else data
    size = len(payload) * 3 // 4 if not data.startswith("data:") or ";base64," in data[:200] else len(payload)
    shown_size = f"{size} bytes" if size < 1000 else f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
    return f"[{kind}, {shown_size}]"


class ChatMessage(TypedDict):
    """A message in the form chat models take."""

    role: str
    content: str


CONTEXT = "context"  # in the metadata of an answer: the texts retrieved for it
FIRST_TEXT = "first_text_seconds"  # in the metadata of an answer that was streamed
UNCHANGED: Any = object()  # the state of an AppResponse that names none: the one before


@dataclass(frozen=True, slots=True)
class AppResponse:
    """The app's answer at one turn, and the state it needs back at the next (by default the same).

    `tool_calls` are kept in the transcript, one mapping a call, in whatever form the app reports them, and so is
    `metadata`, such as the model it used. `context` is the text retrieved for this answer, or a list of them: scorers
    such as Faithfulness read it.
    """

    response: str
    state: Any = UNCHANGED
    tool_calls: Sequence[Mapping[str, Any]] | None = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance. `seconds` is how long its author took: for the app, the measured latency.

    In one recorded elsewhere `started` may be None and `seconds` NaN, and `metadata` holds the data of its log:
    "model", "prompt_tokens", "completion_tokens" and the like.
    """

    role: Speaker
    content: str
    started: datetime | None = None
    seconds: float = nan
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_response(self) -> bool:
        """Whether the app wrote it, and not a script in its place."""
        return self.role == "assistant" and GIVEN not in self.metadata


@dataclass(frozen=True, slots=True)
class Exchange:
    """One of the app's answers, by its place in the conversation, and the message that it answers; "" to none.

    In one that `is_closing` the user only gives thanks and says goodbye, so an answer can be neither right nor wrong.
    """

    place: int
    asked: str
    is_closing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The transcript of one trial, with the writing style of its user and why it ended."""

    messages: tuple[Message, ...] = ()
    writing_style: Mapping[str, str] | None = None
    ended: Ending = "recorded"

    def __repr__(self) -> str:
        return f"<Conversation of {len(self.messages)} messages, ended: {self.ended}>"

    @property
    def responses(self) -> tuple[Message, ...]:
        """The app's messages, in order, without those that a script gave as its answer."""
        return tuple(each for each in self.messages if each.is_response)

    @property
    def output(self) -> str:
        """The app's last answer, one to a mere goodbye left out; empty if it sent nothing."""
        found = last_exchange(self)
        return "" if found is None else self.messages[found.place].content

    @property
    def input(self) -> str:
        """The user's message that `output` answers; if the app sent nothing, the user's last one."""
        return (last_exchange(self) or exchange_at(self, len(self.messages))).asked

    @property
    def first_input(self) -> str:
        """The user's first message; empty without messages."""
        return next((message.content for message in self.messages if message.role == "user"), "")

    @property
    def user_faults(self) -> tuple[str, ...]:
        """The faults of the simulated user, by kind; empty if it has none, or was not audited."""
        return tuple(kind for message in self.messages for kind in message.metadata.get(USER_FAULTS, ()))

    @property
    def held_anew(self) -> tuple[str, ...]:
        """For which faults of the simulated user earlier conversations of the trial were given up, one each."""
        return tuple(self.messages[0].metadata.get(HELD_ANEW, ())) if self.messages else ()

    @property
    def world(self) -> Mapping[str, Any] | None:
        """The trial's world at the end of the conversation; None without a world.

        That is its "state", and under "unmeasured" by path why parts of it are not known ("" is all of it).
        """
        return self.messages[-1].metadata.get(WORLD) if self.messages else None

    @property
    def worlds(self) -> Sequence[Mapping[str, Any]]:
        """The trial's world after each of the app's answers, as far as it was looked at then."""
        return [each.metadata[WORLD] for each in self.messages if each.is_response and WORLD in each.metadata]

    def __str__(self) -> str:
        from simeval.core.terminal import printed

        return "\n".join(transcript_lines(self, printed()))

    def as_chat(self) -> list[ChatMessage]:
        """Return the transcript as chat messages."""
        return [{"role": message.role, "content": message.content} for message in self.messages]


def last_exchange(conversation: Conversation) -> Exchange | None:
    """Return the app's last answer to more than a goodbye, else its last one; None if it sent nothing."""
    last = None
    for place in reversed(range(len(conversation.messages))):
        if conversation.messages[place].is_response:
            found = exchange_at(conversation, place)
            if found.asked and not found.is_closing:
                return found
            last = last or found
    return last


def exchange_at(conversation: Conversation, place: int) -> Exchange:
    """Return the answer at a place with the message before it; of several in a row the last that is no goodbye."""
    from simeval.core.closings import takes_leave

    said: list[str] = []
    heard = ""
    for message in reversed(conversation.messages[:place]):
        if message.role == "user":
            said.append(message.content)
        elif said:
            heard = message.content
            break
    asked = next((text for text in said if not takes_leave(text, after=heard)), None)
    if asked is None:
        return Exchange(place, said[0] if said else "", is_closing=bool(said))
    return Exchange(place, asked)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The messages before a conversation that starts, or that goes on after an interruption.

    `system` is the first message to an app that takes the whole history; `turns` are the ones that the app has answered
    already.
    """

    messages: tuple[Message, ...] = ()
    system: str = ""
    turns: int = 0


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call; parts missing from the call are empty."""

    name: str
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    id: str
    errors: tuple[Any, ...] = ()


def called_tool(call: Mapping[str, Any]) -> CalledTool:
    """Return the parts of a call: {"name", "arguments"}, that under "function", or other words for the same."""
    inner = call.get("function")
    parts = {**call, **(inner if isinstance(inner, Mapping) else {})}
    return CalledTool(
        inner if isinstance(inner, str) else next((str(parts[key]) for key in _NAMES if parts.get(key)), ""),
        tuple(parts[key] for key in _ARGUMENTS if parts.get(key) not in (None, "")),
        tuple(parts[key] for key in _RESULTS if parts.get(key) is not None),
        next((str(parts[key]) for key in _IDS if parts.get(key)), ""),
        tuple(parts[key] for key in _ERRORS if parts.get(key)),
    )


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
        return [
            *head,
            *terminal.wrap(printable(named_data(message.content)), first=inner),
            *_more(message, terminal, inner),
        ]
    inner = margin + " " * SPEAKER
    who = terminal.paint(message.role, _COLOURS[message.role]) + " " * (SPEAKER - len(message.role))
    said = terminal.wrap(printable(named_data(message.content)), first=margin + who, rest=inner)
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


def encode_message(message: Message) -> Json:
    """Return a message, with tool calls and metadata only if there are any."""
    calls = {"tool_calls": [plain(call) for call in message.tool_calls]} if message.tool_calls else {}
    metadata = {"metadata": plain(message.metadata)} if message.metadata else {}
    return {
        "role": message.role,
        "content": message.content,
        "started": message.started.isoformat() if message.started else None,
        "seconds": plain(round(message.seconds, 6)),
        **calls,
        **metadata,
    }


def encode_conversation(conversation: Conversation) -> Json:
    """Return a transcript with its writing style."""
    return {
        "turns": [encode_message(message) for message in conversation.messages],
        "writing_style": dict(conversation.writing_style or {}),
        "ended": conversation.ended,
    }


def decode_conversation(found: Mapping[str, Any]) -> Conversation:
    """Return the transcript that `encode_conversation` wrote. Raises KeyError, TypeError or ValueError for another."""
    return Conversation(
        messages=tuple(decode_message(each) for each in found["turns"]),
        writing_style=found.get("writing_style") or None,
        ended=found.get("ended", "recorded"),
    )


def decode_message(found: Mapping[str, Any]) -> Message:
    """Return the message that `encode_message` wrote. Raises KeyError, TypeError or ValueError for another."""
    if found["role"] not in ("user", "assistant") or not isinstance(found["content"], str):
        raise ValueError("a turn has the role user or assistant, and a text as content")
    started, seconds = found.get("started"), found.get("seconds")
    return Message(
        role=found["role"],
        content=found["content"],
        started=datetime.fromisoformat(started) if started else None,
        seconds=nan if seconds is None else float(seconds),
        tool_calls=tuple(found.get("tool_calls") or ()),
        metadata=found.get("metadata") or {},
    )
