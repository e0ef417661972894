"""The app's own spans in the transcripts: which trial they belong to, what is reported of those that are not there."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

import simeval
from simeval import Expectation, HttpApp, ProportionEvaluator
from simeval.core.network import SentTrace, new_traceparent, noting_traces
from simeval.errors import DefinitionError
from simeval.extras.telemetry.receiver import SpanInbox, receiving
from tests.support.suites import Engine, good_app, scenario
from tests.support.traced_app import LATE, MISSING

pytestmark = pytest.mark.anyio
TRACES = "/v1/traces"


@pytest.fixture
def address() -> str:
    """An address that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture
def traced_app(address: str) -> Iterator[str]:
    """The address of an app in another process, which sends its spans to `address`."""
    command = [sys.executable, "-m", "tests.support.traced_app", f"http://{address}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        port = app.stdout.readline().strip()
        assert port, "the app ended before it was reached"
        yield f"http://127.0.0.1:{port}"
        app.terminate()


@pytest.fixture
async def inbox(address: str) -> AsyncIterator[SpanInbox]:
    async with receiving(address) as found:
        yield found


async def test_a_hundred_concurrent_trials_get_their_own_tool_calls(traced_app: str, address: str) -> None:
    async def lets_late_spans_go(output: str) -> bool:
        session, place = output.split()
        if int(place) == LATE:
            async with aiohttp.ClientSession() as client, client.post(f"{traced_app}/late?session={session}"):
                pass
        return True

    suite = scenario(
        sample_size=100,
        max_turns=1,
        then=Expectation(scorer=lets_late_spans_go, evaluator=ProportionEvaluator(threshold=1, min_proportion=0.5)),
    )
    engine = Engine(concurrency=100, trace_in=address, trace_in_seconds=0.5)  # those that come are there before

    result = await engine.evaluate([suite], HttpApp(url=f"{traced_app}/chat"))

    answers = [each.responses[0] for each in result[0].conversations]
    assert len(answers) == 100
    for answer in answers:
        session, place = answer.content.split()
        own = ({"name": "look_up", "arguments": {"session": session}},)
        assert answer.tool_calls == (() if int(place) in (MISSING, LATE) else own)
    assert result.run.notes[-1] == (
        "spans of the app: 160 of 100 trials, 80 tool calls in them; 20 trials lack spans that did not come within "
        "0.5 seconds; 20 spans came too late"
    )


async def test_spans_that_are_sent_after_the_answer_are_waited_for(traced_app: str, address: str) -> None:
    suite = scenario(sample_size=10, max_turns=1)
    engine = Engine(concurrency=10, trace_in=address, trace_in_seconds=3600)

    result = await engine.evaluate([suite], HttpApp(url=f"{traced_app}/first"))

    answers = [each.responses[0] for each in result[0].conversations]
    assert [[call["arguments"]["session"] for call in each.tool_calls] for each in answers] == [
        [each.content] for each in answers
    ]
    assert result.run.notes[-1] == "spans of the app: 20 of 10 trials, 10 tool calls in them"


async def test_of_an_app_that_gets_no_trace_it_is_said_so(address: str) -> None:
    result = await Engine(trace_in=address).evaluate([scenario(sample_size=2)], good_app)

    assert "2 trials sent no trace" in result.run.notes[-1]


async def test_a_run_with_the_apps_spans_does_not_go_on_without_them(address: str, tmp_path: Path) -> None:
    store, suite = tmp_path / "runs.db", [scenario(sample_size=2)]
    await Engine(store=store, trace_in=address, seed=7).evaluate(suite, good_app)

    with pytest.raises(DefinitionError, match=r"trace_in was True and is not set \(--trace-in\)"):
        await Engine(store=store, resume="last").evaluate(suite, good_app)
    elsewhere = address.replace("127.0.0.1", "localhost")
    result = await Engine(store=store, resume="last", trace_in=elsewhere).evaluate(suite, good_app)

    assert "resumed: the run had finished, so nothing was left to do" in result.run.notes


async def test_spans_in_json_are_kept_by_trace_and_foreign_ones_counted(inbox: SpanInbox, address: str) -> None:
    sent: list[SentTrace] = []
    with noting_traces(sent.append):
        new_traceparent("ab" * 16)
    inbox.expect(sent[0])
    spans = [
        {"traceId": "ab" * 16, "spanId": "01" * 8, "parentSpanId": sent[0].span_id, "name": "ours"},
        {"traceId": "cd" * 16, "spanId": "02" * 8, "name": "of somebody else"},
    ]

    async with aiohttp.ClientSession() as client:
        export = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
        async with client.post(f"http://{address}{TRACES}", json=export) as answer:
            assert (answer.status, await answer.json()) == (200, {})
        await inbox.wait_for(sent)
        assert [each["name"] for each in inbox.take(sent)] == ["ours"]
        async with client.post(f"http://{address}{TRACES}", json=export):
            pass

    assert (inbox.foreign, inbox.late) == (2, 1)


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/x-protobuf", b"\xff\xffno protobuf", 400),
        ("application/json", b"{no JSON", 400),
        ("application/json", b"[1]", 400),
        ("application/json", b'{"resourceSpans": [{"scopeSpans": 3}]}', 400),
        ("text/plain", b"hello", 415),
    ],
)
async def test_what_is_no_export_of_spans_is_refused(
    kind: str, body: bytes, status: int, inbox: SpanInbox, address: str
) -> None:
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"http://{address}{TRACES}", data=body, headers={"Content-Type": kind}) as answer,
    ):
        assert answer.status == status
    assert inbox.foreign == 0


async def test_an_address_that_is_taken_is_told(inbox: SpanInbox, address: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be used"):
        await Engine(trace_in=address).evaluate([scenario(sample_size=2)], good_app)


@pytest.mark.parametrize("wrong", ["4318", "localhost", "localhost:none", ":4318", "localhost:70000", 4318])
def test_an_address_is_host_and_port(wrong: object) -> None:
    with pytest.raises(DefinitionError, match="write HOST:PORT"):
        simeval.Settings(trace_in=wrong)  # type: ignore[arg-type]
