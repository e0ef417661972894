"""Requests and answers as turns: the messages are found in whatever a log wraps them in."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from simeval.core.serialization import plain
from simeval.datasets.messages import ROLES, Turn, call_of, first, is_message, loaded, mapping, text_of, turns_of

Side = Literal["user", "assistant"]

# names of a wrapper's only text in its span
_ASKED = ("input", "question", "query", "prompt", "prompts", "message", "text", "user_input")
_ANSWERED = ("output", "answer", "response", "result", "completion", "text", "message")
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_SPEAKERS = "|".join(sorted(ROLES))
_TRANSCRIPT = re.compile(rf"^({_SPEAKERS}):[ \t]*", re.IGNORECASE | re.MULTILINE)


def asked(value: Any) -> list[Turn]:
    """Return the messages of a request; empty if it holds none in a known form."""
    if isinstance(value, str) and loaded(value) is value:
        return _transcript(value) or ([Turn(role="user", text=value)] if value else [])
    found = loaded(value)
    turns = _messages(found, "user")
    return turns if turns is not None else _single(found, _ASKED, "user") or []


def answered(value: Any) -> list[Turn]:
    """Return the messages of an answer; one of unknown form is a text, unchanged."""
    found = loaded(value)
    if found in (None, "", [], {}):
        return []
    if isinstance(value, str):
        return _answered_in(value, found)
    turns = _messages(found, "assistant")
    turns = _single(found, _ANSWERED, "assistant") if turns is None else turns
    return [Turn(role="assistant", text=_written(found))] if turns is None else turns


def _answered_in(text: str, found: Any) -> list[Turn]:
    """Return the messages that a text is the JSON of, else the text: an app may well answer in JSON."""
    try:
        turns = _messages(found, "assistant")
    except ValueError:
        turns = None
    return [Turn(role="assistant", text=text)] if turns is None else turns


def system_of(value: Any) -> list[Turn]:
    """Return the system prompt that a request names beside its messages."""
    found = mapping(value)
    said = first(found, *_SYSTEM) or first(mapping(found.get("config")), *_SYSTEM)
    if isinstance(said, Mapping):
        said = first(said, "parts", "content", "text")
    text = text_of(said) if said else ""
    return [Turn(role="system", text=text)] if text else []


def _messages(found: Any, side: Side) -> list[Turn] | None:
    """Return the turns of messages in the envelopes that chat models use, None if it is none of them."""
    if isinstance(found, list):
        return _listed(found, side)
    if not isinstance(found, Mapping):
        return None
    if is_message(found):
        return turns_of(found)
    inner = _inner(found)
    if inner is None:
        return None
    turns = _messages(inner, side)
    if turns is None and isinstance(inner, str):
        turns = [Turn(role=side, text=inner)]
    return None if turns is None else [*system_of(found), *turns] if side == "user" else turns


def _inner(found: Mapping[str, Any]) -> Any:
    """Return the content of an envelope, None if it is unknown."""
    for name in ("choices", "candidates", "generations"):  # the first of several answers
        if isinstance(found.get(name), list) and found[name]:
            answer = found[name][0]
            answer = answer[0] if isinstance(answer, list) and answer else answer
            return first(answer, "message", "content", "text") if isinstance(answer, Mapping) else answer
    for name in ("messages", "contents"):
        if isinstance(found.get(name), list):
            return found[name]
    if isinstance(found.get("content"), Mapping):
        return found["content"]
    if isinstance(found.get("output"), list | Mapping) and (found.get("object") == "response" or "id" in found):
        return found["output"]
    is_items = isinstance(found.get("input"), list) and any(is_message(each) for each in found["input"])
    return found["input"] if is_items else None


def _listed(found: list[Any], side: Side) -> list[Turn] | None:
    if found and all(isinstance(each, list) for each in found):
        return _listed(found[0], side)  # a batch: tracers write a batch of one
    if found and all(isinstance(each, Mapping) and "toolName" in each for each in found):
        return [Turn(role="assistant", calls=tuple(call_of(each) for each in found))]
    if not found or not all(isinstance(each, Mapping | str) for each in found) or isinstance(found[0], str):
        return None
    if any(is_message(each) for each in found):
        return [turn for each in found if is_message(each) for turn in turns_of(each)]
    parts = all("text" in each or "type" in each for each in found)
    return [Turn(role=side, text=text_of(found))] if parts else None


def _single(found: Any, names: tuple[str, ...], side: Side) -> list[Turn] | None:
    """Return the only text of a wrapper's input or output as a turn."""
    if isinstance(found, str):
        return [Turn(role=side, text=found)]
    if not isinstance(found, Mapping):
        return None
    arguments = found.get("args")
    if isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], str) and side == "user":
        return [Turn(role=side, text=arguments[0])]
    value = first(found, *names)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    if isinstance(value, str):
        said = _transcript(value) or [Turn(role=side, text=value)]
        return [*system_of(found), *said] if side == "user" else said
    return _messages(value, side) if value is not None else None


def _transcript(text: str) -> list[Turn]:
    """Return the turns of a text such as "system: ...", "user: ..." on lines of their own; empty if it is none."""
    if not _TRANSCRIPT.match(text):
        return []
    _, *parts = _TRANSCRIPT.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [Turn(role=ROLES[speaker.lower()], text=said.strip()) for speaker, said in pairs]


def _written(found: Any) -> str:
    return found if isinstance(found, str) else json.dumps(plain(found), ensure_ascii=False)
