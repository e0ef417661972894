"""Apps by every protocol, in runs: a session a trial, tool calls, the ways to fail, and nobody's SDK."""

import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from simeval.core.conversation import ChatMessage
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.remote_app import Session
from simeval.suites.apps.replies import Reply
from tests.support.protocol_apps import AT, app_at
from tests.support.protocol_server import FAILURES, ProtocolServer, protocol_server
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]

CAUSES = {"error": "HTTP 500", "page": "HTML", "hanging": "no answer within", "broken": "its answer broke off"}
OTHER_CAUSES = {
    ("mcp program", "error"): "(exit status 1: the database is away)",
    ("mcp program", "page"): "it answered with no JSON-RPC: <html>",
    ("mcp program", "broken"): "it ended without an answer to tools/call",
    ("ws", "page"): "HTTP 200: it opens no WebSocket, but answers with text/html",
    ("ws", "broken"): "its answer broke off after 'Hel': it closed the connection",
    ("responses", "broken"): "its answer broke off after 'Hel'",
    ("agui", "broken"): "its answer broke off after 'Hel'",
    ("a2a", "broken"): "its answer broke off after 'Hel'",
}
ASKED = {  # how often the server failed in two trials, where that is not once in each
    ("mcp", "error"): 4,  # by the version without a handshake, and by that with one
    ("mcp without a handshake", "error"): 4,
    ("ws", "error"): 4,  # each conversation may open one more connection, to learn whether the app greets
    ("ws", "page"): 4,
    ("ws", "hanging"): 0,  # a connection is counted that it does not open
    ("ws", "broken"): 0,
}
TWO_TURNS = scenario(when="The user says hello. The user asks for the menu.", sample_size=3, max_turns=2)


@pytest.fixture
async def server() -> AsyncIterator[ProtocolServer]:
    """A server of every protocol."""
    async with protocol_server() as served:
        yield served


@pytest.mark.parametrize("protocol", AT)
async def test_a_trial_is_a_session_of_its_own_with_its_tool_calls(protocol: str, server: ProtocolServer) -> None:
    app = app_at(protocol, "good", server)

    result = await Engine().evaluate(TWO_TURNS, app)

    assert [len(each.responses) for each in result.conversations] == [2, 2, 2]
    for conversation in result.conversations:
        assert [answer.content.split(":")[0] for answer in conversation.responses] == ["1", "2"]
        assert all("menu" in str(answer.tool_calls) for answer in conversation.responses)
    traces = [headers["traceparent"].split("-")[1] for headers in server.headers]
    silent = protocol == "ws"  # one connection more, to learn whether the app greets
    assert len(set(traces)) == (0 if protocol == "mcp program" else 3 + silent)
    assert len(server.left) in ({3, 4} if silent else {3} if protocol == "mcp" else {0})  # the silent one may end later
    assert not [child for child in psutil.Process().children() if "mcp_program" in " ".join(child.cmdline())]


async def test_a_program_that_takes_long_to_start_may_want_no_handshake(
    server: ProtocolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simeval.extras.protocols.mcp_lines.PROBE_SECONDS", 0.01)

    result = await Engine().evaluate(TWO_TURNS, app_at("mcp program", "late", server))

    assert [len(each.responses) for each in result.conversations] == [2, 2, 2]


@pytest.mark.parametrize("manner", FAILURES)
@pytest.mark.parametrize("protocol", AT)
async def test_a_server_that_fails_is_a_failed_turn_with_stage_and_cause(
    protocol: str, manner: str, server: ProtocolServer
) -> None:
    app = app_at(protocol, manner, server)
    engine = Engine(app_timeout_seconds=0.5 if manner == "hanging" else 30)

    result = await engine.evaluate(scenario(sample_size=2), app)

    failures = [failure for _, failure in result.failures]
    assert [failure.stage for failure in failures] == ["app", "app"]
    cause = OTHER_CAUSES.get((protocol, manner), CAUSES[manner])
    assert all(cause in failure.error for failure in failures)
    assert server.asked == ASKED.get((protocol, manner), 0 if protocol == "mcp program" else len(failures))


async def test_an_app_that_cannot_let_a_conversation_go_costs_no_trial(caplog: pytest.LogCaptureFixture) -> None:
    class Sticky(HttpApp):
        async def _turn(self, messages: Sequence[ChatMessage], kept: Session, reply: Reply) -> Session:
            reply.add("I can track orders and start returns.")
            return kept

        async def leave(self, state: Mapping[str, Any]) -> None:
            raise OSError("it holds on")

    result = await Engine().evaluate(scenario(sample_size=2), Sticky(url="http://127.0.0.1:9/"))

    assert len(result.expectations[0].scores) == 2
    assert "could not be closed" in caplog.text


async def test_a_socket_is_opened_and_closed_without_its_app_being_held_open(server: ProtocolServer) -> None:
    app = app_at("ws", "good", server)

    exchange = await app.exchange([{"role": "user", "content": "Hello"}], {})
    await app.leave(exchange.answer().state)

    assert exchange.answer().response == "1: Hello"
    assert app._wire.connected is None


SPEAK_ALL = """
import sys, anyio
from tests.support.protocol_apps import AT, app_at
from tests.support.protocol_server import protocol_server

HELLO = [{"role": "user", "content": "Hello"}]

async def main():
    async with protocol_server() as server:
        for protocol in AT:
            async with app_at(protocol, "good", server) as app:
                exchange = await app.exchange(HELLO, {})
                assert exchange.answer().response == "1: Hello", exchange
                await app.leave(exchange.answer().state)

anyio.run(main)
sdks = {"openai", "agents", "a2a", "ag_ui", "mcp", "websockets", "pydantic_ai", "langgraph", "google", "litellm"}
found = sdks & {*sys.modules}
sys.exit(str(found) if found else 0)
"""


def test_no_sdk_of_others_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", SPEAK_ALL], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert (done.stderr, done.returncode) == ("", 0)
