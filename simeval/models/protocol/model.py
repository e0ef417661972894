"""The interface of a language model: a name, and a method that completes requests."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, runtime_checkable

from simeval.core import seeds
from simeval.core.conversation import ChatMessage
from simeval.models.protocol.replies import Reply

LIMIT, TEMPERATURE = "max_tokens", "temperature"  # options
OFFLINE_PREFIX = "offline/"  # of the embedded models
WARM = 0.5  # the least temperature of a further try: at 0 a server repeats itself, whatever the seed


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest(ABC):
    """A request with its seed and temperature, and the most tokens a reply may have.

    `problem` describes the problem of the reply before, if there was one; `probabilities` asks for those of the reply's
    first token, if the server sends any. `options` go into the call unchanged; `timeout_seconds` limits it if that is
    less than the model's own limit; one that `is_hurried` may be given up when it takes far longer than usual, since it
    is repeated. A subclass writes its `first_messages`.
    """

    seed: int = 0
    temperature: float = 0.0
    max_tokens: int | None = None
    timeout_seconds: float | None = None
    is_hurried: bool = True
    problem: str = ""
    probabilities: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @abstractmethod
    def first_messages(self) -> Sequence[ChatMessage]:
        """Return the chat messages, as they are at the first try."""

    def messages(self) -> Sequence[ChatMessage]:
        """Render the prompt, with a note on the problem of the last reply."""
        said = self.first_messages()
        if not self.problem:
            return said
        place = self.place_of_problem % len(said)
        told = f"{said[place]['content']}\n\nYour last reply was of no use: {self.problem}. Reply again, in full."
        return [*said[:place], {"role": said[place]["role"], "content": told}, *said[place + 1 :]]

    @property
    def stop(self) -> Sequence[str]:
        """The texts at which the server is to end the reply; they do not occur in it."""
        return ()

    def shared(self) -> Mapping[int, int]:
        """Return how many characters of a message other requests begin with, too, by the message's place."""
        return {}

    @property
    def place_of_problem(self) -> int:
        """The message that ends with the note on the problem: the last."""
        return -1

    def addressed(self, options: Mapping[str, Any]) -> Self:
        """Return the request with options of its role; `max_tokens` among them takes the place of its own."""
        if not options:
            return self
        return replace(self, options=options, max_tokens=options.get(LIMIT, self.max_tokens))

    def again(self, attempt: int, problem: str) -> Self:
        """Return the request for a further try (2 is the second) at a reply that could not be read.

        Another seed, a temperature and a note on the problem: a deterministic server repeats itself otherwise.
        """
        options, given = self.options, self.options.get(TEMPERATURE)
        if isinstance(given, int | float):
            options = {**options, TEMPERATURE: max(WARM, given)}
        temperature = max(WARM, self.temperature)
        return replace(self, seed=self.further_seed(attempt), temperature=temperature, options=options, problem=problem)

    def further_seed(self, attempt: int) -> int:
        """Return the seed of a further try."""
        return seeds.derive(self.seed, "attempt", attempt)

    def patient(self) -> Self:
        """Return the request as one that may take as long as its model's own bound allows."""
        return replace(self, is_hurried=False)

    def with_room(self, times: float) -> Self:
        """Return the request with so many times the tokens for its reply."""
        if times == 1 or self.max_tokens is None:
            return self
        tokens = int(self.max_tokens * times)
        return replace(
            self, max_tokens=tokens, options={**self.options, LIMIT: tokens} if LIMIT in self.options else self.options
        )


Make = Callable[[str, Mapping[str, Any], float], Model]  # of a name, options, and the seconds a call may take


def is_embedded(name: str) -> bool:
    """Return whether a model of this name is a heuristic of this package, which asks nobody and costs nothing."""
    return name.startswith(OFFLINE_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A family of models, recognised by the `prefix` of their names.

    `model` are their classes; `chat` makes one that chats, `embedding` and `moderation` one of that kind, if there is
    any. `has_prices` is whether LiteLLM's table has prices of them; `needs_litellm`, whether a name or options send a
    call through LiteLLM that could be made without.
    """

    prefix: str
    model: tuple[type[Model], ...]
    chat: Make
    embedding: Make | None = None
    moderation: Make | None = None
    has_prices: bool = False
    needs_litellm: Callable[[str, Mapping[str, Any]], bool] = lambda _name, _options: False


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors of one length, in their order. It is called in worker threads."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text; may block."""
