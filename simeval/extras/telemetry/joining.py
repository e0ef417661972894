"""The app's own spans in the transcripts: the tools that it ran, at the turn of the trial that it ran them in."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import anyio

from simeval.core.capture import Caught, attempt
from simeval.core.conversation import Conversation, Message
from simeval.core.logs import log
from simeval.core.network import SentTrace, noting_traces
from simeval.core.redaction import cleaned
from simeval.core.serialization import Json, opened
from simeval.core.trial import Score, Trial, TrialConversation, TrialResult
from simeval.core.waits import in_words
from simeval.datasets.conversations import is_run_of
from simeval.datasets.messages import moment
from simeval.engine.executors import Executor
from simeval.engine.flow import Demand
from simeval.engine.parts import RunPart
from simeval.extras.telemetry.receiver import SpanInbox, receiving
from simeval.results.suite import RunRecord

_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class JoiningExecutor:
    """An executor whose conversations have the tool calls in the app's spans.

    Spans belong to the trial in whose trace they are. When a conversation is over, those of its requests are waited
    for, at most `seconds`.
    """

    executor: Executor
    inbox: SpanInbox
    demand: Demand
    clean: Callable[[str], str]
    seconds: float
    _joined: int = 0  # spans
    _calls: int = 0
    _trials: int = 0
    _missing: int = 0  # trials
    _untraced: int = 0  # trials

    @property
    def notes(self) -> Sequence[str]:
        told = f"spans of the app: {self._joined:,} of {self._trials:,} trials, {self._calls:,} tool calls in them"
        others = [
            (self._untraced, "trials sent no trace, for the app is reached by no protocol"),
            (self._missing, f"trials lack spans that did not come within {in_words(self.seconds)}"),
            (self.inbox.late, "spans came too late"),
            (self.inbox.foreign, "spans are of no trial of this run"),
        ]
        return (*self.executor.notes, "; ".join([told, *(f"{count:,} {what}" for count, what in others if count)]))

    async def hold(self, trial: Trial) -> TrialConversation:
        sent: list[SentTrace] = []

        def note(each: SentTrace) -> None:
            self.inbox.expect(each)
            sent.append(each)

        with noting_traces(note):
            held = await self.executor.hold(trial)
        return await self._joined_to(held, sent)

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return await self.executor.recall(held)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        return await self.executor.judge(held, known)

    async def _joined_to(self, held: TrialConversation, sent: Sequence[SentTrace]) -> TrialConversation:
        """Return a conversation with the tools that ran in the traces of its requests."""
        self._trials += 1
        if not sent:
            self._untraced += 1
            return held
        if held.failure is None:
            limit = anyio.move_on_after(self.seconds)
            with self.demand.scope(held.trial), limit:
                await self.inbox.wait_for(sent)
            if limit.cancelled_caught:
                self._missing += 1
        spans = self.inbox.take(sent)
        self._joined += len(spans)
        conversation = cleaned(self._with_calls(held.conversation, spans, sent), self.clean)
        return replace(held, conversation=conversation)

    def _with_calls(self, conversation: Conversation, spans: Sequence[Json], sent: Sequence[SentTrace]) -> Conversation:
        found: dict[int, list[Json]] = {}
        for span, run in _calls_of(spans):
            place = _place_of(span, spans, sent, conversation.messages)
            if place is not None:
                found.setdefault(place, []).append(run)
        messages = list(conversation.messages)
        for place, calls in found.items():
            if not messages[place].tool_calls:  # tool calls in the app's own answer are not added twice
                messages[place] = replace(messages[place], tool_calls=tuple(map(opened, calls)))
                self._calls += len(calls)
        return replace(conversation, messages=tuple(messages))


def _calls_of(spans: Sequence[Json]) -> list[tuple[Json, Json]]:
    """Return the tools that ran, and those that a model called and nothing ran, as a hand-over is, in order of time.

    Each is with its span and, if there are several agents, has the name of its agent.
    """
    from simeval.extras.importers.formats.opentelemetry import calls_in, tool_run_of

    ordered = sorted(spans, key=lambda each: moment(each.get("startTimeUnixNano")) or _LAST)
    runs = [(span, run) for span in ordered if (run := tool_run_of(span["attributes"]))]
    found: list[tuple[Json, Json]] = []
    for span in ordered:
        found += [(each, run) for each, run in runs if each is span]
        known = [run for _, run in (*runs, *found)]
        called = attempt(partial(calls_in, span))  # it may be of any form
        new = () if isinstance(called, Caught) else called
        found += [(span, call) for call in new if not any(is_run_of(call, run) for run in known)]
    agents = [_agent_around(span, spans) for span, _ in found]
    if len({*agents} - {""}) < 2:
        return found
    return [(span, {**run, "agent": agent} if agent else run) for (span, run), agent in zip(found, agents, strict=True)]


def _agent_around(span: Json, spans: Sequence[Json]) -> str:
    """Return the name of the agent in whose run a span is."""
    from simeval.extras.importers.formats.opentelemetry import agent_of

    by_id = {str(each.get("spanId")): each for each in spans}
    at: Json | None = span
    for _ in spans:
        if at is None or (agent := agent_of(at, at["attributes"])):
            break
        at = by_id.get(str(at.get("parentSpanId") or ""))
    return agent if at is not None else ""


def _place_of(span: Json, spans: Sequence[Json], sent: Sequence[SentTrace], messages: Sequence[Message]) -> int | None:
    """Return the place of the answer that a span was made for, None if there is none.

    It is that of the request that the span is within. Where one request serves all turns, as a connection does, or the
    spans between are not there, it is that of the time when the span began.
    """
    answers = [place for place, each in enumerate(messages) if each.role == "assistant"]
    at = moment(span.get("startTimeUnixNano"))
    if len(sent) >= len(answers):
        at = _sent_at(span, spans, sent) or at
    begun = [place for place in answers if _has_begun(messages[place], at)]
    return begun[-1] if begun else None


def _sent_at(span: Json, spans: Sequence[Json], sent: Sequence[SentTrace]) -> datetime | None:
    """Return when the request was sent that a span is within."""
    requests = {each.span_id: each.at for each in sent}
    parents = {str(each.get("spanId")): str(each.get("parentSpanId") or "") for each in spans}
    inner = str(span.get("parentSpanId") or "")
    for _ in spans:
        if inner in requests or inner not in parents:
            break
        inner = parents[inner]
    return requests.get(inner)


def _has_begun(answer: Message, at: datetime | None) -> bool:
    return answer.started is not None and at is not None and answer.started <= at


class JoiningPart(RunPart):
    """Receives the app's spans at an address while trials are held."""

    @asynccontextmanager
    async def around(self, executor: Executor, run: RunRecord, demand: Demand) -> AsyncIterator[Executor]:  # noqa: ARG002
        """Yield an executor that joins the app's spans."""
        address, seconds = self.context.settings.trace_in or "", self.context.settings.trace_in_seconds
        async with receiving(address) as inbox:
            log.info(
                f"spans of the app are taken at http://{address}: let it export there (OTEL_EXPORTER_OTLP_ENDPOINT)"
            )
            yield JoiningExecutor(executor, inbox, demand, self.context.clean, seconds)
