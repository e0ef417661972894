"""The interface of a language model: a name, a method that completes requests, and the forms of its replies."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, get_args, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from simeval.core import seeds
from simeval.core.conversation import ChatMessage, UserFaultKind
from simeval.core.judging import equal_levels
from simeval.core.trial import MEETS_FROM

LEVELS = tuple(str(level) for level in range(1, 11))

Text = Annotated[str, StringConstraints(strict=True, min_length=1, strip_whitespace=True)]

LIMIT, TEMPERATURE = "max_tokens", "temperature"  # options
OFFLINE_PREFIX = "offline/"  # of the embedded models
WARM = 0.5  # the least temperature of a further try: at 0 a server repeats itself, whatever the seed


def _says_something(reasoning: str) -> str:
    if not any(map(str.isalpha, reasoning)):
        raise ValueError("it says nothing: there is no letter in it")
    return reasoning


Reasoning = Annotated[Text, AfterValidator(_says_something)]


class Reply(BaseModel):
    """A form that a model must answer in; it is shown the `json_schema`."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    json_schema: ClassVar[Mapping[str, Any]]


def json_object(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an object that has exactly these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


Status = Literal["open", "no_progress", "satisfied", "handed_off", "gave_up", "not_known"]
STAYING: tuple[Status, ...] = ("open", "no_progress")
NOT_KNOWN: Status = "not_known"


class UserReply(Reply):
    """A simulated user's opinion of the app's answer, and its next message.

    The message may be empty if the user leaves: satisfied, handed over to somebody else, because it gives up, or
    because it is asked for something that it does not know.
    """

    status: Status
    message: Annotated[str, StringConstraints(strict=True, strip_whitespace=True)]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        status={"type": "string", "enum": list(get_args(Status))}, message={"type": "string"}
    )
    staying: ClassVar[Collection[Status]] = STAYING  # statuses that require a message

    @field_validator("message")
    @classmethod
    def _says_something(cls, message: str, info: Any) -> str:
        if not message and info.data.get("status", "open") in cls.staying:
            raise ValueError("an empty message cannot continue the conversation")
        return message


class StayingReply(UserReply):
    """The same of a user who cannot leave now, as the app waits for an answer: in any case it writes something."""

    staying: ClassVar[Collection[Status]] = get_args(Status)


class StuckReply(StayingReply):
    """The same of a user who was asked before: it may leave because of something that it does not know."""

    staying: ClassVar[Collection[Status]] = tuple(each for each in get_args(Status) if each != NOT_KNOWN)


class OpeningReply(StayingReply):
    """The first message of a simulated user; there is nothing yet to find good or bad."""

    status: Status = "open"


class AttackReply(OpeningReply):
    """A simulated attacker's next message."""

    json_schema: ClassVar[Mapping[str, Any]] = json_object(message={"type": "string", "minLength": 1})


class PlainReply(UserReply):
    """A simulated user's next message as plain text, with a mark if the user leaves; nothing else can be wrong."""

    marks: ClassVar[Mapping[str, Status]] = {
        "[END]": "satisfied",
        "[GIVE UP]": "gave_up",
        "[HANDED OVER]": "handed_off",
        "[NOT KNOWN]": NOT_KNOWN,
    }

    @classmethod
    def read(cls, text: str) -> Self:
        """Return a model's text up to the first mark, or until it goes on to speak for the other side."""
        found = _MARK.search(text)
        said = _FENCE_MARK.sub("", _OTHER_SIDE.split(text[: found.start()] if found else text)[0])
        said = _OWN_LABEL.sub("", said.strip()).strip()
        if len(said) > 1 and said[0] + said[-1] in ('""', "“”"):
            said = said[1:-1]
        mark = f"[{' '.join(found[1].upper().split())}]" if found else ""
        return cls.model_validate({"status": cls.marks.get(mark, "open"), "message": said})

    @classmethod
    def is_whole(cls, text: str) -> bool:
        """Return whether the message ends before the text does: by a mark, or with words of the other side."""
        return bool(_MARK.search(text) or _OTHER_SIDE.search(text))


