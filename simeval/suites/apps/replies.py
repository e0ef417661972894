"""Read an app's reply: a JSON value, a plain text, or a stream of either.

value or event ──► where its text is ──► text, or parts (texts and tool calls) ──► Reply, settled when all has come
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from simeval.core.conversation import FIRST_TEXT, AppResponse, called_tool
from simeval.core.network import AnswerTooLarge, most_bytes
from simeval.core.validation import require
from simeval.datasets.messages import turns_of
from simeval.suites.apps.remote_app import (
    AppFailure,
    Session,
    TimedResponse,
    named_status,
    of_body,
    quoted,
    sign_of_failure,
)
from simeval.suites.apps.streams import (
    CLOSING,
    NEVER,
    NO_NAME,
    Event,
    Kind,
    Labels,
    Piece,
    Unclear,
    answer_in,
    labels_of,
    mistake_in,
    repeats_itself,
    shown_kinds,
    value_of,
    whole_of,
    words_of,
)
from simeval.suites.apps.templates import ALL, MISSING, found_at, path_of, steps_of
from simeval.suites.apps.tool_calls import calls_in, place_of_calls

_AI_SDK = ("tool-input-start", "tool-input-available", "tool-output-available", "tool-output-error")
_ANTHROPIC = ("content_block_start", "content_block_delta")

Steps = tuple[str | int, ...]
USUAL = ("reply", "response", "answer", "message", "content", "text", "output")  # the usual places of a reply
_ACCEPTED = 202
_OF_ERRORS = ("message",)  # the place where errors have their text, too
WHOLE: Sequence[Steps] = (*((name,) for name in USUAL), ("message", "content"))
STREAMED: Sequence[Steps] = (  # the usual places of the text of an event of a stream
    *WHOLE,
    ("choices", 0, "delta", "content"),
    ("choices", 0, "delta", "refusal"),
    ("choices", 0, "text"),
    ("choices", 0, "message", "content"),
    ("delta",),
    ("token",),
    ("chunk",),
    ("textDelta",),
    ("delta", "text"),
    ("delta", "content"),
    ("token", "text"),
    ("contentBlockDelta", "delta", "text"),
    ("delta", "message", "content", "text"),
    ("candidates", 0, "content", "parts"),
    ("content", "parts"),
    ("data", "chunk", "content"),
    ("data", "chunk"),
    *(("data", name) for name in USUAL),
    ("data", "delta"),
    ("output", "text"),
    ("data",),
)
NO_CALL = "tool calls"  # the note on a value at their path that is none
DOUBTFUL = "failed?"  # the note on an answer that may be none
GREETING = "greeting"  # in the metadata of a first answer: the app's text that opened the conversation
_PARTS = ("text", "output_text", "input_text", "refusal", "tool_use", "tool_call", "function_call")
_NEW_PART = ("start-step", "text-start")  # events of the AI SDK behind which a text begins a new paragraph
_ERRORS = ("error", "exception")
_ASKING = ("user", "human")
BEGINNING = 1_000  # characters of an answer that is too large
AS_IT_CAME = 1_000_000  # characters of a stream's events that are kept beside their texts
OF_AN_EVENT = 100  # bytes that it takes to keep one more of them, beside its text
MOST_KEPT = 20  # events without a text that are kept if none has one


@dataclass(slots=True)
class ToldCalls:
    """The calls so far, by their ids or places in the stream."""

    _calls: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def take(self, event: Any) -> None:
        """Read an event, which may be part of a call."""
        if not isinstance(event, dict):
            return
        kind, choices = event.get("type"), event.get("choices")
        if kind in _AI_SDK:
            self._take_ai_sdk(event)
        elif kind in _ANTHROPIC:
            self._take_anthropic(event)
        elif isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._take_openai(choices[0].get("delta"))

    def all(self) -> list[dict[str, Any]]:
        """Return the calls, with JSON arguments parsed."""
        for call in self._calls.values():
            written = call.get("arguments")
            if isinstance(written, str) and mistake_in(written) is None:
                call["arguments"] = json.loads(written)
        return list(self._calls.values())

    def _take_ai_sdk(self, event: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(event.get("toolCallId"), {"id": event.get("toolCallId")})
        named = {"toolName": "name", "input": "arguments", "output": "result", "errorText": "error"}
        call |= {name: event[key] for key, name in named.items() if key in event}

    def _take_anthropic(self, event: Mapping[str, Any]) -> None:
        block, delta, place = event.get("content_block"), event.get("delta"), event.get("index")
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            self._calls[place] = {"id": block.get("id"), "name": block.get("name"), "arguments": ""}
        elif isinstance(delta, Mapping) and place in self._calls and isinstance(delta.get("partial_json"), str):
            self._calls[place]["arguments"] += delta["partial_json"]

    def _take_openai(self, delta: Any) -> None:
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for told in calls if isinstance(calls, list) else ():
            function = told.get("function") if isinstance(told, Mapping) else None
            if isinstance(function, Mapping):
                call = self._calls.setdefault(told.get("index", 0), {"id": told.get("id"), "name": "", "arguments": ""})
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events count: the ones with one of some values at a path, or as the name of a server-sent event.

    Without values, the ones with anything at the path but null or false.
    """

    steps: Steps
    values: Sequence[Any]

    def is_met(self, event: Event) -> bool:
        """Return whether an event has it."""
        found = [found_at(event.value, self.steps)]
        if not self.values:
            return found[0] not in (MISSING, None, False)
        if self.steps == ("event",):
            found.append(event.name or NO_NAME[1])
        return any(each == value or _as_text(each) == _as_text(value) for each in found for value in self.values)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value in ("True", "False") else str(value)


