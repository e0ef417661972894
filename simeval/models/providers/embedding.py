"""Embedding models: texts in, vectors out, as models like every other, so that limits, retries and usage hold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar, Self

import anyio.to_thread
from pydantic import Field, field_validator

from simeval.core.conversation import ChatMessage
from simeval.errors import ModelError
from simeval.models.protocol.model import Completion, Encoder, ModelRequest, Reply, Request
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Vector = Annotated[tuple[Number, ...], Field(min_length=1)]


class Vectors(Reply):
    """A vector for each text, all of one length."""

    vectors: Annotated[tuple[Vector, ...], Field(min_length=1)]
    json_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"vectors": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}},
        "required": ["vectors"],
    }

    @field_validator("vectors")
    @classmethod
    def _of_one_length(cls, vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
        if len({len(vector) for vector in vectors}) > 1:
            raise ValueError("the vectors differ in length")
        return vectors


class TwoVectors(Vectors):
    """The vectors of two texts."""

    vectors: Annotated[tuple[Vector, ...], Field(min_length=2, max_length=2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest(ModelRequest):
    """Asks for the vectors of texts: each is a message."""

    texts: Sequence[str]
    reply: type[Vectors] = Vectors

    role: ClassVar[str] = "scorer"

    def addressed(self, options: Mapping[str, Any]) -> Self:  # noqa: ARG002
        """Return the request itself: those options are for chats."""
        return self

    def again(self, attempt: int, problem: str) -> Self:  # noqa: ARG002
        """Return the request itself: a text has one vector, whatever the problem."""
        return self

    def first_messages(self) -> list[ChatMessage]:
        return [{"role": "user", "content": text} for text in self.texts]


class CompatibleEmbedding(CompatibleModel):
    """An embedding model behind an OpenAI-compatible endpoint."""

    path = "/embeddings"

    def _asked(self, request: Request, json_schema: object) -> dict[str, Any]:  # noqa: ARG002
        return {"input": _texts(request), "encoding_format": "float"}

    def _answered(self, answer: Any) -> str:
        return _written([(item.get("index", place), item["embedding"]) for place, item in enumerate(answer["data"])])


class LiteLLMEmbedding(LiteLLMModel):
    """An embedding model by its LiteLLM name."""

    async def _respond(self, litellm: ModuleType, request: Request) -> Any:
        self._open(litellm)
        return await litellm.aembedding(**self._arguments({"input": _texts(request), "max_retries": _Never()}))

    def _answered(self, response: Any) -> str | None:
        items = [item if isinstance(item, Mapping) else item.model_dump() for item in response.data or ()]
        try:
            return _written([(item.get("index", place), item["embedding"]) for place, item in enumerate(items)])
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(self.name, kind="malformed", problem=f"no vectors: {error!r}") from error


class _Never(int):
    """A zero that is true: LiteLLM takes another for "not given", and then retries twice behind our back."""

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """An encoder of the user's own, in a worker thread. The encoder's own errors pass through."""

    name: str
    encoder: Encoder = field(repr=False)

    async def complete(self, request: Request) -> Completion:
        """Return the vectors of the request's messages."""
        texts = _texts(request)
        vectors = await anyio.to_thread.run_sync(self.encoder.encode, texts, abandon_on_cancel=True)
        return Completion(text=_written(list(enumerate(vectors))))

    async def close(self) -> None:
        """Nothing is open."""


def _texts(request: Request) -> list[str]:
    return [message["content"] for message in request.messages()]


def _written(vectors: Sequence[tuple[int, Sequence[float]]]) -> str:
    """Write vectors in the order of their numbers, with the nine digits that distinguish any two 32-bit floats."""
    ordered = [vector for _, vector in sorted(vectors, key=lambda each: each[0])]
    return json.dumps({"vectors": [[float(f"{float(number):.9g}") for number in vector] for vector in ordered]})
