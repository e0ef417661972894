"""What is sent to an endpoint is the JSON of what is asked."""

import json
import tracemalloc
from typing import Any

import pytest

from simeval.errors import LONGEST_KEPT
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.openai_format import Dialect, body_of
from tests.support.doubles import any_request


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "small", **Dialect().asked(any_request(), "auto")},
        {"model": "small", **Dialect().asked(any_request(), False), "user": {"tags": ["a", None]}},
        {"model": "small", "messages": [{"role": "user", "content": 'She said "no"\n\u2028 ünï\U0001f600'}] * 2},
        {"model": "small", "messages": [{"role": "user", "content": "long " * LONGEST_KEPT}]},
        {"model": "small", "messages": [{"role": "user", "content": [{"type": "text", "text": "an image"}]}]},
        {"messages": [{"role": "tool", "content": "3", "tool_call_id": "1"}]},
        {"model": "small", "input": ["a text"]},
        {"messages": [], 'a "name"': "a \\ and a \n", "temperature": 0.8, "seed": 2**62, "stream": True},
        {"messages": []},
    ],
)
def test_a_body_is_the_json_of_what_is_asked(asked: dict[str, Any]) -> None:
    assert json.loads(body_of(asked)) == asked


def test_half_a_pair_of_surrogates_is_sent_as_json_writes_it() -> None:
    asked = {"model": "small", "messages": ChatRequest(history=[{"role": "user", "content": "\ud83d"}]).messages()}

    assert json.loads(body_of(asked)) == asked


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError):
        body_of({"model": "small", "messages": [], "stop": {"a", "set"}})


def test_long_texts_outside_of_messages_are_not_kept() -> None:
    tracemalloc.start()
    try:
        for number in range(10):
            body_of({"model": "small", "input": f"{number} " * 100_000})
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 200_000
