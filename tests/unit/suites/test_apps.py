"""Apps behind a URL, and programs: what they are sent, and what is understood of what they answer."""

import asyncio
import pickle
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from simeval.core.conversation import ChatMessage
from simeval.errors import DefinitionError
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.apps.remote_app import AppFailure
from tests.support.http_apps import HTML, WebApp, web_app

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
AGAIN: list[ChatMessage] = [*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Again"}]


@pytest.fixture
async def server() -> AsyncIterator[WebApp]:
    """An app behind a URL."""
    async with web_app() as served:
        yield served


async def said(app: ProtocolApp, messages: list[ChatMessage] = HELLO) -> str:
    """Return what an app answers."""
    async with app:
        return (await app(messages, {})).response


@pytest.mark.anyio
async def test_a_conversation_is_one_session_with_its_cookies(server: WebApp) -> None:
    app = HttpApp(url=f"{server.url}/plain", tool_calls="$.data.calls")

    async with app:
        first = await app(HELLO, {})
        second = await app(AGAIN, first.state)
        other = await app(HELLO, {})

    assert [first.response, second.response, other.response] == ["1: Hello", "2: Again", "1: Hello"]
    assert first.tool_calls == ({"name": "menu"},)
    sessions = [body["session"] for body in server.bodies]
    assert sessions[0] == sessions[1] != sessions[2]
    assert [headers["traceparent"].split("-")[1] for headers in server.headers] == sessions


@pytest.mark.anyio
async def test_tool_calls_are_read_where_they_usually_are(server: WebApp) -> None:
    async with (app := HttpApp(url=f"{server.url}/plain")):
        assert (await app(HELLO, {})).tool_calls == ({"name": "look_up"},)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("page", "session"), [("named", "$.id.of"), ("plain", "header:X-Conversation"), ("plain", "cookie:turns")]
)
async def test_the_app_may_name_the_conversation(server: WebApp, page: str, session: str) -> None:
    app = HttpApp(url=f"{server.url}/{page}", session=session)

    async with app:
        first = await app(HELLO, {})
        await app(AGAIN, first.state)

    assert [body["session"] for body in server.bodies] == [
        None,
        {"$.id.of": "s-7", "header:X-Conversation": "c-1", "cookie:turns": "1"}[session],
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("page", "options", "expected"),
    [
        ("plain", {}, "1: Hello"),
        ("plain", {"reply": "$.data.texts[1]"}, "b"),
        ("plain", {"reply": "data.texts.-1"}, "there is nothing at $.data.texts.-1 of its answer"),
        ("text", {}, "You said nothing."),
        ("text", {"method": "GET", "request": {"message": "{message}"}}, "You said Hello."),
        ("text?message={message}", {"request": {}}, "You said Hello."),
        ("chat", {"request": {"messages": "{messages}"}, "reply": "choices[0].message.content"}, "1 messages"),
        ("events", {"reply": "$.delta.text"}, "Hello"),
        ("lines", {}, "Hello"),
        ("words", {}, "Hi 5 true"),
        ("failing", {}, 'its stream ends with an error: "overloaded"'),
        ("moved", {}, "HTTP 302: it redirects to http://127.0.0.1:9/other"),
        ("broken", {}, "its answer broke off after 'Hel'"),
        ("silent", {}, "no text is found in any event of its stream"),
        ("page", {}, f"it answered with a page of HTML and not with JSON or text: {HTML}"),
        ("error", {}, 'HTTP 500: {"error": "the database is away"}'),
        ("odd", {}, 'no text is found in its answer {"data": {"n": 3}}; say where with `reply:`'),
        ("odd", {"reply": "$.data.n"}, "there is 3, which is no text, at $.data.n of its answer"),
        ("missing", {}, "HTTP 404: Not Found (check the path of its URL)"),
    ],
)
async def test_an_answer_is_understood_or_the_turn_fails_and_says_why(
    server: WebApp, page: str, options: dict[str, Any], expected: str
) -> None:
    app = HttpApp(url=f"{server.url}/{page}", **options)

    try:
        found = await said(app)
    except AppFailure as failure:
        found = str(failure)

    assert found.startswith(expected)


