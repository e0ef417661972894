"""What an app at a URL is sent: places and keys as they are meant, a body that its header names, logins beforehand."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web
from click.testing import CliRunner

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.cli.main import main
from simeval.core.conversation import ChatMessage
from simeval.errors import DefinitionError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of
from simeval.suites.apps.socket_app import SocketApp
from tests.support.serving import serving
from tests.support.session_apps import Shop, shop
from tests.support.suite_files import mistake, suite

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello & welcome"}]
AGAIN: list[ChatMessage] = [*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "A refund"}]
WARNING = "each turn is a new conversation to your app"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SHARE = ProportionEvaluator(min_proportion=0.5, early_stopping=False)


@pytest.fixture
async def server() -> AsyncIterator[Shop]:
    async with shop() as served:
        yield served


async def talk(app: HttpApp | SocketApp, *turns: list[ChatMessage]) -> list[str]:
    """Return the answers of one conversation."""
    state: dict[str, Any] = {}
    answers = []
    async with app:
        for messages in turns or (HELLO,):
            answer = await app(messages, state)
            state = answer.state
            answers.append(answer.response)
        await app.leave(state)
    return answers


# places and keys


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{{message}}", "did you mean {message}?"),
        ("{{ message }}", "did you mean {message}?"),
        ("You are asked: {{user_message}}", "did you mean {message}?"),
        ("{ message }", "did you mean {message}?"),
        ("{msg}", "did you mean {message}?"),
        ("{prompt}", "did you mean {message}?"),
        ("{input}", "did you mean {message}?"),
        ("{Message}", "did you mean {message}?"),
        ("{message!r}", "did you mean {message}?"),
        ("${message}", "did you mean {message}?"),
        ("$message", "did you mean {message}?"),
        ("{history}", "did you mean {messages}?"),
        ("{session_id}", "did you mean {session}?"),
        ("{{conversation_id}}", "did you mean {session}?"),
        ("{language}", "the places are {message}, {messages}, {session}"),
        ("$API_KEY", "did you mean ${API_KEY}?"),
        ("{{API_KEY}}", "did you mean ${API_KEY}?"),
        ("{API_KEY}", "did you mean ${API_KEY}?"),
        ("%API_KEY%", "did you mean ${API_KEY}?"),
        ({"message": None}, 'put quotes around a place: "{message}"'),
    ],
)
def test_a_place_that_is_written_as_other_tools_do_is_refused(written: Any, meant: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        HttpApp(url="http://a/", request={"text": "{message}", "more": [written]})
    with pytest.raises(DefinitionError) as over_a_socket:
        SocketApp(url="ws://a/", request={"text": "{message}", "more": [written]})

    assert meant in str(raised.value)
    assert str(raised.value) == str(over_a_socket.value)


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"headers": {"Authorization": "Bearer $KEY"}}, "did you mean ${KEY}?"),
        ({"headers": {"Authorization": "Bearer $KEY_NAME"}}, "did you mean ${KEY_NAME}?"),
        ({"headers": {"X-API-Key": "$my_key"}}, "did you mean ${my_key}?"),
        ({"headers": {"Authorization": "Bearer {{KEY}}"}}, "did you mean ${KEY}?"),
        ({"headers": {"X-Session": "{sessionId}"}}, "did you mean {session}?"),
        ({"url": "http://a/?key=$KEY"}, "did you mean ${KEY}?"),
        ({"url": "http://a/{{session}}"}, "did you mean {session}?"),
        ({"url": "http://a/{session_id}/messages"}, "did you mean {session}?"),
    ],
)
def test_headers_and_addresses_are_read_in_the_same_way(options: dict[str, Any], meant: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        HttpApp(**{"url": "http://a/", **options})

    assert meant in str(raised.value)


def test_an_address_on_the_command_line_is_read_so_too() -> None:
    with pytest.raises(DefinitionError, match=r"did you mean \{session\}\?"):
        app_of("http://a/chat/{{session}}")


@pytest.mark.parametrize(
    "text",
    [
        "it costs $5",
        "$.data",
        'as JSON: {"a": 1}',
        r"\d{5}",
        "{ reply }",
        "mutation($text: String!) { chat(text: $text) { reply } }",
        "100%",
        "{}",
    ],
)
@pytest.mark.anyio
async def test_braces_and_signs_that_are_no_places_are_sent_as_they_are(text: str, server: Shop) -> None:
    await talk(HttpApp(url=f"{server.url}/chat", request={"text": "{message}", "more": text, "session": "{session}"}))

    assert server.bodies[0]["more"] == text


def test_a_program_is_given_no_places() -> None:
    with pytest.raises(DefinitionError, match="reads JSON with it on its standard input"):
        app_of("cmd:echo {message}")


def test_an_odata_query_is_no_variable() -> None:
    assert HttpApp(url="http://a/?$top=1&$filter=x").url.endswith("x")


@pytest.mark.anyio
async def test_braces_around_a_word_come_from_a_variable(server: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERY", "{chat{reply}} $KEY {{x}}")

    await talk(HttpApp(url=f"{server.url}/chat", request={"text": "{message}", "more": "${QUERY}"}))

    assert server.bodies[0]["more"] == "{chat{reply}} $KEY {{x}}"


def test_a_place_in_double_braces_without_quotes_is_told(tmp_path: Path) -> None:
    error = mistake(tmp_path / "suite.yaml", suite(top="app:\n  url: http://a/\n  request: {text: {{message}}}\n"))

    assert 'a place is in single ones, such as "{message}"' in str(error)
    assert error.line == 3


def test_a_place_is_told_with_its_line(tmp_path: Path) -> None:
    app = "app:\n  url: http://a/\n  headers: {X-Key: $KEY}\n  request: {text: '{{message}}'}\n"

    error = mistake(tmp_path / "suite.yaml", suite(top=app))

    assert "did you mean {message}?" in str(error) or "did you mean ${KEY}?" in str(error)
    assert error.line in (3, 4)


# bodies and their headers


@pytest.mark.anyio
@pytest.mark.parametrize("options", [{"headers": FORM}, {"encoding": "form"}])
async def test_a_form_is_sent_as_a_form(server: Shop, options: dict[str, Any]) -> None:
    request = {"text": "{message}", "session": "{session}", "n": 3, "ok": True, "none": None, "tags": ["a", "b"]}

    answers = await talk(HttpApp(url=f"{server.url}/chat", request=request, **options), HELLO, AGAIN)

    assert server.kinds[0].startswith("application/x-www-form-urlencoded")
    first, second = server.bodies
    assert {**first, "session": ""} == {"text": "Hello & welcome", "session": "", "n": "3", "ok": "true", "tags": "b"}
    assert first["session"] == second["session"]
    assert [answer[0] for answer in answers] == ["1", "2"]


@pytest.mark.anyio
async def test_a_whole_conversation_in_a_field_of_a_form_is_json(server: Shop) -> None:
    await talk(HttpApp(url=f"{server.url}/chat", request={"text": "{messages}"}, encoding="form"))

    assert server.bodies[0]["text"] == '[{"role": "user", "content": "Hello & welcome"}]'


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "kind"),
    [({"encoding": "text"}, "text/plain"), ({"headers": {"content-type": "text/markdown"}}, "text/markdown")],
)
async def test_a_text_is_sent_as_a_text(server: Shop, options: dict[str, Any], kind: str) -> None:
    app = HttpApp(url=f"{server.url}/chat?session={{session}}", request="{message}", **options)

    await talk(app)

    assert server.bodies == ["Hello & welcome"]
    assert server.kinds[0].startswith(kind)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.api+json"])
async def test_json_is_sent_under_any_name_of_json(server: Shop, kind: str) -> None:
    await talk(HttpApp(url=f"{server.url}/chat", headers={"Content-Type": kind}))

    assert server.kinds == [kind]
    assert '"message": "Hello & welcome"' in str(server.bodies[0]).replace("'", '"')


@pytest.mark.anyio
async def test_a_query_has_no_python_in_it(server: Shop) -> None:
    request = {"text": "{message}", "session": "{session}", "ok": True, "all": "{messages}"}

    await talk(HttpApp(url=f"{server.url}/chat", method="GET", request=request))

    assert "ok=true" in server.asked[0]
    assert "%27" not in server.asked[0]  # an apostrophe


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"headers": {"Content-Type": "multipart/form-data"}}, "multipart/form-data, which cannot be sent"),
        ({"headers": {"Content-Type": "text/plain"}}, "and the request is no text"),
        ({"headers": {"content-type": "application/xml"}}, "and the request is no text"),
        ({"encoding": "text"}, "and the request is no text"),
        ({"headers": FORM, "request": "{message}"}, "give the names and values of its fields"),
        ({"headers": FORM, "encoding": "json"}, "leave one of the two out"),
        ({"headers": {"Content-Type": "application/json"}, "encoding": "form"}, "leave one of the two out"),
        ({"encoding": "xml"}, "use 'json', 'form' or 'text'"),
        ({"encoding": "form", "method": "GET"}, "with GET, `request` is the query"),
        ({"request": '{"text": "{message}"}'}, "write it as a mapping"),
    ],
)
def test_a_body_that_its_header_does_not_name_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        HttpApp(**{"url": "http://a/", "request": {"text": "{message}"}, **options})

    assert said in str(raised.value)


# sessions


def scenario(**about: Any) -> ScenarioTest:
    then = Expectation(scorer=lambda output: bool(output), evaluator=SHARE)
    given: dict[str, Any] = {"title": "Refunds", "given": "A user", "when": "The user wants a refund. They thank."}
    return ScenarioTest(**{**given, "sample_size": 5, "max_turns": 3, "then": then, **about})


async def warned(app: Any, *scenarios: ScenarioTest) -> list[str]:
    """Return the warnings of a run that are about sessions."""
    result = await Engine(seed=1, store=None, display="none").evaluate([*scenarios] or [scenario()], app)
    return [each for each in result.run.notes if WARNING in each]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "options",
    [
        {"request": {"text": "{message}"}},
        {"url": "/chat?text={message}", "request": {}},
        {"request": {"text": "{message}"}, "headers": {"X-Client": "simeval"}},
        {"request": {"text": "{message}"}, "session": "$.id"},
    ],
)
async def test_an_app_whose_requests_name_no_session_is_warned_of(server: Shop, options: dict[str, Any]) -> None:
    app = HttpApp(**{**options, "url": f"{server.url}{options.get('url', '/chat')}"})

    [said] = await warned(app)

    assert said.endswith("where your app names it") or "put {session} into" in said


@pytest.mark.anyio
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"request": {"text": "{message}", "session": "{session}"}},
        {"request": {"text": "{messages}"}},
        {"request": {"text": "{message}"}, "headers": {"X-Session": "{session}"}},
        {"request": {"text": "{message}"}, "url": "/chat?session={session}"},
        {"request": {"text": "{message}", "session": "{session}"}, "session": "$.id"},
        {"request": {"text": "{message}"}, "session": "cookie:sid"},
    ],
)
async def test_an_app_whose_requests_name_a_session_is_not(server: Shop, options: dict[str, Any]) -> None:
    app = HttpApp(**{**options, "url": f"{server.url}{options.get('url', '/chat')}"})

    assert await warned(app) == []


Answer = Callable[[dict[str, Any]], dict[str, Any]]


@asynccontextmanager
async def naming(answer: Answer) -> AsyncIterator[str]:
    """Serve an app of which `answer` makes an answer of a request."""

    async def handle(request: web.Request) -> web.Response:
        return web.json_response(answer(await request.json()))

    application = web.Application()
    application.router.add_post("/", handle)
    async with serving(application) as url:
        yield url


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "options", "advice"),
    [
        (lambda _: {"answer": "Yes.", "conversation_id": uuid4().hex}, {}, "write `session: $.conversation_id`"),
        (lambda _: {"reply": "Yes.", "meta": {"threadId": uuid4().hex}}, {}, "write `session: $.meta.threadId`"),
        (
            lambda _: {"answer": "Yes.", "chat_id": uuid4().hex},
            {"session": "$.chat_id", "request": {"message": "{message}", "chat": "{session}"}},
            "check under which name your app takes it",
        ),
    ],
)
async def test_an_app_that_names_each_turn_anew_is_warned_of(
    answer: Answer, options: dict[str, Any], advice: str
) -> None:
    async with naming(answer) as url:
        [said] = await warned(HttpApp(url=url, **options))

    assert "of its answer is new at every turn" in said
    assert advice in said


@pytest.mark.anyio
async def test_it_is_noticed_among_many_conversations_at_once() -> None:
    async with naming(lambda _: {"answer": "Yes.", "conversation_id": uuid4().hex}) as url:
        [said] = await warned(HttpApp(url=url), scenario(sample_size=60))

    assert "of its answer is new at every turn" in said


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "options"),
    [
        (lambda asked: {"answer": "Yes.", "conversation_id": f"c-{asked['session']}"}, {}),
        (lambda _: {"answer": "Yes.", "request_id": uuid4().hex}, {}),
        (
            lambda asked: {"answer": "Yes.", "conversation_id": uuid4().hex},
            {"request": {"messages": "{messages}"}},
        ),
    ],
    ids=["kept", "another id", "all is sent"],
)
async def test_an_app_that_keeps_its_conversations_is_not(answer: Answer, options: dict[str, Any]) -> None:
    async with naming(answer) as url:
        assert await warned(HttpApp(url=url, **options)) == []


@pytest.mark.anyio
async def test_a_session_that_one_conversation_loses_proves_nothing_of_the_setup() -> None:
    names: dict[str, list[str]] = {}

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        turns = names.setdefault(asked["session"], [])
        turns.append(asked["message"])
        lost = "again" if len(names) == 1 and len(turns) > 1 else ""
        return {"answer": "Yes.", "session_id": asked["session"] + lost}

    async with naming(answer) as url:
        assert await warned(HttpApp(url=url)) == []

    assert any(len(turns) > 1 for turns in names.values())


@pytest.mark.anyio
async def test_one_turn_needs_no_session(server: Shop) -> None:
    app = HttpApp(url=f"{server.url}/chat", request={"text": "{message}"})

    assert await warned(app, scenario(max_turns=1)) == []
    assert len(await warned(app, scenario(max_turns=1), scenario(title="Another"))) == 1


def test_a_connection_is_a_session() -> None:
    assert SocketApp(url="ws://a/", request={"text": "{message}"}).session_warning == ""


@pytest.mark.parametrize("command", ["plan", "try", "run"])
def test_each_command_warns_before_it_asks_anything(command: str, tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(suite(top="app: {url: 'http://127.0.0.1:9/chat', request: {text: '{message}'}}\n"))
    options = ["--store", "none"] if command == "run" else []

    done = CliRunner().invoke(main, [command, str(file), *options])

    assert done.stderr.count(WARNING) >= 1
