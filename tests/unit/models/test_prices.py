"""Prices of models."""

import socket
import subprocess
import sys
from typing import Any

import pytest

from simeval.models.providers.litellm_model import load_litellm
from simeval.models.registry import Price, price_of


def test_the_price_is_that_of_litellm() -> None:
    litellm = load_litellm()
    prompt, completion = litellm.cost_per_token("gpt-4o-mini", prompt_tokens=1_000, completion_tokens=100)

    price = price_of("openai/gpt-4o-mini")

    assert price
    assert price.of(1_000, 0) == pytest.approx(prompt)
    assert price.of(0, 100) == pytest.approx(completion)


def test_a_model_has_one_price_with_and_without_its_provider() -> None:
    assert price_of("openai/gpt-4o-mini") == price_of("gpt-4o-mini") != price_of("gpt-4o")


def test_a_model_of_another_provider_has_not_the_price_of_its_namesake() -> None:
    assert price_of("groq/gpt-4o-mini") is None


@pytest.mark.parametrize(
    "name", ["offline/judge", "openai-compatible/gpt-4o-mini", "openai/no-such-model", "no such model", "", "/"]
)
def test_what_is_not_in_the_table_has_no_price(name: str) -> None:
    assert price_of(name) is None


@pytest.mark.parametrize("entry", [{}, {"input_cost_per_token": "0.1", "output_cost_per_token": 0.2}])
def test_an_entry_without_numbers_is_no_price(entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(load_litellm().model_cost, "own/model", entry)

    assert price_of("own/model") is None


def test_a_price_the_user_registered_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"input_cost_per_token": 0.25, "output_cost_per_token": 2, "litellm_provider": "own"}
    monkeypatch.setitem(load_litellm().model_cost, "own/model", entry)

    assert price_of("own/model") == Price(0.25, 2)


@pytest.mark.parametrize("name", ["ollama/no-such-model", "huggingface/some/model", "openai/gpt-4o-mini"])
def test_nobody_is_asked_for_a_price(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load_litellm()
    asked = []
    monkeypatch.setattr(socket.socket, "connect", lambda *address: asked.append(address))

    price_of(name)

    assert not asked


def test_litellm_is_not_loaded_for_models_that_are_none_of_its_own() -> None:
    code = (
        "import sys; from simeval.models.registry import price_of; "
        "price_of('offline/judge'), price_of('openai-compatible/x'); print('litellm' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "False"
