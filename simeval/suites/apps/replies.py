"""What an app's reply says: a JSON value, a plain text, or a stream of either."""

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from simeval.core.conversation import FIRST_TEXT, AppResponse
from simeval.core.tool_calls import called_tool
from simeval.suites.apps.outcomes import AppFailure
from simeval.suites.apps.remote_app import Session, quoted
from simeval.suites.apps.templates import MISSING, found_at

USUAL = ("reply", "response", "answer", "message", "content", "text", "output")  # where a reply is looked for
DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Reading:
    """Where an app's reply has what is wanted of it; without `reply`, where replies usually have it."""

    reply: Sequence[str | int] = ()
    tool_calls: Sequence[str | int] = ()
    all_calls: bool = True  # what stands there are tool calls, whatever they look like
    context: Sequence[str | int] = ()
    session: Sequence[str | int] = ()


@dataclass(slots=True)
class Reply:
    """What was found in a reply so far, of a stream in all that came."""

    reading: Reading = field(default_factory=Reading)
    status: str = "no answer"
    texts: list[str] = field(default_factory=list)
    tool_calls: list[Mapping[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    context: Any = None
    session: str | None = None
    came: str = ""  # all of it, as it came
    is_stream: bool = False
    hides: Mapping[str, str] = field(default_factory=dict)  # values that nobody is to see, with their names
    _since: float = field(default_factory=perf_counter)

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.texts)

    def add(self, text: str) -> None:
        """Take in a piece of the answer; the first of a stream with the time it took."""
        if text and self.is_stream:
            self.metadata.setdefault(FIRST_TEXT, perf_counter() - self._since)
        self.texts.append(text)

    def add_usage(self, read: int | None, written: int | None) -> None:
        """Take in the tokens that the app says it used."""
        for name, number in (("prompt_tokens", read), ("completion_tokens", written)):
            if isinstance(number, int):
                self.metadata[name] = self.metadata.get(name, 0) + number

    def response(self, kept: Session) -> AppResponse:
        """Return the answer, in a conversation of which this is kept."""
        return AppResponse(self.text, kept.state(), tuple(self.tool_calls), self.metadata, self.context)

    def take(self, value: Any, *, streamed: bool = False) -> None:
        """Take in a JSON value, or a text. Raises AppFailure where it has no answer; an event of a stream need not."""
        text = self._text_of(value)
        if isinstance(text, str):
            self.add(text)
        elif not streamed:
            raise AppFailure(self._complaint(value, text))
        elif isinstance(value, Mapping) and value.get("error"):
            raise AppFailure(f"its stream ends with an error: {quoted(json.dumps(value['error'], ensure_ascii=False))}")
        calls = found_at(value, self.reading.tool_calls) if self.reading.tool_calls else MISSING
        if isinstance(calls, list):
            found = [call for call in calls if isinstance(call, Mapping)]
            if not self.reading.all_calls:  # nobody said that they are calls, or that none comes twice
                found = [call for call in found if called_tool(call).name and call not in self.tool_calls]
            self.tool_calls.extend(found)
        context = found_at(value, self.reading.context) if self.reading.context else MISSING
        if context is not MISSING:
            self.context = context
        theirs = found_at(value, self.reading.session) if self.reading.session else MISSING
        if isinstance(theirs, (str, int)):
            self.session = str(theirs)
        elif theirs is not MISSING and theirs is not None:
            what = quoted(json.dumps(theirs, ensure_ascii=False))
            raise AppFailure(f"it names its session {what}, which is no text and no number, and cannot be given back")

    def _text_of(self, value: Any) -> Any:
        if self.reading.reply:
            return found_at(value, self.reading.reply)
        if not isinstance(value, Mapping):
            return value
        return next((value[name] for name in USUAL if isinstance(value.get(name), str)), MISSING)

    def _complaint(self, value: Any, text: Any) -> str:
        if self.reading.reply:
            path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.reading.reply)
            found = "nothing" if text is MISSING else f"{quoted(json.dumps(text))}, which is no text,"
            answer = quoted(json.dumps(value, ensure_ascii=False))
            return f"there is {found} at ${path} of its answer {answer}{_perhaps(value)}"
        answer = quoted(json.dumps(value, ensure_ascii=False))
        return f"no text is found in its answer {answer}; say where with `reply:`{_perhaps(value)}"


def _perhaps(value: Any) -> str:
    """Say where in an answer a text has one of the usual names."""
    path = next(_usual_paths(value, ""), "")
    return f" (perhaps {path})" if path else ""


def _usual_paths(value: Any, path: str) -> Iterator[str]:
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if name in USUAL and isinstance(part, str):
            yield f"{path}{name}"
        yield from _usual_paths(part, f"{path}{name}.")


def value_of(text: str) -> Any:
    """Return the JSON object, list or text that a text is, else the text itself: a number is a part of an answer.

    JSON's null is None, which is no answer: an app sends it that forgot to return one.
    """
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if found is None or isinstance(found, (dict, list, str)) else text


async def events_of(lines: AsyncIterable[bytes], *, are_server_sent: bool) -> AsyncIterator[Any]:
    """Yield the values of a stream: of server-sent events up to [DONE], or of lines of JSON."""
    data: list[str] = []
    async for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not are_server_sent:
            data = [line] if line else []
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        if data and not (are_server_sent and line):
            text, data = "\n".join(data), []
            if text == DONE:
                return
            yield value_of(text)
    if data and data != [DONE]:
        yield value_of("\n".join(data))
