"""Gathers many callers' requests to a local model into batches, and runs these in a thread of the model's own.

    callers, on any event loop ──request──► [waiting] ──window──► prepare, sort by size, cut ──batch──► network
                ▲                                                                                          │
                └──────────────── each its own result or its own error, as its batch is done ◄─────────────┘

A window holds the requests that wait when the thread is free, after a moment's wait for more. The thread takes windows
until nothing waits, and ends then: an idle model has none.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Lock, Thread
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from simeval.core.capture import Caught, attempt, attempt_all

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
T = TypeVar("T")
SLOW_SECONDS, FAILED_SECONDS = 5.0, 60.0  # a load that failed after so long is not tried again for so long
IN_FLIGHT = 512  # of the items of one `ask_all`: more wait with the caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How batches are made: of so many items and of so many tokens with their padding, at most.

    An item that is larger alone is a batch. `wait_seconds` is how long the first request of a window waits for
    others where fewer than a batch are there, `window` how many requests are sorted and held as tokens at once.
    """

    items: int = 16
    tokens: int = 1024
    window: int = 512
    wait_seconds: float = 0.003


class Network(Protocol[Item_contra, Result_co]):
    """A loaded model. Both methods may block and are called in one thread at a time."""

    @property
    def limits(self) -> Limits:
        """How its batches are made."""

    def prepare(self, items: Sequence[Item_contra]) -> Sequence[Sized]:
        """Return for each item the input of `run`; its length is the number of its tokens."""

    def run(self, prepared: Sequence[Any]) -> Sequence[Result_co]:
        """Return the result of each. The items of one call are of similar length."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request(Generic[Item, Result]):
    item: Item
    answer: "Future[Result]" = field(default_factory=Future)

    def taken(self) -> bool:
        """Return whether the answer is still wanted; from now on it cannot be taken back."""
        return not self.answer.done() and (self.answer.running() or self.answer.set_running_or_notify_cancel())


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared(Generic[Item, Result]):
    """A request that is ready to run."""

    request: _Request[Item, Result]
    tokens: Sized


@dataclass(slots=True, eq=False)
class Batches(Generic[Item, Result]):
    """A model for all callers of a process. `load` gives its network; it is called once, with the first request.

    An error of `load` is raised to all that wait, and it is tried again with the next request; after a minute only if
    it took long, as when a hub does not answer.
    """

    load: Callable[[], Network[Item, Result]]
    loaded: Network[Item, Result] | None = field(default=None, init=False, repr=False)
    _failed: tuple[Exception, float] | None = field(default=None, init=False, repr=False)  # and how long that holds
    _ready: "Future[Network[Item, Result]] | None" = field(default=None, init=False, repr=False)
    _loading: Lock = field(default_factory=Lock, init=False, repr=False)
    _waiting: "deque[_Request[Item, Result]]" = field(default_factory=deque, init=False, repr=False)
    _came: Condition = field(default_factory=Condition, init=False, repr=False)
    _at_work: bool = field(default=False, init=False, repr=False)

    async def ask(self, item: Item) -> Result:
        """Return the result of one item; waits for its batch. Raises the network's error for this item alone.

        A cancelled request is left out, or its result thrown away; the others of its batch do not notice.
        """
        return await asyncio.wrap_future(self._put(item))

    async def ask_all(self, items: Iterable[Item]) -> list[Result]:
        """Return the results of items, in their order; no more than IN_FLIGHT are under way at once.

        Raises the error of the first failing item; requests that still wait are then withdrawn.
        """
        results: list[Result] = []
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(self._put(item))
                if len(under_way) == IN_FLIGHT:
                    results.append(await _answer_of(under_way.popleft()))
            while under_way:
                results.append(await _answer_of(under_way.popleft()))
        finally:
            for future in under_way:
                future.cancel()
        return results

    async def ready(self) -> Network[Item, Result]:
        """Return the loaded network; waits until it is, all callers for one load. Raises the error of loading it."""
        return self.loaded if self.loaded is not None else await asyncio.wrap_future(self._one_load())

    def network(self) -> Network[Item, Result]:
        """Return the loaded network; may block until it is loaded. Raises the error of loading it."""
        with self._loading:
            if self.loaded is None:
                if self._failed is not None and monotonic() < self._failed[1]:
                    raise self._failed[0].with_traceback(None)  # else it grows with each raise
                started = monotonic()
                found = attempt(self.load)
                if isinstance(found, Caught):
                    now = monotonic()
                    self._failed = (found.error, now + FAILED_SECONDS if now - started > SLOW_SECONDS else now)
                    raise found.error
                self.loaded = found
            return self.loaded

    @property
    def limits(self) -> Limits:
        """The limits of batches: the network's own, once it is loaded."""
        return Limits() if self.loaded is None else self.loaded.limits

    def _one_load(self) -> "Future[Network[Item, Result]]":
        with self._came:
            if self._ready is None or self._ready.done():
                ready: Future[Network[Item, Result]] = Future()
                ready.set_running_or_notify_cancel()  # so that no caller that is cancelled takes it from the others
                Thread(target=self._load_for, args=(ready,), name="simeval model").start()
                self._ready = ready
            return self._ready

    def _load_for(self, ready: "Future[Network[Item, Result]]") -> None:
        found = attempt_all(self.network)
        if isinstance(found, Caught):
            ready.set_exception(found.error)
        else:
            ready.set_result(found)

    def _put(self, item: Item) -> "Future[Result]":
        request: _Request[Item, Result] = _Request(item)
        with self._came:
            self._waiting.append(request)
            if len(self._waiting) == self.limits.items:
                self._came.notify()
            if not self._at_work:
                # not one of anyio's: a limiter of theirs belongs to one event loop, and a model serves many
                Thread(target=self._work, name="simeval model").start()
                self._at_work = True
        return request.answer

    def _work(self) -> None:
        while window := self._window():
            done = attempt_all(partial(self._answer, window))
            if isinstance(done, Caught):
                _refuse(window, done)

    def _window(self) -> list[_Request[Item, Result]]:
        """Take the waiting requests, after a moment's wait for more; an empty window ends the thread."""
        with self._came:
            if self._waiting:
                self._came.wait_for(lambda: len(self._waiting) >= self.limits.items, self.limits.wait_seconds)
            count = min(len(self._waiting), self.limits.window)
            self._at_work = count > 0
            return [self._waiting.popleft() for _ in range(count)]

    def _answer(self, window: Sequence[_Request[Item, Result]]) -> None:
        """Answer the requests of a window, each with its own result. Raises errors that concern them all."""
        network = self.network()
        prepared: list[_Prepared[Item, Result]] = []
        wanted = [request for request in window if not request.answer.cancelled()]
        for requests, tokens in _tried(wanted, lambda some: network.prepare([request.item for request in some])):
            if isinstance(tokens, Caught):
                _refuse(requests, tokens)
            else:
                prepared.extend(map(_Prepared, requests, tokens))
        for batch in batches(prepared, self.limits, size=lambda each: len(each.tokens)):
            self._run(network, [each for each in batch if each.request.taken()])

    def _run(self, network: Network[Item, Result], batch: Sequence[_Prepared[Item, Result]]) -> None:
        for some, results in _tried(batch, lambda some: network.run([each.tokens for each in some])):
            if isinstance(results, Caught):
                _refuse([each.request for each in some], results)
            else:
                for each, result in zip(some, results, strict=True):
                    each.request.answer.set_result(result)