def wanted_of(found: Mapping[str, Any], where: str) -> Sequence[Wanted]:
    """Return which events a mapping of paths and values names. Raises DefinitionError."""
    do = "write a field of the events with its value, or a list of them, such as {type: token}"
    require(isinstance(found, Mapping) and bool(found), where, found=found, do=do)
    wanted = []
    for path, values in found.items():
        listed = values if isinstance(values, list | tuple) else [values]
        require(bool(listed) and all(isinstance(each, str | int | float) for each in listed), where, found=found, do=do)
        wanted.append(Wanted(tuple(steps_of(str(path), where)), tuple(listed)))
    return wanted


def marks_of(found: Mapping[str, Any] | str, where: str) -> Sequence[Wanted]:
    """Return which events a path, or a mapping of paths and values, names. Raises DefinitionError."""
    return (Wanted(tuple(steps_of(found, where)), ()),) if isinstance(found, str) else wanted_of(found, where)


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an app's reply has its parts; without `reply`, the usual places.

    Of a stream only the events that meet all of `where` count as text. An answer that meets one of `failing` is a
    failure, unless the value that may be anything is empty.
    """

    reply: Steps = ()
    tool_calls: Steps = ()
    all_calls: bool = True  # everything at the path is a tool call, whatever it looks like
    context: Steps = ()
    session: Steps = ()
    where: Sequence[Wanted] = ()
    failing: Sequence[Wanted] = ()

    def require_no_failure(self, event: Event) -> None:
        """Raise AppFailure if the app reports a failure in an answer."""
        for each in self.failing:
            found = found_at(event.value, each.steps)
            if each.is_met(event) and (each.values or found):
                has = f"{path_of(each.steps)} is {json.dumps(found, ensure_ascii=False, default=str)}"
                answer = quoted(json.dumps(event.value, ensure_ascii=False, default=str))
                raise AppFailure(f"it reports a failure (`fail_if:`, {has}): {answer}")


@dataclass(slots=True)
class Reply:
    """The parts of a reply found so far, of a stream in all events."""

    reading: Reading = field(default_factory=Reading)
    asked: str = ""  # the message that it answers
    status: str = "no answer"
    texts: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)  # of a stream that is not settled yet
    tool_calls: list[Mapping[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    context: Any = None
    has_calls: bool = False  # something is at the path of the tool calls
    calls_at: str = ""  # words on where calls are, if nothing is there
    session: str | None = None
    is_stream: bool = False
    notes: dict[str, str] = field(default_factory=dict)  # how it was read, if that is of interest
    seconds: float | None = None  # how long the answer took, if that is not the time of the whole exchange
    hides: Mapping[str, str] = field(default_factory=dict)  # values that nobody is to see, with their names
    sent: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)  # parts of the last request, by names
    _since: float = field(default_factory=perf_counter)
    _told: ToldCalls = field(default_factory=ToldCalls)
    _unread: list[Any] = field(default_factory=list)
    _unnamed: dict[Kind, str] = field(default_factory=dict)
    _path: Steps = ()
    _is_new_part: bool = False
    _came: list[str] = field(default_factory=list)
    _size: int = 0
    _most: int = field(default_factory=most_bytes)

    @property
    def came(self) -> str:
        """The answer as it came; of a very long stream, the beginning."""
        return "".join(self._came)

    def keep(self, came: str) -> None:
        """Keep an event of the answer as it came. Raises AppFailure if all events together are too large."""
        self._size += len(came) + (OF_AN_EVENT if self._came else 0)
        if not self._came or self._size <= AS_IT_CAME:
            self._came.append(came)
        if self._size > self._most:
            raise self.too_large(AnswerTooLarge(self._most))

    def too_large(self, error: AnswerTooLarge) -> AppFailure:
        """Let go of the answer but for its beginning, and return the failure that it is."""
        self._came, self.texts, self.pieces = [piece[:BEGINNING] for piece in self._came[:1]], [], []
        return AppFailure(str(error))

    def forget(self) -> None:
        """Forget the events so far, which are no part of the answer."""
        self._came, self._size = [], 0

    @property
    def text(self) -> str:
        """The whole answer, of a stream as far as it came."""
        return "".join(self.texts) or whole_of(piece.text for piece in self.pieces if self._counts(piece))

    @property
    def lines(self) -> str:
        """The pieces of the answer, a line each: they are messages of their own."""
        return "\n".join(piece.text for piece in self.pieces if piece.text and self._counts(piece))

    @property
    def speaks(self) -> bool:
        """Whether a piece of an answer came, and not only a status or the like."""
        return any(map(self._counts, self.pieces))

    def _counts(self, piece: Piece) -> bool:
        return bool(self.reading.where) or piece.kind.rank != NEVER

    def begin(self) -> None:
        """Take the time from here on: now the app is asked."""
        self._since = perf_counter()

    def pass_over(self, seconds: float) -> None:
        """Leave out seconds that were not the app's."""
        self._since += seconds

    def end(self) -> None:
        """Keep how long the answer took that is complete now."""
        self.seconds = perf_counter() - self._since

    def add(self, text: str) -> None:
        """Take in a piece of the answer; the first of a stream with the time it took."""
        if text and self.is_stream:
            self.metadata.setdefault(FIRST_TEXT, perf_counter() - self._since)
        self.texts.append(text)

    def add_usage(self, read: int | None, written: int | None) -> None:
        """Add the tokens that the app reports."""
        for name, number in (("prompt_tokens", read), ("completion_tokens", written)):
            if isinstance(number, int):
                self.metadata[name] = self.metadata.get(name, 0) + number

    def greeted(self) -> None:
        """Keep the text read so far as the app's greeting: the answer is still to come."""
        text, self.metadata, self.notes = self.text, {}, {}
        self.keep_greeting(text)
        self.texts, self.pieces, self.tool_calls, self.context, self.seconds = [], [], [], None, None

    def keep_greeting(self, text: str) -> None:
        """Keep the app's greeting, which opened the conversation."""
        self.metadata[GREETING] = text
        self.notes[GREETING] = f"it also greets: {text}"

    def response(self, kept: Session) -> AppResponse:
        """Return the answer, in a conversation with this session."""
        said = (self.text, kept.state(), tuple(self.tool_calls), self.metadata, self.context)
        return AppResponse(*said) if self.seconds is None else TimedResponse(*said, seconds=self.seconds)

    def take(self, value: Any) -> None:
        """Read a JSON value, or a text. Raises AppFailure if it has no answer."""
        if self.reading.failing:
            self.reading.require_no_failure(Event(value))
        text, steps = self._found_in(value, WHOLE)
        calls: list[Mapping[str, Any]] = []
        said = _spoken(text, calls, is_all=ALL in steps)
        if not isinstance(said, str) or (steps == _OF_ERRORS and named_status(value)):
            raise of_body(self._complaint(value, text), value)
        self._require_success(value, said, steps)
        self.add(said)
        self._take_rest(value, calls)

    def hear(self, event: Event) -> None:
        """Read an event of a stream, which need not have a text. Raises AppFailure if it reports an error."""
        self.reading.require_no_failure(event)
        value = event.value
        text, steps = self._found_in(value, STREAMED)
        calls: list[Mapping[str, Any]] = []
        said = text if isinstance(text, str) else _spoken(text, calls, is_all=ALL in steps)
        labels = labels_of(event, steps)
        _require_no_error(value, labels, said)
        if isinstance(said, str):
            kind = Kind.of(labels, () if self.reading.reply else steps)
            where = self.reading.where
            if not where or all(each.is_met(event) for each in where):
                if kind.rank != NEVER:
                    self._require_success(value, said, steps)
                said = self._parted(said, kind) if self._is_new_part else said
                self.pieces.append(Piece(said, kind, perf_counter() - self._since))
            else:
                self._unnamed.setdefault(kind, said)
        elif isinstance(value, dict):
            self._is_new_part = self._is_new_part or value.get("type") in _NEW_PART
            if len(self._unread) < MOST_KEPT:
                self._unread.append(value)
        if not self.reading.all_calls:
            self._told.take(value)
        self._take_rest(value, calls)

    def require_answer(self, status: int) -> None:
        """Raise AppFailure if the status is 202 and a message about the request was read; note any other answer."""
        if status != _ACCEPTED or self.reading.failing:
            return
        if self._path == _OF_ERRORS:
            do = "let a handler of yours wait for the answer"
            raise AppFailure(f"HTTP 202: it has only accepted the request: {quoted(self.text)}; {do}")
        self.notes[DOUBTFUL] = "HTTP 202 says that the answer is still to come"

    def _require_success(self, value: Any, said: str, steps: Steps) -> None:
        """Raise AppFailure for a value that says it failed; note an error beside an answer. `fail_if` decides alone."""
        sign = None if self.reading.failing else sign_of_failure(value)
        if sign is None:
            return
        name, is_plain = sign
        has = f"$.{name} is {quoted(json.dumps(value[name], ensure_ascii=False))}"
        if is_plain or (steps == _OF_ERRORS and not self.reading.reply) or not said.strip():
            answer = quoted(json.dumps(value, ensure_ascii=False))
            raise of_body(f"it reports a failure ({has}; `fail_if:` can say otherwise): {answer}", value)
        self.notes[DOUBTFUL] = f"{has} beside the reply; if such an answer is a failure, write `fail_if: $.{name}`"

    def settle(self, what: str = "event of its stream") -> None:
        """Make the answer of the pieces of a stream that is complete. Raises AppFailure if it has none."""
        try:
            pieces, others = (self.pieces, ()) if self.reading.where else answer_in(self.pieces)
        except Unclear as unclear:
            raise AppFailure(str(unclear)) from unclear
        left_out = {**dict.fromkeys(others, ""), **self._unnamed}
        if left_out:
            samples = {kind: _first(self.pieces, kind) or text for kind, text in left_out.items()}
            self.notes["left out"] = shown_kinds(samples)
        if not pieces:
            raise AppFailure(self._complaint_of_stream(what))
        texts = [piece.text for piece in pieces if piece.text]
        if repeats_itself(texts):
            self.notes["stream"] = "it repeats all text so far; the last is the reply"
        first = next((piece for piece in pieces if piece.text), None)
        if first is not None and self.is_stream:
            self.metadata[FIRST_TEXT] = first.seconds
        self.texts, self.pieces = [whole_of(texts)], []
        self.tool_calls += self._told.all() if not self.reading.all_calls else ()

    def _found_in(self, value: Any, usual: Sequence[Steps]) -> tuple[Any, Steps]:
        """Return the value at the path of the reply, or the first text of the usual paths, and the path."""
        if path := self.reading.reply:
            text = found_at(value, path)
            refusal = found_at(value, (*path[:-1], "refusal")) if text is None else None
            return (refusal if isinstance(refusal, str) else text), path
        if isinstance(value, list):
            return _of_list(value), (ALL,)
        if not isinstance(value, dict):
            return value, ()
        if self._path and (text := found_at(value, self._path)) and (isinstance(text, str) or _is_content(text)):
            return text, self._path  # as of most events
        return self._found_at(value, (self._path, *usual) if self._path else usual)

    def _found_at(self, value: Mapping[str, Any], paths: Sequence[Steps]) -> tuple[Any, Steps]:
        """Return the first text at one of these paths, and the path; of the user's own words only if it is alone."""
        found: tuple[Any, Steps] = (MISSING, ())
        echo: tuple[Any, Steps] = (MISSING, ())
        for path in paths:
            text = found_at(value, path)
            if isinstance(text, str) or _is_content(text):
                if text and text == self.asked and " " in text:  # a greeting may be answered by the same word
                    echo = (text, path)
                elif text:
                    self._path = path
                    return text, path
            if text in ("", None) and found[0] in (MISSING, None):
                found = (text, path)
        if echo[0] is MISSING or found[0] is not MISSING:
            return found
        return found if _likely(value, but=self.asked) else echo

    def _parted(self, text: str, kind: Kind) -> str:
        """Return a text on a new line if it begins a new part of the answer."""
        if not text or kind.rank == NEVER:
            return text
        self._is_new_part = False
        before = next((piece.text for piece in reversed(self.pieces) if piece.kind == kind and piece.text), "")
        return f"\n{text}" if before and not before[-1].isspace() else text

    def _take_rest(self, value: Any, calls: Sequence[Mapping[str, Any]]) -> None:
        """Take in the tool calls of a value, at their path or within its text, its context and its session."""
        reading = self.reading
        found = found_at(value, reading.tool_calls) if reading.tool_calls else MISSING
        if found is MISSING and not reading.all_calls and isinstance(value, dict) and "message" in value:
            found = found_at(value, ("message", *reading.tool_calls))
        if found is MISSING and reading.tool_calls and reading.all_calls:
            self.calls_at = self.calls_at or place_of_calls(value)
        if calls or found is not MISSING:
            at_path, others = (
                calls_in(value_of(found) if isinstance(found, str) else found) if found is not MISSING else ([], [])
            )
            self.has_calls = self.has_calls or found is not MISSING
            if others and reading.all_calls:
                has = quoted(json.dumps(others[0], ensure_ascii=False))
                self.notes[NO_CALL] = f"{path_of(reading.tool_calls)} has {has}, which is no tool call"
            calls = [*calls, *at_path]
            if not reading.all_calls:  # the user has not marked them as calls, or as unique
                calls = [call for call in calls if called_tool(call).name and call not in self.tool_calls]
            self.tool_calls.extend(calls)
        context = found_at(value, reading.context) if reading.context else MISSING
        if context is not MISSING:
            self.context = context
        theirs = found_at(value, reading.session) if reading.session else MISSING
        if isinstance(theirs, (str, int)):
            self.session = str(theirs)
        elif theirs is not MISSING and theirs is not None:
            what = quoted(json.dumps(theirs, ensure_ascii=False))
            raise AppFailure(f"it names its session {what}, which is no text and no number, and cannot be given back")

    def _complaint(self, value: Any, text: Any) -> str:
        if isinstance(text, str):
            return f"it answered with an error: {quoted(json.dumps(value, ensure_ascii=False))}"
        if found_at(value, ("choices", 0, "finish_reason")) == "content_filter":
            return "its answer was withheld by the content filter"
        perhaps = _perhaps(value, self.asked)
        if self.reading.reply:
            found = "nothing" if text is MISSING else f"{quoted(json.dumps(text))}, which is no text,"
            answer = quoted(json.dumps(value, ensure_ascii=False))
            return f"there is {found} at {path_of(self.reading.reply)} of its answer {answer}{perhaps}"
        answer = quoted(json.dumps(value, ensure_ascii=False))
        return f"no text is found in its answer {answer}; say where with `reply:`{perhaps}"

    def _complaint_of_stream(self, what: str) -> str:
        if left_out := self.notes.get("left out"):
            return f"no text is found in any {what} that counts; left out: {left_out}; say with `where:` which count"
        perhaps = next(filter(None, (_perhaps(each, self.asked) for each in self._unread)), "")
        return f"no text is found in any {what}; say where with `reply:`{perhaps}"


