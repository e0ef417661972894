"""A scorer's lane: a bounded queue of live conversations, its workers, and what they have found so far."""

import asyncio
import inspect
import json
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Semaphore
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core import seeds
from simeval.core.capture import STOPS_THE_RUN, Caught, capture, guarded, place_of
from simeval.core.conversation import Conversation
from simeval.core.logs import warn_all
from simeval.core.redaction import clean_values
from simeval.core.serialization import plain
from simeval.core.trial import Failure, Score, failure_of
from simeval.datasets.importers.conversations import example_of
from simeval.datasets.importers.messages import turns_of
from simeval.engine.actors.app import is_async
from simeval.engine.flow.order import InOrder
from simeval.engine.online.running_estimate import MetricTally, RunningEstimate
from simeval.errors import DefinitionError, SimevalError
from simeval.scorers.base import Scorer, metrics_of, whole

ENDING_SECONDS = 1.0  # how long a score may take to end when it is cancelled
MOST_METRICS = 200  # of one scorer: names that are made from what people write would have no end

Columns = Mapping[str, Any]
Numbers = Mapping[str, float | bool]
OnScore = Callable[[str, Score | Failure, Columns], Any]
OnDrop = Callable[[str, RunningEstimate], Any]
NO_NUMBERS: Numbers = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerCounts:
    """What became of the conversations that were sampled, for one scorer: each is in one of the four numbers.

    `queued` wait or are being scored, `dropped` found the queue full or the evaluator closed. `last_failure` says why
    the last of the failed ones has no score.
    """

    queued: int
    scored: int
    failed: int
    dropped: int
    last_failure: Failure | None = None


@dataclass(slots=True, eq=False)
class Submission:
    """One conversation as it was submitted; it is read when the first scorer wants it."""

    said: Any
    given: Columns
    seed: int
    number: int
    _columns: Columns | None = None

    def columns(self) -> Columns:
        """Return what scorers may name. Raises DefinitionError where there is no conversation to be read."""
        if self._columns is None:
            conversation = conversation_of(self.said, self.given)
            self._columns = {
                "input": conversation.input,
                "output": conversation.output,
                **self.given,
                "conversation": conversation,
                "seed": seeds.derive(self.seed, "online", self.number),
            }
        return self._columns

    @property
    def known(self) -> Columns:
        """What is known of it: its columns, or what was given where no conversation could be read."""
        return self.given if self._columns is None else self._columns


def conversation_of(said: Any, given: Columns) -> Conversation:
    """Read a conversation from messages as logs have them, or from `input` and `output`; a Conversation is one.

    Raises DefinitionError for anything else.
    """
    if isinstance(said, Conversation):
        return said
    do = "give a Conversation, a list of chat messages, or input= and output="
    if said is None:
        texts = [("user", given.get("input")), ("assistant", given.get("output"))]
        said = [{"role": role, "content": _text(text)} for role, text in texts if text is not None]
    if not isinstance(said, (list, tuple)) or not said:
        raise DefinitionError("submit", found=f"found {said!r:.99}", do=do)
    try:
        example = example_of(turn for message in said for turn in turns_of(message))
    except ValueError as error:
        raise DefinitionError("submit", found=str(error), do=do) from error
    assert example.conversation is not None
    return example.conversation


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


