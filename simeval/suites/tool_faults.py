"""Faults of a world's tools, by seed and at a given rate: time-outs, stale reads, repeated and malformed answers.

world ──► its tools ──► a call draws a fault ──► the app sees it, the world keeps the effect ──► state: tool_faults
"""

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial, wraps
from math import fsum
from random import Random
from typing import Any, Literal, get_args

from simeval.core import seeds
from simeval.core.capture import Caught, attempt
from simeval.core.serialization import opened, plain
from simeval.core.setting_field import require_part
from simeval.core.validation import require
from simeval.core.world import NamedWorld, OtherTools, WorldMaker, made_world, name_of_world, tools_by_name
from simeval.errors import WorldError

Kind = Literal["timeout", "stale", "twice", "malformed"]
KINDS: Sequence[Kind] = get_args(Kind)
FAULTS = "tool_faults"  # in the state of a world: the faults that its tools had

_NOTHING: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFaults:
    """How often calls of a world's tools go wrong; each rate is a share of calls, and a call has one fault at most.

    `timeout`: the tool does its work, and the app gets a TimeoutError. `stale`: the app gets the last answer to the
    same call, and the tool does nothing; without an earlier one nothing is wrong. `twice`: the next call of the tool
    does nothing and gets this answer again, as from a queue that delivers an event twice. `malformed`: the tool does
    its work, and the app gets the first part of the answer, as a text. `tools` are the names of the tools concerned, by
    default all.

    Faults are drawn by the seed of the trial, the tool and the number of its call. Raises DefinitionError for rates
    that are no shares, or more than 1 together.
    """

    timeout: float = 0.0
    stale: float = 0.0
    twice: float = 0.0
    malformed: float = 0.0
    tools: Sequence[str] = ()

    def __post_init__(self) -> None:
        rates = {kind: getattr(self, kind) for kind in KINDS}
        for kind, rate in rates.items():
            require_part(rate, f"ToolFaults.{kind}")
        do = f"give rates of {', '.join(KINDS[:-1])} or {KINDS[-1]} that add up to more than 0 and at most 1"
        require(0 < fsum(rates.values()) <= 1, "ToolFaults", found=rates, do=do)
        usable = not isinstance(self.tools, str) and all(isinstance(each, str) for each in self.tools)
        require(usable, "ToolFaults.tools", found=self.tools, do="give a list of names of tools")

    def __str__(self) -> str:
        rates = ", ".join(f"{kind} {rate:g}" for kind in KINDS if (rate := getattr(self, kind)))
        return f"{rates} of {', '.join(self.tools) or 'all tools'}"

    def drawn(self, random: Random) -> Kind | None:
        """Draw the fault of one call."""
        at = random.random()
        for kind in KINDS:
            at -= getattr(self, kind)
            if at < 0:
                return kind
        return None


def faulty_world(maker: WorldMaker, faults: Sequence[ToolFaults]) -> WorldMaker:
    """Return a maker of these worlds whose tools have these faults; the first that concerns a tool counts."""
    name = f"{name_of_world(maker)} with faults ({'; '.join(map(str, faults))})"
    return NamedWorld(name, partial(_open, maker, faults), {})


@asynccontextmanager
async def _open(
    maker: WorldMaker, faults: Sequence[ToolFaults], *, seed: int, trial: int, session: str | None
) -> AsyncIterator[OtherTools]:
    async with made_world(maker, seed=seed, trial=trial, session=session) as world:
        known, named = tools_by_name(world), {name for each in faults for name in each.tools}
        if unknown := sorted(named - known.keys()):
            raise WorldError(f"has no tool {', '.join(unknown)}, which `faults` names; it has {', '.join(known)}")
        had: list[Mapping[str, Any]] = []

        def faulty(name: str, tool: Any) -> Any:
            own = next((each for each in faults if name in each.tools or not each.tools), None)
            if own is None or not callable(tool):
                return tool
            return _Calls(name, own, seeds.generator(seed, FAULTS, name), had).of(tool)

        yield OtherTools(world, {name: faulty(name, tool) for name, tool in known.items()}, {FAULTS: had})


@dataclass(slots=True)
class _Calls:
    """The calls of one tool in a trial; the faults it `had` are noted."""

    name: str
    faults: ToolFaults
    random: Random
    had: list[Mapping[str, Any]]
    count: int = 0
    answers: dict[str, Any] = field(default_factory=dict)  # by the arguments of the call
    repeated: Any = _NOTHING  # the answer that the next call gets again
    is_awaited: bool = False  # whether a plain function of it gives something to be awaited

    def of(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        """Return the tool with its faults; it is async if it was."""

        @wraps(tool)
        async def call(*args: Any, **kwargs: Any) -> Any:
            fault, asked, earlier = self._begun(args, kwargs)
            return self._ended(fault, asked, await tool(*args, **kwargs)) if earlier is _NOTHING else earlier

        @wraps(tool)
        def call_at_once(*args: Any, **kwargs: Any) -> Any:
            fault, asked, earlier = self._begun(args, kwargs)
            if earlier is not _NOTHING:
                return self._later(earlier) if self.is_awaited else earlier
            found = tool(*args, **kwargs)
            self.is_awaited = inspect.isawaitable(found)
            return self._awaited(fault, asked, found) if self.is_awaited else self._ended(fault, asked, found)

        return call if inspect.iscoroutinefunction(tool) else call_at_once

    def _begun(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Kind | None, str, Any]:
        """Return the fault of a call, what was asked, and the answer that it gets without being made, if any."""
        self.count += 1
        asked, fault = repr((args, sorted(kwargs.items()))), self.faults.drawn(self.random)
        if (again := self.repeated) is not _NOTHING:
            self.repeated = _NOTHING
            return None, asked, self._noted("twice", again)
        if fault == "stale" and asked in self.answers:
            return fault, asked, self._noted(fault, self.answers[asked])
        return fault, asked, _NOTHING

    async def _later(self, earlier: Any) -> Any:
        return earlier

    async def _awaited(self, fault: Kind | None, asked: str, found: Awaitable[Any]) -> Any:
        return self._ended(fault, asked, await found)

    def _ended(self, fault: Kind | None, asked: str, answer: Any) -> Any:
        """Return what the app gets of an answer. Raises TimeoutError."""
        copied = attempt(partial(deepcopy, answer))  # the world may change the object
        kept = self.answers[asked] = answer if isinstance(copied, Caught) else copied
        if fault == "timeout":
            raise self._noted(fault, TimeoutError(f"{self.name} did not answer in time"))
        if fault == "twice":
            self.repeated = kept
        if fault == "malformed":
            text = answer if isinstance(answer, str) else json.dumps(plain(opened(answer)), ensure_ascii=False)
            return self._noted(fault, text[: len(text) // 2])
        return answer

    def _noted(self, fault: Kind, answer: Any) -> Any:
        self.had.append({"tool": self.name, "call": self.count, "fault": fault})
        return answer