@pytest.mark.anyio
async def test_where_a_text_may_be_is_told(server: WebApp) -> None:
    app = HttpApp(url=f"{server.url}/chat", request={"messages": "{messages}"})

    with pytest.raises(AppFailure, match=r"say where with `reply:` \(perhaps \$\.choices\[0\]\.message\.content\)$"):
        await said(app)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("written", "answer"), [("null", None), ("42", "42"), ("true", "true"), ("nullable", "nullable")]
)
async def test_a_program_that_writes_null_has_not_answered(written: str, answer: str | None) -> None:
    app = CommandApp(f"echo {written}")

    if answer is not None:
        assert await said(app) == answer
        return
    with pytest.raises(AppFailure, match="no text is found in its answer null"):
        await said(app)


@pytest.mark.anyio
async def test_an_app_that_hangs_up_is_told_so() -> None:
    async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hangs_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat"
        with pytest.raises(AppFailure, match=rf"^{url} closed the connection without an answer$"):
            await said(HttpApp(url=url))


@pytest.mark.anyio
async def test_an_app_that_is_not_there_is_a_failed_turn() -> None:
    with pytest.raises(AppFailure, match=r"http://127\.0\.0\.1:9/ cannot be reached"):
        await said(HttpApp(url="http://127.0.0.1:9/"))


