"""Agents of the real SDKs as apps: skipped where these are not installed, unless SIMEVAL_REQUIRE_AGENTS is 1."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simeval.core.conversation import ChatMessage
from simeval.suites.apps.named import app_of, as_app
from tests.support.agents import AGENTS, asking_graph, pydantic_agent
from tests.support.console import Reader
from tests.support.suites import Engine, scenario

ARE_THERE = all(find_spec(name) for name in ("agents", "pydantic_ai", "langgraph", "mcp"))
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore"),  # theirs are many
    pytest.mark.skipif(
        not ARE_THERE and os.environ.get("SIMEVAL_REQUIRE_AGENTS") != "1",
        reason="the SDKs of agents are not installed: `make agents`",
    ),
]
ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guides/apps.md"
TWO_TURNS = scenario(when="The user says hello. The user asks for the menu.", sample_size=3, max_turns=2)


@pytest.mark.parametrize(("made", "name", "state"), AGENTS.values(), ids=AGENTS.keys())
async def test_an_agent_remembers_its_trial_and_its_calls_usage_and_state_are_in_the_transcript(
    made: Callable[[], Any], name: str, state: Any
) -> None:
    result = await Engine().evaluate(TWO_TURNS, made())

    assert result.run.app == name
    assert len(result.conversations) == 3
    for conversation in result.conversations:
        first, second = conversation.responses
        assert (first.content.split(":")[0], second.content.split(":")[0]) == ("1", "2")
        [call] = second.tool_calls
        assert (call["name"], "soup, today" in str(call["result"])) == ("menu", True)
        assert call["arguments"] in ({"day": "today"}, '{"day": "today"}')
        assert second.metadata["prompt_tokens"] > 0
        assert second.metadata["completion_tokens"] > 0
        assert second.metadata.get("state") == state


async def test_a_graph_that_is_interrupted_asks_the_user_and_goes_on_with_the_answer() -> None:
    messages: list[ChatMessage] = [{"role": "user", "content": "Where is my order?"}]

    async with as_app(asking_graph()) as app:
        first = await app(messages, {})
        second = await app([*messages, {"role": "user", "content": "A123"}], first.state)

    assert (first.response, second.response) == ("Which order?", "You said A123")


async def test_an_error_in_an_agent_is_a_failed_turn_with_its_cause() -> None:
    from pydantic_ai.models.function import FunctionModel

    def failing(*_: Any) -> Any:
        raise RuntimeError("the database is away")

    agent = pydantic_agent()
    agent.model = FunctionModel(failing)

    result = await Engine().evaluate(TWO_TURNS, agent)

    assert {failure.stage for _, failure in result.failures} == {"app"}
    assert all("RuntimeError: the database is away" in failure.error for _, failure in result.failures)


def test_an_agent_is_named_as_a_module_and_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_of_agents.py").write_text("from tests.support.agents import adk_agent\nagent = adk_agent()\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert getattr(app_of("shop_of_agents:agent"), "name", "") == "adk:Support"


def test_who_follows_the_tutorial_sees_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))

    Reader(tmp_path).follow((ROOT / "docs/tutorials/agent.md").read_text(encoding="utf-8"))


def test_the_guides_snippet_runs(tmp_path: Path) -> None:
    [code] = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths}

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr


async def test_a_client_of_mcp_that_a_handler_keeps_over_turns_answers_in_every_conversation() -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = "from tests.support.real_servers import mcp_server; mcp_server().run(transport='stdio')"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )

    async def handle(message: str, state: dict[str, Any], *, session_id: str) -> str:
        if not state:
            stack = state["stack"] = AsyncExitStack()
            read, write = await stack.enter_async_context(stdio_client(server))
            state["client"] = await stack.enter_async_context(ClientSession(read, write))
            await state["client"].initialize()
        asked = {"question": message, "session_id": session_id}
        found = await state["client"].call_tool("ask", asked)
        return str(found.content[0].text)

    two_turns = scenario(when="The user says hello. The user asks for the menu.", sample_size=6, max_turns=2)
    result = await Engine(concurrency=3).evaluate(two_turns, handle)

    assert not result.failures
    assert len(result.conversations) == 6
    for conversation in result.conversations:
        assert [f'"{turn}: ' in each.content for turn, each in enumerate(conversation.responses, 1)] == [True, True]
