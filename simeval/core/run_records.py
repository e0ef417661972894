"""The data a store keeps of a run besides its trials: rubrics, replies, usage; and the state of a resumed run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from simeval.core.conversation import ChatMessage, Message
from simeval.core.trial import ControlRecord, Preparation, RubricRecord, Score, Trial, TrialConversation

_NOT_OF_JUDGES = frozenset({"app", "user"})

TrialKey = tuple[int, int]  # the scenario's position in the suite, and the trial's index


@dataclass(slots=True)
class Usage:
    """Calls (failed ones too), tokens and cost. `cost_usd` is None if no price is known.

    `cached_calls` come on top: they were answered from the store, and cost nothing.

    Of the prompts' tokens `cached_tokens` were read from the provider's cache, and `reasoning_tokens` of the replies'
    were thoughts; both are 0 if a provider does not report them.

    `malformed_calls` are those of the calls whose reply was of no use, because it was not in the form asked for.

    `ended_calls` come on top: they were under way, or about to be, when their answer was needed no more. Their cost is
    not known here.
    """

    calls: int = 0
    failed_calls: int = 0
    ended_calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    malformed_calls: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        known = [usage.cost_usd for usage in (self, other) if usage.cost_usd is not None]
        return Usage(
            self.calls + other.calls,
            self.failed_calls + other.failed_calls,
            self.ended_calls + other.ended_calls,
            self.cached_calls + other.cached_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            sum(known) if known else None,
            self.malformed_calls + other.malformed_calls,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call to a model, from the request to its end, both in nanoseconds of Unix time.

    `asked` renders the prompt; `error` is the kind of error, empty without one.
    """

    role: str
    model: str
    started: int
    ended: int
    asked: Callable[[], Sequence[ChatMessage]]
    answered: str = ""
    is_cut: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str = ""


@dataclass(slots=True)
class Ledger:
    """The usage of one run. `on_call`, if given, gets each call to a model when it is over."""

    roles: dict[str, Usage] = field(default_factory=dict)
    on_call: Callable[[ModelCall], None] | None = None

    def of(self, role: str) -> Usage:
        """Return the usage of a role, to be added to."""
        return self.roles.setdefault(role, Usage())

    def by_role(self) -> Mapping[str, Usage]:
        """Return the usage of each role that made calls, in alphabetical order."""
        return dict(sorted(self.roles.items()))


def total(usage: Mapping[str, Usage]) -> Usage:
    """Sum over all roles."""
    return sum(usage.values(), Usage())


def players(judge: str, user: str, *, asked: Collection[str]) -> dict[str, str]:
    """Return the models of the judge and the user in a run, for the roles that were `asked`."""
    judged = {"judge": judge} if {*asked} - _NOT_OF_JUDGES else {}
    return {**judged, "user": user} if "user" in asked else judged


def merged(first: Mapping[str, Usage], second: Mapping[str, Usage]) -> Mapping[str, Usage]:
    """Sum two usages role by role."""
    roles = sorted({*first, *second})
    return {role: first.get(role, Usage()) + second.get(role, Usage()) for role in roles}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRecord:
    """A model's reply, under a key of everything that it depends on."""

    key: str
    model: str
    role: str
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


SUITE = "suite"  # in the metadata of a run: the title of its suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A sign of life of a run, with the seconds and usage of its present attempt so far."""

    seconds: float
    usage: Mapping[str, Usage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """A trial that is begun. It is safe before the app is asked anything.

    `messages` are the conversation up to an answer of the app's, with its `state` then, as JSON, while the conversation
    can go on from there; None while the app may be answering.
    """

    trial: Trial
    messages: tuple[Message, ...] | None = None
    state: str = "null"


@dataclass(frozen=True, slots=True)
class Cut:
    """The first trial of a scenario that was running when the run was interrupted.

    It is missing from now on, and the results of later trials are set aside.
    """

    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumableRun:
    """The data in a store on a run that is to be resumed.

    `held` are the conversations that have ended, also by a failure; `scores` the scores there are, by the expectation's
    position. `begun` are trials whose conversation has not ended, `cuts` the trials of each scenario at which the run
    was interrupted before, and `set_aside` counts the finished trials that do not count because of that. `seconds` and
    `usage` are those of all its attempts; `owner` names the process that is still running it, if one is. One that
    `has_finished` has no trial left to run, and no missing score.
    """

    run_id: str
    seed: int
    started: datetime
    definition: Mapping[str, Any]
    seconds: float = 0.0
    usage: Mapping[str, Usage] = field(default_factory=dict)
    owner: str = ""
    held: Mapping[TrialKey, TrialConversation] = field(default_factory=dict)
    scores: Mapping[TrialKey, Mapping[int, Score]] = field(default_factory=dict)
    rubrics: Mapping[str, RubricRecord] = field(default_factory=dict)
    controls: Mapping[str, ControlRecord] = field(default_factory=dict)
    begun: Mapping[TrialKey, Start] = field(default_factory=dict)
    cuts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    set_aside: int = 0
    has_finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The preparations of a scenario so far, by expectation number; `is_ready` after the last."""

    scenario: int
    found: Mapping[int, Preparation] = field(default_factory=dict)
    is_ready: bool = False


class Journal(Protocol):
    """Keeps entries in the order given. `append` may block; entries are safe when it returns."""

    def append(self, run_id: str, entries: Sequence[Any]) -> None:
        """Store a batch of one run's entries: trials begun, messages, ratings, verdicts. Raises StoreError."""

    def close(self) -> None:
        """Release open resources."""
