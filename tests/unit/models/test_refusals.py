"""What servers refuse of a call, and what is made of it: less room, another word, a failure of its kind."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from simeval.errors import ModelError
from simeval.models.protocol.prompts import ChatRequest, UserTurn
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from tests.support.chat_server import Body, chat_server, refused, said
from tests.support.doubles import any_request

pytestmark = pytest.mark.anyio

Made = CompatibleModel | LiteLLMModel
Make = Callable[[str], Made]
HELLO = ChatRequest(history=[{"role": "user", "content": "hi"}])
OPENING = UserTurn(given="a", when="b", writing_style=None, history=(), seed=1)


@pytest.fixture(params=["openai", "openai-compatible"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return what makes a model behind a base URL, on either road."""

    def made(base_url: str) -> Made:
        kind: Any = CompatibleModel if request.param == "openai-compatible" else LiteLLMModel
        found: Made = kind(f"{request.param}/small", {"api_base": base_url, "api_key": "none"})
        return found

    return made


def context_of_2048(prompt_tokens: int) -> Callable[[Body], tuple[int, Body]]:
    """Return a server that refuses a prompt with whose reply its context would be too small, as vLLM does."""

    def answer(body: Body) -> tuple[int, Body]:
        asked = prompt_tokens + body["max_tokens"]
        if asked > 2048:
            return refused(
                f"This model's maximum context length is 2048 tokens. However, you requested {asked} tokens "
                f"({prompt_tokens} in the messages, {body['max_tokens']} in the completion)."
            )
        return said("hello")

    return answer


async def test_a_reply_for_which_the_context_is_too_small_is_asked_for_with_less_room(make: Make) -> None:
    async with chat_server(context_of_2048(60)) as server:
        model = make(server.base_url)
        made = await model.complete(HELLO)
        await model.close()

    assert made.text == "hello"
    assert [body["max_tokens"] for body in server.bodies] == [2000, 1000]


async def test_where_no_room_is_left_the_prompt_is_too_long(make: Make) -> None:
    async with chat_server(context_of_2048(2040)) as server:
        model = make(server.base_url)
        with pytest.raises(ModelError) as raised:
            await model.complete(HELLO)
        await model.close()

    assert raised.value.kind == "content"
    assert server.bodies[-1]["max_tokens"] <= 64


async def test_a_limit_that_was_given_is_told_in_the_servers_own_word_too() -> None:
    def answer(body: Body) -> tuple[int, Body]:
        if "max_tokens" in body:
            return refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return said("hello")

    async with chat_server(answer) as server:
        model = CompatibleModel("openai-compatible/small", {"api_base": server.base_url})
        await model.complete(HELLO.addressed({"max_tokens": 300}))
        await model.close()

    assert server.bodies[-1]["max_completion_tokens"] == 300


async def test_many_first_requests_that_are_refused_at_once_give_up_no_more_than_one_does(make: Make) -> None:
    def answer(body: Body) -> tuple[int, Body]:
        if "minLength" in json.dumps(body["response_format"]):
            return refused("Invalid schema for response_format: 'minLength' is not permitted.")
        return said('{"message": "hi"}')

    async with chat_server(answer) as server:
        model = make(server.base_url)
        async with anyio.create_task_group() as asking:
            for _ in range(10):
                asking.start_soon(model.complete, OPENING)
        await model.close()

    assert {body["response_format"]["type"] for body in server.bodies} == {"json_schema"}


async def test_a_reply_that_its_server_could_not_make_json_of_is_malformed(make: Make) -> None:
    refusal = refused("Failed to generate JSON. Please adjust your prompt.", code="json_validate_failed")
    async with chat_server(lambda _: refusal) as server:
        model = make(server.base_url)
        with pytest.raises(ModelError) as raised:
            await model.complete(any_request())
        await model.close()

    assert raised.value.kind == "malformed"


async def test_the_look_up_of_a_context_sends_no_key_of_the_environment_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    keys: list[object] = []

    def listing(body: Body) -> tuple[int, Body]:
        keys.append(body["authorization"])
        return 200, {"data": []}

    async with chat_server(listing) as server:
        for name in ("anthropic/claude-haiku-4-5", "hosted_vllm/small"):
            await LiteLLMModel(name, {"api_base": server.base_url}).context_tokens()

    assert keys == ["Bearer none"]
