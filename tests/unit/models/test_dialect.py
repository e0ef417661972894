"""What a server refuses once is left out from then on, on both roads to it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from simeval.errors import ModelError
from simeval.models.protocol.prompts import AttackTurn, ChatRequest, UserTurn
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from tests.support.chat_server import Body, chat_server, refused, said
from tests.support.doubles import any_request

pytestmark = pytest.mark.anyio

Made = CompatibleModel | LiteLLMModel
Make = Callable[..., Made]


@pytest.fixture(params=["openai", "openai-compatible"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return what makes a model behind a base URL, on either road."""

    def made(base_url: str, **options: Any) -> Made:
        kind = CompatibleModel if request.param == "openai-compatible" else LiteLLMModel
        return kind(f"{request.param}/small", {"api_base": base_url, "api_key": "none", **options})

    return made


def takes(*forms: str | None) -> Callable[[Body], tuple[int, Body]]:
    """Return a server that takes only these response formats."""

    def answer(body: Body) -> tuple[int, Body]:
        form = body.get("response_format", {}).get("type")
        return said("{}") if form in forms else refused(f"'response_format.type' must not be {form}")

    return answer


def forms_of(bodies: list[Body]) -> list[str | None]:
    return [body.get("response_format", {}).get("type") for body in bodies]


async def test_a_model_that_no_table_knows_is_sent_the_schema(make: Make) -> None:
    async with chat_server(takes("json_schema")) as server:
        model = make(server.base_url)
        await model.complete(any_request())
        await model.close()

    [body] = server.bodies
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["levels", "near_misses"]


@pytest.mark.parametrize(
    ("taken", "asked"),
    [("json_object", ["json_schema", "json_object"]), (None, ["json_schema", "json_object", None])],
)
async def test_a_refused_form_is_given_up_at_its_first_refusal(
    make: Make, taken: str | None, asked: list[str | None]
) -> None:
    async with chat_server(takes(taken)) as server:
        model = make(server.base_url)
        for _ in range(2):
            await model.complete(any_request())
        await model.close()

    assert forms_of(server.bodies) == [*asked, taken]


@pytest.mark.parametrize(("option", "asked"), [(True, ["json_schema"]), (False, ["json_object", None])])
async def test_the_option_json_schema_decides(make: Make, option: bool, asked: list[str | None]) -> None:
    async with chat_server(takes(None)) as server:
        model = make(server.base_url, json_schema=option)
        if option:
            with pytest.raises(ModelError, match="bad_request"):
                await model.complete(any_request())
        else:
            await model.complete(any_request())
        await model.close()

    assert forms_of(server.bodies) == asked
    assert not any("json_schema" in body for body in server.bodies)


async def test_a_model_that_counts_otherwise_is_told_the_limit_in_its_own_word(make: Make) -> None:
    def answer(body: Body) -> tuple[int, Body]:
        if "max_tokens" in body:
            return refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return said("hello")

    async with chat_server(answer) as server:
        model = make(server.base_url)
        await model.complete(ChatRequest(history=[{"role": "user", "content": "hi"}], max_tokens=7))
        await model.close()

    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 7]


@pytest.mark.parametrize("refusing", ["temperature", "seed"])
async def test_a_refused_number_is_left_out(make: Make, refusing: str) -> None:
    def answer(body: Body) -> tuple[int, Body]:
        return refused(f"Unsupported value: '{refusing}'.") if refusing in body else said("hello")

    async with chat_server(answer) as server:
        model = make(server.base_url)
        await model.complete(ChatRequest(history=[{"role": "user", "content": "hi"}]))
        await model.close()

    assert [refusing in body for body in server.bodies] == [True, False]


@pytest.mark.parametrize(
    "refusal",
    [
        refused("the request exceeds the available context size (2048 tokens)", type="exceed_context_size_error"),
        refused("This model's maximum context length is 2048 tokens. However, 'max_tokens' is too large: 800."),
        refused("too long", code="context_length_exceeded"),
    ],
)
async def test_a_context_that_is_too_small_is_a_refusal_of_content(make: Make, refusal: tuple[int, Body]) -> None:
    async with chat_server(lambda _: refusal) as server:
        model = make(server.base_url)
        with pytest.raises(ModelError) as raised:
            await model.complete(any_request())
        await model.close()

    assert raised.value.kind == "content"


