"""The events of a stream, and which of its texts are the answer.

lines (server-sent events, lines of JSON or of the AI SDK) ──► Event ──► Piece (a text and its kind) ──► answer
"""

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from simeval.suites.apps.remote_app import quoted
from simeval.suites.apps.templates import found_at, path_of

Form = Literal["server-sent events", "lines of JSON", "lines of the AI SDK"]
DONE = "[DONE]"
_RECORD = "\x1e"  # before each text of a JSON sequence (RFC 7464)
NO_NAME = ("", "message")  # a server-sent event without a name is a message
_AI_SDK_LINE = re.compile(r'([0-9a-k]):(?=["\[{])')
_AI_SDK_TEXTS = {"0": "text-delta", "g": "reasoning-delta"}  # by the code of a line, the event with the same meaning
_AI_SDK_EVENTS = {
    "9": "tool-input-available",
    "a": "tool-output-available",
    "b": "tool-input-start",
    "e": "finish-step",
    "d": "finish",
    "f": "start-step",
}


@dataclass(slots=True)
class Event:
    """An event of a stream: its value, the name that a server-sent event may have, and how it came."""

    value: Any
    name: str = ""
    came: str = ""


@dataclass(slots=True)
class _Lines:
    """Reads the events of a stream from its lines."""

    form: Form
    is_done: bool = False
    _is_first: bool = True
    _name: str = ""
    _data: list[str] = field(default_factory=list)

    def take(self, line: str) -> Sequence[Event]:
        """Return the events that end with a line."""
        if self._is_first:
            line, self._is_first = line.removeprefix("\ufeff"), False
        if self.form == "lines of the AI SDK":
            return _of_ai_sdk(line)
        if self.form == "lines of JSON":
            line = line.removeprefix(_RECORD)
            return [Event(value_of(line), came=line)] if line else ()
        if not line:
            return self.close()
        if line.startswith("data:"):
            self._data.append(line.removeprefix("data:").removeprefix(" "))
        elif line.startswith("event:"):
            self._name = line.removeprefix("event:").strip()
        return ()

    def close(self) -> Sequence[Event]:
        """Return the event that was not ended yet."""
        texts, name, self._data, self._name = self._data, self._name, [], ""
        if len(texts) == 1 and texts[0] and texts[0] != DONE:  # as most are
            return [Event(value_of(texts[0]), name, texts[0])]
        if len(texts) > 1 and not all(text == DONE or isinstance(value_of(text), dict) for text in texts):
            texts = ["\n".join(texts)]  # otherwise no empty line separates events of JSON
        if DONE in texts:
            self.is_done = True
            texts = texts[: texts.index(DONE)]
        return [Event(value_of(text), name, text) for text in texts if text]


def _of_ai_sdk(line: str) -> Sequence[Event]:
    """Return the event of the AI SDK's newer protocol that a line of its older one is."""
    code, _, rest = line.partition(":")
    value = value_of(rest)
    if code in _AI_SDK_TEXTS:
        return [Event({"type": _AI_SDK_TEXTS[code], "delta": value}, came=line)]
    if code == "3":
        return [Event({"type": "error", "errorText": value}, came=line)]
    if code in _AI_SDK_EVENTS and isinstance(value, dict):
        renamed = {"args": "input", "result": "output"}
        named = {renamed.get(key, key): each for key, each in value.items()}
        return [Event({"type": _AI_SDK_EVENTS[code], **named}, came=line)]
    return ()


async def events_of(pieces: AsyncIterable[bytes], form: Form) -> AsyncIterator[Event]:
    """Yield the events of a stream as its pieces come, of server-sent events up to [DONE]."""
    read, begun = _Lines(form), list[bytes]()  # pieces of a line that has not ended
    async for piece in pieces:
        ended, mark, rest = piece.rpartition(b"\n")
        if not mark:
            begun.append(piece)
            continue
        text = b"".join([*begun, ended]).decode("utf-8", "replace")
        begun = [rest]
        for line in text.split("\n"):
            for event in read.take(line.rstrip("\r")):
                yield event
            if read.is_done:
                return
    last = b"".join(begun).decode("utf-8", "replace").rstrip("\r")
    for event in [*read.take(last), *read.close()] if last else read.close():
        yield event


