"""Models of other kinds than chat, by their names: an engine makes them with its own options."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from simeval.errors import DefinitionError
from simeval.models.protocol.model import Encoder, Make, Model
from simeval.models.providers.embedding import EncoderModel
from simeval.models.registry import provider_of


@dataclass(frozen=True, slots=True)
class Embedding:
    """Names an embedding model: a LiteLLM name, "openai-compatible/NAME" or an Encoder."""

    of: str | Encoder

    def __post_init__(self) -> None:
        if isinstance(self.of, str) and not self.of.strip():
            raise DefinitionError("embedding model", found="found an empty name", do="name a model")

    @property
    def key(self) -> Hashable:
        return ("embedding", self.of if isinstance(self.of, str) else id(self.of))

    def make(self, options: Mapping[str, Any] = {}, *, timeout_seconds: float = 600.0) -> Model:
        """Return the model, with `options` for every call as those of an engine's `model_options`."""
        if not isinstance(self.of, str):
            return EncoderModel(type(self.of).__name__, self.of)
        make = _there(provider_of(self.of).embedding, "embedding", self.of)
        return make(self.of, options, timeout_seconds)


@dataclass(frozen=True, slots=True)
class ModerationEndpoint:
    """Names a moderation model: a LiteLLM name such as "openai/omni-moderation-latest", or "openai-compatible/NAME"."""

    of: str

    @property
    def key(self) -> Hashable:
        return ("moderation", self.of)

    def make(self, options: Mapping[str, Any] = {}, *, timeout_seconds: float = 600.0) -> Model:
        """Return the model, with `options` for every call as those of an engine's `model_options`."""
        make = _there(provider_of(self.of).moderation, "moderation", self.of)
        return make(self.of, options, timeout_seconds)


def _there(make: Make | None, kind: str, name: str) -> Make:
    if make is None:
        raise DefinitionError(f"{kind} model", found=f"{name!r} is of a provider without any", do="name another's")
    return make
