"""Runs told in spans: the tree, what content is in it, and collectors that take none."""

import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from jsonschema import Draft202012Validator
from opentelemetry import _logs, trace
from opentelemetry.context import Context
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import simeval
from simeval import AppResponse
from simeval.core.logs import event_of
from simeval.errors import DefinitionError
from tests.support.experiments import sums
from tests.support.suites import Engine, good_app, scenario

pytestmark = pytest.mark.anyio
DATA = Path(__file__).parents[1] / "data"
GOLDEN = DATA / "span_tree.json"
EVALUATION = "gen_ai.evaluation.result"
SIDES = ("input", "output")
PARTS = {"text": "TextPart", "tool_call": "ToolCallRequestPart", "tool_call_response": "ToolCallResponsePart"}
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SECRET = "sk-0123456789abcdef0123456789abcdef"
EXPORTER = InMemorySpanExporter()
EVENTS: InMemoryLogRecordExporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]


class Breaking(SpanProcessor):
    """A processor of a user's own that breaks at spans with a name that begins so."""

    at = "nothing"

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if span.name.startswith(self.at):
            raise RuntimeError("no spans today")


BREAKING = Breaking()


@pytest.fixture(scope="module", autouse=True)
def _providers() -> None:
    """Be a program with providers of its own, which a process has once."""
    provider = TracerProvider()
    provider.add_span_processor(BREAKING)
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)
    logs = LoggerProvider()
    logs.add_log_record_processor(SimpleLogRecordProcessor(EVENTS))
    _logs.set_logger_provider(logs)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    EXPORTER.clear()
    EVENTS.clear()
    yield EXPORTER
    EXPORTER.clear()
    EVENTS.clear()


class Collector:
    """Takes what is exported to it, and answers requests to paths in `refused` with 404."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.spans: dict[bytes, str] = {}  # names by id
        self.events: list[Any] = []

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.path in self.refused:
            return web.Response(status=404)
        if request.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans |= {each.span_id: each.name for scope in resource.scope_spans for each in scope.spans}
        if request.path == "/v1/logs":
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                self.events += [each for scope in logs.scope_logs for each in scope.log_records]
        return web.Response(content_type="application/x-protobuf")


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """A collector at the address that the environment names."""
    found, app = Collector(), web.Application()
    app.router.add_post("/{path:.*}", found.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}")
    yield found
    await runner.cleanup()


def events_of(span: ReadableSpan) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Return the events of a span by name: those that stand in it, and the log records that belong to it."""
    told = [each.log_record for each in EVENTS.get_finished_logs()]
    own = [each for each in told if span.context and each.span_id == span.context.span_id]
    inside = [(each.name, each.attributes) for each in span.events]
    return [*inside, *((str(each.event_name), each.attributes) for each in own)]


