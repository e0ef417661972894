"""The queue of one scorer: live conversations wait in it, workers score them, and both are counted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.capture import Caught
from simeval.core.trial import Failure, Score
from simeval.engine.executors import cleaned_score, failure_to_measure
from simeval.extras.online.isolation import Isolation, OwnThreads
from simeval.extras.online.listeners import Listeners
from simeval.extras.online.running_estimate import NO_NUMBERS, Numbers, ScorerMetrics
from simeval.extras.online.submission import Submission
from simeval.scorers.base import Scorer
from simeval.scorers.returned import metrics_of, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerCounts:
    """The counts of sampled conversations for one scorer: each is in one of the four numbers.

    `queued` wait or are being scored, `dropped` found the queue full or the evaluator closed. `last_failure` is why the
    last of the failed ones has no score.
    """

    queued: int = 0
    scored: int = 0
    failed: int = 0
    dropped: int = 0
    last_failure: Failure | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class ScorerQueue:
    """Scores conversations with one scorer, and counts.

    Its scorer cannot end it, nor the app: an exception is a failure, one that never returns holds one of `workers`
    threads and no more, and one that goes on when it is cancelled is left behind. Scores are counted in the order of
    submission, whatever order they come in; the workers run ahead of a slow one by `queue_size` conversations at most.
    """

    scorer: Scorer
    queue_size: int
    workers: int
    metrics: ScorerMetrics
    listeners: Listeners
    isolation: Isolation
    clean: Callable[[str], str]
    counts: ScorerCounts = field(default=ScorerCounts(), init=False)
    _taken: int = field(default=0, init=False)
    _into: MemoryObjectSendStream[tuple[int, Submission]] | None = field(default=None, init=False)
    _ahead: anyio.Semaphore = field(init=False)
    _threads: OwnThreads = field(init=False)

    def start(self, tasks: TaskGroup) -> None:
        """Open the queue and start the workers."""
        self._ahead = anyio.Semaphore(self.queue_size + self.workers, fast_acquire=True)
        self._threads = OwnThreads(self.workers)
        self._into, inbox = anyio.create_memory_object_stream[tuple[int, Submission]](self.queue_size)
        with inbox:
            for number in range(self.workers):
                tasks.start_soon(self._work, inbox.clone(), name=f"{self.scorer.name} {number}")

    def offer(self, submission: Submission) -> bool:
        """Queue a conversation if there is a place; return whether there was."""
        try:
            if self._into is not None:
                self._into.send_nowait((self._taken, submission))
                self._taken += 1
                self.counts = replace(self.counts, queued=self.counts.queued + 1)
                return True
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # no place, or no more
        self.counts = replace(self.counts, dropped=self.counts.dropped + 1)
        return False

    def close(self) -> None:
        """Take no more; the workers end when the queue is empty."""
        if self._into is not None:
            self._into.close()

    def settle(self) -> None:
        """Count unscored conversations as dropped, and count every score, now that no worker is left."""
        self.counts = replace(self.counts, queued=0, dropped=self.counts.dropped + self.counts.queued)
        self.metrics.settle()

    async def _work(self, inbox: MemoryObjectReceiveStream[tuple[int, Submission]]) -> None:
        async with inbox:
            while True:
                await self._ahead.acquire()
                try:
                    number, submission = await inbox.receive()
                except anyio.EndOfStream:
                    return
                made = await self.isolation.run(partial(self._score, submission), is_apart=not self.scorer.is_at_once)
                result, numbers = self._failed_by(made.error) if isinstance(made, Caught) else made
                self._count(result)
                counted, alarms = self.metrics.push(number, numbers)
                for _ in range(counted):
                    self._ahead.release()
                await self.listeners.scored(self.scorer.name, result, submission.known)
                for metric in alarms:
                    await self.listeners.dropped(metric, self.metrics.estimate(metric))

    def _count(self, result: Score | Failure) -> None:
        counts = replace(self.counts, queued=self.counts.queued - 1)
        if isinstance(result, Score):
            self.counts = replace(counts, scored=counts.scored + 1)
        else:
            self.counts = replace(counts, failed=counts.failed + 1, last_failure=result)

    async def _score(self, submission: Submission) -> tuple[Score, Numbers]:
        """Measure, and return the score, without secrets if there is a listener, with the numbers in it by their names.

        Names are stored, reported and logged, so they are always clean.
        """
        measured = await self.scorer.measure(submission.columns(), run_sync=self._threads.run)
        score = whole(measured, self.scorer.default_score, name=self.scorer.name)
        found = metrics_of(score.details) or {"": score.value}
        numbers = {path if path in self.metrics else self.clean(path): value for path, value in found.items()}
        return (cleaned_score(score, self.clean) if self.listeners.on_score else score), numbers

    def _failed_by(self, error: Exception) -> tuple[Failure, Numbers]:
        """Return a failure, and warn of the first."""
        failure = failure_to_measure(error, clean=self.clean)
        self.isolation.warn("scorer", f"{failure.error}; further failures of it are only counted")
        return failure, NO_NUMBERS
