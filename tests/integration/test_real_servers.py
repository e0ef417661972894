"""Our clients against the protocols' own Python servers: skipped without them, unless SIMEVAL_REQUIRE_AGENTS is 1."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from simeval.core.conversation import ChatMessage
from simeval.extras.protocols.a2a_app import A2aApp
from simeval.extras.protocols.agui_app import AguiApp
from simeval.extras.protocols.mcp_app import McpApp
from simeval.suites.apps.remote_app import AppFailure
from tests.support.real_servers import a2a_application, agui_application, mcp_application, served

ARE_THERE = all(find_spec(name) for name in ("a2a", "ag_ui", "mcp", "uvicorn"))
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore"),  # theirs are many
    pytest.mark.skipif(
        not ARE_THERE and os.environ.get("SIMEVAL_REQUIRE_AGENTS") != "1",
        reason="the servers of the protocols are not installed: `make agents`",
    ),
]
HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
AGAIN: list[ChatMessage] = [*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Again"}]


def legacy(app: McpApp) -> McpApp:
    app._known.is_modern = False
    return app


@asynccontextmanager
async def program(_: object) -> AsyncIterator[str]:
    yield f"{sys.executable} -m tests.support.real_servers"


SERVERS: dict[str, tuple[Any, Any, Callable[[str], Any]]] = {
    "mcp": (served, mcp_application, lambda url: McpApp(f"{url}/mcp", "ask")),
    "mcp with a handshake": (served, mcp_application, lambda url: legacy(McpApp(f"{url}/mcp", "ask"))),
    "mcp program": (program, None, lambda command: McpApp(command, "ask")),
    "mcp program with a handshake": (program, None, lambda command: legacy(McpApp(command, "ask"))),
    "a2a": (served, a2a_application, A2aApp),
    "a2a without streams": (served, partial(a2a_application, streams=False), A2aApp),
    "a2a 0.3": (served, partial(a2a_application, version="0.3"), A2aApp),
    "a2a 0.3 without streams": (served, partial(a2a_application, version="0.3", streams=False), A2aApp),
    "agui": (served, agui_application, AguiApp),
}


@pytest.mark.parametrize(("serve", "application", "app_at"), SERVERS.values(), ids=SERVERS.keys())
async def test_two_turns_are_a_conversation_with_its_tool_calls(
    serve: Any, application: Any, app_at: Callable[[str], Any]
) -> None:
    async with serve(application) as address, app_at(address) as app:
        first = await app(HELLO, {})
        second = await app(AGAIN, first.state)
        other = await app(HELLO, {})
        for each in (second, other):
            await app.leave(each.state)

    assert [first.response, second.response, other.response] == ["1: Hello", "2: Again", "1: Hello"]
    assert "menu" in str(second.tool_calls)


@pytest.mark.parametrize(
    ("application", "app_at", "cause"),
    [
        (mcp_application, lambda url: McpApp(f"{url}/mcp", "fail"), "its tool failed: "),
        (mcp_application, lambda url: legacy(McpApp(f"{url}/mcp", "fail")), "its tool failed: "),
        (mcp_application, lambda url: McpApp(f"{url}/mcp", "none"), "it has no tool 'none'; it has ask, fail"),
        (a2a_application, A2aApp, "its task ended as failed: the database is away"),
        (partial(a2a_application, version="0.3"), A2aApp, "its task ended as failed: the database is away"),
        (agui_application, AguiApp, "it says that it failed: "),
    ],
)
async def test_what_fails_there_is_a_failure_here(application: Any, app_at: Callable[[str], Any], cause: str) -> None:
    async with served(application) as url, app_at(url) as app:
        with pytest.raises(AppFailure) as raised:
            await app([{"role": "user", "content": "please fail"}], {})

    assert str(raised.value).startswith(cause)
