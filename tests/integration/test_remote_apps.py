"""Runs against apps behind URLs: whole conversations, failed turns, what is loaded, and what a person sees."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from simeval import Engine
from simeval.suites.files import load_suite
from tests.support.command_line import simeval
from tests.support.http_apps import WebApp, web_app

SUITE = """
sample_size: {size}
max_turns: 2
scenarios:
  - title: App answers
    given: A customer
    when: The user says hello. The user asks for the menu.
    then:
      expected_behavior: App answers
      evaluator: {{type: success_rate, min_proportion: 0.5}}
app:
  url: {url}
  tool_calls: $.data.calls
"""


@pytest.fixture
async def server() -> AsyncIterator[WebApp]:
    """An app behind a URL."""
    async with web_app() as served:
        yield served


@pytest.mark.anyio
async def test_a_run_holds_one_session_a_trial_with_its_tool_calls(server: WebApp, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(size=8, url=f"{server.url}/plain"))
    suite = load_suite(str(path))
    app: Any = suite.cast.app

    [result] = await Engine(store=None, display="none", early_stopping=False).evaluate(suite, app)

    assert result.run.app.startswith(f"{server.url}/plain (")
    assert len(result.conversations) == 8
    for conversation in result.conversations:
        assert [answer.content.split(":")[0] for answer in conversation.responses] == ["1", "2"]
        assert all(answer.tool_calls == ({"name": "menu"},) for answer in conversation.responses)
    assert len({body["session"] for body in server.bodies}) == 8
    assert app._wire.connected is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("page", "cause"),
    [
        ("error", "HTTP 500"),
        ("page", "a page of HTML"),
        ("broken", "its answer broke off"),
        ("hanging", "no answer within 0.2 seconds (app_timeout_seconds)"),
    ],
)
async def test_an_app_that_fails_is_a_failed_turn_with_its_cause(
    server: WebApp, page: str, cause: str, tmp_path: Path
) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(size=2, url=f"{server.url}/{page}"))
    suite = load_suite(str(path))
    app: Any = suite.cast.app
    engine = Engine(store=None, display="none", app_timeout_seconds=0.2, early_stopping=False)

    [result] = await engine.evaluate(suite, app)

    assert result.outcome == "error"
    failures = [failure for _, failure in result.failures]
    assert {failure.stage for failure in failures} == {"app"}
    assert all(cause in str(failure.error) for failure in failures)


@pytest.mark.anyio
async def test_probe_shows_what_was_understood(server: WebApp, tmp_path: Path) -> None:
    def probe(*arguments: str) -> Any:
        return simeval(tmp_path, "probe", *arguments)

    answered = await anyio.to_thread.run_sync(probe, f"{server.url}/plain", "--message", "Hi")
    failed = await anyio.to_thread.run_sync(probe, f"{server.url}/page")
    refused = await anyio.to_thread.run_sync(probe, "offline/app")

    assert answered.returncode == 0
    assert "reply       1: Hi. My code word is " in answered.stdout
    assert "reply       2: Which code word did I give you?" in answered.stdout
    assert "came back   HTTP 200, application/json, in " in answered.stdout
    assert failed.returncode == 3
    assert "no answer   it answered with a page of HTML" in failed.stdout
    assert refused.returncode == 2
    assert "it is a model, which needs no probe" in refused.stderr


def test_a_mistake_in_an_apps_description_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(size=3, url="ftp://example.com").replace("tool_calls:", "toolcalls:"))

    done = simeval(tmp_path, "run", "suite.yaml")

    assert done.returncode == 2
    assert "field app.toolcalls: there is no field 'toolcalls'; did you mean 'tool_calls'?" in done.stderr
