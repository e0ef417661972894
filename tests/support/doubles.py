"""Models for tests: one that answers as a script says, and the requests to ask it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from simeval.errors import ModelError, ModelErrorKind
from simeval.models.caller import Caller
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import RubricRequest

LEVELS = {str(level): f"level {level}" for level in range(1, 11)}

Answer = str | Exception


@dataclass(slots=True)
class Scripted:
    """Gives the answers of a script in turn, the last one for ever; an exception is raised."""

    script: Sequence[Answer]
    name: str = "scripted/model"
    calls: int = 0
    times: list[float] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        answer = self.script[min(self.calls, len(self.script) - 1)]
        self.calls += 1
        self.times.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if isinstance(answer, Exception):
            raise answer
        return Completion(text=answer)

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class Acting:
    """Does what a function does, and counts the calls that are under way."""

    act: Callable[[Request], Awaitable[str]]
    name: str = "acting/model"
    under_way: int = 0
    peak: int = 0
    calls: int = 0
    closed: bool = False

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            return Completion(text=await self.act(request))
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        self.closed = True


def failure(kind: ModelErrorKind, *, retry_after: float | None = None) -> ModelError:
    """Return an error as a model raises it."""
    return ModelError("scripted/model", kind=kind, problem="as scripted", retry_after=retry_after)


def any_request(seed: int = 0) -> RubricRequest:
    """Return a request of no importance."""
    return RubricRequest(given="a user", when="asks", expected_behavior="it answers", seed=seed)


def no_caller(named: object) -> Caller:
    """Stand for what asks a scorer's model, where no scorer asks one."""
    raise AssertionError(f"a scorer asked for the model {named!r}")
