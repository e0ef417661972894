"""The common part of all requests to a model, and how one is repeated."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from simeval.core import seeds
from simeval.core.conversation import ChatMessage

LIMIT, TEMPERATURE = "max_tokens", "temperature"  # options
WARM = 0.5  # the least temperature of a further try: at 0 a server repeats itself, whatever the seed


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