@dataclass(slots=True, eq=False, kw_only=True)
class ScorerQueue:
    """Scores conversations with one scorer, and counts.

    What its scorer does cannot end it, nor the app: an exception is a failure, one that never returns holds one of
    `workers` threads and no more, and one that goes on when it is cancelled is left behind. Scores are counted in the
    order of submission, whatever order they come in; the workers run ahead of one that takes long by `queue_size`
    conversations at most.
    """

    scorer: Scorer
    queue_size: int
    workers: int
    new_tally: Callable[[str], tuple[str, MetricTally]]
    clean: Callable[[str], str]
    level: float
    on_score: OnScore | None
    on_drop: OnDrop | None
    tallies: dict[str, MetricTally] = field(default_factory=dict)  # by the metric's name
    _names: dict[str, str] = field(default_factory=dict, init=False)  # of metrics, by their path
    _taken: int = field(default=0, init=False)
    _scored: int = field(default=0, init=False)
    _failed: int = field(default=0, init=False)
    _dropped: int = field(default=0, init=False)
    _counted: int = field(default=0, init=False)
    _last_failure: Failure | None = field(default=None, init=False)
    _warned: set[str] = field(default_factory=set, init=False)
    _into: MemoryObjectSendStream[tuple[int, Submission]] | None = field(default=None, init=False)
    _order: InOrder[Numbers] = field(default_factory=InOrder, init=False)
    _ahead: anyio.Semaphore = field(init=False)
    _limiter: anyio.CapacityLimiter = field(init=False)  # its own: the app's threads are not taken from it
    _threads: Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._threads = Semaphore(self.workers)
        for path in self.scorer.paths:
            self._add_tally(path)

    @property
    def counts(self) -> ScorerCounts:
        """Return the counts as they are now."""
        queued = self._taken - self._scored - self._failed
        return ScorerCounts(
            queued=queued,
            scored=self._scored,
            failed=self._failed,
            dropped=self._dropped,
            last_failure=self._last_failure,
        )

    def start(self, tasks: TaskGroup) -> None:
        """Open the queue and start the workers."""
        self._ahead = anyio.Semaphore(self.queue_size + self.workers, fast_acquire=True)
        self._limiter = anyio.CapacityLimiter(self.workers)
        self._into, inbox = anyio.create_memory_object_stream[tuple[int, Submission]](self.queue_size)
        with inbox:
            for number in range(self.workers):
                tasks.start_soon(self._work, inbox.clone(), name=f"{self.scorer.name} {number}")

    def offer(self, submission: Submission) -> bool:
        """Queue a conversation where there is a place; tell whether there was."""
        try:
            if self._into is not None:
                self._into.send_nowait((self._taken, submission))
                self._taken += 1
                return True
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # no place, or no more
        self._dropped += 1
        return False

    def close(self) -> None:
        """Take no more; the workers end when the queue is empty."""
        if self._into is not None:
            self._into.close()

    def settle(self) -> None:
        """Count as dropped what has not been scored, and count every score, now that no worker is left."""
        unscored = self._taken - self._scored - self._failed
        self._dropped += unscored
        self._taken -= unscored
        waiting = self._order.waiting
        for number in sorted(waiting):
            self._count(waiting[number])
        self._order = InOrder()

    async def _work(self, inbox: MemoryObjectReceiveStream[tuple[int, Submission]]) -> None:
        async with inbox:
            while True:
                await self._ahead.acquire()
                try:
                    number, submission = await inbox.receive()
                except anyio.EndOfStream:
                    return
                made = await self._isolated(partial(self._score, submission), is_apart=not self._is_at_once)
                score, numbers = self._failed_by(made.error) if isinstance(made, Caught) else made
                self._failed += isinstance(made, Caught)
                self._scored += not isinstance(made, Caught)
                alarms = []
                for released in self._order.push(number, numbers):
                    self._ahead.release()
                    alarms += self._count(released)
                await self._tell(score, submission.known, alarms)

    def _failed_by(self, error: Exception) -> tuple[Failure, Numbers]:
        """Keep a failure, and warn of the first."""
        self._last_failure = failure = self._failure(error)
        self._warn("scorer", f"{failure.error}; further failures of it are only counted")
        return failure, NO_NUMBERS

    async def _tell(self, score: Score | Failure, columns: Columns, alarms: Sequence[str]) -> None:
        """Call who wants to know of a score, or of metrics that have dropped."""
        if self.on_score is not None:
            await self._call(self.on_score, self.scorer.name, score, columns)
        for metric in alarms:
            estimate = self.tallies[metric].estimate(self.level)
            warn_all(f"{metric} has dropped below its bar, after {estimate.n} conversations with a value")
            if self.on_drop is not None:
                await self._call(self.on_drop, metric, estimate)

    async def _score(self, submission: Submission) -> tuple[Score, Numbers]:
        """Measure, and give the score, without secrets where somebody wants it, with the numbers in it by their names.

        Names are kept, told and logged, so that they are clean at any rate.
        """
        score = whole(await self._measure(submission), self.scorer.default_score)
        found = _numbers(score)
        numbers = {path if path in self._names else self.clean(path): value for path, value in found.items()}
        if self.on_score is not None:
            details = clean_values(score.details, self.clean)
            score = replace(score, reasoning=self.clean(score.reasoning), details=details)
        return score, numbers

    async def _isolated(self, work: Callable[[], Awaitable[Any]], *, is_apart: bool) -> Any:
        """Do `work`, isolated; in a task of its own where it may go on when it is cancelled, as nobody can end it."""
        if not is_apart:
            return await isolated(work)
        task = asyncio.ensure_future(isolated(work))
        try:
            await asyncio.wait([task])
        except CancelledError:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task], timeout=ENDING_SECONDS)
            if not task.done():
                self._warn("end", "it goes on though it was cancelled, and is left behind")
            raise
        return task.result()

    @property
    def _is_at_once(self) -> bool:
        """Whether a score is made in the event loop without waiting for anything."""
        return self.scorer.quick and not inspect.iscoroutinefunction(self.scorer.function)

    async def _measure(self, submission: Submission) -> Any:
        """Return what the scorer returns. A plain one runs in a thread of the lane's own, within its time."""
        scorer, columns = self.scorer, submission.columns()
        if scorer.quick or inspect.iscoroutinefunction(scorer.function):
            return await scorer.measure(columns)
        call = partial(scorer.function, **scorer.arguments(columns))
        with anyio.move_on_after(scorer.timeout_seconds):
            made = await anyio.to_thread.run_sync(self._in_thread, call, abandon_on_cancel=True, limiter=self._limiter)
            return await made if inspect.isawaitable(made) else made
        raise TimeoutError(f"no score within {scorer.timeout_seconds} seconds")

    def _in_thread(self, call: Callable[[], Any]) -> Any:
        if not self._threads.acquire(blocking=False):
            raise TimeoutError(f"{self.workers} calls that got no answer in time are still running")
        try:
            return call()
        finally:
            self._threads.release()

    def _count(self, numbers: Numbers) -> list[str]:
        """Add a conversation to all tallies, and give the metrics that this proves to have dropped."""
        for path in numbers:
            if path not in self._names:
                self._add_tally(path)
        self._counted += 1
        return [name for path, name in self._names.items() if self.tallies[name].add(numbers.get(path))]

    def _add_tally(self, path: str) -> None:
        if len(self._names) >= MOST_METRICS:
            self._warn("metrics", f"it gave more than {MOST_METRICS} metrics; further ones are left out")
            return
        name, tally = self.new_tally(path)
        tally.missing = self._counted
        self._names[path], self.tallies[name] = name, tally

    def _failure(self, error: Exception) -> Failure:
        failure = failure_of(error, "scorer", clean=self.clean)
        return failure if isinstance(error, SimevalError) else replace(failure, error=failure.error + place_of(error))

    async def _call(self, callback: Callable[..., Any], *told: Any) -> None:
        async def call() -> None:
            answer = callback(*told)
            if inspect.isawaitable(answer):
                await answer

        made = await self._isolated(call, is_apart=is_async(callback))
        if isinstance(made, Caught):
            self._warn("callback", f"a callback raised {self._failure(made.error).error}; it goes on being called")

    def _warn(self, kind: str, message: str) -> None:
        """Log a warning, the first of its kind only."""
        if kind not in self._warned:
            self._warned.add(kind)
            warn_all(f"scorer {self.scorer.name}: {message}")


def _numbers(score: Score) -> Numbers:
    """Return the numbers in a score, by their paths; of a bare one the path is empty."""
    return metrics_of(score.details) or {"": score.value}


async def isolated(work: Callable[[], Awaitable[Any]]) -> Any:
    """Do `work`; whatever it raises is Caught, also what would end a run or a task. Our own end passes through."""
    try:
        return await capture(lambda: guarded(work(), "it"))
    except STOPS_THE_RUN as error:
        return Caught(error)