def events_in(text: str, form: Form) -> Iterator[Event]:
    """Yield the events of a stream that came whole."""
    read = _Lines(form)
    for line in text.split("\n"):
        if not read.is_done:
            yield from read.take(line.rstrip("\r"))
    yield from read.close()


def form_of(text: str) -> Form | None:
    """Return the form of a stream that was sent as a text; None if it is no stream."""
    lines = [stripped for line in text.split("\n") if (stripped := line.rstrip("\r"))]
    if any(line.startswith("data:") for line in lines) and all(
        line.startswith(("data:", "event:", "id:", "retry:", ":")) for line in lines
    ):
        return "server-sent events"
    if lines and all(map(_is_of_ai_sdk, lines)):
        return "lines of the AI SDK"
    return "lines of JSON" if len(lines) > 1 and all(isinstance(value_of(line), dict) for line in lines) else None


def _is_of_ai_sdk(line: str) -> bool:
    code = _AI_SDK_LINE.match(line)
    return code is not None and mistake_in(line[code.end() :]) is None


def mistake_in(text: str) -> str | None:
    """Return the place at which a text stops being JSON; None if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    except RecursionError:
        return "it is too deep"
    return None


def value_of(text: str) -> Any:
    """Return the JSON object, list or text that a text is, else the text itself: a number is a part of an answer.

    JSON's null is None, which is no answer: an app sends it that forgot to return one.
    """
    text = text.removeprefix("\ufeff")
    try:
        found = _decode(text)
    except (ValueError, RecursionError):
        return text
    return found if found is None or isinstance(found, (dict, list, str)) else text


_decode = json.JSONDecoder().decode  # quicker than json.loads, which looks for options


Labels = tuple[tuple[str, str], ...]
_LABELS = ("type", "event", "kind")  # fields that name the kind of an event
_OTHERS = ("user", "human", "system", "tool", "function")  # speakers other than the app
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NO_TEXT = frozenset(
    {
        *("status", "progress", "thinking", "thought", "reasoning", "step", "action", "observation", "search", "tool"),
        *("function", "metadata", "source", "citation", "usage", "ping", "heartbeat", "typing", "user", "human"),
        *("system", "debug", "log"),
    }
)
_PIECES = frozenset(("token", "delta", "chunk", "stream", "partial"))
_TEXTS = frozenset(("text", "content", "message", "answer", "response", "reply", "output", "assistant", "ai", "bot"))
_ENDS = frozenset(("done", "end", "final", "finish", "finished", "complete", "completed", "result", "stop", "start"))
NEVER, UNSURE, CLOSING, EVIDENT = range(4)  # how surely texts of a kind are the answer


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of event that has a text: its names for itself, and the path to its text."""

    labels: Labels
    path: str

    @classmethod
    @lru_cache(1000)
    def of(cls, labels: Labels, steps: tuple[str | int, ...]) -> "Kind":
        """Return the kind of events with these names and the text at the end of these steps."""
        return cls(labels, path_of(steps) if steps else "")

    @property
    def rank(self) -> int:
        """How surely its texts are the answer."""
        return _rank(self.labels, self.path)

    def __str__(self) -> str:
        return ", ".join(f"{name}: {label}" for name, label in self.labels) or self.path


@dataclass(slots=True)
class Piece:
    """A text of a stream, with its kind and the seconds after which it came."""

    text: str
    kind: Kind
    seconds: float = 0.0


def labels_of(event: Event, steps: Sequence[str | int]) -> Labels:
    """Return an event's names for itself, and the object in it that has the text at these steps."""
    value = event.value
    if isinstance(value, list):
        value = next(filter(_is_object, value), None)
    labels = {} if event.name in NO_NAME else {"event": event.name}
    if isinstance(value, dict):
        for name in _LABELS:
            if isinstance(label := value.get(name), str):
                labels[name] = label
        if value.get("role") in _OTHERS:
            labels["role"] = value["role"]
    if len(steps) > 1:
        holder = found_at(event.value, steps[:-1])
        if isinstance(holder, dict) and isinstance(holder.get("type"), str):
            labels[path_of([*steps[:-1], "type"]).removeprefix("$.")] = holder["type"]
    return tuple(labels.items())


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


