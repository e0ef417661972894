"""What is understood of the answers of A2A, AG-UI, Responses, MCP and WebSockets, beyond what runs show."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from simeval.core.conversation import FIRST_TEXT, AppResponse, ChatMessage
from simeval.errors import DefinitionError
from simeval.extras.protocols.a2a_app import A2aApp
from simeval.extras.protocols.agui_app import AguiApp, patched
from simeval.extras.protocols.mcp_app import McpApp
from simeval.extras.protocols.responses_app import ResponsesApp
from simeval.suites.apps.named import app_of
from simeval.suites.apps.remote_app import AppFailure
from simeval.suites.apps.socket_app import SocketApp
from tests.support.serving import serving

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
AGAIN: list[ChatMessage] = [*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Again"}]
Told = list[Any]


@asynccontextmanager
async def server_of(told: Callable[[Any], Any], *, headers: Any = None) -> AsyncIterator[str]:
    """Serve what `told` makes of a body: a list as events, anything else as JSON; and keep the headers."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if headers is not None:
            headers.append(dict(request.headers))
        if request.method == "GET":
            return web.Response(status=404)
        found = told(await request.json())
        if not isinstance(found, list):
            return web.json_response(found)
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in found)
        return web.Response(text=text, content_type="text/event-stream")

    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", handle)
    async with serving(application) as address:
        yield address


async def answered(app: Any, messages: list[ChatMessage] = HELLO, state: Any = None) -> AppResponse:
    async with app:
        response: AppResponse = await app(messages, state or {})
        return response


def text_event(text: str, *, by: str = "m1") -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": by, "delta": text}


FINISHED = {"type": "RUN_FINISHED"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([text_event("Hel"), text_event("lo"), FINISHED], "Hello"),
        ([text_event("One"), text_event("Two", by="m2"), FINISHED], "One\nTwo"),
        ([{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"}, text_event("Hi"), FINISHED], "Hi"),
        (
            [{"type": "MESSAGES_SNAPSHOT", "messages": [{"role": "assistant", "content": "Hi"}]}, FINISHED],
            "Hi",
        ),
        ([{"type": "RUN_FINISHED", "result": "Hi"}], "Hi"),
        ([{"type": "RUN_FINISHED", "outcome": {"interrupts": [{"id": "i1", "message": "Which?"}]}}], "Which?"),
        ([FINISHED], "its run finished without a text for the user"),
        ([text_event("Hel")], "its stream ended before the run was finished"),
        ([{"type": "RUN_ERROR", "message": "no model"}], "it says that it failed: no model"),
        (["hello"], "it answered with no event of AG-UI: hello"),
        (
            [{"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a/b"}]}],
            "it changes its state where nothing is",
        ),
    ],
)
async def test_a_run_of_agui_is_understood_or_fails_and_says_why(events: Told, expected: str) -> None:
    async with server_of(lambda _: events) as url:
        try:
            found = (await answered(AguiApp(url))).response
        except AppFailure as failure:
            found = str(failure)

    assert found.startswith(expected)


@pytest.mark.anyio
async def test_agui_gets_all_that_was_said_with_its_state_and_the_answer_to_what_it_asks() -> None:
    bodies: list[Any] = []

    def told(body: Any) -> Told:
        bodies.append(body)
        asked = {"type": "RUN_FINISHED", "outcome": {"interrupts": [{"id": "i1", "message": "Which?"}]}}
        return [{"type": "STATE_SNAPSHOT", "snapshot": {"n": len(bodies)}}, asked]

    async with server_of(told) as url:
        first = await answered(AguiApp(url))
        await answered(AguiApp(url), AGAIN, first.state)

    assert first.metadata["state"] == {"n": 1}
    assert [len(body["messages"]) for body in bodies] == [1, 3]
    assert bodies[1]["state"] == {"n": 1}
    assert bodies[1]["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": "Again"}]
    assert bodies[0]["threadId"] == bodies[1]["threadId"]
    assert bodies[0]["messages"][0] == bodies[1]["messages"][0]


def task(state: str, **fields: Any) -> dict[str, Any]:
    return {"task": {"id": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}, **fields}}


