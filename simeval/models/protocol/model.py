"""What a language model is to simeval: a name, and something that completes requests."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from simeval.core.conversation import ChatMessage
from simeval.models.protocol.replies import Reply


class Request(Protocol):
    """One thing asked of a model. The prompt is rendered only when it is needed."""

    @property
    def role(self) -> str:
        """The role the call serves: user, judge, rubric or app. Usage is summed by it."""

    @property
    def seed(self) -> int:
        """The seed of this request; equal requests of a run have equal seeds."""

    @property
    def temperature(self) -> float:
        """The sampling temperature to ask for."""

    @property
    def reply(self) -> type[Reply] | None:
        """The JSON object to answer with; None for free text."""

    def messages(self) -> Sequence[ChatMessage]:
        """Render the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model answered, the tokens it counted, and the cost in US dollars where it is known."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None


@runtime_checkable
class Model(Protocol):
    """A language model.

    `complete` raises ModelError, with the kind of failure, and nothing else; it makes one attempt.
    `close` releases what the model holds open and may be followed by further calls.
    """

    @property
    def name(self) -> str:
        """The model's name, as reports show it."""

    async def complete(self, request: Request) -> Completion:
        """Answer one request."""

    async def close(self) -> None:
        """Release connections."""


class SharedModel(Model, Protocol):
    """A model as an engine holds it: one object for all who ask it, which knows whether it has ever answered."""

    @property
    def answers(self) -> int:
        """How many requests it has answered, whoever asked."""


@runtime_checkable
class ModelKind(Protocol):
    """A model of another kind than chat, by its name: an engine makes it with its own options, once for each key."""

    @property
    def key(self) -> Hashable:
        """What is equal for equal models of this kind, and for no other."""

    def make(self, options: Mapping[str, Any], *, timeout_seconds: float) -> Model:
        """Return the model. Raises DefinitionError where there is none of this name."""


@dataclass(slots=True)
class Wrapped:
    """A model around a model: what wraps adds to `complete` and leaves the rest to what it wraps."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    async def close(self) -> None:
        await self.model.close()
