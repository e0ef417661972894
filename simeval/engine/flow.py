"""How trials flow through a run: credits, slots, demand, the order of conclusions, a pool of tasks, stop, recorder."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import get_ident
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.capture import Caught, capture
from simeval.core.run_records import Heartbeat, Journal
from simeval.core.trial import Outcome, Trial
from simeval.errors import StoreError

if TYPE_CHECKING:
    from simeval.results.suite import RunRecord
    from simeval.store.journal import Entry

T = TypeVar("T")

In = TypeVar("In")
Out = TypeVar("Out")

E = TypeVar("E", bound="Entry")

LARGEST_BATCH = 256
# From one write to the next, so that many records share few writes: a share of what a trial takes, within bounds. Where
# calls take half a second, writes every .03 s were 31% of a run's CPU.
WRITES_PER_TRIAL = 16
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.03, 0.25
PULSE_SECONDS = 1.0  # between signs of life: the spending since the last one is lost with the process
USAGE_SECONDS = 0.25  # between records of the usage, where others are written anyway
LAST_WRITE_SECONDS = 2.0  # how long queued entries may be written after a cancellation


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(slots=True)
class UnderWay:
    """When the trials that are under way began, and how long those took that have ended."""

    _since: dict[object, float] = field(default_factory=dict)
    _longest: float | None = None
    _ended: int = 0
    _seconds: float = 0.0  # of all that have ended

    def __len__(self) -> int:
        return len(self._since)

    @property
    def mean_seconds(self) -> float:
        """Return how long a trial took on average; 0 before any has ended."""
        return self._seconds / self._ended if self._ended else 0.0

    def begin(self, trial: object) -> None:
        """Take down that a trial begins."""
        self._since[trial] = monotonic()

    def end(self, trial: object) -> None:
        """Take down that a trial has ended, if it had begun."""
        if trial in self._since:
            seconds = monotonic() - self._since.pop(trial)
            self._longest = max(self._longest or 0.0, seconds)
            self._ended, self._seconds = self._ended + 1, self._seconds + seconds

    def seconds_left(self) -> float | None:
        """Return how long it is until all have ended, if none takes longer than the longest did; None before any has.

        It is the remaining time of the youngest of them.
        """
        if self._longest is None or not self._since:
            return None if self._since else 0.0
        return max(0.0, self._longest - (monotonic() - max(self._since.values())))


@dataclass(slots=True)
class StopSignal:
    """Ends a run before its verdicts are settled, from its own thread or another. The first reason counts.

    `dealing` is the scope that deals trials, `line` that of the whole line of pools; `under_way` gives the time that an
    end in order takes.
    """

    reason: str = ""
    dealing: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    line: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    under_way: UnderWay = field(default_factory=UnderWay)
    _loop: asyncio.AbstractEventLoop | None = field(default_factory=_loop, repr=False)
    _thread: int = field(default_factory=get_ident, repr=False)

    def stop(self, reason: str) -> None:
        """Start no more trials; those in flight are finished."""
        self.reason = self.reason or reason or "it was asked to"
        self._at_home(self.dealing.cancel)

    def end(self, reason: str) -> None:
        """End everything in progress; finished results stay."""
        self.stop(reason)
        self._at_home(self.line.cancel)

    def _at_home(self, act: Callable[[], None]) -> None:
        """Do something in the run's own thread: a scope that another one cancels may never notice."""
        if self._loop is None or get_ident() == self._thread:
            act()
        else:
            self._loop.call_soon_threadsafe(act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The status of one requirement: its outcome if it has ended, else the misses it still tolerates.

    `found` is the observed value, with its interval, and `bar` the required one, both in words. Before the end the
    interval is that of a fixed sample: a description, and not the basis of the verdict.
    """

    bar: str
    found: str = ""
    outcome: Outcome | None = None
    misses: int | None = None
    allowed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A scenario: the trials concluded on, and those its verdicts can need by present knowledge; 0 at first.

    `requirement` makes the one that shows its status best; None without one.
    """

    title: str
    trials: int
    needed: int
    sample_size: int
    is_closed: bool
    requirement: Callable[[], Requirement | None]


class InOrder(Generic[T]):
    """Holds early items until everything before them has come. Numbers start at 0, each comes once."""

    def __init__(self) -> None:
        self._waiting: dict[int, T] = {}
        self._next = 0

    @property
    def waiting(self) -> Mapping[int, T]:
        """Return the early items, by number."""
        return self._waiting

    def push(self, number: int, item: T) -> list[T]:
        """Add an item and return those that can be released now, in order.

        Raises ValueError for a number that has come before.
        """
        if number < self._next or number in self._waiting:
            raise ValueError(f"number {number} has come before")
        self._waiting[number] = item
        released = []
        while self._next in self._waiting:
            released.append(self._waiting.pop(self._next))
            self._next += 1
        return released


async def run_pool(
    work: Callable[[In], Awaitable[Out]],
    *,
    workers: int,
    inbox: MemoryObjectReceiveStream[In],
    outbox: MemoryObjectSendStream[Out],
    on_error: Callable[[In, Exception], Out],
) -> None:
    """Work through the inbox with `workers` at once; close the outbox when the inbox has ended.

    Errors of `work` become values through `on_error`, except errors that end the run. Each item has a task of its own,
    so that context variables set by the user's code reach no other item.
    """
    places = anyio.Semaphore(workers, fast_acquire=True)

    async def worker(item: In) -> None:
        try:
            made = await capture(partial(work, item))
            await outbox.send(on_error(item, made.error) if isinstance(made, Caught) else made)
        finally:
            places.release()

    async with inbox, outbox, anyio.create_task_group() as pool:
        while True:
            await places.acquire()
            try:
                item = await inbox.receive()
            except anyio.EndOfStream:
                return
            pool.start_soon(worker, item)


@dataclass(slots=True)
class TrialScope:
    """The permission of a trial to go on; if it is withdrawn, the scope around its work is cancelled."""

    cancel_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _is_busy: bool = False
    _is_over: bool = False

    def end(self) -> None:
        """Cancel the work, or see to it that it is cancelled when it can be."""
        self._is_over = True
        if not self._is_busy:
            self.cancel_scope.cancel()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Put an end off until the block is left: for a thread, which cannot be stopped."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
            if self._is_over:
                self.cancel_scope.cancel()


class TrialSlots:
    """The places in flight that one run has taken of those all runs share."""

    def __init__(self, shared: anyio.Semaphore) -> None:
        self._shared, self.taken = shared, 0
        self._given_back: anyio.Event | None = None  # if somebody waits for one

    async def take(self) -> None:
        """Wait for a free place."""
        await self._shared.acquire()
        self.taken += 1

    def give_back(self) -> None:
        """Free one place."""
        self.taken -= 1
        self._shared.release()
        if self._given_back is not None:
            self._given_back.set()

    async def wait_for_one(self) -> None:
        """Wait until a place is given back."""
        self._given_back = anyio.Event()
        await self._given_back.wait()

    def give_back_all(self) -> None:
        """Free every place."""
        while self.taken:
            self.give_back()


class Demand:
    """The demand of a run's end on its beginning; the one thing that stages share.

    The actor that concludes sets how many trials of each scenario can be needed, and gives a slot back for each that
    has come. The dispatcher takes a credit, the right to deal one more trial of a scenario, and a slot for each trial;
    a worker on a trial holds a scope, which ends when the trial is not needed any more.

    `credits` has room for `largest` of them, as many as all scenarios can have trials. Used as a context: left, it
    gives all slots back.
    """

    def __init__(self, scenarios: int, *, largest: int, shared: anyio.Semaphore) -> None:
        self.slots = TrialSlots(shared)
        self._credit, self.credits = anyio.create_memory_object_stream[int](largest)
        self._granted = [0] * scenarios
        self._limits = [0] * scenarios
        self._closed: set[int] = set()
        self._settled: set[tuple[int, int]] = set()
        self._under_way: list[dict[int, list[TrialScope]]] = [{} for _ in range(scenarios)]
        self._preparing: dict[int, anyio.CancelScope] = {}
        self._beginnings: dict[Trial, Callable[[], Awaitable[None]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._credit.close()
        self.credits.close()
        self.slots.give_back_all()

    def grant(self, scenario: int, trials: int) -> None:
        """Need at least this many trials of a scenario. Trials that were needed may be in progress, and stay so."""
        self._limits[scenario] = max(self._limits[scenario], trials)
        while self._granted[scenario] < trials:
            try:
                self._credit.send_nowait(scenario)
            except anyio.BrokenResourceError:  # the run was stopped, and nobody deals any more
                return
            self._granted[scenario] += 1

    def grant_no_more(self) -> None:
        """Close the credits: when those there are have been dealt, the line ends in order."""
        self._credit.close()

    @property
    def is_over(self) -> bool:
        """Whether every scenario is closed."""
        return len(self._closed) == len(self._limits)

    def is_closed(self, scenario: int) -> bool:
        """Return whether a scenario needs no more trials."""
        return scenario in self._closed

    def is_settled(self, scenario: int, place: int) -> bool:
        """Return whether an expectation, by its place in its scenario, needs no more scores."""
        return (scenario, place) in self._settled

    def settle(self, scenario: int, place: int) -> None:
        """Need no more scores of an expectation."""
        self._settled.add((scenario, place))

    def limit(self, scenario: int) -> int:
        """Return how many trials of a scenario can be needed, by present knowledge."""
        return self._limits[scenario]

    def needs(self, scenario: int, index: int) -> bool:
        """Return whether the trial with this index can be needed."""
        return index < self._limits[scenario]

    def end_beyond(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first so many, for good; end those under way that come later."""
        self._limits[scenario] = trials
        for index, scopes in self._under_way[scenario].items():
            if index >= trials:
                for scope in scopes:
                    scope.end()

    def close(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first `trials`, which have come; after the last one grant no more."""
        self._closed.add(scenario)
        self.end_beyond(scenario, trials)
        if scenario in self._preparing:
            self._preparing[scenario].cancel()
        if self.is_over:
            self.grant_no_more()

    def begin(self, trial: Trial, kept: Callable[[], Awaitable[None]]) -> None:
        """Take down that a trial begins; its app may be asked once `kept` returns."""
        self._beginnings[trial] = kept

    async def has_begun(self, trial: Trial) -> None:
        """Wait until a trial's app may be asked. Raises StoreError if it cannot be stored that the trial has begun."""
        if (kept := self._beginnings.pop(trial, None)) is not None:
            await kept()

    @contextmanager
    def preparing(self, scenario: int) -> Iterator[None]:
        """Hold a scope for the preparation of a scenario; it is cancelled when the scenario is closed."""
        with anyio.CancelScope() as scope:
            self._preparing[scenario] = scope
            if self.is_closed(scenario):
                scope.cancel()
            yield

    @contextmanager
    def scope(self, trial: Trial) -> Iterator[TrialScope]:
        """Hold a scope that is cancelled when the trial is not needed any more."""
        scopes = self._under_way[trial.scenario].setdefault(trial.index, [])
        scope = TrialScope()
        if not self.needs(trial.scenario, trial.index):
            scope.end()
        scopes.append(scope)
        try:
            with scope.cancel_scope:
                yield scope
        finally:
            scopes.remove(scope)
            if not scopes:
                del self._under_way[trial.scenario][trial.index]


@dataclass(slots=True)
class _Item:
    entry: "Entry"
    is_last: bool = False
    written: anyio.Event = field(default_factory=anyio.Event)


async def _nothing() -> None:
    """Wait for nothing, where nothing is stored."""


def pause_of(under_way: UnderWay) -> float:
    """Return the seconds from one write of a run to the next."""
    return max(SHORTEST_PAUSE_SECONDS, min(under_way.mean_seconds / WRITES_PER_TRIAL, LONGEST_PAUSE_SECONDS))


class Recorder:
    """Writes the entries of a run to a journal; a caller of `record` waits until its entry is written.

    Without a journal nothing is stored. The entries include now and then a Heartbeat from `heartbeat`: the spending so
    far, and a sign of life. A batch is written as soon as every trial of `under_way` waits for it or the queue is full,
    or after a while.

    Used as a context: leaving it in order waits for the queue, leaving it by an error or a cancellation writes the
    entries that have come by then. If the journal cannot be written, every caller gets its StoreError, from then on.
    """

    def __init__(self, journal: Journal | None, heartbeat: Callable[[], Heartbeat], under_way: UnderWay) -> None:
        self._journal, self._heartbeat, self._under_way, self._run_id = journal, heartbeat, under_way, ""
        self._next_heartbeat = self._next_write = 0.0
        self._callers = 0  # that wait for an entry in the queue
        self._due = anyio.Event()
        self._error: StoreError | None = None

    async def __aenter__(self) -> Self:
        self._outbox, self._inbox = anyio.create_memory_object_stream[_Item](LARGEST_BATCH)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._outbox.close()
        self._due.set()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            self._inbox.close()

    async def begin(self, run: "RunRecord") -> None:
        """Keep the record of the run that all further entries belong to; comes before them."""
        self._run_id = run.run_id
        await self.record(run)

    async def record(self, entry: "Entry", *, is_last: bool = False) -> None:
        """Store an entry, if `is_last` after all others; return once it is there. Raises StoreError if it cannot be."""
        if self._journal is None:
            return
        item = _Item(entry, is_last)
        await self._queue(item)
        await self._written(item)

    async def note(self, entry: "Entry") -> Callable[[], Awaitable[None]]:
        """Keep an entry with the next batch; return what waits until it is there, and raises as `record` does."""
        if self._journal is None:
            return _nothing
        item = _Item(entry)
        await self._queue(item)
        return partial(self._written, item)

    async def _queue(self, item: _Item) -> None:
        try:
            self._outbox.send_nowait(item)  # a cancellation that comes now must not lose finished results
        except anyio.WouldBlock:
            self._due.set()
            await self._outbox.send(item)

    async def _written(self, item: _Item) -> None:
        if not item.written.is_set():
            self._callers += 1
            if self._callers >= len(self._under_way):
                self._due.set()
            try:
                await item.written.wait()
            finally:
                self._callers -= 1
        if self._error is not None:
            raise self._error.with_traceback(None)

    def give_up(self) -> None:
        """Write nothing more, and leave a write that does not end to itself."""
        self._journal = None
        self._tasks.cancel_scope.cancel()

    async def recorded(self, entry: E) -> E:
        """Keep an entry and give it."""
        await self.record(entry)
        return entry

    async def _run(self) -> None:
        """Write the entries, a batch at a time. When cancelled, entries that have come are still written."""
        batch: list[_Item] = []
        try:
            while True:
                batch = []
                with anyio.move_on_after(PULSE_SECONDS):
                    batch = [await self._inbox.receive()]
                if batch:
                    with anyio.CancelScope(deadline=self._next_write):
                        await self._due.wait()
                self._due = anyio.Event()
                batch += self._waiting()
                if len(batch) > LARGEST_BATCH:
                    self._due.set()  # the queue was full, and whoever waited for room has filled it again
                given, batch = batch, []  # to a thread, which goes on whatever happens here
                await self._write(given)
                self._next_write = anyio.current_time() + pause_of(self._under_way)
                for item in given:
                    item.written.set()
        except anyio.EndOfStream:
            pass
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LAST_WRITE_SECONDS):
                await self._write([*batch, *self._waiting()])
            raise

    async def _write(self, batch: list[_Item]) -> None:
        if self._journal is None or self._error is not None or not (batch or self._run_id):
            return  # a run that has not begun has no signs of life
        entries, now = [item.entry for item in batch], anyio.current_time()
        at_end = sum(item.is_last for item in batch)
        if now >= self._next_heartbeat or not batch or at_end:
            entries.insert(len(entries) - at_end, self._heartbeat())  # the end of a run is its last entry
            self._next_heartbeat = now + USAGE_SECONDS
        try:
            await anyio.to_thread.run_sync(self._journal.append, self._run_id, entries, abandon_on_cancel=True)
        except StoreError as error:
            self._error = error
        except OSError as error:  # of a journal of the user's own
            self._error = StoreError(getattr(self._journal, "name", type(self._journal).__name__), problem=str(error))

    def _waiting(self) -> list[_Item]:
        found: list[_Item] = []
        while len(found) < LARGEST_BATCH:
            try:
                found.append(self._inbox.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
                break
        return found