def tree(spans: Sequence[ReadableSpan], run_id: str) -> Any:
    """Return spans as nested objects in order of their times, without what is of the moment."""

    def shown(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(run_id, "RUN")
        return list(value) if isinstance(value, tuple) else value

    def attributes(found: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: shown(value) for name, value in sorted((found or {}).items())}

    def node(span: ReadableSpan) -> dict[str, Any]:
        inner = [each for each in spans if each.parent and span.context and each.parent.span_id == span.context.span_id]
        inner.sort(key=lambda each: (str((each.attributes or {}).get("simeval.trial.index", "")), each.start_time or 0))
        return {
            "name": shown(span.name),
            "kind": span.kind.name,
            "status": span.status.status_code.name,
            "attributes": attributes(span.attributes),
            "events": [{"name": name, **attributes(known)} for name, known in events_of(span)],
            "spans": [node(each) for each in inner],
        }

    return [node(span) for span in spans if span.parent is None]


async def flaky_app(message: str, state: dict[str, Any]) -> AppResponse:
    if not state:
        return AppResponse("I can track orders and start returns. What would you like?", {"turns": 1})
    raise ConnectionError("the database is away")


async def test_a_run_is_one_trace_whose_tree_is_the_golden_one(spans: InMemorySpanExporter) -> None:
    suite = [scenario(sample_size=2), scenario("Bot breaks", sample_size=1, max_turns=2)]
    apps = {"Bot explains itself": good_app, "Bot breaks": flaky_app}

    made = []
    for each in suite:
        EXPORTER.clear()
        result = await Engine(seed=7, concurrency=1, trace_out="global").evaluate([each], apps[each.title])
        made += tree(EXPORTER.get_finished_spans(), result.run.run_id)

    assert made == json.loads(GOLDEN.read_text("utf-8"))


async def test_spans_last_as_long_as_what_they_tell_of(spans: InMemorySpanExporter) -> None:
    result = await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=3)], good_app)

    found = {each.context.span_id: each for each in spans.get_finished_spans() if each.context}
    turns = [each for each in found.values() if each.name.startswith("invoke_agent")]
    answers = [answer for each in result[0].conversations for answer in each.responses]
    lasted = sorted((each.end_time or 0) - (each.start_time or 0) for each in turns)
    assert lasted == pytest.approx(sorted(each.seconds * 1e9 for each in answers), abs=2)
    assert len({each.context.trace_id for each in found.values() if each.context}) == 1
    for each in found.values():
        around = found[each.parent.span_id] if each.parent else each
        assert (around.start_time or 0) <= (each.start_time or 0)
        assert (each.end_time or 0) <= (around.end_time or 0)


async def test_texts_stand_in_spans_only_where_the_environment_asks_for_them(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def careless(message: str, state: dict[str, Any]) -> AppResponse:
        return AppResponse(f"Hello from the bot. My key is {SECRET}", state)

    async def told() -> str:
        spans.clear()
        EVENTS.clear()
        await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], careless)
        told = [each.to_json() for each in spans.get_finished_spans()]
        return "".join([*told, *(each.to_json() for each in EVENTS.get_finished_logs())])

    without = await told()
    monkeypatch.setenv(CONTENT, "true")
    with_content = await told()

    assert "Hello from the bot" not in without
    assert "Hello from the bot" in with_content
    assert SECRET not in without + with_content


def messages_by_side(told: Sequence[ReadableSpan]) -> list[tuple[str, list[Any]]]:
    """Return all messages that stand in spans, with the side of the conversation that they are of."""
    found = [dict(each.attributes or {}) for each in told]
    sides = [
        (side, each[f"gen_ai.{side}.messages"]) for each in found if "gen_ai.operation.name" in each for side in SIDES
    ]
    return [(side, json.loads(str(messages))) for side, messages in sides]


async def test_content_is_valid_by_the_schemas_of_the_conventions(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def with_tools(message: str, state: dict[str, Any]) -> AppResponse:
        calls = [
            {"id": "call-1", "name": "find_order", "arguments": {"order": 7}, "result": {"status": "sent"}},
            {"type": "function", "function": {"name": "tell_time", "arguments": "{}"}},
        ]
        return AppResponse("I can track orders and start returns.", state, tool_calls=calls)

    monkeypatch.setenv(CONTENT, "true")
    await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], with_tools)

    kinds = set()
    for side, messages in messages_by_side(spans.get_finished_spans()):
        schema = json.loads((DATA / "genai_conventions" / f"gen-ai-{side}-messages.json").read_text("utf-8"))
        Draft202012Validator(schema).validate(messages)
        for part in (part for message in messages for part in message["parts"]):
            kinds.add(part["type"])  # as a part of an unknown kind anything is valid, so each is held against its own
            own = {"$defs": schema["$defs"], "$ref": f"#/$defs/{PARTS[part['type']]}"}
            Draft202012Validator(own).validate(part)
    assert kinds == set(PARTS)


