"""Spans of a run while it goes on: made by listening to the executor of its trials."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import time_ns
from typing import Any

from simeval.core.capture import Caught, attempt
from simeval.core.logs import warn_all
from simeval.core.network import SentTrace, noting_traces
from simeval.core.run_records import ModelCall, TrialKey
from simeval.core.trial import Score, Trial, TrialConversation, TrialResult
from simeval.engine.executors import Executor
from simeval.engine.flow import Demand
from simeval.engine.parts import RunPart
from simeval.errors import SimevalError
from simeval.extras.telemetry.sending import open_outlet
from simeval.extras.telemetry.spans import RunSpans, Traced
from simeval.results.suite import RunRecord
from simeval.store.journal import RunResult

_OF_TRIAL: ContextVar["_Held | None"] = ContextVar("simeval_traced_trial", default=None)


@dataclass(slots=True)
class _Held:
    """The data of a trial in progress, besides its conversation."""

    started: int = field(default_factory=time_ns)
    ended: int = 0
    calls: list[ModelCall] = field(default_factory=list)
    sent: list[SentTrace] = field(default_factory=list)


@dataclass(slots=True)
class Tracing:
    """Makes the spans of a run; their errors are reported once, and cost the run nothing."""

    spans: RunSpans
    result: RunResult | None = None
    _held: dict[TrialKey, _Held] = field(default_factory=dict)
    _others: list[ModelCall] = field(default_factory=list)  # calls of no trial
    _has_failed: bool = False

    def hear(self, call: ModelCall) -> None:
        """Note a call to a model, with the trial it is made for."""
        held = _OF_TRIAL.get()
        (self._others if held is None else held.calls).append(call)

    def begin(self, trial: Trial) -> _Held:
        """Return the notes on a trial."""
        self._safely(self.spans.begin, trial.scenario)
        return self._held.setdefault((trial.scenario, trial.index), _Held())

    def add(self, judgement: TrialResult) -> None:
        """Make the spans of a trial that is over, if it was held or asked models in this run."""
        trial = judgement.trial
        held = self._held.pop((trial.scenario, trial.index), None)
        if held is not None and (held.ended or held.calls):
            traced = Traced(
                judgement=judgement,
                started=held.started,
                held=held.ended or held.started,
                ended=time_ns(),
                calls=held.calls,
                sent=held.sent,
            )
            self._safely(self.spans.add_trial, traced)

    def end(self) -> None:
        """Make the remaining spans, and end those of the run."""
        self._safely(self.spans.add_calls, self._others)
        self._safely(self.spans.end, self.result)

    def _safely(self, make: Callable[[Any], None], what: object) -> None:
        made = attempt(partial(make, what))  # whatever a provider raises, the run goes on
        if isinstance(made, Caught):
            if not self._has_failed:
                _warn(made.error)
            self._has_failed = True


def _warn(error: Exception) -> None:
    warn_all(f"the trace of this run is not whole ({type(error).__name__}: {error})")


@dataclass(frozen=True, slots=True)
class TracedExecutor:
    """An executor whose trials become spans when they are over."""

    executor: Executor
    tracing: Tracing

    @property
    def notes(self) -> Sequence[str]:
        return self.executor.notes

    async def hold(self, trial: Trial) -> TrialConversation:
        held = self.tracing.begin(trial)
        before = _OF_TRIAL.set(held)
        try:
            with noting_traces(held.sent.append):
                return await self.executor.hold(trial)
        finally:
            held.ended = time_ns()
            _OF_TRIAL.reset(before)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return await self.executor.recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        before = _OF_TRIAL.set(self.tracing.begin(held.trial))
        try:
            made = await self.executor.judge(held, known)
        finally:
            _OF_TRIAL.reset(before)
        self.tracing.add(made)
        return made


class TracingPart(RunPart):
    """Reports a run in spans, to the address in the setting `trace_out`."""

    _tracing: Tracing | None = None

    @asynccontextmanager
    async def around(self, executor: Executor, run: RunRecord, demand: Demand) -> AsyncIterator[Executor]:  # noqa: ARG002
        """Yield an executor whose trials become spans. Raises DefinitionError if they cannot be sent."""
        out = self.context.settings.trace_out
        assert out is not None  # else a run does not have this part
        async with open_outlet(out) as outlet:
            spans = attempt(partial(RunSpans, outlet, run, self.plans, self.context.clean))
            if isinstance(spans, Caught):
                _warn(spans.error)
                yield executor
                return
            with self._listening(spans) as tracing:
                yield TracedExecutor(executor, tracing)

    def end(self, result: RunResult) -> None:
        """Keep the result for the span of the run."""
        if self._tracing is not None:
            self._tracing.result = result

    @contextmanager
    def _listening(self, spans: RunSpans) -> Iterator[Tracing]:
        """Hear of calls to models until this is left; then end all spans."""
        ledger, made = self.context.meter.ledger, Tracing(spans)
        self._tracing, ledger.on_call = made, made.hear
        try:
            yield made
        except SimevalError as error:
            made.result = error.partial if made.result is None else made.result
            raise
        finally:
            ledger.on_call = None
            made.end()
