"""Providers that speak OpenAI's protocol are asked directly, as LiteLLM would ask them."""

import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest

from simeval.core.settings import Settings
from simeval.errors import DefinitionError, ModelError
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import ChatRequest, LabelRulingRequest, UserTurn
from simeval.models.providers.endpoints import COMPATIBLE, ENDPOINTS, Endpoint
from simeval.models.providers.litellm_model import LiteLLMModel, load_litellm
from simeval.models.providers.litellm_table import cost_of, listed, table, tokens_of
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.models.registry import Models, provider_of
from tests.support.chat_server import Body, chat_server, refused, said
from tests.support.doubles import any_request

pytestmark = pytest.mark.anyio

NAMES = (
    "openai/gpt-4o-mini",
    "groq/openai/gpt-oss-20b",
    "hosted_vllm/own-model",
    "deepseek/deepseek-chat",
    "mistral/mistral-small-latest",
    "openrouter/openai/gpt-4o-mini",
    "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo",
)
REQUESTS: tuple[Request, ...] = (
    UserTurn(given="a shop", when="you want to buy", writing_style=None, history=(), seed=2**40 + 1),
    ChatRequest(history=[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}], seed=3),
    LabelRulingRequest(given="g", when="w", criterion="It is kind.", conversation=(), seed=4),
    any_request(),
)


def whose(endpoint: Endpoint) -> str:
    return endpoint.prefix.rstrip("/")


def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint in ENDPOINTS:
        for name in (*endpoint.keys, *endpoint.bases):
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("options", [{}, {"top_p": 0.5, "max_tokens": 77}], ids=["plain", "options"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_request_is_the_one_that_litellm_makes(name: str, options: dict[str, Any]) -> None:
    bodies: dict[type, list[Body]] = {}
    for kind in (CompatibleModel, LiteLLMModel):
        transport = {} if kind is CompatibleModel else {"transport": "litellm"}
        async with chat_server(lambda _body: said("{}")) as server:
            given = {"api_base": server.base_url, "api_key": "k", **transport, **options}
            model = provider_of(name).chat(name, given, 60.0)
            assert type(model) is kind
            for request in REQUESTS:
                with suppress(ModelError):  # of LiteLLM, which wants more of groq's answers
                    await model.complete(request)
            await model.close()
        bodies[kind] = server.bodies

    assert bodies[CompatibleModel] == bodies[LiteLLMModel]
    assert len(bodies[CompatibleModel]) == len(REQUESTS)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=whose)
def test_addresses_and_keys_are_those_of_litellm(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    unset(monkeypatch)
    litellm = load_litellm()

    _, provider, key, base = litellm.get_llm_provider(f"{endpoint.prefix}some-model")

    assert provider == whose(endpoint)
    assert base in (None, endpoint.base)
    assert key in (None, endpoint.key)
    for variable in endpoint.bases:
        monkeypatch.setenv(variable, "http://elsewhere/v1")
        assert litellm.get_llm_provider(f"{endpoint.prefix}some-model")[3] in (None, endpoint.url({}))
        monkeypatch.delenv(variable)
    for variable in endpoint.keys:
        monkeypatch.setenv(variable, "a key")
        assert litellm.get_llm_provider(f"{endpoint.prefix}some-model")[2] in (None, endpoint.key_for({}))
        monkeypatch.delenv(variable)


def test_a_model_of_openais_needs_no_provider_in_its_name() -> None:
    assert isinstance(provider_of("gpt-4o-mini").chat("gpt-4o-mini", {}, 60.0), CompatibleModel)


def test_ollama_is_asked_where_it_speaks_openais_protocol() -> None:
    model = provider_of("ollama_chat/llama3").chat("ollama_chat/llama3", {"api_base": "http://here:11434"}, 60.0)

    assert isinstance(model, CompatibleModel)
    assert model.endpoint.url(model.options) == "http://here:11434/v1"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai/gpt-5-nano", {"transport": "litellm"}),
        ("openai/gpt-5-nano", {"api_version": "2"}),
        ("ollama_chat/llama3", {"num_ctx": 8192}),
        ("deepseek/deepseek-chat", {"reasoning_effort": "low"}),
        ("anthropic/claude-haiku-4-5", {}),
        ("claude-haiku-4-5", {}),
        ("openai/o1-pro", {}),
    ],
)
def test_what_litellm_alone_knows_goes_through_litellm(name: str, options: dict[str, Any]) -> None:
    models = Models(Settings(model_options=options))

    models.get(name, "judge")

    assert [type(base) for base in models._bases.values()] == [LiteLLMModel]


