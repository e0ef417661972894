"""LiteLLM's table of models: their prices and sizes. It is read from its file; LiteLLM itself is not imported."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from simeval.core.validation import is_number

_FILE = "model_prices_and_context_window_backup.json"
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


def table() -> Mapping[str, Any]:
    """Return the table: LiteLLM's own, with prices registered there, where LiteLLM is loaded; else its file."""
    loaded = getattr(sys.modules.get("litellm"), "model_cost", None)
    return loaded if loaded is not None else _file()


@cache
def _file() -> Mapping[str, Any]:
    found = find_spec("litellm")
    folders = (found.submodule_search_locations or ()) if found else ()
    files = [path for folder in folders if (path := Path(folder) / _FILE).is_file()]
    return json.loads(files[0].read_text(encoding="utf-8")) if files else {}


def listed(name: str) -> Mapping[str, Any]:
    """Return the table's entry of a model by its LiteLLM name; empty if it has none.

    The name is looked up unchanged, or without its provider if the table has that model from the same one.
    """
    known = table()
    entry: Mapping[str, Any]
    if (entry := known.get(name, {})) or name in known:
        return entry
    provider, _, model = name.partition("/")
    entry = known.get(model, {})
    return entry if str(entry.get("litellm_provider", "")).startswith(provider) else {}


class Tokens(NamedTuple):
    """The tokens of a call, and how many of its prompt were cached, and of its reply thought."""

    prompt: int
    completion: int
    cached: int
    reasoning: int


def tokens_of(usage: Mapping[str, Any]) -> Tokens:
    """Return the tokens of a call; those that the reply thought are among its own, though xAI counts them beside."""
    prompt, completion = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    cached, thought = parts_of(usage)
    is_beside = thought and usage.get("total_tokens") == prompt + completion + thought
    return Tokens(prompt, completion + thought if is_beside else completion, cached, thought)


def parts_of(usage: Any) -> tuple[int, int]:
    """Return how many tokens of the prompt were read from a cache, and how many of the reply were thought.

    `usage` is a dict, as a server sends it, or LiteLLM's object.
    """
    return _part(usage, "prompt_tokens_details", "cached_tokens"), _part(
        usage, "completion_tokens_details", "reasoning_tokens"
    )


def _part(usage: Any, of: str, name: str) -> int:
    for each in (of, name):
        usage = usage.get(each) if isinstance(usage, dict) else getattr(usage, each, None)
    return int(usage or 0)


@lru_cache(maxsize=100)  # at every call of a model
def _tiers(names: tuple[str, ...]) -> Sequence[int]:
    """Return from how many thousands of tokens on prompts have another price, by the names of an entry."""
    return [int(found[1]) for name in names if (found := _ABOVE.fullmatch(name))]


def cost_of(entry: Mapping[str, Any], usage: Mapping[str, Any]) -> float | None:
    """Return the cost of a call, in US dollars, by its `usage`; None if unknown.

    The provider's own figure counts, then the table: tokens that were read from a cache have a price of their own, long
    prompts another.
    """
    if is_number(said := usage.get("cost")):
        return float(said)
    if not entry:
        return None
    prompt, completion, from_cache, _ = tokens_of(usage)
    above = [tokens for tokens in _tiers(tuple(entry)) if prompt > 1000 * tokens]
    tier = f"_above_{max(above)}k_tokens" if above else ""
    prices = [entry.get(f"{name}_cost_per_token{tier}") for name in ("input", "output")]
    paid, said_price = prices
    if not (is_number(paid) and is_number(said_price)):
        return None
    cached = min(prompt, from_cache)
    kept = entry.get(f"cache_read_input_token_cost{tier}", entry.get("cache_read_input_token_cost"))
    kept_price = kept if is_number(kept) else paid
    return (prompt - cached) * paid + cached * kept_price + completion * said_price