def _require_no_error(value: Any, labels: Labels, said: Any) -> None:
    """Raise AppFailure for an event that reports an error."""
    told = value.get("errorText", value.get("error")) if isinstance(value, dict) else None
    if (told and not isinstance(said, str)) or (labels and any(label.lower() in _ERRORS for _, label in labels)):
        error = told or (said if isinstance(said, str) else value)
        raise of_body(f"its stream ends with an error: {quoted(json.dumps(error, ensure_ascii=False))}", value)


def speaks(value: Any, reading: Reading) -> bool:
    """Return whether a frame is an answer, or a part of one, and not a status or the end of one.

    Raises AppFailure if it reports an error.
    """
    read = Reply(reading)
    read.hear(Event(value))
    return read.speaks and any(piece.text.strip() and piece.kind.rank != CLOSING for piece in read.pieces)


def _first(pieces: Sequence[Piece], kind: Kind) -> str:
    return next((piece.text for piece in pieces if piece.kind == kind and piece.text), "")


def _spoken(found: Any, calls: list[Mapping[str, Any]], *, is_all: bool) -> Any:
    """Return the text of a found value, whose parts may also be tool calls; a value that is no text as it is."""
    if not isinstance(found, list):
        return found
    if is_all and found and all(isinstance(each, str) for each in found):
        return "\n".join(filter(None, found))
    if not _is_content(found, may_have_texts=is_all):
        return found
    turns = turns_of({"role": "assistant", "content": [_plain_part(part) for part in found]})
    results = {result.get("id"): result["result"] for turn in turns for result in turn.results}
    for call in (call for turn in turns for call in turn.calls):
        known = {"result": results[call.get("id")]} if call.get("id") in results else {}
        calls.append({**call, **known})
    return "\n".join(turn.text for turn in turns if turn.text)


