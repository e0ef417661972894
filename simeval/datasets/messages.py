"""Messages of all dialects as turns: the speaker, the text, the tool calls and their results.

Dialects: OpenAI chat completions and responses, Anthropic blocks, Gemini parts, GenAI semantic conventions (parts),
OpenInference, LangChain (dumped, serialised, or as pairs), the AI SDK (model messages, and those of its user
interface), Inspect, ShareGPT.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import nan
from typing import Any, Literal

from simeval.core.conversation import PARTS, has_parts
from simeval.core.serialization import Json, plain
from simeval.errors import DefinitionError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# a Unix time above this is in nanoseconds, microseconds, milliseconds; else it is in seconds
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
TOKENS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens", "input_tokens", "input", "prompt_token_count", "promptTokenCount"),
    "completion_tokens": (
        "completion_tokens",
        "output_tokens",
        "output",
        "candidates_token_count",
        "candidatesTokenCount",
    ),
}

Role = Literal["system", "user", "assistant", "tool"]
ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "chatgpt", "bot", "bing", "bard"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "function_response"), "tool"),
}
_CLASS_ENDING = re.compile(r"message(chunk)?$")  # HumanMessage, AIMessageChunk
_CALLS = {"tool_use", "tool_call", "function_call", "server_tool_use", "custom_tool_call"}
_RESULTS = {"tool_result", "tool_call_response", "function_call_output", "function_response", "custom_tool_call_output"}
_REASONING = {"thinking", "reasoning", "redacted_thinking"}
_TEXTS = {"text", "input_text", "output_text", "refusal", "summary_text"}
_UNSAID = ("step_start", "source", "source_url", "source_document")  # parts of a user interface without content
_NAMED = ("image", "audio", "video", "file", "document")  # parts of these kinds are named in the text

OWN_MARK = "__"  # the prefix of promptfoo's own columns; __expected* are references
_WORD_GAPS = re.compile(r"[\W_]+")
_EXPECTED = re.compile(  # in English, German, Spanish, French, Italian
    r"expected|erwartet|(respuesta)?esperad|(réponse)?attendu|(risposta)?attes[aoie]"
    r"|referen[cz]|référence|groundtruth|ideal|gold(en)?|(correct|right|true|desired)(answer|output|response)"
)
_RIGHT_ANSWER = re.compile(  # and not expected_tools, ideal_length
    r"(expected|referen[cz]e?|groundtruth|ideal|gold(en)?)(answer|output|response|text|reply|result)?s?"
    r"|(correct|right|true|desired)(answer|output|response)s?"
    r"|erwartet.*|(respuesta)?esperad[ao]s?|(réponse)?attendue?s?|(risposta)?attes[aoie]"
)
_USUAL = re.compile(
    r"((target|desired)(answer|output|response)?|answer|label|solution|respuesta|réponse)s?|antwort(en)?|rispost[ae]"
)
_OF_PAIRS = re.compile(r"(completion|response)s?")  # an app's answers, unless no other column has right ones
_OF_AN_APP = re.compile(r"((actual|model|generated|predicted)(answer|output|response)|prediction)s?")
_TURN_PARTS = {
    "session": ("session", "conversation", "thread", "dialogue", "dialog", "chat", "ticket"),
    "role": ("role", "speaker", "sender", "author", "authortype", "from"),
    "text": ("text", "content", "message", "utterance", "body"),
}
_SPEAKERS: Mapping[str, Role] = {
    **{name: role for name, role in ROLES.items() if role != "tool"},
    **dict.fromkeys(("customer", "client", "visitor", "caller"), "user"),
    **dict.fromkeys(("agent", "operator", "chatbot"), "assistant"),
}


def loaded(value: Any) -> Any:
    """Return the JSON object or list that a text holds, else the value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the object in a value or in its JSON text; an empty one if it is none."""
    found = loaded(value)
    return found if isinstance(found, Mapping) else {}


def first(found: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first name that has one, else None."""
    return next((found[name] for name in names if found.get(name) is not None), None)