@pytest.mark.parametrize("text", [None, "", '{"a'])
async def test_a_reply_that_ended_at_its_limit_is_known_as_cut(make: Make, text: str | None) -> None:
    async with chat_server(lambda _: said(text, finish_reason="length")) as server:
        model = make(server.base_url)
        made = await model.complete(any_request())
        await model.close()

    assert (made.is_cut, made.text) == (True, text or "")


async def test_the_first_tokens_probabilities_are_read_where_they_are_sent(make: Make) -> None:
    top = [{"token": "yes", "logprob": 0.0, "bytes": None}, {"token": "no", "logprob": -100.0, "bytes": None}]
    first = {"token": "yes", "logprob": 0.0, "bytes": None, "top_logprobs": top}
    async with chat_server(lambda _: said("yes", logprobs={"content": [first]})) as server:
        model = make(server.base_url)
        made = await model.complete(any_request())
        await model.close()

    assert made.first_token == pytest.approx({"yes": 1.0, "no": 0.0})


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "other name", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}},
        {"id": "small", "max_model_len": 2048},
    ],
)
async def test_a_servers_context_is_read_from_its_list_of_models(make: Make, entry: Body) -> None:
    async with chat_server(lambda _: (200, {"object": "list", "data": [entry]})) as server:
        model = make(server.base_url)
        found = await model.context_tokens()
        await model.close()

    assert found == 2048
    assert [body["path"] for body in server.bodies] == ["/v1/models"]


@pytest.mark.parametrize("listing", [(404, {}), (200, {"data": [{"id": "a"}, {"id": "b"}]}), (200, {"data": None})])
async def test_a_server_need_not_say_its_context(make: Make, listing: tuple[int, Body]) -> None:
    async with chat_server(lambda _: listing) as server:
        model = make(server.base_url)
        assert await model.context_tokens() is None
        await model.close()


async def test_where_no_server_answers_no_context_is_known(make: Make) -> None:
    model = make("http://127.0.0.1:9/v1")
    assert await model.context_tokens() is None
    await model.close()


async def test_plain_text_is_asked_for_up_to_the_end_of_a_line_where_that_is_taken(make: Make) -> None:
    turn = UserTurn(given="a", when="b", writing_style=None, history=(), seed=1, format="text")

    def answer(body: Body) -> tuple[int, Body]:
        return (
            refused("Unsupported parameter: 'stop' is not supported with this model.") if "stop" in body else said("hi")
        )

    async with chat_server(answer) as server:
        model = make(server.base_url)
        for _ in range(2):
            await model.complete(turn)
        await model.close()

    assert [body.get("stop") for body in server.bodies] == [["\n"], None, None]


async def test_a_server_on_this_machine_needs_no_key(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with chat_server(lambda _: said("hello")) as server:
        model = make(server.base_url)
        model.options = {"api_base": server.base_url}
        made = await model.complete(ChatRequest(history=[{"role": "user", "content": "hi"}]))
        await model.close()

    assert made.text == "hello"


async def test_a_least_length_that_is_refused_is_left_out_of_the_schema(make: Make) -> None:
    opening = AttackTurn(given="a", when="b", writing_style=None, history=(), seed=1)

    def answer(body: Body) -> tuple[int, Body]:
        if "minLength" in json.dumps(body["response_format"]):
            return refused("Invalid schema for response_format: 'minLength' is not permitted.")
        return said('{"message": "hi"}')

    async with chat_server(answer) as server:
        model = make(server.base_url)
        for _ in range(2):
            await model.complete(opening)
        await model.close()

    assert forms_of(server.bodies) == ["json_schema"] * 3
    assert server.bodies[-1]["response_format"]["json_schema"]["schema"]["properties"]["message"] == {"type": "string"}