@lru_cache(1000)
def _rank(labels: Labels, path: str) -> int:
    found = " ".join(label for _, label in labels) or path
    words = words_of(found)
    words |= {word.removesuffix("s") for word in words}
    if words & _NO_TEXT:
        return NEVER
    if words & _ENDS:
        return CLOSING
    return EVIDENT if words & (_PIECES | _TEXTS) else UNSURE


def words_of(name: str) -> set[str]:
    """Return the words of a name such as answer_text or answerText."""
    return {word.lower() for word in _WORD.findall(name)}


class Unclear(Exception):
    """A stream has texts of several kinds, and nothing shows which are the answer."""


def answer_in(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Kind]]:
    """Return the pieces of a stream that are the answer, and the kinds that were left out. Raises Unclear.

    Texts of one kind are the answer unless they are of a status, a thought or the like. Of several kinds the ones named
    tokens, texts or answers are taken; kinds with the same text are one.
    """
    kinds = {piece.kind: "" for piece in pieces if piece.text.strip()}
    if not kinds:
        return list(pieces), []
    for kind in kinds:
        kinds[kind] = "".join(whole_of([piece.text for piece in pieces if piece.kind == kind]).split())
    able = [kind for kind in kinds if kind.rank != NEVER]
    likely = [kind for kind in able if kind.rank == EVIDENT or not kind.labels] or able
    if not likely:
        return [], list(kinds)
    first, distinct = likely[0], {kinds[kind] for kind in likely}
    taken = {first}
    if len(distinct) > 1:
        taken = set(_one_kind(likely))
        if not taken:
            raise Unclear(_unclear({kind: _sample(pieces, kind) for kind in likely}))
    answer = [piece for piece in pieces if piece.kind in taken]
    same = {kinds[kind] for kind in taken} | {"".join(whole_of([piece.text for piece in answer]).split())}
    return answer, [kind for kind in kinds if kind not in taken and kinds[kind] not in same]


def _one_kind(kinds: Sequence[Kind]) -> Sequence[Kind]:
    """Return kinds that are one, as some events do not name theirs; empty if they are several."""
    labelled = {kind.labels for kind in kinds if kind.labels}
    return kinds if len(labelled) == 1 and len({kind.path for kind in kinds}) == 1 else ()


def _unclear(kinds: Mapping[Kind, str]) -> str:
    """Say that texts are of several kinds, and how to name one."""
    last = list(kinds)[-1]
    do = f"`where: {{{last.labels[0][0]}: {last.labels[0][1]}}}`" if last.labels else f"`reply: {last.path}`"
    return f"its stream has texts of several kinds ({shown_kinds(kinds)}); name the answer's, such as {do}"


def _sample(pieces: Iterable[Piece], kind: Kind) -> str:
    return next(piece.text for piece in pieces if piece.kind == kind and piece.text.strip())


def shown_kinds(kinds: Mapping[Kind, str]) -> str:
    """Return kinds of events as they are shown, each with a text of it."""
    return "; ".join(f"{kind} {quoted(text)!r}" for kind, text in kinds.items())


def whole_of(texts: Iterable[str]) -> str:
    """Return the text that the pieces of a stream make.

    If each of three or more pieces begins with the one before, the stream repeats all text so far, and the last is the
    text; so it is if the last repeats all the others. Else they are joined.
    """
    said = [text for text in texts if text]
    return said[-1] if repeats_itself(said) else "".join(said)


def repeats_itself(texts: Sequence[str]) -> bool:
    """Return whether the last of these pieces of a stream is all of its text."""
    if len(texts) < 3 or texts[0] == texts[-1]:
        return False
    return all(later.startswith(before) for before, later in pairwise(texts)) or texts[-1] == "".join(texts[:-1])
