"""Messages in the form that the conventions' JSON schemas prescribe."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from simeval.core.conversation import Conversation, Message, called_tool
from simeval.core.run_records import ModelCall
from simeval.extras.telemetry import names


def of_call(call: ModelCall, finish: str, clean: Callable[[str], str]) -> dict[str, str]:
    """Return a model's prompt and answer."""
    asked = [_message(each["role"], [_text(clean(each["content"]))]) for each in call.asked()]
    return _attributes(asked, _message("assistant", [_text(clean(call.answered))]), finish)


def of_turn(conversation: Conversation, answer: Message) -> dict[str, str]:
    """Return the messages before an answer of the app's, and the answer, with the tools that it called."""
    before = takewhile(lambda each: each is not answer, conversation.messages)
    return _attributes([_said(each) for each in before], _said(answer), "stop")


def _attributes(asked: Sequence[Mapping[str, Any]], answered: Mapping[str, Any], finish: str) -> dict[str, str]:
    told = {**answered, "finish_reason": finish}
    return {names.MESSAGES_IN: _json(asked), names.MESSAGES_OUT: _json([told])}


def _said(message: Message) -> dict[str, Any]:
    parts = [part for call in message.tool_calls for part in _of_tool(call)]
    return _message(message.role, [*parts, _text(message.content)])


def _of_tool(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a tool call: the request, and its result if it is known."""
    called = called_tool(call)
    known = {"id": called.id} if called.id else {}
    asked = {"type": "tool_call", **known, "name": called.name or "tool"}
    if called.arguments:
        asked["arguments"] = called.arguments[0]
    return [
        asked,
        *({"type": "tool_call_response", **known, "response": each} for each in [*called.results, *called.errors][:1]),
    ]


def _message(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _json(messages: object) -> str:
    return json.dumps(messages, default=str)