SAID = {"parts": [{"text": "Hi"}, {"text": " there"}]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"message": {"contextId": "c", **SAID}}, "Hi there"),
        (task("COMPLETED", artifacts=[{"artifactId": "a", **SAID}, {"artifactId": "b", **SAID}]), "Hi there\nHi there"),
        (task("COMPLETED", history=[{"role": "ROLE_USER"}, {"role": "ROLE_AGENT", **SAID}]), "Hi there"),
        (task("COMPLETED", artifacts=[{"artifactId": "a", "parts": [{"raw": "eA=="}]}]), "no text is found in any"),
        ({"task": {"status": {"state": "TASK_STATE_REJECTED", "message": SAID}}}, "Hi there"),
        ({"task": {"status": {"state": "TASK_STATE_FAILED", "message": SAID}}}, "its task ended as failed: Hi there"),
        (task("WORKING"), "its task is still working"),
        ({"kind": "message", "contextId": "c", **SAID}, "Hi there"),
        ({"kind": "task", "id": "t", "status": {"state": "input-required", "message": SAID}}, "Hi there"),
        ({"kind": "task", "id": "t", "status": {"state": "canceled"}}, "its task ended as canceled"),
    ],
)
async def test_a_result_of_a2a_is_understood_or_fails_and_says_why(result: Any, expected: str) -> None:
    async with server_of(lambda body: {"jsonrpc": "2.0", "id": body["id"], "result": result}) as url:
        try:
            found = (await answered(A2aApp(url))).response
        except AppFailure as failure:
            found = str(failure)

    assert found.startswith(expected)


@pytest.mark.anyio
async def test_an_error_of_json_rpc_is_a_failure_with_its_code() -> None:
    async with server_of(lambda body: {"id": body["id"], "error": {"code": -32603, "message": "away"}}) as url:
        for app in (A2aApp(url), McpApp(url, "ask")):
            with pytest.raises(AppFailure, match="it answers with error -32603: away"):
                await answered(app)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("properties", "required", "expected"),
    [
        ({"q": {"type": "string"}, "n": {"type": "integer"}}, [], {"q": "Again"}),
        ({"q": {"type": "string"}, "to": {"type": "string"}}, ["to"], {"to": "Again"}),
        ({"query": {"type": ["string", "null"]}, "to": {"type": "string"}}, [], {"query": "Again"}),
        ({"text": {}, "messages": {"type": "array"}}, ["text"], {"text": "Again", "messages": AGAIN}),
        ({"a": {"type": "string"}, "b": {"type": "string"}}, [], "which argument of its tool 'ask' is the message"),
        ({"n": {"type": "integer"}}, [], "which argument of its tool 'ask' is the message cannot be told from n;"),
    ],
)
async def test_the_message_goes_into_the_argument_that_is_meant(
    properties: Any, required: Any, expected: dict[str, Any] | str
) -> None:
    called: list[Any] = []

    def told(body: Any) -> Any:
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"]},
            "tools/list": {"tools": [{"name": "ask", "inputSchema": {"properties": properties, "required": required}}]},
            "tools/call": {"content": [{"type": "text", "text": "42"}]},
        }
        called.append(body["params"].get("arguments"))
        return {"jsonrpc": "2.0", "id": body["id"], "result": results[body["method"]]}

    async with server_of(told) as url:
        try:
            found: Any = (await answered(McpApp(url, "ask"), AGAIN)).response
        except AppFailure as failure:
            found = str(failure)

    if isinstance(expected, str):
        assert found.startswith(expected)
    else:
        assert (found, called[-1]) == ("42", expected)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"output": [{"type": "message", "content": [{"text": "Hi"}]}]}, "Hi"),
        ([{"type": "response.refusal.delta", "delta": "No."}, {"type": "response.incomplete", "response": {}}], "No."),
        ([{"type": "response.output_text.delta", "delta": "Hi"}], "its stream ended before the response was complete"),
        ({"output": [], "status": "failed", "error": {"message": "no model"}}, "it says that it failed: no model"),
        ([{"type": "error", "message": "no model"}], "it says that it failed: no model"),
        ({"output": [{"type": "function_call", "name": "menu"}]}, "no text is found in its response"),
        ("Hi", "it answered with no response: Hi"),
    ],
)
async def test_a_response_is_understood_or_fails_and_says_why(told: Any, expected: str) -> None:
    async with server_of(lambda _: told) as url:
        try:
            found = (await answered(ResponsesApp(url, "m"))).response
        except AppFailure as failure:
            found = str(failure)

    assert found.startswith(expected)


