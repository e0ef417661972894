"""Moderation endpoints: a text in, its flag and category out, as models like every other."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from simeval.core.conversation import ChatMessage
from simeval.errors import DefinitionError, ModelError
from simeval.models.protocol.model import ModelRequest, Reply, Request
from simeval.models.providers.litellm_model import LiteLLMModel, open_session
from simeval.models.providers.openai_compatible import COMPATIBLE_PREFIX, CompatibleModel

_OPENAI = "openai/"
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)  # as LiteLLM does, if it cannot read a response

Flag = Annotated[bool, Field(strict=True)]
Level = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class ModerationReply(Reply):
    """Whether a text is flagged, and each category with its flag and its score."""

    flagged: Flag
    categories: Annotated[Mapping[str, Flag], Field(min_length=1)]
    scores: Mapping[str, Level]
    json_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "flagged": {"type": "boolean"},
            "categories": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "scores": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}},
        },
        "required": ["flagged", "categories", "scores"],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationRequest(ModelRequest):
    """Asks whether a text is to be flagged."""

    text: str

    role: ClassVar[str] = "scorer"
    reply: ClassVar[type[Reply]] = ModerationReply

    def addressed(self, options: Mapping[str, Any]) -> Self:  # noqa: ARG002
        """Return the request itself: those options are for chats."""
        return self

    def again(self, attempt: int, problem: str) -> Self:  # noqa: ARG002
        """Return the request itself: a text has one answer."""
        return self

    def first_messages(self) -> list[ChatMessage]:
        return [{"role": "user", "content": self.text}]


class CompatibleModeration(CompatibleModel):
    """A moderation model behind an OpenAI-compatible endpoint."""

    path = "/moderations"

    def _asked(self, request: Request, json_schema: object) -> dict[str, Any]:  # noqa: ARG002
        return {"input": _text(request)}

    def _answered(self, answer: Any) -> str:
        return _written(answer["results"][0])


@dataclass(slots=True)
class LiteLLMModeration(LiteLLMModel):
    """A moderation model by its LiteLLM name; LiteLLM knows OpenAI's endpoint only."""

    _client: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.name.startswith(_OPENAI):
            do = f"name one of OpenAI's, such as {_OPENAI}omni-moderation-latest, or {COMPATIBLE_PREFIX}NAME"
            raise DefinitionError("moderation model", found=f"found {self.name!r}", do=do)

    async def _respond(self, litellm: ModuleType, request: Request) -> Any:
        if self._client is None:
            self._client = self._opened()
            self._session = open_session(litellm)  # not for calls, but its end is also that of LiteLLM's logging task
        asked = {"input": _text(request), "model": self.name.removeprefix(_OPENAI), "num_retries": 0}
        try:
            return await litellm.amoderation(**asked, client=self._client)
        except _UNREADABLE as error:
            raise self._unreadable(error) from error

    async def close(self) -> None:
        """Close the connections this model opened."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        await LiteLLMModel.close(self)

    def _opened(self) -> Any:
        """Open a client of our own: LiteLLM's client retries twice behind our back, and is never closed."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self.options.get("api_key"),
            base_url=self.options.get("api_base") or self.options.get("base_url"),
            organization=self.options.get("organization"),
            default_headers={**self.options.get("headers", {}), **self.options.get("extra_headers", {})},
            timeout=self.timeout_seconds,
            max_retries=0,
        )

    def _answered(self, response: Any) -> str | None:
        try:
            return _written(response.results[0].model_dump())
        except _UNREADABLE as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ModelError:
        return ModelError(self.name, kind="malformed", problem=f"not what a moderation is: {error!r}")


def _text(request: Request) -> str:
    return request.messages()[0]["content"]


def _written(result: Mapping[str, Any]) -> str:
    """Write a result with one name for each category, whether it came as self-harm/intent or as self_harm_intent."""
    categories: dict[str, Any] = {}
    for name, flag in result["categories"].items():
        if flag is not None:
            categories[_category(name)] = flag or categories.get(_category(name), False)
    scores = {_category(name): score for name, score in (result["category_scores"] or {}).items() if score is not None}
    return json.dumps({"flagged": result["flagged"], "categories": categories, "scores": scores})


def _category(name: str) -> str:
    return name.replace("/", "_").replace("-", "_")
