"""A run as spans, made of its records when they are there.

test_suite_run                      the run
├── chat MODEL                      requests before any trial: rubrics, controls
└── test_case TITLE                 a scenario; events: its verdicts
    └── simeval.trial               a trial; events: its scores
        ├── chat MODEL              of the simulated user, the judge, by role
        └── invoke_agent APP        a turn of the app; its link is to the trace that the app's own spans are in

Events are log records that belong to a span or, if logs go nowhere, are in it.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from math import isnan
from time import time_ns
from typing import TYPE_CHECKING, Any

from simeval.core.conversation import Conversation, Message, called_tool
from simeval.core.network import SentTrace
from simeval.core.run_records import ModelCall
from simeval.core.trial import Failure, Score, TrialResult, Verdict
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.extras.telemetry import names
from simeval.extras.telemetry.sending import Outlet
from simeval.results.suite import ExpectationResult, RunRecord, SuiteResult
from simeval.results.text import combine
from simeval.store.journal import RunResult

if TYPE_CHECKING:
    from opentelemetry.trace import Link, Span

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def of_call(call: ModelCall, finish: str, clean: Callable[[str], str]) -> dict[str, str]:
    """Return a model's prompt and answer."""
    asked = [_message(each["role"], [_text(clean(each["content"]))]) for each in call.asked()]
    return _attributes(asked, _message("assistant", [_text(clean(call.answered))]), finish)


def of_turn(conversation: Conversation, answer: Message) -> dict[str, str]:
    """Return the messages before an answer of the app's, and the answer, with the tools that it called."""
    before = takewhile(lambda each: each is not answer, conversation.messages)
    return _attributes([_said(each) for each in before], _said(answer), "stop")


def _attributes(asked: Sequence[Mapping[str, Any]], answered: Mapping[str, Any], finish: str) -> dict[str, str]:
    told = {**answered, "finish_reason": finish}
    return {names.MESSAGES_IN: _json(asked), names.MESSAGES_OUT: _json([told])}


def _said(message: Message) -> dict[str, Any]:
    parts = [part for call in message.tool_calls for part in _of_tool(call)]
    return _message(message.role, [*parts, _text(message.content)])


