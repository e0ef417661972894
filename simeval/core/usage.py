"""The requests to a run's models and their cost, summed by role."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from simeval.core.conversation import ChatMessage

_NOT_OF_JUDGES = frozenset({"app", "user"})


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
