"""An app that is a model behind a server that streams: the answer is put together, and its first text timed."""

from collections.abc import Callable
from time import sleep
from typing import Any

import anyio
import pytest

from simeval.errors import ModelError
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.litellm_model import LiteLLMModel, load_litellm
from simeval.models.providers.openai_compatible import CompatibleModel
from tests.support.chat_server import Body, chat_server, said, streamed

pytestmark = pytest.mark.anyio

HELLO = ChatRequest(history=[{"role": "user", "content": "hi"}], options={"stream": True})
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
Make = Callable[[str], CompatibleModel | LiteLLMModel]


def piece(text: str | None, finish_reason: str | None = None) -> Body:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": finish_reason}]}


EVENTS = (piece(""), piece("I can "), piece("help."), piece(None, "length"), {"choices": [], "usage": USAGE})


@pytest.fixture(params=["openai", "openai-compatible"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return what makes a model behind a base URL, on either road."""

    def made(base_url: str) -> CompatibleModel | LiteLLMModel:
        kind: Any = CompatibleModel if request.param == "openai-compatible" else LiteLLMModel
        found: CompatibleModel | LiteLLMModel = kind(
            f"{request.param}/small", {"api_base": base_url, "api_key": "none"}
        )
        return found

    return made


async def test_the_pieces_are_one_answer_with_its_tokens_and_the_seconds_to_its_first_text(make: Make) -> None:
    async with chat_server(lambda _: streamed(*EVENTS)) as server:
        model = make(server.base_url)
        made = await model.complete(HELLO)
        await model.close()

    assert (made.text, made.prompt_tokens, made.completion_tokens, made.is_cut) == ("I can help.", 7, 3, True)
    assert made.first_text_seconds is not None
    assert server.bodies[-1]["stream"] is True


async def test_a_server_that_answers_in_one_piece_all_the_same_is_understood() -> None:
    async with chat_server(lambda _: said("hello")) as server:
        model = CompatibleModel("openai-compatible/small", {"api_base": server.base_url})
        made = await model.complete(HELLO)
        await model.close()

    assert (made.text, made.first_text_seconds) == ("hello", None)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (streamed(piece("I"), {"error": {"message": "out of memory"}}), "server"),
        (streamed({"error": {"message": "busy", "code": 429}}), "rate_limit"),
        ((200, "data: {broken\n\n"), "malformed"),
    ],
)
async def test_a_stream_that_holds_an_error_is_that_error(answer: tuple[int, str], kind: str) -> None:
    async with chat_server(lambda _: answer) as server:
        model = CompatibleModel("openai-compatible/small", {"api_base": server.base_url})
        with pytest.raises(ModelError) as raised:
            await model.complete(HELLO)
        await model.close()

    assert raised.value.kind == kind


async def test_a_stream_that_breaks_off_is_no_answer(make: Make) -> None:
    async with chat_server(lambda _: streamed(piece("I can "))) as server:
        model = make(server.base_url)
        with pytest.raises(ModelError) as raised:
            await model.complete(HELLO)
        await model.close()

    assert raised.value.kind == "server"


async def test_what_a_streamed_answer_costs_is_known_where_its_price_is() -> None:
    async with chat_server(lambda _: streamed(*EVENTS)) as server:
        model = LiteLLMModel("openai/gpt-4o-mini", {"api_base": server.base_url, "api_key": "none"})
        made = await model.complete(HELLO)
        await model.close()

    assert made.cost_usd
    assert made.cost_usd > 0


async def test_the_time_to_the_first_text_counts_from_when_it_was_asked_for() -> None:
    def slow(_body: Body) -> tuple[int, str]:
        sleep(0.05)  # before there is as much as a header
        return streamed(piece("hi", "stop"))

    async with chat_server(slow) as server:
        model = CompatibleModel("openai-compatible/m", {"api_base": server.base_url})
        made = await model.complete(HELLO)
        await model.close()

    assert made.first_text_seconds is not None
    assert made.first_text_seconds >= 0.05


def test_a_model_is_closed_though_litellm_was_used_in_an_event_loop_that_has_ended() -> None:
    async def used_by_others() -> None:
        said_before = [{"role": "user", "content": "hi"}]
        await load_litellm().acompletion(model="openai/x", messages=said_before, mock_response="hello", api_key="none")

    async def used_here() -> str:
        async with chat_server(lambda _: streamed(*EVENTS)) as server:
            model = LiteLLMModel("openai/small", {"api_base": server.base_url, "api_key": "none"})
            made = await model.complete(HELLO)
            await model.close()
        return made.text

    anyio.run(used_by_others)

    assert anyio.run(used_here) == "I can help."