def _is_content(found: Any, *, may_have_texts: bool = False) -> bool:
    """Return whether this is a list of parts, as of OpenAI, Anthropic or Gemini."""
    if not isinstance(found, list) or not found:
        return False
    parts = [each for each in found if not (may_have_texts and isinstance(each, str))]
    if not all(isinstance(part, Mapping) for part in parts):
        return False
    kinds = [part.get("type", "text" if {"text", "functionCall"} & {*part} else None) for part in parts]
    return None not in kinds and any(kind in _PARTS for kind in kinds)


def _plain_part(part: Any) -> Any:
    """Return a part of content; OpenAI's Assistants have its text one step further inside."""
    text = part.get("text") if isinstance(part, Mapping) else None
    return {**part, "text": text["value"]} if isinstance(text, Mapping) and "value" in text else part


def _of_list(values: list[Any]) -> Any:
    """Return the text of a list's messages; MISSING if some are the user's, or none has a text."""
    if _is_content(values):
        return values
    messages = [each for each in values if isinstance(each, Mapping)]
    if any(_speaker(each) in _ASKING for each in messages):
        return MISSING
    texts = [next((each[name] for name in USUAL if isinstance(each.get(name), str)), None) for each in messages]
    return [text for text in texts if text is not None] or MISSING


def _speaker(message: Any) -> Any:
    return message.get("role", message.get("type")) if isinstance(message, Mapping) else None


