"""The providers there are, and whose a model is by its name. A new one is a module and a row here.

One that speaks OpenAI's protocol is a row of ENDPOINTS in `providers/endpoints`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simeval.core.faces import load
from simeval.core.redaction import secrets_in, shown
from simeval.core.validation import is_number
from simeval.errors import DefinitionError
from simeval.models.protocol.model import OFFLINE_PREFIX, Make, Model, Provider
from simeval.models.providers.endpoints import COMPATIBLE, ENDPOINTS, Endpoint
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.litellm_table import listed
from simeval.models.providers.offline import OfflineModel
from simeval.models.providers.openai_compatible import CompatibleModel

_OPENAI = "openai/"
AT_URL = "openai:"


def _elsewhere(place: str) -> Callable[..., Model]:
    """Return a maker of models of another kind than chat; their module is imported when one is made."""

    def made(*arguments: Any) -> Model:
        model: Model = load(f"simeval.models.providers.{place}")(*arguments)
        return model

    return made


_COMPATIBLE_EMBEDDING = _elsewhere("embedding:CompatibleEmbedding")
_COMPATIBLE_MODERATION = _elsewhere("moderation:CompatibleModeration")
_LITELLM_EMBEDDING = _elsewhere("embedding:LiteLLMEmbedding")
_LITELLM_MODERATION = _elsewhere("moderation:LiteLLMModeration")


def _direct(endpoint: Endpoint) -> Provider:
    """Return the provider behind an endpoint: asked directly, where its options do not need LiteLLM."""

    def needs_litellm(name: str, options: Mapping[str, Any]) -> bool:
        return endpoint.needs_litellm(options) or listed(name).get("mode") == "responses"  # another protocol

    def road(direct: Callable[..., Model], indirect: Make) -> Make:
        def made(name: str, options: Mapping[str, Any], seconds: float) -> Model:
            if needs_litellm(name, options):
                return indirect(name, options, seconds)
            return direct(name, options, endpoint)

        return made

    moderates = endpoint.prefix == _OPENAI
    return Provider(
        prefix=endpoint.prefix,
        model=(CompatibleModel, LiteLLMModel),
        chat=road(CompatibleModel, LiteLLMModel),
        embedding=road(_COMPATIBLE_EMBEDDING, _LITELLM_EMBEDDING) if endpoint.embeds else _LITELLM_EMBEDDING,
        moderation=road(_COMPATIBLE_MODERATION, _LITELLM_MODERATION) if moderates else _LITELLM_MODERATION,
        has_prices=True,
        needs_litellm=needs_litellm,
    )


def _at_url(name: str, options: Mapping[str, Any], _seconds: float) -> Model:
    """Return the model of openai:URL#MODEL. Raises DefinitionError for another form, and for secrets in the URL."""
    url, sign, model = name.removeprefix(AT_URL).rpartition("#")
    where = f"model {shown(name)!r}"
    if not (sign and model and url.startswith(("http://", "https://"))):
        meant = "" if "/" in name or "#" in name else f"{_OPENAI}{model}, or "
        raise DefinitionError(where, found="this names no URL or no model", do=f"write {meant}{AT_URL}URL#MODEL")
    if secrets_in(url):
        do = f"name {COMPATIBLE.prefix}{model}, and give the address as the option api_base"
        raise DefinitionError(where, found="there is a secret in the address, and names are shown", do=do)
    others = {option: value for option, value in options.items() if option not in ("api_base", "base_url")}
    return CompatibleModel(name, others, replace(COMPATIBLE, prefix=f"{AT_URL}{url}#", base=url, bases=()))


# the first whose prefix a name has; LiteLLM takes all others
PROVIDERS = (
    Provider(
        prefix=OFFLINE_PREFIX,
        model=(OfflineModel,),
        chat=lambda name, _options, _seconds: OfflineModel(name),
    ),
    Provider(
        prefix=COMPATIBLE.prefix,
        model=(CompatibleModel,),
        chat=lambda name, options, _seconds: CompatibleModel(name, options),
        embedding=lambda name, options, _seconds: _COMPATIBLE_EMBEDDING(name, options),
        moderation=lambda name, options, _seconds: _COMPATIBLE_MODERATION(name, options),
    ),
    Provider(prefix=AT_URL, model=(CompatibleModel,), chat=_at_url),
    *map(_direct, ENDPOINTS),
    Provider(
        prefix="",
        model=(LiteLLMModel,),
        chat=LiteLLMModel,
        embedding=_LITELLM_EMBEDDING,
        moderation=_LITELLM_MODERATION,
        has_prices=True,
    ),
)


def provider_of(name: str) -> Provider:
    """Return the provider of the models that have such a name; LiteLLM takes OpenAI's without its own, too."""
    if "/" not in name and listed(name).get("litellm_provider") == "openai":
        name = f"{_OPENAI}{name}"
    return next(provider for provider in PROVIDERS if name.startswith(provider.prefix))


def maker_of(model: Model) -> Provider | None:
    """Return the provider of a model that was made from its name; None for an object of the user's own."""
    provider = provider_of(model.name)
    return provider if isinstance(model, provider.model) else None


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
