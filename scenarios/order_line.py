"""A line that tells where an order is; and one that knows order numbers in capitals only."""

import re

ARRIVALS = {"F1001": "on Friday", "F1002": "on Monday"}
ORDER = re.compile(r"\bF\d{4}\b")


def handle(message: str) -> str:
    """Say when an order arrives, however its number is written."""
    return _answer(message.upper())


def in_capitals(message: str) -> str:
    """Say it of numbers in capitals: the defect that only users who write in small letters meet."""
    return _answer(message)


def _answer(message: str) -> str:
    order = ORDER.search(message)
    if order is None:
        return "I can help with orders that have a number."
    return f"Order {order[0]} arrives {ARRIVALS.get(order[0], 'soon')}."