@pytest.mark.anyio
async def test_of_a_stream_the_time_to_the_first_text_and_the_usage_are_known() -> None:
    ended = {"id": "r1", "usage": {"input_tokens": 7, "output_tokens": 3}}
    events = [
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": "response.completed", "response": ended},
    ]

    async with server_of(lambda _: events) as url:
        metadata = (await answered(ResponsesApp(url, "m"))).metadata

    assert metadata[FIRST_TEXT] > 0
    assert (metadata["prompt_tokens"], metadata["completion_tokens"]) == (7, 3)


@pytest.mark.anyio
async def test_the_key_goes_to_the_apps_own_origin_and_stands_in_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_API_KEY", "sesame-open")
    headers: list[Any] = []
    told = {"error": {"code": 1, "message": "sesame-open?"}}

    async with server_of(lambda _: told, headers=headers) as url, A2aApp(url) as app:
        exchange = await app.exchange(HELLO, {})

    assert {each["Authorization"] for each in headers} == {"Bearer sesame-open"}
    assert "sesame" not in f"{exchange}"


@pytest.mark.anyio
async def test_a_key_is_not_sent_where_a_card_points_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_API_KEY", "sesame-open")
    headers: list[Any] = []
    said = {"message": SAID}

    async with server_of(lambda body: {"id": body["id"], "result": said}, headers=headers) as elsewhere:
        card = {"supportedInterfaces": [{"url": f"{elsewhere}/rpc", "protocolBinding": "JSONRPC"}]}

        async def describe(_: web.Request) -> web.Response:
            return web.json_response(card)

        application = web.Application()
        application.router.add_get("/.well-known/agent-card.json", describe)
        async with serving(application) as address:
            response = await answered(A2aApp(f"{address}/agent"))

    assert response.response == "Hi there"
    assert ["Authorization" in each for each in headers] == [False]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/b", "value": 1}], {"a": [1, 2], "b": 1}),
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3]}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2]}),
        ([{"op": "replace", "path": "/a/1", "value": 9}], {"a": [1, 9]}),
        ([{"op": "replace", "path": "", "value": 9}], 9),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ([{"op": "move", "from": "/a", "path": "/x~1y"}], {"x/y": [1, 2]}),
        (
            [{"op": "copy", "from": "/a/0", "path": "/b"}, {"op": "test", "path": "/b", "value": 1}],
            {"a": [1, 2], "b": 1},
        ),
    ],
)
def test_a_patch_changes_a_copy(operations: Any, expected: Any) -> None:
    before = {"a": [1, 2]}

    assert patched(before, operations) == expected
    assert before == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("a2a:localhost", "write a2a:URL"),
        ("agui:ftp://a", "write agui:URL"),
        ("openai-responses:http://a", "write openai-responses:URL#MODEL"),
        ("mcp:http://a/mcp", "write mcp:URL#TOOL"),
        ("mcp:no-such-program --fast#ask", "there is no program 'no-such-program'"),
        ("ws://", "write one that begins with ws:// or wss://"),
    ],
)
def test_what_cannot_be_an_app_is_refused_before_it_is_asked(named: str, message: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        app_of(named)

    assert message in str(raised.value)


def test_sockets_that_are_described_differently_have_different_names() -> None:
    options: list[dict[str, Any]] = [{}, {"reply": "$.a"}, {"until": "$.done"}, {"title": "T"}]
    apps = [SocketApp(url="ws://a/", **each) for each in options]

    assert len({app.name for app in apps}) == 4
    assert apps[0].name == "ws://a/"


@pytest.mark.anyio
@pytest.mark.parametrize("app", [AguiApp("http://127.0.0.1:9/"), SocketApp(url="ws://127.0.0.1:9/")])
async def test_an_app_that_is_not_there_is_a_failed_turn(app: Any) -> None:
    with pytest.raises(AppFailure, match=r"//127\.0\.0\.1:9/ cannot be reached"):
        await answered(app)
