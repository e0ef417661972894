"""The providers there are, and whose a model is by its name. A new one is a module and a row here."""

from simeval.models.protocol.model import Model
from simeval.models.protocol.provider import Provider
from simeval.models.providers.embedding import CompatibleEmbedding, LiteLLMEmbedding
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.moderation import CompatibleModeration, LiteLLMModeration
from simeval.models.providers.offline import OFFLINE_PREFIX, OfflineModel
from simeval.models.providers.openai_compatible import COMPATIBLE_PREFIX, CompatibleModel

# the first whose prefix a name has; LiteLLM takes all others
PROVIDERS = (
    Provider(
        prefix=OFFLINE_PREFIX,
        model=OfflineModel,
        chat=lambda name, _options, _seconds: OfflineModel(name),
        is_embedded=True,
    ),
    Provider(
        prefix=COMPATIBLE_PREFIX,
        model=CompatibleModel,
        chat=lambda name, options, _seconds: CompatibleModel(name, options),
        embedding=lambda name, options, _seconds: CompatibleEmbedding(name, options),
        moderation=lambda name, options, _seconds: CompatibleModeration(name, options),
    ),
    Provider(
        prefix="",
        model=LiteLLMModel,
        chat=LiteLLMModel,
        embedding=LiteLLMEmbedding,
        moderation=LiteLLMModeration,
        has_prices=True,
    ),
)


def provider_of(name: str) -> Provider:
    """Return the provider of the models that have such a name."""
    return next(provider for provider in PROVIDERS if name.startswith(provider.prefix))


def maker_of(model: Model) -> Provider | None:
    """Return the provider whose class a model is of; None for an object of the user's own."""
    return next((provider for provider in PROVIDERS if isinstance(model, provider.model)), None)


def is_embedded(name: str) -> bool:
    """Return whether a model of this name is one of the embedded heuristics."""
    return provider_of(name).is_embedded