async def test_an_unknown_transport_is_refused() -> None:
    models = Models(Settings(model_options={"transport": "pigeon", "api_key": "k"}))
    models.get("openai/gpt-5-nano", "judge")

    with pytest.raises(DefinitionError, match="found transport 'pigeon'; write 'litellm', or leave it out"):
        await models.check()


async def test_a_missing_key_is_told_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    unset(monkeypatch)
    models = Models(Settings())
    models.get("groq/some-model", "judge")

    with pytest.raises(DefinitionError, match="'groq/some-model': its key is missing: GROQ_API_KEY is not set; set it"):
        await models.check()


@pytest.mark.parametrize("settings", [Settings(cache=True), Settings(model_options={"api_base": "http://x/v1"})])
async def test_no_key_is_needed_for_kept_replies_or_a_server_of_ones_own(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    unset(monkeypatch)
    models = Models(settings)
    models.get("openai/some-model", "judge")

    await models.check()


async def test_a_server_of_ones_own_must_have_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    unset(monkeypatch)
    models = Models(Settings())
    models.get("hosted_vllm/own-model", "judge")

    with pytest.raises(DefinitionError, match="found no address of its server; give the option api_base, or set HOST"):
        await models.check()


def priced() -> list[str]:
    prefixes = tuple(endpoint.prefix for endpoint in ENDPOINTS)
    names = [name for name, entry in table().items() if entry.get("mode") == "chat" and "input_cost_per_token" in entry]
    of_openai = [f"openai/{name}" for name in names if table()[name].get("litellm_provider") == "openai"]
    own = "together_ai/"  # LiteLLM prices these by the number in the name, whatever its table says
    return [name for name in [*names, *of_openai] if name.startswith(prefixes) and not name.startswith(own)]


@pytest.mark.parametrize("tokens", [(1_000, 0, 300), (1_000, 400, 300), (300_000, 0, 10)], ids=str)
def test_a_call_costs_what_litellm_says(tokens: tuple[int, int, int]) -> None:
    litellm = load_litellm()
    prompt, cached, completion = tokens
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    response = litellm.ModelResponse(usage=litellm.Usage(**usage))
    compared, differ = 0, {}
    for name in priced():
        if cached and "cache_read_input_token_cost" not in listed(name):
            continue  # LiteLLM takes them for free, and no provider gives them away
        with suppress(Exception):  # LiteLLM raises what it likes where it has no price after all
            theirs = litellm.completion_cost(response, model=name)
            ours = cost_of(listed(name), usage)
            compared += 1
            if ours != pytest.approx(theirs, rel=1e-9):
                differ[name] = ours, theirs

    assert differ == {}
    assert compared > 50


def test_what_xai_counts_beside_the_reply_is_paid_for_too() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 1_110,
        "completion_tokens_details": {"reasoning_tokens": 1_000},
    }
    within = {**usage, "total_tokens": 110}

    assert tokens_of(usage)[:2] == (100, 1_010)
    assert tokens_of(within)[:2] == (100, 10)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}],
        "Hello",
    ],
)
async def test_of_content_in_parts_the_texts_are_what_is_said(content: Any) -> None:
    async with chat_server(lambda _body: said(content)) as server:
        model = provider_of(NAMES[1]).chat(NAMES[1], {"api_base": server.base_url}, 60.0)
        made = await model.complete(REQUESTS[1])
        await model.close()

    assert made.text == "Hello"


