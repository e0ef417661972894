"""The values that settings may have: the few of some, and the records of others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from simeval.core.validation import is_number, require, require_whole
from simeval.errors import DefinitionError

_FORM = re.compile(r"(\d{1,6})/(\d{1,6})")

EXECUTORS = ("local", "ray")
FORMER = ("workers", "postgres", "postgresql")  # names of the queue that a store once had


OnAppError = Literal["fail", "exclude", "stop"]
OnFailedControl = Literal["refuse", "warn", "off"]
OnUserFault = Literal["missing", "retry", "count"]
UserFormat = Literal["json", "text"]
EarlyStopping = bool | Literal["anytime"]
Gate = Literal["pass", "not_fail"]
StopAt = Literal["fewest", "unlikely", "gate", "verdict"]  # the modes that evaluators know
Stop = Literal["fewest", "unlikely", "reachable", "gate", "verdict"]
Standard = Literal["judge", "people"]  # whose rate a requirement is on
Order = Literal["file", "round-robin", "history"]  # in which scenarios get their trials
CriteriaCalls = Literal["all", "each"]
JudgeReply = Literal["json", "label"]
TraceOut = Literal["otlp", "global"]
ModelRole = Literal["judge", "user", "app"]  # whose options a model gets; rubrics and scorers are the judge's
ROLES: Sequence[ModelRole] = get_args(ModelRole)


@dataclass(frozen=True, slots=True)
class Shard:
    """The shard with this number, from 1, of so many."""

    number: int
    of: int

    @classmethod
    def read(cls, text: object, where: str = "shard") -> "Shard":
        """Read "3/8". Raises DefinitionError for anything else."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        number, of = map(int, found.groups()) if found else (0, 0)
        require(1 <= number <= of, where, found=text, do="write NUMBER/OF, from 1/OF to OF/OF, such as 3/8")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part_of(self, whole: int) -> int:
        """Return this shard's part of a whole number; the parts of all shards add up to it."""
        return whole * self.number // self.of - whole * (self.number - 1) // self.of


def require_shard(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value names a shard."""
    Shard.read(value, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RayExecutor:
    """Runs trials on a Ray cluster: a number of actors that each hold conversations and measure them.

    `address` is that of a cluster ("auto", "ray://head:10001"); without one it is RAY_ADDRESS, or a cluster that is
    started on this machine. Each actor takes `num_cpus`, and `num_gpus` for scorers with models of their own, of its
    node. `runtime_env` is the environment that Ray prepares on the nodes. Raises DefinitionError.
    """

    address: str | None = None
    actors: int = 4
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    runtime_env: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_whole(self.actors, "RayExecutor.actors")
        for name in ("num_cpus", "num_gpus"):
            number = getattr(self, name)
            require(is_number(number) and number >= 0, f"RayExecutor.{name}", found=number, do="use 0 or more")


def require_executor(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value names an executor, or is one."""
    if value in FORMER:
        do = "use ray, or shards (--shard 1/4), which may share a store"
        raise DefinitionError(name, found=f"found {value!r}, and stores have no queue of trials any more", do=do)
    usable = value in EXECUTORS or isinstance(value, RayExecutor)
    *others, last = EXECUTORS if isinstance(value, str) else (*EXECUTORS, "RayExecutor(...)")
    require(usable, name, found=value, do=f"use {', '.join(others)} or {last}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    """How calls to language models are retried, by tenacity.

    At most `max_attempts` are made (tenacity's stop). The wait before the next is tenacity's `wait_random_exponential`:
    at random up to a bound that doubles from `backoff_multiplier` seconds to `max_backoff_seconds`; a provider's
    Retry-After is waited for in full if it is at most two minutes.
    """

    enabled: bool = True
    max_attempts: int = 5
    backoff_multiplier: float = 0.5
    max_backoff_seconds: float = 30.0

    def __post_init__(self) -> None:
        require(self.max_attempts >= 1, "RetryConfig.max_attempts", found=self.max_attempts, do="use 1 or more")
        require(
            self.backoff_multiplier >= 0,
            "RetryConfig.backoff_multiplier",
            found=self.backoff_multiplier,
            do="use 0 or more seconds",
        )
        require(
            self.max_backoff_seconds >= 0,
            "RetryConfig.max_backoff_seconds",
            found=self.max_backoff_seconds,
            do="use 0 or more seconds",
        )