@pytest.mark.anyio
async def test_environment_variables_stand_in_headers_and_no_message_is_a_template(
    server: WebApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIZZA_KEY", "k {message}")
    app = HttpApp(url=f"{server.url}/plain", headers={"Authorization": "Bearer ${PIZZA_KEY}"})

    found = await said(app, [{"role": "user", "content": "{session} ${PIZZA_KEY}"}])

    assert found == "1: {session} ${PIZZA_KEY}"
    assert server.headers[0]["Authorization"] == "Bearer k {message}"
    assert "PIZZA_KEY}" in repr(app)


@pytest.mark.anyio
async def test_an_app_that_speaks_openais_protocol_gets_the_whole_conversation(
    server: WebApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_API_KEY", "secret")
    app = app_of(f"openai:{server.url}/v1#support")
    assert isinstance(app, HttpApp)

    async with app:
        answer = await app(AGAIN, {})

    assert (answer.response, answer.tool_calls) == ("3 messages", ({"id": "1"},))
    assert server.bodies == [{"model": "support", "messages": AGAIN}]
    assert server.headers[0]["Authorization"] == "Bearer secret"


@pytest.mark.anyio
async def test_connections_are_open_until_the_last_who_holds_the_app_leaves(server: WebApp) -> None:
    app = HttpApp(url=f"{server.url}/plain")

    async with app:
        async with app:
            await app(HELLO, {})
        still = app._wire.connected
        await app(HELLO, {})

    assert still is not None
    assert still.closed
    assert app._wire.connected is None


PROGRAM = """
import json, sys
asked = json.load(sys.stdin)
turn = 1 + int(asked["session"]) if asked["session"].isdigit() and len(asked["session"]) < 5 else 1
print(json.dumps({"reply": f"{turn}: {asked['message']}", "session": str(turn), "tool_calls": [{"name": "menu"}]}))
"""


@pytest.mark.anyio
async def test_a_program_answers_each_turn(tmp_path: Any) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    app = CommandApp(f"{sys.executable} {tmp_path / 'app.py'}")

    first = await app(HELLO, {})
    second = await app(AGAIN, first.state)

    assert (first.response, second.response) == ("1: Hello", "2: Again")
    assert first.tool_calls == ({"name": "menu"},)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print('Hello there')", "Hello there"),
        ("print(42)", "42"),
        ("import sys; sys.exit('no database')", "exit status 1: no database"),
        ("pass", "it wrote nothing on its standard output"),
        ("print('{\"n\": 3}')", 'no text is found in its answer {"n": 3}'),
        (
            """print('{"reply": "Hi", "session": {"turn": 1}}')""",
            'it names its session {"turn": 1}, which is no text and no number, and cannot be given back',
        ),
        ("""print('{"reply": "Hi", "session": null}')""", "Hi"),
    ],
)
async def test_what_a_program_writes_is_its_answer_or_why_there_is_none(
    text: str, expected: str, tmp_path: Any
) -> None:
    (tmp_path / "app.py").write_text(text)

    try:
        found = await said(CommandApp(f"{sys.executable} {tmp_path / 'app.py'}"))
    except AppFailure as failure:
        found = str(failure)

    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: app_of("http://"), "write one that begins with http:// or https://"),
        (lambda: app_of("openai:http://127.0.0.1/v1"), "this names no URL or no model"),
        (lambda: app_of("cmd:no-such-program --fast"), "there is no program 'no-such-program'"),
        (lambda: HttpApp(url="http://a", request={"text": "hi"}), "put {message}"),
        (lambda: HttpApp(url="http://a", method="GET", request="{message}"), "the names and values of the query"),
        (lambda: HttpApp(url="http://a", reply="a..b"), "write a path such as"),
        (lambda: HttpApp(url="http://a", reply="$"), "write a path such as"),
        (lambda: app_of(3), "give a function, or MODULE:HANDLER"),
        (lambda: HttpApp(url="http://a", method="HEAD"), "app: method"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_an_app_is_refused_before_it_is_asked(make: Any, message: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        make()

    assert message in str(raised.value)


@pytest.mark.anyio
async def test_a_variable_that_is_not_set_is_told_before_anything_is_sent() -> None:
    app = HttpApp(url="http://127.0.0.1:9/", headers={"X": "${NOT_SET}"})

    with pytest.raises(DefinitionError, match=r"the environment variable NOT_SET is not set; set it \(export NOT_SET="):
        await said(app)


@pytest.mark.anyio
async def test_no_failure_holds_the_value_of_a_variable(server: WebApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASS", "hunter2")
    nowhere = HttpApp(url="http://127.0.0.1:9/?message={message}&pass=${SHOP_PASS}")
    echoed = HttpApp(url=f"{server.url}/error?message={{message}}", headers={"X-Pass": "${SHOP_PASS}"})

    for app in (nowhere, echoed):
        async with app:
            exchange = await app.exchange(HELLO, {})
        assert "hunter2" not in f"{exchange} {app!r} {app.name}"


@pytest.mark.anyio
async def test_a_short_variable_hides_no_part_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGUE", "en")

    with pytest.raises(AppFailure, match="cannot be reached") as raised:
        await said(HttpApp(url="http://127.0.0.1:9/${TONGUE}?{message}"))

    assert str(raised.value).count("${TONGUE}") == 1  # in the address, and not for "en" elsewhere


def test_apps_that_are_described_differently_have_different_names() -> None:
    options: list[dict[str, Any]] = [{}, {"reply": "$.a"}, {"request": {"q": "{message}"}}, {"method": "GET"}]
    apps = [HttpApp(url="http://a/", **each) for each in options]

    assert len({app.name for app in apps}) == 4
    assert apps[0].name == "http://a/"
    assert getattr(app_of("openai:http://a/v1#b"), "name", "") == "openai:http://a/v1#b"


@pytest.mark.anyio
async def test_an_open_app_can_be_copied_to_another_process(server: WebApp) -> None:
    app = HttpApp(url=f"{server.url}/plain")

    async with app:
        copied = pickle.loads(pickle.dumps(app))

    assert await said(copied) == "1: Hello"


@pytest.mark.anyio
async def test_what_was_retrieved_is_the_context_of_an_answer(server: WebApp) -> None:
    app = HttpApp(url=f"{server.url}/plain", context="$.data.texts")

    async with app:
        assert (await app(HELLO, {})).context == ["a", "b"]


@pytest.mark.anyio
async def test_a_program_gets_the_trace_of_its_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    app = CommandApp("printenv TRACEPARENT")

    first = await app(HELLO, {})
    second = await app(AGAIN, first.state)

    traces, spans = zip(*(each.response.split("-")[1:3] for each in (first, second)), strict=True)
    assert set(traces) == {first.state["session"]["given"]}
    assert len(set(spans)) == 2


@pytest.mark.parametrize("url", ["http://localhost:${PORT}/chat", "http://[::1]:8000/chat", "https://example.com/chat"])
def test_an_address_may_have_a_variable_as_its_port(url: str) -> None:
    assert HttpApp(url=url).url == url


def test_what_is_no_address_is_told_as_what_it_is() -> None:
    with pytest.raises(DefinitionError, match=r"found 'http://\[::1' \(Invalid IPv6 URL\); correct it"):
        HttpApp(url="http://[::1")
