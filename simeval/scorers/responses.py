"""The app's answers as columns: the last one, every one, the context they rest on; and a conversation turn by turn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simeval.core.conversation import (
    CONTEXT,
    RECORDED_ANSWER,
    Conversation,
    Exchange,
    Message,
    exchange_at,
    last_exchange,
)

LAST, EVERY = "response", "responses"  # the columns; a path leads into them, such as "response.metadata.sources"
REPLAYED = ("reference", "reference_tool_calls")  # columns of the earlier answer, in a replay
RESPONSE_PARTS = ("content", CONTEXT, "tool_calls", "metadata", "seconds")
_LEAVES = ("content", "seconds")  # of these, which nothing is below


def conversation_columns(conversation: Conversation) -> dict[str, Any]:
    """Return the columns of a conversation: those of an answer only if there is one, `context` if it has one."""
    return _columns(conversation, last_exchange(conversation))


def turns_of(conversation: Conversation, *, closings: bool = False) -> Iterator[dict[str, Any]]:
    """Return for each of the app's answers its columns as if the conversation ended there.

    Without `closings` the answer to a mere goodbye is left out, unless there is no other.
    """
    places = [place for place, message in enumerate(conversation.messages) if message.is_response]
    found = [exchange_at(conversation, place) for place in places]
    asked = [each for each in found if not each.is_closing]
    for each in asked if any(each.asked for each in asked) and not closings else found:
        yield _columns(replace(conversation, messages=conversation.messages[: each.place + 1]), each)


def _columns(conversation: Conversation, exchange: Exchange | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "conversation": conversation,
        "output": "",
        "input": conversation.input if exchange is None else exchange.asked,
        "first_input": conversation.first_input,
        EVERY: [_parts(message) for message in conversation.responses],
    }
    if exchange is not None:
        found[LAST] = answer = _parts(conversation.messages[exchange.place])
        found["output"] = answer["content"]
        if CONTEXT in answer:
            found[CONTEXT] = answer[CONTEXT]
        found |= _recorded(conversation.messages[: exchange.place])
    return found


def _recorded(before: Sequence[Message]) -> Mapping[str, Any]:
    """Return the columns with the earlier answer to the user's last message, if this is a replay."""
    asked = next((message for message in reversed(before) if message.role == "user"), None)
    found: Mapping[str, Any] = {} if asked is None else asked.metadata.get(RECORDED_ANSWER, {})
    return found


def strange_part(path: str) -> bool:
    """Return whether a path leads into an answer, to a part that no answer has."""
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
