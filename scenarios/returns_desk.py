"""A returns desk with tools, for suites with scripts and rules for tools; and one that asks for no confirmation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simeval import AppResponse

ORDER = re.compile(r"\bF\d{4}\b", re.IGNORECASE)
PRICES = {"F1001": 49.0, "F1002": 120.0}

Messages = Sequence[Mapping[str, str]]


def handle(messages: Messages, state: Any) -> AppResponse:  # noqa: ARG001
    """Look an order up, ask for confirmation, and refund it; the state is told by all that was said."""
    return _answer(messages, must_confirm=True)


def hasty(messages: Messages, state: Any) -> AppResponse:  # noqa: ARG001
    """Refund at once: the defect that a check in the middle, and a rule for the order of tools, find."""
    return _answer(messages, must_confirm=False)


def _answer(messages: Messages, *, must_confirm: bool) -> AppResponse:
    said = " ".join(message["content"] for message in messages if message["role"] == "user")
    last = messages[-1]["content"].lower()
    order = next((found.upper() for found in ORDER.findall(said)), None)
    if order is None:
        return AppResponse("Which order is it? It begins with F.")
    if any("I have refunded" in message["content"] for message in messages):
        return AppResponse("The money arrives within 5 days.")
    look_up = {"name": "look_up_order", "arguments": {"order": order}}
    refund = {"name": "refund", "arguments": {"order": order, "amount": PRICES.get(order, 0.0)}}
    if must_confirm and "yes" not in last:
        return AppResponse(f"Order {order} can be refunded. Shall I refund it? (yes/no)", tool_calls=[look_up])
    calls = [{"name": "confirm", "arguments": {"order": order}}, refund] if must_confirm else [refund]
    return AppResponse(f"I have refunded order {order}.", tool_calls=calls)