def _perhaps(value: Any, but: str) -> str:
    """Say where in an answer a text is likely the reply."""
    path = _likely(value, but=but)
    return f" (perhaps {path_of(path)})" if path else ""


def _likely(value: Any, *, but: str) -> Steps | None:
    """Return where a text, `but` one that the user said, has a name such as the usual ones, or is the only one."""
    texts = [(path, name, text) for path, name, text in _texts_in(value, ()) if text != but]
    usual = next((path for path, name, _ in texts if name in USUAL), None)
    alike = next((path for path, name, text in texts if " " in text and {*USUAL} & words_of(name)), None)
    alone = next((path for path, *_ in texts if len(texts) == 1 and {0, ALL} & {*path}), None)
    return usual or alike or alone


def _texts_in(value: Any, steps: tuple[str | int, ...]) -> Iterator[tuple[Steps, str, str]]:
    """Yield the paths to the texts in an answer, each with the last name in it, and the texts."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts_in(part, (*steps, str(name)))
    elif isinstance(value, list):
        are_of_several = any(_speaker(part) in _ASKING for part in value)
        step: str | int = -1 if are_of_several else ALL if len(value) > 1 else 0
        for part in value[-1:] if are_of_several else value:
            yield from _texts_in(part, (*steps, step))
    elif isinstance(value, str) and steps:
        yield steps, next((str(step) for step in reversed(steps) if isinstance(step, str) and step != ALL), ""), value
