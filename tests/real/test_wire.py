"""What a server of a real model does at its limits, and what simeval makes of it."""

import aiohttp
import anyio
import pytest

from simeval.core.conversation import Message
from simeval.core.run_records import Ledger
from simeval.core.settings import RetryConfig, Settings
from simeval.errors import ModelError
from simeval.models.protocol.model import UserReply
from simeval.models.protocol.prompts import ChatRequest, UserTurn
from simeval.models.registry import Models
from tests.real.conftest import Make
from tests.real.test_roles import SITUATION
from tests.support.real_model import NAME, quick

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

COUNT = ChatRequest(history=[{"role": "user", "content": "Count to five."}], max_tokens=12, seed=3)


async def test_the_same_seed_says_the_same_and_a_further_try_something_else(make: Make) -> None:
    model = make()
    first, second = [(await model.complete(COUNT)).text for _ in range(2)]
    other = (await model.complete(COUNT.again(2, "it was empty"))).text
    await model.close()

    assert first == second != other


async def test_a_prompt_that_is_longer_than_the_context_is_a_refusal_of_content(make: Make) -> None:
    long = (Message(role="user", content="word " * 3000), Message(role="assistant", content="yes"))
    model = make()
    with pytest.raises(ModelError) as raised:
        await model.complete(UserTurn(**SITUATION, writing_style=None, history=long, seed=1))
    await model.close()

    assert raised.value.kind == "content"


async def test_a_reply_that_is_cut_is_tried_with_more_room_and_named(base_url: str, road: str) -> None:
    settings = Settings(
        model_options=quick(base_url, road),
        user_options={"max_tokens": 3},
        retry_config=RetryConfig(max_attempts=2, backoff_multiplier=0),
    )
    models, ledger = Models(settings), Ledger()
    models.open()
    caller = models.caller(models.get(f"{road}/{NAME}", "user"), ledger, role="user")

    with pytest.raises(ModelError, match="the reply was cut at 6 tokens; give it more with the option max_tokens"):
        await caller.ask(UserTurn(**SITUATION, writing_style=None, history=(), seed=1), UserReply)
    await models.close()

    usage = ledger.of("user")
    assert (usage.calls, usage.malformed_calls, usage.completion_tokens) == (2, 2, 9)


async def test_a_client_that_hangs_up_frees_the_servers_slot(make: Make, base_url: str) -> None:
    model = make()
    with anyio.move_on_after(1):
        await model.complete(ChatRequest(history=[{"role": "user", "content": "Tell a long story."}], max_tokens=1500))
    await until_idle(base_url)
    answered = await model.complete(COUNT)
    await model.close()

    assert answered.text


async def until_idle(base_url: str) -> None:
    """Wait until no slot of the server is working."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{base_url.removesuffix('/v1')}/slots") as response:
                if not any(slot["is_processing"] for slot in await response.json()):
                    return
            await anyio.sleep(1)  # asked more often, the server is busy with the questions


async def test_the_probabilities_of_the_first_token_come_where_they_are_asked_for(make: Make) -> None:
    model = make(logprobs=True, top_logprobs=5)
    made = await model.complete(COUNT)
    await model.close()

    assert len(made.first_token) == 5
    assert 0 < sum(made.first_token.values()) <= 1.0001


async def test_the_tokens_counted_are_those_of_the_prompt_in_the_servers_own_template(
    make: Make, base_url: str
) -> None:
    model = make()
    made = await model.complete(COUNT)
    await model.close()

    server = base_url.removesuffix("/v1")
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{server}/apply-template", json={"messages": COUNT.messages()}) as response:
            prompt = (await response.json())["prompt"]
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        async with session.post(f"{server}/tokenize", json=asked) as response:
            tokens = (await response.json())["tokens"]
    assert made.prompt_tokens == len(tokens)


async def test_a_streamed_answer_is_the_same_and_says_when_it_began(make: Make) -> None:
    model = make()
    whole = await model.complete(COUNT)
    streamed = await model.complete(COUNT.addressed({"stream": True}))
    await model.close()

    assert (streamed.text, streamed.completion_tokens) == (whole.text, whole.completion_tokens)
    assert streamed.first_text_seconds is not None
