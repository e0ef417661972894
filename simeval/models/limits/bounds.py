"""A model with bounds: so many calls at once, so many seconds each."""

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter

import anyio

from simeval.core.waits import in_words
from simeval.errors import ModelError
from simeval.models.protocol.model import Completion, Request, Wrapped

REMEMBERED, RENEWED = 500, 25  # calls that define the usual time, and how often it is updated
USUAL, TIMES_USUAL = 0.97, 5.0  # the deadline: so many times the time in which that share of calls ends
SHORTEST_SECONDS = 3.0  # of a deadline that was learnt
NEW_ROLE = 4.0  # times the deadline of all roles together: that of a new one


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
class Turns:
    """Turns of the event loop: each is taken once, in the order asked; one that nobody has taken costs no wait."""

    _taken_in: asyncio.AbstractEventLoop | None = field(default=None, init=False, repr=False)  # it may be closed
    _line: deque[asyncio.Future[None]] = field(default_factory=deque, init=False, repr=False)

    async def take(self) -> None:
        """Take this turn of the event loop, or wait for one."""
        loop = asyncio.get_running_loop()
        if self._taken_in is loop:
            place = loop.create_future()
            self._line.append(place)
            await place
        else:
            self._taken_in = loop
            loop.call_soon(self._give, loop)

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pass the turn that begins to the first caller still waiting."""
        while self._line:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                loop.call_soon(self._give, loop)
                return
        self._taken_in = None


@dataclass(slots=True)
class Paced(Wrapped):
    """A model that starts at most one call in each turn of the event loop, in the order asked.

    Starting a call costs CPU. Many started in one turn would hold up the loop, and with it the app whose latency is
    being measured there; in a queue they hold up only themselves.
    """

    turns: Turns

    async def complete(self, request: Request) -> Completion:
        """Wait for a turn, then answer."""
        await self.turns.take()
        return await self.model.complete(request)


@dataclass(slots=True)
class Deadline:
    """How long calls may take, learnt from those before; it holds for those under way, too.

    Up to three in a hundred may hang and change nothing: one that was given up counts as having taken the deadline, so
    that a model that becomes slow soon gets more.
    """

    seconds: float = inf
    _taken: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED), init=False)
    _new: int = field(default=0, init=False)
    _under_way: dict[asyncio.Timeout, float] = field(default_factory=dict, init=False)  # and when they began

    def start(self, most: float) -> asyncio.Timeout:
        """Return the limit of a call that may take `most` seconds, or fewer; it must be ended."""
        now, seconds = asyncio.get_running_loop().time(), min(most, self.seconds)
        limit = asyncio.timeout_at(None if seconds == inf else now + seconds)
        self._under_way[limit] = now
        return limit

    def end(self, limit: asyncio.Timeout, seconds: float | None) -> None:
        """Record how long a call took; None if that is uninformative."""
        del self._under_way[limit]
        self.note(seconds)

    def note(self, seconds: float | None) -> None:
        """Record how long a call took that was not started here; None if that is uninformative."""
        if seconds is None:
            return
        self._taken.append(seconds)
        self._new += 1
        if self._new >= RENEWED and len(self._taken) > RENEWED:
            self._renew()

    def _renew(self) -> None:
        self._new = 0
        usual = sorted(self._taken)[int(USUAL * len(self._taken))]
        was, self.seconds = self.seconds, max(SHORTEST_SECONDS, TIMES_USUAL * usual)
        if self.seconds < was:
            self.shorten(self.seconds)

    def shorten(self, seconds: float) -> None:
        """Let those under way take that long at most."""
        for limit, started in self._under_way.items():
            if not limit.expired():
                limit.reschedule(min(limit.when() or inf, started + seconds))


@dataclass(slots=True)
class Timed(Wrapped):
    """A model whose calls end after `seconds`, or a request's shorter limit, with a ModelError of kind "timeout".

    A hurried request, which is repeated if it ends so, gets the usual time of its role, many times over. The answer to
    any other reports how long it took.
    """

    seconds: float = field(kw_only=True)
    _of_all: Deadline = field(default_factory=Deadline, init=False, repr=False)
    _by_role: dict[str, Deadline] = field(default_factory=dict, init=False, repr=False)

    async def complete(self, request: Request) -> Completion:
        """Answer within the time."""
        most = min(self.seconds, request.timeout_seconds or inf)
        if request.is_hurried:
            return await self._hurried(request, most)
        clock = perf_counter()
        with anyio.move_on_after(most):
            completion = await self.model.complete(request)
            return replace(completion, seconds=perf_counter() - clock)
        raise self._late(most)

    async def _hurried(self, request: Request, most: float) -> Completion:
        clock, taken = perf_counter(), None
        own = self._by_role.get(request.role) or self._by_role.setdefault(request.role, Deadline())
        if own.seconds == inf:  # too few of its calls are known: rubrics take far longer than a user's messages
            most = min(most, NEW_ROLE * self._of_all.seconds)
        limit = own.start(most)
        try:
            async with limit:
                completion = await self.model.complete(request)
                taken = perf_counter() - clock
                return completion
        except TimeoutError:
            if not limit.expired():
                raise
            taken = perf_counter() - clock
            raise self._late(taken) from None
        finally:
            own.end(limit, taken)
            self._learn_of_all(taken)

    def _learn_of_all(self, taken: float | None) -> None:
        """Record how long a call took; a role with too few calls gets less time if those of all roles are quicker."""
        before = self._of_all.seconds
        self._of_all.note(taken)
        if self._of_all.seconds < before:
            for role in self._by_role.values():
                if role.seconds == inf:
                    role.shorten(NEW_ROLE * self._of_all.seconds)

    def _late(self, seconds: float) -> ModelError:
        return ModelError(self.name, kind="timeout", problem=f"no answer within {in_words(seconds)}")