def _of_tool(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a tool call: the request, and its result if it is known."""
    called = called_tool(call)
    known = {"id": called.id} if called.id else {}
    asked = {"type": "tool_call", **known, "name": called.name or "tool"}
    if called.arguments:
        asked["arguments"] = called.arguments[0]
    return [
        asked,
        *({"type": "tool_call_response", **known, "response": each} for each in [*called.results, *called.errors][:1]),
    ]


def _message(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def _json(messages: object) -> str:
    return json.dumps(messages, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A trial that is over: when it began and ended, in nanoseconds of Unix time, its calls and requests."""

    judgement: TrialResult
    started: int
    held: int
    ended: int
    calls: Sequence[ModelCall]
    sent: Sequence[SentTrace]


@dataclass(slots=True)
class RunSpans:
    """The spans of one run. Texts are in them only if the environment asks for content."""

    outlet: Outlet
    run: RunRecord
    plans: Sequence[RunPlan]
    clean: Callable[[str], str]
    _suite: "Span" = field(init=False)
    _cases: "dict[int, Span]" = field(init=False, default_factory=dict)
    _with_content: bool = field(init=False)

    def __post_init__(self) -> None:
        self._with_content = os.environ.get(names.CAPTURE_CONTENT, "").lower() in ("true", "1")
        known: dict[str, Any] = {
            names.SUITE_NAME: self.run.app,
            names.SUITE_ID: self.run.run_id,
            names.SEED: self.run.seed,
        }
        self._suite = self.outlet.tracer.start_span(names.SUITE_RUN, attributes=known)

    def begin(self, scenario: int) -> None:
        """Begin the span of a scenario, if it has not begun."""
        if scenario not in self._cases:
            title = self.plans[scenario].title
            known = {names.CASE_NAME: title, names.CASE_ID: f"{self.run.run_id}/{scenario}"}
            self._cases[scenario] = self._child(self._suite, f"{names.CASE} {title}", None, known)

    def add_trial(self, traced: Traced) -> None:
        """Make the spans of a trial."""
        judgement, trial = traced.judgement, traced.judgement.trial
        conversation = judgement.conversation
        attributes = {
            names.TRIAL_INDEX: trial.index,
            names.SEED: trial.seed,
            names.CONVERSATION: self._conversation_id(judgement),
            names.ENDED: conversation.ended,
        }
        attributes |= {names.ERROR: judgement.failure.cause} if judgement.failure else {}
        span = self._child(self._cases[trial.scenario], names.TRIAL, traced.started, attributes)
        for call in traced.calls:
            self._add_call(span, call)
        for turn, answer in enumerate(conversation.responses):
            self._add_turn(span, traced, answer, turn)
        if judgement.failure is not None and judgement.failure.stage == "app":
            self._add_failed_turn(span, traced, judgement.failure)
        measures = self.plans[trial.scenario].measures
        for measure, result in zip(measures, judgement.results, strict=True):
            self._add_result(span, measure.label, result, traced.ended)
        span.end(traced.ended)

    def add_calls(self, calls: Iterable[ModelCall]) -> None:
        """Make the spans of calls that belong to no trial."""
        for call in calls:
            self._add_call(self._suite, call)

    def end(self, result: RunResult | None) -> None:
        """End the spans of scenarios, with their verdicts, and of the run, which may have no result."""
        status = "aborted"
        if result is not None:
            scenarios = (
                [each.expectations for each in result] if isinstance(result, SuiteResult) else [result.expectations]
            )
            for place, expectations in enumerate(scenarios):
                self.begin(place)
                self._conclude(self._cases[place], expectations)
            if not result.run.stopped:
                status = "success" if result.meets(result.run.gate) else "failure"
        for case in self._cases.values():
            case.end()
        self._suite.set_attribute(names.SUITE_STATUS, status)
        self._suite.end()

    def _conclude(self, case: "Span", expectations: Sequence[ExpectationResult]) -> None:
        for each in expectations:
            for verdict in each.verdicts:
                self._tell(case, _of_verdict(each.label, verdict))
        if expectations:
            case.set_attribute(names.CASE_STATUS, combine([each.outcome for each in expectations]))

    def _child(
        self,
        parent: "Span",
        name: str,
        started: int | None,
        attributes: Mapping[str, Any],
        *,
        is_call: bool = False,
        links: "Sequence[Link]" = (),
    ) -> "Span":
        from opentelemetry.trace import SpanKind, set_span_in_context

        return self.outlet.tracer.start_span(
            name,
            set_span_in_context(parent),
            SpanKind.CLIENT if is_call else SpanKind.INTERNAL,
            attributes,
            links,
            started,
        )

    def _conversation_id(self, judgement: TrialResult) -> str:
        return f"{self.run.run_id}/{judgement.trial.scenario}/{judgement.trial.index}"

    def _add_call(self, parent: "Span", call: ModelCall) -> None:
        provider, model = names.provider_and_model(call.model)
        attributes: dict[str, Any] = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: provider,
            names.MODEL: model,
            names.ROLE: call.role,
        }
        if call.error:
            attributes[names.ERROR] = call.error
        else:
            finish = "length" if call.is_cut else "stop"
            attributes |= {names.TOKENS_IN: call.prompt_tokens, names.TOKENS_OUT: call.completion_tokens}
            attributes[names.FINISH_REASONS] = [finish]
            attributes |= of_call(call, finish, self.clean) if self._with_content else {}
        span = self._child(parent, f"{names.CHAT} {model}", call.started, attributes, is_call=True)
        self._fail(span, call.error)
        span.end(call.ended)

    def _add_turn(self, parent: "Span", traced: Traced, answer: Message, turn: int) -> None:
        if answer.started is None or isnan(answer.seconds):
            return  # it was recorded elsewhere
        started = nanoseconds(answer.started)
        attributes = self._of_turn(traced.judgement)
        if self._with_content:
            attributes |= of_turn(traced.judgement.conversation, answer)
        links = _links(sent for sent in traced.sent if turn_of(sent.at, traced.judgement.conversation) == turn)
        name = f"{names.INVOKE_AGENT} {self.run.app}"
        span = self._child(parent, name, started, attributes, is_call=True, links=links)
        span.end(started + round(answer.seconds * 1e9))

    def _add_failed_turn(self, parent: "Span", traced: Traced, failure: Failure) -> None:
        asked = traced.judgement.conversation.messages[-1:]
        if not asked or asked[0].started is None:
            return
        started = nanoseconds(asked[0].started) + round(asked[0].seconds * 1e9)
        attributes = {**self._of_turn(traced.judgement), names.ERROR: failure.cause}
        links = _links(sent for sent in traced.sent if nanoseconds(sent.at) >= started)
        name = f"{names.INVOKE_AGENT} {self.run.app}"
        span = self._child(parent, name, started, attributes, is_call=True, links=links)
        self._fail(span, failure.error if self._with_content else failure.cause)
        span.end(traced.held)

    def _of_turn(self, judgement: TrialResult) -> dict[str, Any]:
        return {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT: self.run.app,
            names.CONVERSATION: self._conversation_id(judgement),
        }

    def _add_result(self, span: "Span", label: str, result: Score | Failure, at: int) -> None:
        if isinstance(result, Failure):
            if not result.is_unneeded:
                self._tell(span, {names.EVALUATION_NAME: label, names.ERROR: result.cause}, at)
            return
        attributes: dict[str, Any] = {names.EVALUATION_NAME: label, names.EVALUATION_VALUE: result.value}
        if self._with_content and result.reasoning:
            attributes[names.EVALUATION_WHY] = result.reasoning
        self._tell(span, attributes, at)

    def _tell(self, span: "Span", attributes: Mapping[str, Any], at: int | None = None) -> None:
        """Tell the result of an evaluation as an event of a span."""
        from opentelemetry.trace import set_span_in_context

        if self.outlet.logger is None:
            span.add_event(names.EVALUATION, attributes, at)
            return
        self.outlet.logger.emit(
            event_name=names.EVALUATION,
            context=set_span_in_context(span),
            timestamp=at or time_ns(),
            attributes=attributes,
        )

    def _fail(self, span: "Span", why: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        if why:
            span.set_status(Status(StatusCode.ERROR, why))


def nanoseconds(moment: datetime) -> int:
    """Return a time in nanoseconds of Unix time."""
    since = moment - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000


def turn_of(moment: datetime, conversation: Conversation) -> int | None:
    """Return the turn of the app, from 0, in progress at a time; None if it was none yet."""
    begun = [each.started is not None and each.started <= moment for each in conversation.responses]
    return sum(begun) - 1 if any(begun) else None


def _links(sent: Iterable[SentTrace]) -> "list[Link]":
    from opentelemetry.trace import Link, SpanContext, TraceFlags

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return [Link(SpanContext(int(each.trace_id, 16), int(each.span_id, 16), True, sampled)) for each in sent]


def _of_verdict(label: str, verdict: Verdict) -> dict[str, Any]:
    interval = verdict.confidence_interval
    found = {
        names.EVALUATION_NAME: label,
        names.EVALUATION_LABEL: verdict.outcome,
        names.EVALUATION_VALUE: verdict.estimate,
        f"{names.VERDICT}.evaluator": verdict.evaluator,
        f"{names.VERDICT}.n": verdict.n,
        f"{names.VERDICT}.missing": verdict.missing,
        f"{names.VERDICT}.significance_level": verdict.significance_level,
        f"{names.VERDICT}.p_value": verdict.p_value,
        f"{names.VERDICT}.interval": None if interval is None else list(interval),
    }
    return {name: value for name, value in found.items() if value is not None}