class PlainStayingReply(PlainReply):
    """The same of a user who cannot leave now: marks are ignored."""

    marks: ClassVar[Mapping[str, Status]] = {}


class PlainStuckReply(PlainReply):
    """The same of a user who was asked before: one of the marks counts."""

    marks: ClassVar[Mapping[str, Status]] = {"[NOT KNOWN]": NOT_KNOWN}


_MARK = re.compile(r"\[\s*(END|GIVE\s+UP|HANDED\s+OVER|NOT\s+KNOWN)\s*\]", re.IGNORECASE)
_FENCE_MARK = re.compile(r"\[/?[0-9a-f]{8}\]")  # which a weak model repeats
_OTHER_SIDE = re.compile(r"(?im)^\s*(?:assistant|chatbot|bot|ai)\s*:")
_OWN_LABEL = re.compile(r"(?i)\A(?:user|customer|me|person)\s*:")


class Grade(Reply):
    """A judge's rating of one conversation, with its reasons first so that they come before the number.

    None means that the conversation does not show whether the expectation is met. `message` is the number of the
    assistant's message that the rating rests on; a prompt in place of simeval's need not ask for it.
    """

    reasoning: Reasoning
    message: int | None = None
    score: Annotated[float, Field(strict=True, ge=1, le=10, allow_inf_nan=False)] | None
    numbers: ClassVar[Collection[int] | None] = None  # of the assistant's messages; None if nobody looks them up
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning={"type": "string"},
        message={"type": "integer", "minimum": 1},
        # llama.cpp's grammars hold bounds of integers only
        score={"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10}, {"type": "null"}]},
    )

    @model_validator(mode="after")
    def _rests_on_a_message(self) -> Self:
        if self.numbers is None or "message" not in self.model_fields_set or self.message in self.numbers:
            return self
        if self.message is None and (self.score is None or self.score < MEETS_FROM):
            return self
        raise ValueError(f"message {self.message} is none of the assistant's")


@lru_cache(maxsize=1_000)  # conversations of one length are looked up alike
def grade_on(assistants: tuple[int, ...]) -> type[Grade]:
    """Return the rating of a conversation whose messages with these numbers are the assistant's."""

    class GradeOnConversation(Grade):
        numbers: ClassVar[Collection[int] | None] = frozenset(assistants)

    return GradeOnConversation


class RubricReply(Reply):
    """The ten levels of a rubric, from 1 (worst) to 10 (best), no two with the same meaning; and two near misses.

    A rubric without usable near misses is a rubric all the same.
    """

    levels: Mapping[str, Text]
    near_misses: tuple[str, ...] = ()
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        levels=json_object(**{level: {"type": "string"} for level in LEVELS}),
        near_misses=json_object(**{number: {"type": "string"} for number in ("1", "2")}),
    )

    @field_validator("near_misses", mode="before")
    @classmethod
    def _texts(cls, found: object) -> tuple[str, ...]:
        listed = [*found.values()] if isinstance(found, Mapping) else found
        return tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()

    @field_validator("levels")
    @classmethod
    def _ten(cls, levels: Mapping[str, str]) -> Mapping[str, str]:
        if set(levels) != set(LEVELS):
            raise ValueError(f"levels must be exactly {', '.join(LEVELS)}")
        if same := equal_levels({level: levels[level] for level in LEVELS}):
            raise ValueError(f"levels {same[0]} and {same[1]} say the same; each must differ from the others")
        return {level: levels[level] for level in LEVELS}


class AuditReply(Reply):
    """An auditor's findings on a simulated user: its reasons first, then the faults, none if it did its part."""

    reasoning: Text
    faults: tuple[UserFaultKind, ...]
    json_schema: ClassVar[Mapping[str, Any]] = json_object(
        reasoning={"type": "string"},
        faults={"type": "array", "items": {"type": "string", "enum": list(get_args(UserFaultKind))}},
    )


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