def identity(found: Mapping[str, Any], *names: str) -> str:
    """Return the id under the first of the names that has one; only texts and whole numbers are ids."""
    values = (found.get(name) for name in names)
    return next(
        (str(each) for each in values if isinstance(each, str | int) and each != "" and not isinstance(each, bool)), ""
    )


def moment(value: object) -> datetime | None:
    """Return a time written in ISO 8601 (in UTC without a zone) or as a Unix time in any unit, else None."""
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value.strip())
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            unit = next((unit for above, unit in UNITS if value > above), 1.0)
            return EPOCH + timedelta(seconds=value / unit)
    except (ValueError, OverflowError):
        return None
    return None


def usage(found: Any) -> dict[str, int]:
    """Return prompt_tokens and completion_tokens, under any name a log uses, if they are counted."""
    counted = {}
    for name, aliases in TOKENS.items():
        count = first(mapping(found), *aliases)
        if isinstance(count, int | float) and not isinstance(count, bool) and count == count:
            counted[name] = int(count)
    return counted


def filled(**found: Any) -> dict[str, Any]:
    """Return the values that are neither None nor empty."""
    return {name: value for name, value in found.items() if value is not None and value not in ("", [], {}, ())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message of a log in one form for all dialects.

    `calls` are the tool calls, each with id, name and arguments, as far as they are known; `results` those of tools,
    each with id, name, result and error. `details` are the metadata of a Message.
    """

    role: Role
    text: str = ""
    calls: tuple[Json, ...] = ()
    results: tuple[Json, ...] = ()
    started: datetime | None = None
    seconds: float = nan
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Pieces:
    texts: list[str] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)


def is_message(found: Any) -> bool:
    """Return whether a value has the form of a message: it names the speaker, or is a tool's call or result."""
    if not isinstance(found, Mapping):
        return False
    message = _unwrapped(found)
    return _role(message) is not None or _kind(message) in _CALLS | _RESULTS | _REASONING


def turns_of(found: Any) -> list[Turn]:
    """Return the turns of a message: usually one, two if a user's message also brings tools' results.

    Raises ValueError if it does not name the speaker.
    """
    message = _unwrapped(found)
    if _is_definition(message):
        return []
    role = _role(message)
    if role is None:
        return _turns_of_item(message)
    if role == "tool":
        return [_tool_turn(message)]
    pieces = _pieces_of(_content_of(message))
    known = {call["id"] for call in pieces.calls if "id" in call}
    pieces.calls += [call for call in _calls_of(message) if call.get("id") not in known]
    text = "\n".join(pieces.texts) or _text(message.get("refusal"))
    if role == "assistant" and message.get("finish_reason") == "tool_calls" and (calls := _calls_in(text)):
        pieces.calls, text = [*pieces.calls, *calls], ""
    results = [Turn(role="tool", results=tuple(pieces.results))] if pieces.results else []
    if results and not text and not pieces.calls:
        return results
    details = _details(message, pieces) if role == "assistant" else _media(message)
    return [*results, Turn(role=role, text=text, calls=tuple(pieces.calls), details=details)]


def call_of(found: Mapping[str, Any]) -> Json:
    """Return a tool's call in any form as id, name and arguments, parsed if they are JSON."""
    outer = mapping(found.get("tool_call")) or found
    function = first(outer, "function", "custom", "functionCall")
    body = function if isinstance(function, Mapping) else outer
    name = function if isinstance(function, str) else identity(body, "name", "toolName", "tool_name")
    arguments = first(body, "arguments", "args", "input", "parameters", "inputParameters")
    call = filled(id=identity(outer, "call_id", "toolCallId", "tool_call_id", "id"), name=name)
    return call if arguments is None else {**call, "arguments": plain(loaded(arguments))}


def result_of(found: Mapping[str, Any]) -> Json:
    """Return a tool's result in any form as id, name, result and error."""
    name = identity(found, "function", "name", "toolName")
    given = first(found, "content", "output", "result", "response", "value", "parts")
    error = found.get("error") or (given if found.get("is_error") or found.get("status") == "error" else None)
    known = filled(
        id=identity(found, "tool_call_id", "call_id", "tool_use_id", "toolCallId", "id"), name=name, error=plain(error)
    )
    return {**known, "result": _result(given)}


def text_of(content: Any) -> str:
    """Return the text of a message's content, with parts that are no text named, as in "[image]"."""
    return "\n".join(_pieces_of(content).texts)


def _unwrapped(found: Any) -> Mapping[str, Any]:
    """Return a message out of the wrappers of logs."""
    if isinstance(found, str):
        return {"role": "user", "content": found}
    if isinstance(found, list | tuple) and len(found) == 2 and all(isinstance(each, str) for each in found):
        return {"role": found[0], "content": found[1]}  # LangChain's pair
    if not isinstance(found, Mapping):
        raise ValueError(f"a message is an object, found {found!r:.60}")
    if isinstance(found.get("message"), Mapping) and "role" not in found:
        return _unwrapped(found["message"])
    kwargs, names = found.get("kwargs"), found.get("id")
    if isinstance(kwargs, Mapping) and isinstance(names, list) and names:  # LangChain, serialised
        return {**kwargs, "type": str(names[-1])}
    if isinstance(found.get("data"), Mapping) and isinstance(found.get("type"), str):
        return {**found["data"], "type": found["type"]}
    return found


def _role(message: Mapping[str, Any]) -> Role | None:
    said = first(message, "role", "from")
    if not isinstance(said, str):
        kind = _kind(message)
        return ROLES.get(_CLASS_ENDING.sub("", kind)) if kind not in _CALLS | _RESULTS else None
    role = ROLES.get(_CLASS_ENDING.sub("", said.strip().lower()))
    if role is None:
        raise ValueError(f"the role {said!r} is none of {', '.join(sorted(ROLES))}")
    return role


def _kind(message: Mapping[str, Any]) -> str:
    """Return the type of a message or part, in lower case and with underscores."""
    return str(message.get("type") or "").lower().replace("-", "_")


def _turns_of_item(message: Mapping[str, Any]) -> list[Turn]:
    """Return the turn of an item of OpenAI's responses that has no role."""
    kind = _kind(message)
    if kind in _CALLS:
        return [Turn(role="assistant", calls=(call_of(message),))]
    if kind in _RESULTS:
        return [Turn(role="tool", results=(result_of(message),))]
    if kind in _REASONING:
        return []
    raise ValueError(f"a message has no role: {str(message)[:60]}")


def _tool_turn(message: Mapping[str, Any]) -> Turn:
    content = first(message, "content", "parts", "value")
    if calls := _calls_in(content):  # a history that separates calls from results by their form only
        return Turn(role="assistant", calls=tuple(calls))
    inside = _pieces_of(content).results if isinstance(content, list) else []
    return Turn(role="tool", results=tuple(inside) or (result_of(message),))


def _is_definition(message: Mapping[str, Any]) -> bool:
    """Return whether a message only defines a tool, as tracers write them among the messages."""
    content = message.get("content")
    is_tool = isinstance(content, Mapping) and content.get("type") == "function" and "parameters" in str(content)
    return is_tool or str(message.get("role")).lower() == "tool input"


def _media(message: Mapping[str, Any]) -> Json:
    """Return the attachments of a user's message, for an app that it is sent to again."""
    content = _content_of(message)
    return {PARTS: plain(content)} if has_parts(content) else {}


def _content_of(message: Mapping[str, Any]) -> Any:
    """Return the content of a message; for one of a user interface with a text and parts, the parts."""
    parts = message.get("parts")
    has_parts = (
        isinstance(parts, list) and parts and all(isinstance(each, Mapping) and "type" in each for each in parts)
    )
    if has_parts and not isinstance(message.get("content"), list):
        return parts
    return first(message, "content", "parts", "value")


def _interface_call(part: Mapping[str, Any], kind: str) -> Json | None:
    """Return the call that a part of the AI SDK's user interface is, with its result; None for another part."""
    inner = part.get("toolInvocation") if kind == "tool_invocation" else part
    if not isinstance(inner, Mapping) or "state" not in inner or "toolCallId" not in inner:
        return None
    name = str(part.get("type")).removeprefix("tool-") if inner is part and kind != "dynamic_tool" else ""
    call = call_of({"toolName": name, **inner} if name else inner)
    if "arguments" not in call and inner.get("rawInput") is not None:
        call["arguments"] = plain(loaded(inner["rawInput"]))
    if str(inner["state"]) in ("output-error", "error"):
        return {**call, "error": plain(first(inner, "errorText", "error", "result"))}
    output = first(inner, "output", "result")
    return call if output is None else {**call, "result": _result(output)}


def _calls_of(message: Mapping[str, Any]) -> list[Json]:
    """Return the calls a message names beside its content."""
    if isinstance(invoked := message.get("toolInvocations"), list):  # the AI SDK's user interface, version 4
        made = (_interface_call({"toolInvocation": each}, "tool_invocation") for each in invoked)
        return [call for call in made if call is not None]
    more = mapping(message.get("additional_kwargs"))
    calls = first(message, "tool_calls", "toolCalls") or more.get("tool_calls") or []
    legacy = first(message, "function_call") or more.get("function_call")
    found = [each for each in loaded(calls) if isinstance(each, Mapping)] if isinstance(loaded(calls), list) else []
    return [call_of(each) for each in [*found, *([legacy] if isinstance(legacy, Mapping) else [])]]


def _calls_in(text: Any) -> list[Json]:
    """Return the calls in a JSON text, none if it is anything else."""
    found = loaded(text) if isinstance(text, str) and text.startswith("[{") else None
    is_calls = isinstance(found, list) and all(
        isinstance(each, Mapping) and mapping(each.get("function")) for each in found
    )
    return [call_of(each) for each in found] if is_calls and found else []


def _pieces_of(content: Any) -> _Pieces:
    pieces = _Pieces()
    parts: Iterable[Any] = content if isinstance(content, list) else [content]
    for part in parts:
        _sort_part(part, pieces)
    return pieces


def _sort_part(part: Any, pieces: _Pieces) -> None:
    """Put a part of a message's content into the right list."""
    if not isinstance(part, Mapping):
        pieces.texts += [] if part is None else [str(part)]
        return
    kind = _kind(part)
    if call := _interface_call(part, kind):
        pieces.calls.append(call)
    elif inner := first(part, "function_call", "functionCall"):
        pieces.calls.append(call_of(inner))
    elif inner := first(part, "function_response", "functionResponse"):
        pieces.results.append(result_of(inner))
    elif kind in _CALLS:
        pieces.calls.append(call_of(part))
    elif kind in _RESULTS:
        pieces.results.append(result_of(part))
    elif kind in _REASONING:
        pieces.reasoning.append(_text(first(part, "thinking", "reasoning", "text", "content", "summary")))
    elif kind in _TEXTS or (not kind and isinstance(part.get("text"), str)):
        pieces.texts.append(_text(first(part, "text", "content", "refusal")))
    elif kind not in _UNSAID and not kind.startswith("data_"):
        pieces.texts.append(f"[{_name_of(part, kind)}]")


def _name_of(part: Mapping[str, Any], kind: str) -> str:
    """Return the word for a part that is no text."""
    hint = f"{kind} {first(part, 'mime_type', 'mediaType', 'media_type', 'modality') or ''} {' '.join(map(str, part))}"
    return next((name for name in _NAMED if name in hint.lower()), kind or "part")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else text_of(value)


def _result(given: Any) -> Any:
    """Return the result of a tool: its text, or the value if it is none."""
    if isinstance(given, Mapping) and set(given) <= {"type", "value"} and "value" in given:  # the AI SDK
        return plain(given["value"])
    if isinstance(given, Mapping) and set(given) == {"content"}:
        return _result(given["content"])
    is_parts = isinstance(given, list) and given and all(isinstance(each, Mapping) and "type" in each for each in given)
    return text_of(given) if is_parts else plain(given)


def _details(message: Mapping[str, Any], pieces: _Pieces) -> Json:
    """Return the details of how a message was made."""
    response = mapping(message.get("response_metadata"))
    reasoning = [*pieces.reasoning, _text(first(message, "reasoning_content", "reasoning"))]
    return {
        **filled(
            model=first(message, "model") or first(response, "model_name", "model"),
            finish_reason=first(message, "finish_reason") or response.get("finish_reason"),
            reasoning="\n".join(filter(None, reasoning)),
        ),
        **(usage(message.get("usage_metadata")) or usage(first(response, "token_usage", "usage"))),
    }


def plain_name(column: str) -> str:
    """Return a column's name without case, spaces and marks, so that "Ground Truth" is ground_truth."""
    return _WORD_GAPS.sub("", column.casefold())


def is_reference(column: str) -> bool:
    """Return whether a column is called as one with answers, or is promptfoo's own: no app is shown it."""
    name = plain_name(column)
    is_answer = _EXPECTED.match(name) or any(each.fullmatch(name) for each in (_USUAL, _OF_PAIRS, _OF_AN_APP))
    return column.strip().startswith(OWN_MARK) or bool(is_answer)


def references_in(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that hold the right answers.

    Where some are called expected, reference, ideal, gold or ground truth, those alone: beside them a column called
    answer may well be an app's.
    """
    named = {each: plain_name(each) for each in columns}
    kinds = (_EXPECTED.match, _USUAL.fullmatch, _OF_PAIRS.fullmatch)
    return next(filter(None, (tuple(each for each in named if is_kind(named[each])) for is_kind in kinds)), ())


def has_right_answer(columns: Iterable[str]) -> bool:
    """Return whether one of the columns is called the right answer, so that one called output is an app's."""
    return any(_RIGHT_ANSWER.fullmatch(plain_name(each)) for each in columns)


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """The columns of a table of turns that name the session, the speaker, and the text.

    A row without a role is an exchange, with the columns "user" and "assistant".
    """

    session: str = "session_id"
    role: str = "role"
    text: str = "text"

    @classmethod
    def of(cls, row: Mapping[str, Any], where: str) -> "TurnColumns | None":
        """Return the columns of a table of turns by one of its rows; None for another table.

        Raises DefinitionError if two columns may mean the same, or none names the session.
        """
        session, role, text = ([each for each in row if _is_part(each, part)] for part in _TURN_PARTS)
        if session and not role and {"user", "assistant"} <= row.keys():
            return cls(_only("session", session, where))
        if not (role and text):
            return None
        if session:
            return cls(_only("session", session, where), _only("speaker", role, where), _only("text", text, where))
        if not any(speaker_of(row[each]) for each in role):
            return None
        do = "add a column session_id, or say which columns are inputs (--input COLUMN; in Python inputs=)"
        found = f"the columns {role[0]} and {text[0]} are of turns, and no column says of which session"
        raise DefinitionError(where, found=found, do=do)


def speaker_of(value: object) -> Role | None:
    """Return whose turn it is by the name a log has for whoever speaks; None for a name that is not known."""
    return _SPEAKERS.get(value.strip().casefold()) if isinstance(value, str) else None


def _is_part(column: str, part: str) -> bool:
    name = plain_name(column)
    return name in _TURN_PARTS[part] or (part == "session" and name.removesuffix("id") in _TURN_PARTS[part])


def _only(what: str, names: list[str], where: str) -> str:
    if len(names) > 1:
        do = "keep one of them, or say which columns are inputs (--input COLUMN; in Python inputs=)"
        raise DefinitionError(where, found=f"the columns {' and '.join(names)} may each be the {what} of a turn", do=do)
    return names[0]
