"""Where trials run: the names that the setting `executor` may have, and its other values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simeval.core.validation import is_number, require, require_whole
from simeval.errors import DefinitionError

EXECUTORS = ("local", "ray")
FORMER = ("workers", "postgres", "postgresql")  # names of the queue that a store once had


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
