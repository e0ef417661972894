"""Live conversations, scored beside the app that holds them, and never in its way.

app ──submit──► sample ──┬──► [queue] ──► [workers of one scorer] ──► in order ──► tallies
└──► a lane like this for each scorer
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import get_ident
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup

from simeval.core import seeds
from simeval.core.capture import Caught
from simeval.core.conversation import Conversation
from simeval.core.event_loops import require_asyncio
from simeval.core.logs import log
from simeval.core.run_records import Ledger, Usage
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.validation import is_number, require, require_level, require_whole
from simeval.errors import DefinitionError
from simeval.extras.online.isolation import Isolation, isolated
from simeval.extras.online.listeners import Listeners, OnDrop, OnScore
from simeval.extras.online.running_estimate import UNIT, Bounds, MetricTally, RunningEstimate, ScorerMetrics
from simeval.extras.online.scorer_queue import ScorerCounts, ScorerQueue
from simeval.extras.online.submission import Submission
from simeval.models.caller import Caller
from simeval.models.protocol.model import Model, ModelKind
from simeval.models.registry import Models
from simeval.scorers.base import Scorer, as_scorer
from simeval.stats.monitor import DropDetector, streams_threshold

DRAIN_SECONDS = 5.0
CLOSING_SECONDS = 5.0  # how long connections may take to close, cancelled or not
NOTHING: Mapping[str, Any] = {}


class OnlineEvaluator:
    """Scores live conversations of an async app, one at a time, and keeps running estimates.

    Used as an async context manager around the app's life. `submit` never waits and never raises: a share of
    `sampling_rate` is sampled, by `seed`; each scorer has a queue of `queue_size` and `workers` of its own, so that a
    slow one costs the others nothing, and conversations beyond its queue are dropped. All of that is in `counts`. A
    scorer's failure is counted, and logged the first time.

    Scorers ask `judge_model` if they have no model of their own, with limits and retries, at most `requests_per_minute`
    of each model. `on_score(name, score, columns)` is called with each score or Failure; `bounds` are those of metrics
    that are numbers, by the metric's name, as in {"Helpfulness.score": (0, 1)}. `watch={metric: bar}` raises an alarm,
    once, if a metric is proven to have dropped below its bar: a log entry and `on_drop(metric, estimate)`; a false one
    comes once in `false_alarm_every` conversations at most, on average, for all watched metrics together. Callbacks are
    plain functions, which run in the event loop, or async ones.

    Leaving the context waits up to `drain_seconds` for the queues, and drops the rest; if the app's own code raised or
    was cancelled, it does not wait. A scorer or callback that goes on though it is cancelled is left behind.

    Scores, failures and names of metrics are without secrets; columns are passed as they were submitted. Raises
    DefinitionError for an argument that cannot be used.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer | Callable[..., Any]],
        *,
        sampling_rate: float = 1.0,
        queue_size: int = 1000,
        workers: int = 4,
        judge_model: str | Model | None = None,
        model_options: Mapping[str, Any] | None = None,
        requests_per_minute: int | None = None,
        seed: int | None = None,
        on_score: OnScore | None = None,
        bounds: Mapping[str, Bounds] = NOTHING,
        watch: Mapping[str, float] = NOTHING,
        on_drop: OnDrop | None = None,
        false_alarm_every: int = 1000,
        window: int = 100,
        significance_level: float = DEFAULTS.significance_level,
        drain_seconds: float = DRAIN_SECONDS,
        secret_patterns: Sequence[str] = (),
    ) -> None:
        usable = is_number(sampling_rate) and 0 <= sampling_rate <= 1
        require(usable, "sampling_rate", found=sampling_rate, do="use a share from 0 to 1")
        usable = is_number(drain_seconds) and drain_seconds >= 0
        require(usable, "drain_seconds", found=drain_seconds, do="use 0 or more seconds")
        sizes = {"queue_size": queue_size, "workers": workers, "window": window, "false_alarm_every": false_alarm_every}
        for name, value in sizes.items():
            require_whole(value, name)
        require_level(significance_level, "significance_level")
        settings = Settings(
            seed=seed,
            requests_per_minute=requests_per_minute,
            model_options=model_options,
            secret_patterns=secret_patterns,
        )
        self._models = Models(settings)
        self._ledger, self._judge = Ledger(), judge_model
        self._seed = secrets.randbelow(2**31) if seed is None else seed
        self._random = seeds.generator(self._seed, "sampling")
        self._rate, self._drain_seconds, self._level = sampling_rate, drain_seconds, significance_level
        self._submitted = self._sampled_out = 0
        self._bounds = {name: _checked_bounds(name, pair) for name, pair in bounds.items()}
        self._detectors = self._watches(watch, false_alarm_every)
        self._clean = self._models.redactor().clean
        self._queues = [
            self._queue(each, queue_size, workers, window, on_score, on_drop) for each in _named_once(scorers)
        ]
        self._check_metrics({*self._bounds, *self._detectors})
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        require_asyncio("OnlineEvaluator")
        do = "make a new one: its queues are closed"
        require(self._loop is None, "OnlineEvaluator", found="one that has been used", do=do)
        await self._models.check()  # it loads their models: now, not while the app is serving
        self._models.open()
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self._tasks = await anyio.create_task_group().__aenter__()
        for queue in self._queues:
            queue.start(self._tasks)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        for queue in self._queues:
            queue.close()
        if error is None:
            self._tasks.cancel_scope.deadline = anyio.current_time() + self._drain_seconds
        else:
            self._tasks.cancel_scope.cancel()
        cancelled = isinstance(error, anyio.get_cancelled_exc_class())
        try:  # an error of the app's goes on as it is, and not as a group of the scorers'
            await self._tasks.__aexit__(*((kind, error, trace) if cancelled else (None, None, None)))
        finally:
            for queue in self._queues:
                queue.settle()
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSING_SECONDS):
                closed = await isolated(self._models.close)
                if isinstance(closed, Caught):
                    log.warning(f"a model could not be closed: {closed.error!r}")

    def submit(
        self,
        conversation: Conversation | Sequence[Mapping[str, Any]] | None = None,
        /,
        **columns: Any,
    ) -> bool:
        """Take a conversation to be scored, and return whether some scorer will.

        It is a Conversation, a list of chat messages, or the texts `input` and `output`; further `columns` are
        arguments for scorers. Never waits, never raises; anything else than a conversation counts as a failure of each
        scorer. From another thread it is handed to the event loop's, and True means only that.
        """
        said = tuple(conversation) if isinstance(conversation, list) else conversation  # the app's own may grow
        if self._loop is None or get_ident() == self._thread:
            return self._take(said, columns)
        try:
            self._loop.call_soon_threadsafe(self._take, said, columns)
        except RuntimeError:  # the loop is closed
            return self._take(said, columns)
        return True

    @property
    def submitted(self) -> int:
        """How many conversations were submitted."""
        return self._submitted

    @property
    def sampled_out(self) -> int:
        """How many of them were not sampled."""
        return self._sampled_out

    @property
    def counts(self) -> Mapping[str, ScorerCounts]:
        """Return the counts of sampled conversations, by the scorer's name."""
        return {queue.scorer.name: queue.counts for queue in self._queues}

    @property
    def usage(self) -> Mapping[str, Usage]:
        """Return the usage of the scorers' models, with the cost if it is known, by role."""
        return self._ledger.by_role()

    def estimates(self) -> Mapping[str, RunningEstimate]:
        """Return the present estimate of each metric, by its name: the scorer's, a dot, and its path in the score.

        Conversations count in the order of submission, so one that takes long holds back those after it. Takes about a
        millisecond for each metric with an interval.
        """
        return {name: found for queue in self._queues for name, found in queue.metrics.estimates().items()}

    def rearm(self, metric: str) -> None:
        """Watch a metric again, after an alarm whose cause is fixed. Raises DefinitionError."""
        require(metric in self._detectors, "rearm", found=metric, do=f"use one of {', '.join(self._detectors)}")
        old = self._detectors[metric]
        self._detectors[metric] = new = DropDetector(old.p0, false_alarm_every=old.false_alarm_every)
        for queue in self._queues:
            if metric in queue.metrics.tallies:
                queue.metrics.tallies[metric].detector = new

    def _take(self, said: Any, columns: Mapping[str, Any]) -> bool:
        number = self._submitted
        self._submitted += 1
        if self._random.random() >= self._rate:
            self._sampled_out += 1
            return False
        submission = Submission(said, columns, self._seed, number)
        is_taken = False
        for queue in self._queues:
            is_taken = queue.offer(submission) or is_taken
        return is_taken

    def _queue(
        self,
        scorer: Scorer,
        queue_size: int,
        workers: int,
        window: int,
        on_score: OnScore | None,
        on_drop: OnDrop | None,
    ) -> ScorerQueue:
        isolation = Isolation(scorer.name)
        new_tally = partial(self._tally, scorer.name, window=window)
        metrics = ScorerMetrics(new_tally=new_tally, warn=isolation.warn, level=self._level)
        for path in scorer.paths:
            metrics.add(path)
        return ScorerQueue(
            scorer=scorer.bind(self._callers),
            queue_size=queue_size,
            workers=1 if scorer.quick else workers,  # in the event loop more would only share one place
            metrics=metrics,
            listeners=Listeners(on_score=on_score, on_drop=on_drop, isolation=isolation, clean=self._clean),
            isolation=isolation,
            clean=self._clean,
        )

    def _callers(self, named: str | Model | ModelKind | None) -> Caller:
        model = self._judge if named is None else named
        if model is None:
            do = "give judge_model, or each such scorer its model"
            raise DefinitionError("OnlineEvaluator", found="a scorer that asks a model, and no model", do=do)
        return self._models.caller(self._models.get(model), self._ledger)

    def _tally(self, scorer: str, path: str, *, window: int) -> tuple[str, MetricTally]:
        """Make the tally of a scorer's metric, and give it with the metric's name."""
        name = f"{scorer}.{path}" if path else scorer
        detector = self._detectors.get(name)
        return name, MetricTally(window, self._bounds.get(name, UNIT if detector else None), detector)

    def _watches(self, watch: Mapping[str, float], false_alarm_every: float) -> dict[str, DropDetector]:
        found = {}
        for name, bar in watch.items():
            low, high = self._bounds.get(name, UNIT)
            usable = is_number(bar) and low < bar < high
            require(usable, f"watch {name!r}", found=bar, do=f"use a bar between {low:g} and {high:g}; see bounds")
            every = streams_threshold(false_alarm_every, len(watch))
            found[name] = DropDetector((bar - low) / (high - low), false_alarm_every=every)
        return found

    def _check_metrics(self, metrics: set[str]) -> None:
        """Raise DefinitionError if `bounds` or `watch` name a metric that no scorer gives."""
        for metric in sorted(metrics):
            of = [queue.scorer for queue in self._queues if f"{metric}.".startswith(f"{queue.scorer.name}.")]
            paths = [f"{scorer.name}.{path}" for scorer in of for path in scorer.paths]
            there = paths or [queue.scorer.name for queue in self._queues]
            do = f"name a scorer, a dot and the path of a number; there are {', '.join(there)}"
            require(bool(of) and (not paths or metric in paths), "bounds and watch", found=metric, do=do)


def _named_once(scorers: Sequence[Scorer | Callable[..., Any]]) -> list[Scorer]:
    found = [as_scorer(each, "OnlineEvaluator: scorers") for each in scorers]
    names = [scorer.name for scorer in found]
    require(bool(names), "OnlineEvaluator", found=names, do="give one or more scorers")
    require(len(set(names)) == len(names), "scorers", found=names, do="give each scorer a name of its own")
    return found


def _checked_bounds(metric: str, pair: Bounds) -> Bounds:
    usable = isinstance(pair, tuple) and len(pair) == 2 and all(is_number(end) for end in pair) and pair[0] < pair[1]
    require(usable, f"bounds of {metric!r}", found=pair, do="give the lowest and the highest value, as in (0, 1)")
    return pair
