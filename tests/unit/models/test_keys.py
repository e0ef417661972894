"""Keys in the environment: one that is missing is told in a sentence, before anything runs."""

import pytest

from simeval.errors import DefinitionError
from simeval.models.providers import endpoints
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel

KEYS = (
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_API_KEY",
    "COHERE_API_KEY",
    "OPENAI_BASE_URL",
)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


def test_a_missing_key_is_named_with_the_way_to_set_it() -> None:
    with pytest.raises(DefinitionError) as raised:
        LiteLLMModel("openai/gpt-5-nano").check_key()

    assert str(raised.value) == (
        "model 'openai/gpt-5-nano': its key is missing: OPENAI_API_KEY is not set; "
        "set it (export OPENAI_API_KEY=...), or for a first look use offline/judge, offline/user or offline/app."
    )


def test_each_of_several_names_of_a_key_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DefinitionError, match="GOOGLE_API_KEY or GEMINI_API_KEY is not set"):
        LiteLLMModel("gemini/gemini-pro").check_key()

    monkeypatch.setenv("GEMINI_API_KEY", "k")
    LiteLLMModel("gemini/gemini-pro").check_key()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai/gpt-5-nano", {"api_key": "k"}),
        ("openai/gpt-5-nano", {"api_base": "http://localhost:1"}),
        ("ollama/llama", {}),
    ],
)
def test_what_may_have_another_way_in_is_not_asked_for_a_key(name: str, options: dict[str, str]) -> None:
    LiteLLMModel(name, options).check_key()


def test_a_token_stands_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")

    LiteLLMModel("anthropic/claude").check_key()


@pytest.mark.parametrize(("name", "key"), [("azure/gpt", "AZURE_API_KEY"), ("cohere/command-r", "COHERE_API_KEY")])
def test_of_several_ways_in_any_is_enough(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DefinitionError, match=f"its key is missing: {key} is not set"):
        LiteLLMModel(name).check_key()

    monkeypatch.setenv(f"{key.partition('_')[0]}_AD_TOKEN", "t")
    LiteLLMModel(name).check_key()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bedrock/claude", "LiteLLM needs boto3 for it, which is not installed; install it: pip install boto3"),
        (
            "vertex_ai/gemini",
            "LiteLLM needs google.auth for it, which is not installed; install it: pip install google-",
        ),
    ],
)
def test_a_library_that_is_missing_is_told(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "find_spec", lambda _: None)

    with pytest.raises(DefinitionError, match=said):
        LiteLLMModel(name).check_key()


def test_a_server_of_ones_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DefinitionError, match="no server is named; give its address: --model-option api_base="):
        CompatibleModel("openai-compatible/x").check_key()

    CompatibleModel("openai-compatible/x", {"api_base": "http://127.0.0.1:1"}).check_key()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    CompatibleModel("openai-compatible/x").check_key()


def test_an_option_that_says_who_asks_is_enough() -> None:
    LiteLLMModel("azure/gpt", {"azure_ad_token": "t"}).check_key()
    with pytest.raises(DefinitionError, match="its key is missing"):
        LiteLLMModel("azure/gpt", {"max_tokens": 5}).check_key()


@pytest.mark.parametrize(
    ("name", "variable"),
    [("friendliai/x", "FRIENDLI_TOKEN"), ("azure_ai/x", "AZURE_CLIENT_ID"), ("cohere/x", "CO_API_KEY")],
)
def test_the_variables_that_a_provider_reads_are_known(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "k")

    LiteLLMModel(name).check_key()
