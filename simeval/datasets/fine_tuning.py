"""Examples as rows to fine-tune a model with: OpenAI's chat format and ShareGPT's."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from simeval.core.conversation import Message
from simeval.datasets.dataset import REFERENCE, Example, is_chat, text_of
from simeval.datasets.messages import call_of

FineTuningForm = Literal["openai", "sharegpt"]
_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}


def fine_tuning_row(example: Example, form: FineTuningForm) -> dict[str, Any]:
    """Return the row of an example: the input, and the reference, or without one the recorded answers.

    `openai` is {"messages": [{"role", "content", "tool_calls"}, ...]}, with a message of the role `tool` for each
    result; `sharegpt` is {"conversations": [{"from", "value"}, ...]}. Raises ValueError without an answer.
    """
    messages = list(_messages(example))
    if not any(message["role"] == "assistant" for message in messages):
        raise ValueError("it has neither a reference nor a recorded answer, so there is nothing to learn")
    if form == "openai":
        return {"messages": messages}
    return {"conversations": [said for message in messages for said in _said(message)]}


def _messages(example: Example) -> Iterator[dict[str, Any]]:
    reference = example.columns().get(REFERENCE)
    given = example.inputs.get("input")
    if reference is None and example.conversation is not None:
        if example.metadata.get("system"):
            yield {"role": "system", "content": str(example.metadata["system"])}
        for message in example.conversation.messages:
            yield from _recorded(message)
        return
    if is_chat(given):
        for each in given:
            yield {"role": each["role"], "content": text_of(each)}
    else:
        yield {"role": "user", "content": example.text}
    if reference is not None:
        yield {"role": "assistant", "content": _as_text(reference)}


def _recorded(message: Message) -> Iterator[dict[str, Any]]:
    calls = [{"id": f"call_{number}", **call_of(call)} for number, call in enumerate(message.tool_calls)]
    if calls:
        asked = [{"id": call["id"], "type": "function", "function": _function(call)} for call in calls]
        yield {"role": "assistant", "content": None, "tool_calls": asked}
        for call, given in zip(calls, message.tool_calls, strict=True):
            yield {"role": "tool", "tool_call_id": call["id"], "content": _as_text(given.get("result", ""))}
    yield {"role": message.role, "content": message.content}


def _function(call: Mapping[str, Any]) -> dict[str, str]:
    return {"name": str(call.get("name", "")), "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False)}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _said(message: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for call in message.get("tool_calls", ()):
        made = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        yield {"from": "function_call", "value": json.dumps(made, ensure_ascii=False)}
    if message["content"] is not None:
        yield {"from": _SPEAKERS[message["role"]], "value": message["content"]}
