"""Prices of models, from the table that LiteLLM carries."""

from dataclasses import dataclass

from simeval.core.validation import is_number
from simeval.models.provider_table import provider_of
from simeval.models.providers.litellm_table import listed


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for one token of the prompt and one of the reply."""

    prompt_token_usd: float
    completion_token_usd: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of so many tokens, in US dollars."""
        return prompt_tokens * self.prompt_token_usd + completion_tokens * self.completion_token_usd


def price_of(model_name: str) -> Price | None:
    """Return the price of a model by its LiteLLM name, or None if the table has none.

    The table is read as it is, prices registered with LiteLLM included: LiteLLM's own look-up asks a server about
    models it does not know.
    """
    if not provider_of(model_name).has_prices:
        return None
    entry = listed(model_name)
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    return Price(prompt, completion) if is_number(prompt) and is_number(completion) else None
