"""Models around a model: with bounds on calls and seconds, with its calls counted, or an object of the user's own."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from math import inf
from numbers import Real
from time import perf_counter, time_ns
from typing import Any

import anyio
from anyio import get_cancelled_exc_class

from simeval.core.capture import Caught, capture, defined_at, guarded, place_of
from simeval.core.logs import warn_all
from simeval.core.run_records import Ledger, ModelCall
from simeval.core.waits import in_words
from simeval.errors import ModelError, ModelUnusable, said_of
from simeval.models.protocol.model import Completion, Model, Request, SharedModel, Wrapped

REMEMBERED, RENEWED = 500, 25  # calls that define the usual time, and how often it is updated
USUAL, TIMES_USUAL = 0.97, 5.0  # the deadline: so many times the time in which that share of calls ends
SHORTEST_SECONDS = 3.0  # of a deadline that was learnt
NEW_ROLE = 4.0  # times what calls of all roles together have: what those of a new one have
SHORTEST_NEW_SECONDS = 6.0  # of a new role

_COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")


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
    of_new: float = field(default=inf, init=False)  # the seconds of a role with too few calls, where this is of all
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
        self.of_new = max(SHORTEST_NEW_SECONDS, NEW_ROLE * TIMES_USUAL * usual)
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
            most = min(most, self._of_all.of_new)
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
        before = self._of_all.of_new
        self._of_all.note(taken)
        if self._of_all.of_new < before:
            for role in self._by_role.values():
                if role.seconds == inf:
                    role.shorten(self._of_all.of_new)

    def _late(self, seconds: float) -> ModelError:
        return ModelError(self.name, kind="timeout", problem=f"no answer within {in_words(seconds)}")


@dataclass(slots=True)
class Metered(Wrapped):
    """A model whose calls are summed in a ledger by the role they serve."""

    model: SharedModel
    ledger: Ledger

    @property
    def answers(self) -> int:
        """How many requests the model has answered, whoever asked."""
        return self.model.answers

    async def complete(self, request: Request) -> Completion:
        """Answer and count, whether the answer is a success, a failure, or not waited for."""
        if self.ledger.on_call is None:
            return await self._counted(request)
        return await self._told(request, self.ledger.on_call)

    async def _told(self, request: Request, on_call: Callable[[ModelCall], None]) -> Completion:
        """Answer and count, and report the call."""
        started, completion, error = time_ns(), Completion(text=""), "cancelled"
        try:
            completion = await self._counted(request)
            error = ""
        except ModelError as failure:
            error = failure.kind
            raise
        finally:
            on_call(
                ModelCall(
                    role=request.role,
                    model=self.name,
                    started=started,
                    ended=time_ns(),
                    asked=request.messages,
                    answered=completion.text,
                    is_cut=completion.is_cut,
                    prompt_tokens=completion.prompt_tokens,
                    completion_tokens=completion.completion_tokens,
                    error=error,
                )
            )
        return completion

    async def _counted(self, request: Request) -> Completion:
        usage = self.ledger.of(request.role)
        try:
            completion = await self.model.complete(request)
        except ModelError:
            usage.calls += 1
            usage.failed_calls += 1
            raise
        except get_cancelled_exc_class():
            usage.ended_calls += 1
            raise
        usage.calls += 1
        usage.prompt_tokens += completion.prompt_tokens
        usage.completion_tokens += completion.completion_tokens
        usage.cached_tokens += completion.cached_tokens
        usage.reasoning_tokens += completion.reasoning_tokens
        if completion.cost_usd is not None:
            usage.cost_usd = (usage.cost_usd or 0.0) + completion.cost_usd
        return completion


class OwnModel(Wrapped):
    """A model around an object of the user's own, which is checked before anything counts its answers."""

    __slots__ = ()

    async def complete(self, request: Request) -> Completion:
        """Answer. Raises ModelError for any exception, and ModelUnusable for anything but a Completion."""

        async def answer() -> object:
            answering: object = self.model.complete(request)
            return await guarded(answering, "its complete") if isawaitable(answering) else answering

        found = await capture(answer)
        if isinstance(found, Completion) and not (wrong := _wrong_in(found)):
            counted: dict[str, Any] = {name: int(getattr(found, name) or 0) for name in _COUNTED}
            return replace(found, **counted)
        if isinstance(found, Caught):
            if isinstance(found.error, ModelError):
                raise found.error
            problem = f"{said_of(found.error)}{place_of(found.error)}"
            raise ModelError(self.name, kind="code", problem=problem) from found.error
        place = defined_at(self.model.complete)
        its = f"its complete ({place})" if place else "its complete"
        what = type(found).__name__ if not isinstance(found, Completion) else f"a Completion of which {wrong}"
        raise ModelUnusable(self.name, kind="code", problem=f"{its} returned {what}")


def _wrong_in(found: Completion) -> str:
    """Return the parts of a completion that are not as declared; empty if all are.

    Tokens and costs that are not counted may be None.
    """
    kinds: dict[str, Any] = {"text": str, **dict.fromkeys((*_COUNTED, "cost_usd"), Real | None)}
    wrong = [name for name, kind in kinds.items() if not isinstance(getattr(found, name), kind)]
    return f"{wrong[0]} is {type(getattr(found, wrong[0])).__name__}" if wrong else ""


async def close(model: Model) -> None:
    """Close a model. An error of closing is reported, and takes nobody's result away."""

    async def closed() -> None:
        closing: object = model.close()
        if isawaitable(closing):
            await closing

    if isinstance(failed := await capture(closed), Caught):
        warn_all(f"{model.name} could not be closed: {said_of(failed.error)}{place_of(failed.error)}")
