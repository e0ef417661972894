"""The app's answers as columns: the last one, every one, the context they rest on; and a conversation turn by turn."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from simeval.core.conversation import CONTEXT, RECORDED_ANSWER, Conversation, Message

LAST, EVERY = "response", "responses"  # the columns; a path leads into them, such as "response.metadata.sources"
REPLAYED = ("reference", "reference_tool_calls")  # columns of an answer that was given before, where it is replayed
RESPONSE_PARTS = ("content", CONTEXT, "tool_calls", "metadata", "seconds")
_LEAVES = ("content", "seconds")  # of these, which nothing is below


def conversation_columns(conversation: Conversation) -> dict[str, Any]:
    """Return the columns of a conversation: those of an answer only where there is one, `context` where it has one."""
    found: dict[str, Any] = {
        "conversation": conversation,
        "output": conversation.output,
        "input": conversation.input,
        EVERY: [_parts(message) for message in conversation.responses],
    }
    if found[EVERY]:
        found[LAST] = last = found[EVERY][-1]
        if CONTEXT in last:
            found[CONTEXT] = last[CONTEXT]
        found |= _recorded(conversation)
    return found


def _recorded(conversation: Conversation) -> Mapping[str, Any]:
    """Return the columns with what was answered before to the message that was answered last, where it is a replay."""
    is_before = False
    for message in reversed(conversation.messages):
        if is_before and message.role == "user":
            found: Mapping[str, Any] = message.metadata.get(RECORDED_ANSWER, {})
            return found
        is_before = is_before or message.is_response
    return {}


def turns_of(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Return for each of the app's answers its columns as if the conversation ended there; input is what it answers."""
    asked = conversation.input
    for place, message in enumerate(conversation.messages):
        if message.role == "user":
            asked = message.content
            continue
        so_far = replace(conversation, messages=conversation.messages[: place + 1])
        yield {**conversation_columns(so_far), "input": asked}


def strange_part(path: str) -> bool:
    """Return whether a path leads into an answer, to what no answer has."""
    first, *rest = path.split(".")
    if first not in (LAST, EVERY) or not rest:
        return False
    return rest[0] not in RESPONSE_PARTS or (rest[0] in _LEAVES and len(rest) > 1)


def _parts(message: Message) -> Mapping[str, Any]:
    found = {
        "content": message.content,
        "tool_calls": list(message.tool_calls),
        "metadata": message.metadata,
        "seconds": message.seconds,
    }
    return {**found, CONTEXT: message.metadata[CONTEXT]} if CONTEXT in message.metadata else found
