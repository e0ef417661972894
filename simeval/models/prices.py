"""Prices of models, from the table that LiteLLM carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simeval.core.validation import is_number
from simeval.models.provider_table import provider_of
from simeval.models.providers.litellm_model import load_litellm


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for one token of the prompt and one of the reply."""

    prompt_token_usd: float
    completion_token_usd: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of so many tokens, in US dollars."""
        return prompt_tokens * self.prompt_token_usd + completion_tokens * self.completion_token_usd


def price_of(model_name: str) -> Price | None:
    """Return the price of a model by its LiteLLM name, or None where the table has none.

    The table is read as it is, prices registered with LiteLLM included: LiteLLM's own look-up asks a server about
    models it does not know. Loads LiteLLM, unless the model is none of LiteLLM's.
    """
    if not provider_of(model_name).has_prices:
        return None
    entry = _entry(load_litellm().model_cost, model_name)
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    return Price(prompt, completion) if is_number(prompt) and is_number(completion) else None


def _entry(table: Mapping[str, Any], name: str) -> Any:
    """Find a name as it stands, or without its provider where the table has that model from the same one."""
    if name in table:
        return table[name]
    provider, _, model = name.partition("/")
    entry = table.get(model, {})
    return entry if str(entry.get("litellm_provider", "")).startswith(provider) else {}
