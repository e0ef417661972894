"""The interface of a language model: a name, and a method that completes requests."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

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
    def max_tokens(self) -> int | None:
        """The most tokens that the reply may have; None for as many as the model likes."""

    @property
    def timeout_seconds(self) -> float | None:
        """The time limit of the call in seconds, if it is less than the model's own."""

    @property
    def is_hurried(self) -> bool:
        """Whether the call may be given up when it takes far longer than usual: then it is asked again."""

    @property
    def probabilities(self) -> bool:
        """Whether the probabilities of the reply's first token are asked for."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the call, passed on unchanged."""

    @property
    def stop(self) -> Sequence[str]:
        """The texts at which the server is to end the reply."""

    @property
    def reply(self) -> type[Reply] | None:
        """The JSON object to answer with; None for free text."""

    def messages(self) -> Sequence[ChatMessage]:
        """Render the prompt."""

    def shared(self) -> Mapping[int, int]:
        """Return how many characters of a message other requests begin with, too, by the message's place."""

    def addressed(self, options: Mapping[str, Any]) -> Self:
        """Return the request with options of its role."""

    def again(self, attempt: int, problem: str) -> Self:
        """Return the request for a further try at a reply that could not be read."""

    def patient(self) -> Self:
        """Return the request as one that may take as long as its model's own bound allows."""

    def with_room(self, times: float) -> Self:
        """Return the request with so many times the tokens for its reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's answer, the tokens it counted, and the cost in US dollars if known.

    `is_cut` means that the reply ended at its limit of tokens, `is_filtered` that a content filter withheld it or its
    end; `refusal` is the model's refusal to answer, if its protocol has a field for that. `seconds` is how long a call
    that is not hurried took, without any wait for its turn, `first_text_seconds` how long the first text took of one
    that was streamed. `first_token` holds the probabilities of the likeliest first tokens, if they were asked for.
    `cached_tokens` of the prompt were read from the provider's cache, `reasoning_tokens` of the reply were thought.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    is_cut: bool = False
    is_filtered: bool = False
    refusal: str = ""
    seconds: float | None = None
    first_text_seconds: float | None = None
    first_token: Mapping[str, float] = field(default_factory=dict)
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@runtime_checkable
class Model(Protocol):
    """A language model.

    `complete` raises ModelError, with the kind of failure, and nothing else; it makes one attempt. `close` releases the
    model's open resources and may be followed by further calls.
    """

    @property
    def name(self) -> str:
        """The model's name, as reports show it."""

    async def complete(self, request: Request) -> Completion:
        """Answer one request."""

    async def close(self) -> None:
        """Release connections."""


class SharedModel(Model, Protocol):
    """A model in an engine: one object for all its callers, which knows whether it has ever answered."""

    @property
    def answers(self) -> int:
        """How many requests it has answered, whoever asked."""


@runtime_checkable
class ModelKind(Protocol):
    """A model of another kind than chat, by its name: an engine makes it with its own options, once for each key."""

    @property
    def key(self) -> Hashable:
        """A key that is equal for equal models of this kind, and for no other."""

    def make(self, options: Mapping[str, Any], *, timeout_seconds: float) -> Model:
        """Return the model. Raises DefinitionError if there is none of this name."""


@dataclass(slots=True)
class Wrapped:
    """A model around a model: subclasses extend `complete` and leave the rest to the inner model."""

    model: Model
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.model.name

    async def close(self) -> None:
        await self.model.close()