def test_a_header_of_the_users_takes_the_place_of_ours_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key\n")
    monkeypatch.setenv("OPENAI_ORG_ID", "ours")
    options = {"extra_headers": {"authorization": "Bearer mine", "X-Number": 5}}

    plain, own = (CompatibleModel("openai/x", given, ENDPOINTS[0])._headers() for given in ({}, options))

    assert plain.getall("Authorization") == ["Bearer key"]
    assert plain["OpenAI-Organization"] == "ours"
    assert own.getall("Authorization") == ["Bearer mine"]
    assert own["X-Number"] == "5"


async def test_an_option_that_is_no_json_is_named() -> None:
    model = CompatibleModel("openai/x", {"api_base": "http://127.0.0.1:9/v1", "stop": {object()}}, ENDPOINTS[0])

    with pytest.raises(ModelError, match="an option cannot be written as JSON"):
        await model.complete(REQUESTS[1])
    await model.close()


def test_what_the_provider_says_that_a_call_cost_counts() -> None:
    assert cost_of({"input_cost_per_token": 1, "output_cost_per_token": 1}, {"prompt_tokens": 5, "cost": 0.25}) == 0.25


def test_a_call_of_a_model_without_a_price_has_no_cost() -> None:
    assert cost_of({}, {"prompt_tokens": 5, "completion_tokens": 5}) is None


async def test_a_parameter_that_is_refused_is_told_once_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def answer(body: Body) -> tuple[int, Body]:
        if "temperature" in body:
            return refused("Unsupported value: 'temperature' does not support 0.8 with this model.")
        return said("hello")

    async with chat_server(answer) as server:
        model = provider_of(NAMES[0]).chat(NAMES[0], {"api_base": server.base_url}, 60.0)
        for _ in range(3):
            await model.complete(REQUESTS[1])
        await model.close()

    assert caplog.messages == ["openai/gpt-4o-mini takes no temperature: it is asked without"]
    assert [("temperature" in body) for body in server.bodies] == [True, False, False, False]


def test_litellm_is_not_imported_for_who_speaks_openais_protocol() -> None:
    code = """
import sys
import anyio
from benchmarks.suites import asking_what_it_can
from simeval import Engine
from simeval.testing import fake_endpoint

async def app(message):
    return "I answer questions."

with fake_endpoint() as endpoint:
    engine = Engine(
        "openai/gpt-4o-mini", model_options={"api_base": endpoint.base_url}, store=None, rubric_folder=None
    )
    result = anyio.run(engine.evaluate, asking_what_it_can(1, 2), app)
print(sum(usage.cost_usd or 0 for usage in result.run.usage.values()) > 0, "litellm" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "True False"


async def test_a_model_may_be_named_with_its_address() -> None:
    async with chat_server(lambda _body: said("hello")) as server:
        name = f"openai:{server.base_url}#qwen/small"
        models = Models(Settings(judge_options={"api_base": "http://127.0.0.1:9/other", "top_p": 0.5}))
        model = models.get(name, "judge")
        await models.check()
        models.open()
        completion = await model.complete(ChatRequest(history=[{"role": "user", "content": "hi"}], seed=1))
        await models.close()

    assert (model.name, completion.text) == (name, "hello")
    assert server.bodies[0]["model"] == "qwen/small"


def test_the_query_of_an_address_comes_after_the_path() -> None:
    asked = COMPATIBLE.address({"api_base": "http://h/v1/?api-version=2"}, "/chat/completions")

    assert asked == "http://h/v1/chat/completions?api-version=2"


@pytest.mark.parametrize(
    ("name", "do"),
    [
        ("openai:gpt-5", "write openai/gpt-5, or openai:URL#MODEL"),
        ("openai:http://h/v1", "write openai:URL#MODEL"),
        ("openai:http://me:pass-1@h/v1#m", "name openai-compatible/m, and give the address as the option api_base"),
    ],
)
def test_a_name_with_an_address_that_cannot_be_used_is_refused(name: str, do: str) -> None:
    with pytest.raises(DefinitionError) as refused_name:
        Models(Settings()).get(name, "judge")

    assert refused_name.value.do == do
    assert "pass-1" not in str(refused_name.value)
