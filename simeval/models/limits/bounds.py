"""A model with bounds: so many calls at once, so many seconds each."""

from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter

import anyio
import anyio.lowlevel

from simeval.errors import ModelError
from simeval.models.protocol.model import Completion, Request, Wrapped


@dataclass(slots=True)
class Limited(Wrapped):
    """A model that never has more than `slots` calls under way; waiting for a slot costs no time-out."""

    slots: anyio.Semaphore
    answers: int = field(default=0, init=False)

    async def complete(self, request: Request) -> Completion:
        """Wait for a slot, then answer."""
        async with self.slots:
            completion = await self.model.complete(request)
        self.answers += 1
        return completion


@dataclass(slots=True)
class Paced(Wrapped):
    """A model of which at most one call is started in each turn of the event loop, in the order asked.

    Starting a call costs CPU. Many started in one turn would hold up the loop, and with it the app whose
    latency is being measured there; in a queue they hold up only themselves.
    """

    turn: anyio.Lock

    async def complete(self, request: Request) -> Completion:
        """Wait for a turn, then answer."""
        async with self.turn:
            await anyio.lowlevel.checkpoint()
        return await self.model.complete(request)


@dataclass(slots=True)
class Timed(Wrapped):
    """A model whose calls end after `seconds`, or fewer where a request says so, with a ModelError of kind "timeout".

    What it answers says how long it took.
    """

    seconds: float = field(kw_only=True)

    async def complete(self, request: Request) -> Completion:
        """Answer within the time."""
        seconds = min(self.seconds, request.timeout_seconds or inf)
        clock = perf_counter()
        with anyio.move_on_after(seconds):
            completion = await self.model.complete(request)
            return replace(completion, seconds=perf_counter() - clock)
        raise ModelError(self.name, kind="timeout", problem=f"no answer within {seconds:g} seconds")
