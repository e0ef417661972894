"""A text that repeats the user's message is no reply if the answer has another one."""

import json
from typing import Any

import pytest
from aiohttp import web

from simeval import HttpApp
from tests.support.recorded_answers import SSE, sse
from tests.support.serving import serving

SAID, ANSWER = "Does F1001 arrive on Friday?", "I cannot help with that."


async def read(body: Any, kind: str = "application/json", said: str = SAID) -> str:
    async def handle(_request: web.Request) -> web.Response:
        return web.Response(text=body if isinstance(body, str) else json.dumps(body), content_type=kind)

    application = web.Application()
    application.router.add_post("/", handle)
    async with serving(application) as url, (app := HttpApp(url=f"{url}/")):
        exchange = await app.exchange([{"role": "user", "content": said}], {})
        return str(exchange.failure or exchange.answer().response)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"message": SAID, "output": ANSWER}, ANSWER),
        ({"text": SAID, "output": ANSWER, "id": 3}, ANSWER),
        ({"content": SAID, "text": ANSWER}, ANSWER),
        ({"message": SAID, "content": [{"type": "text", "text": ANSWER}]}, ANSWER),
        ({"message": SAID, "reply": ""}, ""),
        ({"message": SAID, "session": "s1"}, SAID),
        ({"reply": SAID}, SAID),
    ],
)
async def test_the_reply_is_a_text_that_the_user_did_not_say(body: Any, text: str) -> None:
    assert await read(body) == text


@pytest.mark.anyio
async def test_a_stream_that_begins_with_the_users_message_is_read_without_it() -> None:
    assert await read(sse({"message": SAID, "answer": ""}, {"answer": ANSWER}), SSE) == ANSWER


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"content": SAID, "response_text": ANSWER}, "$.response_text"),
        ({"message": SAID, "botMessage": ANSWER}, "$.botMessage"),
        ({"message": SAID, "data": {"reply": ANSWER}}, "$.data.reply"),
    ],
)
async def test_another_text_under_an_unusual_name_is_proposed_as_the_reply(body: Any, path: str) -> None:
    assert (await read(body)).endswith(f"say where with `reply:` (perhaps {path})")


@pytest.mark.anyio
async def test_a_reply_that_is_null_is_not_replaced_by_the_users_message() -> None:
    assert (await read({"message": SAID, "reply": None})).startswith("no text is found in its answer")


@pytest.mark.anyio
@pytest.mark.parametrize("body", [{"reply": "Hello", "status_text": "all is good"}, {"message": "Hello", "reply": ""}])
async def test_a_greeting_may_be_answered_by_the_same_word(body: Any) -> None:
    assert await read(body, said="Hello") == "Hello"
