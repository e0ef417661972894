"""A provider: a family of models with a common beginning of their names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simeval.models.protocol.model import Model

Make = Callable[[str, Mapping[str, Any], float], Model]  # of a name, options, and the seconds a call may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A family of models, recognised by the `prefix` of their names.

    `model` are their classes; `chat` makes one that chats, `embedding` and `moderation` one of that kind, if there is
    any. `has_prices` is whether LiteLLM's table has prices of them; `is_embedded`, that they are heuristics of this
    package, which ask nobody, cost nothing and judge nothing; `needs_litellm`, whether a name or options send a call
    through LiteLLM that could be made without.
    """

    prefix: str
    model: tuple[type[Model], ...]
    chat: Make
    embedding: Make | None = None
    moderation: Make | None = None
    has_prices: bool = False
    is_embedded: bool = False
    needs_litellm: Callable[[str, Mapping[str, Any]], bool] = lambda _name, _options: False