async def _answer_of(answer: "Future[Result]") -> Result:
    return answer.result() if answer.done() else await asyncio.wrap_future(answer)


def _tried(
    items: Sequence[T], work: Callable[[Sequence[T]], Sequence[Result]]
) -> Iterator[tuple[Sequence[T], Sequence[Result] | Caught]]:
    """Do work on items, and if it raises, on each half by itself, so that only the faulty item fails."""
    if not items:
        return
    done = attempt_all(lambda: _one_each(items, work(items)))
    if isinstance(done, Caught) and len(items) > 1:
        half = len(items) // 2
        yield from _tried(items[:half], work)
        yield from _tried(items[half:], work)
    else:
        yield items, done


def _one_each(items: Sequence[T], results: Sequence[Result]) -> Sequence[Result]:
    if len(items) != len(results):
        raise ValueError(f"the model gave {len(results)} results for {len(items)} items")
    return results


def _refuse(requests: Sequence[_Request[Item, Result]], caught: Caught) -> None:
    for request in requests:
        if request.taken():
            request.answer.set_exception(caught.error)


def batches(items: Iterable[T], limits: Limits, *, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Cut items into batches of similar size, the largest first: the memory needed is then needed at once."""
    batch: list[T] = []
    for item in sorted(items, key=size, reverse=True):
        if batch and (len(batch) == limits.items or size(batch[0]) * (len(batch) + 1) > limits.tokens):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
