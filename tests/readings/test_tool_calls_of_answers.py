"""Tool calls are read in the forms that apps report them; a path that finds none is told."""

import json
from typing import Any

import anyio.to_thread
import pytest
from aiohttp import web

from simeval import Engine, HttpApp, dataset_of, scorer
from simeval.core.conversation import called_tool
from tests.support.command_line import simeval
from tests.support.serving import serving

pytestmark = pytest.mark.anyio
CALL = {"tool": "refund", "input": {"order": "F1001"}}


@scorer
def length(output: str) -> int:
    return len(output)


def answering(body: object) -> web.Application:
    async def handle(_request: web.Request) -> web.Response:
        return web.Response(text=json.dumps(body), content_type="application/json")

    application = web.Application()
    application.router.add_post("/", handle)
    return application


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (["refund"], ["refund"]),
        ({"refund": {"order": "F1001"}}, ["refund"]),
        ({"lookup": {}, "refund": {"order": "F1001"}}, ["lookup", "refund"]),
        ("refund(F1001)", ["refund"]),
        (["lookup", "refund(order=F1001)"], ["lookup", "refund"]),
        ([{"refund": {"order": "F1001"}}], ["refund"]),
        ([{"functionCall": {"name": "refund", "args": {}}}], ["refund"]),
        ('[{"name": "refund"}]', ["refund"]),
        (CALL, ["refund"]),
        ([CALL], ["refund"]),
        ([], []),
        (None, []),
        ("none", []),
    ],
)
@pytest.mark.parametrize("path", [None, "$.calls"])
async def test_calls_are_read_in_any_form(found: Any, names: list[str], path: str | None) -> None:
    body = {"reply": "Done", "calls" if path else "tool_calls": found}

    async with serving(answering(body)) as url, (app := HttpApp(url=f"{url}/", tool_calls=path)):
        answer = (await app.exchange([{"role": "user", "content": "Hello"}], {})).answer()

        assert [called_tool(call).name for call in answer.tool_calls or ()] == names
        assert app.doubts == []


@pytest.mark.parametrize(
    ("path", "doubt"),
    [
        ("$.actionz", "`tool_calls: $.actionz` is in none of 3 answers (perhaps $.actions)"),
        ("$.n", "$.n has 17, which is no tool call"),
        ("$.said", '$.said has "I refunded F1001", which is no tool call'),
    ],
)
async def test_a_path_that_finds_no_calls_is_told(path: str, doubt: str, tmp_path: Any) -> None:
    body = {"reply": "Done", "actions": [CALL], "n": 17, "said": "I refunded F1001"}
    examples = dataset_of([{"input": f"Refund F100{n}"} for n in range(3)])

    async with serving(answering(body)) as url:
        app = HttpApp(url=f"{url}/", tool_calls=path)
        result = await Engine(store=None, seed=1).experiment(examples, app, scorers=[length])
        suite = tmp_path / "suite.yaml"
        suite.write_text(SUITE.format(url=f"{url}/", path=path))
        shown = await anyio.to_thread.run_sync(lambda: simeval(tmp_path, "try", "--probe", str(suite)))

    assert any(doubt in note for note in result.run.notes)
    assert "tool calls" in shown.stdout


SUITE = """
app: {{url: "{url}", tool_calls: {path}}}
scenarios:
  - title: No refund
    given: A customer
    when: The user says hello.
    then:
      - tools: {{forbidden: [refund]}}
        evaluator: {{type: proportion, min_proportion: 0.5}}
"""


@pytest.mark.parametrize("written", ["false", "False", False])
async def test_a_false_that_is_written_as_a_text_is_one(written: Any) -> None:
    body = {"reply": "Sorry", "accepted": False}

    async with serving(answering(body)) as url, (app := HttpApp(url=f"{url}/", fail_if={"accepted": written})):
        exchange = await app.exchange([{"role": "user", "content": "Hello"}], {})

    assert "`fail_if:`" in str(exchange.failure)