async def test_events_are_log_records_of_the_span_that_they_tell_of(spans: InMemorySpanExporter) -> None:
    await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], good_app)

    told = [each.log_record for each in EVENTS.get_finished_logs()]
    names = {each.context.span_id: each.name.split(" ")[0] for each in spans.get_finished_spans() if each.context}
    assert [(each.event_name, names[each.span_id or 0]) for each in told] == [
        (EVALUATION, "simeval.trial"),
        (EVALUATION, "simeval.trial"),
        (EVALUATION, "test_case"),
    ]
    assert not any(each.events for each in spans.get_finished_spans())


async def test_events_stand_in_spans_where_logs_are_not_wanted(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")

    await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], good_app)

    assert not EVENTS.get_finished_logs()
    assert [event.name for each in spans.get_finished_spans() for event in each.events] == [EVALUATION] * 3


async def test_events_stand_in_spans_where_the_program_has_no_provider_of_logs(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_logs, "get_logger_provider", _logs.NoOpLoggerProvider)

    await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], good_app)

    assert [event.name for each in spans.get_finished_spans() for event in each.events] == [EVALUATION] * 3


async def test_a_collector_gets_events_and_the_spans_that_they_belong_to(collector: Collector) -> None:
    await Engine(seed=7, trace_out="otlp").evaluate([scenario(sample_size=2)], good_app)

    assert {each.event_name for each in collector.events} == {EVALUATION}
    assert sorted(collector.spans[each.span_id].split(" ")[0] for each in collector.events) == [
        "simeval.trial",
        "simeval.trial",
        "test_case",
    ]


async def test_a_collector_without_logs_is_told_of_with_what_to_do(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.refused.add("/v1/logs")

    await Engine(seed=7, trace_out="otlp").evaluate([scenario(sample_size=30)], good_app)

    assert collector.spans
    assert [event_of(record) for record in caplog.records if record.levelname == "WARNING"] == [
        "the collector took no events of this run (scores, verdicts); OTEL_LOGS_EXPORTER=none puts them into the spans"
    ]


async def test_an_experiment_is_a_trace_too(spans: InMemorySpanExporter) -> None:
    await Engine(trace_out="global").experiment(sums(2), lambda question: question, scorers=[simeval.ExactMatch()])

    names = sorted(each.name.split(" ")[0] for each in spans.get_finished_spans())
    assert names == ["invoke_agent"] * 2 + ["simeval.trial"] * 2 + ["test_case", "test_suite_run"]


async def test_a_collector_that_refuses_changes_nothing_but_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as reserved:  # bound and not listening: whoever connects is refused
        reserved.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{reserved.getsockname()[1]}")

        untold = await Engine(seed=7).evaluate([scenario(sample_size=30)], good_app)
        caplog.clear()
        told = await Engine(seed=7, trace_out="otlp").evaluate([scenario(sample_size=30)], good_app)

    assert told[0].verdicts == untold[0].verdicts
    assert [each.scores for each in told[0].expectations] == [each.scores for each in untold[0].expectations]
    assert [event_of(record) for record in caplog.records if record.levelname == "WARNING"] == [
        "the trace of this run was not sent, or only a part of it"
    ]


@pytest.mark.parametrize("broken", ["test_suite_run", "test_case", "simeval.trial"])
async def test_a_provider_that_breaks_costs_the_run_nothing_but_a_warning(
    broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(BREAKING, "at", broken)

    result = await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=30)], good_app)

    assert result.passed
    assert [event_of(record) for record in caplog.records if record.levelname == "WARNING"] == [
        "the trace of this run is not whole (RuntimeError: no spans today)"
    ]


async def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    with pytest.raises(DefinitionError, match=r'pip install "simeval\[otel\]"'):
        await Engine(trace_out="otlp").evaluate([scenario(sample_size=2)], good_app)


def test_nothing_of_opentelemetry_is_loaded_by_a_run_that_tells_nobody() -> None:
    code = (
        "import sys, simeval\n"
        "simeval.Engine(store=None, sample_size=2).evaluate_sync(simeval.ScenarioTest(title='t', given='g', when='w',"
        "then=simeval.Expectation(expected_behavior='b', evaluator=simeval.SuccessRateEvaluator(min_proportion=.5))),"
        "lambda message: 'hello')\n"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "False"
