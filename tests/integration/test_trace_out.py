"""Runs told in spans: the tree, what content is in it, and collectors that take none."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
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
GOLDEN = Path(__file__).parents[1] / "data" / "span_tree.json"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SECRET = "sk-0123456789abcdef0123456789abcdef"
EXPORTER = InMemorySpanExporter()


class Breaking(SpanProcessor):
    """A processor of a user's own that breaks at spans with a name that begins so."""

    at = "nothing"

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if span.name.startswith(self.at):
            raise RuntimeError("no spans today")


BREAKING = Breaking()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    """Be a program with a provider of its own, which a process has once."""
    provider = TracerProvider()
    provider.add_span_processor(BREAKING)
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()


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
            "events": [{"name": each.name, **attributes(each.attributes)} for each in span.events],
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
        await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], careless)
        return "".join(each.to_json() for each in spans.get_finished_spans())

    without = await told()
    monkeypatch.setenv(CONTENT, "true")
    with_content = await told()

    assert "Hello from the bot" not in without
    assert "Hello from the bot" in with_content
    assert SECRET not in without + with_content


async def test_messages_have_the_form_of_the_conventions(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTENT, "true")

    await Engine(seed=7, trace_out="global").evaluate([scenario(sample_size=2)], good_app)

    told = [dict(each.attributes or {}) for each in spans.get_finished_spans()]
    for attributes in (each for each in told if "gen_ai.operation.name" in each):
        asked, answered = (json.loads(str(attributes[f"gen_ai.{side}.messages"])) for side in ("input", "output"))
        assert [each["finish_reason"] for each in answered] == ["stop"]
        for message in (*asked, *answered):
            assert message["role"] in ("system", "user", "assistant")
            assert [set(part) for part in message["parts"]] == [{"type", "content"}]


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
