"""Keys in the environment: one that is missing is told in a sentence, before anything runs."""

import pytest

from simeval.errors import DefinitionError
from simeval.models.providers.litellm_model import LiteLLMModel

KEYS = (
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_API_KEY",
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
        "set it (export OPENAI_API_KEY=...), or use offline/judge for a first look."
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
        ("azure/gpt", {}),
        ("bedrock/claude", {}),
        ("ollama/llama", {}),
    ],
)
def test_what_may_have_another_way_in_is_not_asked_for_a_key(name: str, options: dict[str, str]) -> None:
    LiteLLMModel(name, options).check_key()


def test_a_token_stands_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")

    LiteLLMModel("anthropic/claude").check_key()
