"""Tool calls as a transcript shows them: what was asked, what came of it, and why it failed."""

from collections.abc import Mapping
from typing import Any

import pytest

from simeval.core.conversation import show_call


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ({"name": "refund", "arguments": {"id": 7}, "result": "done"}, 'refund {"id": 7} → done'),
        ({"name": "refund", "args": {"id": 7}, "error": "no such order"}, 'refund {"id": 7} → error: no such order'),
        ({"tool": "refund", "error": {"code": 404}}, 'refund → error: {"code": 404}'),
        ({"tool": "refund", "output": "done", "error": None}, "refund → done"),
        ({"function": {"name": "refund", "arguments": "{}"}, "error": False}, "refund {}"),
    ],
)
def test_a_call_says_what_came_of_it(call: Mapping[str, Any], shown: str) -> None:
    assert show_call(call) == shown
