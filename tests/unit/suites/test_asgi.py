"""Apps of ASGI frameworks, which are started and served in this process while they are evaluated."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from simeval.core.conversation import ChatMessage
from simeval.errors import DefinitionError
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of, as_app
from simeval.suites.apps.remote_app import Exchange
from tests.support.suite_files import load, suite

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


class Chat:
    """An ASGI app that repeats messages, by the paths /chat, /stream and /broken."""

    routes = (SimpleNamespace(path="/chat", methods={"POST"}), SimpleNamespace(path="/health", methods={"GET"}))

    def __init__(self) -> None:
        self.course: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                event = (await receive())["type"]
                self.course.append(event)
                await send({"type": f"{event}.complete"})
            return
        body = json.loads((await receive())["body"])
        start: dict[str, Any] = {"type": "http.response.start", "headers": [(b"content-type", b"text/plain")]}
        if scope["path"] in ("/error", "/raises"):
            await send({**start, "status": 500})
            await send({"type": "http.response.body", "body": b"Internal Server Error"})
            if scope["path"] == "/error":
                return
            raise KeyError("order")
        if scope["path"] == "/breaks":
            await send({**start, "status": 200})
            await send({"type": "http.response.body", "body": b"You", "more_body": True})
            raise KeyError("order")
        said, kind = f"You said {body['message']}.", b"application/json"
        parts = [json.dumps({"reply": said}).encode()]
        if scope["path"] == "/broken":
            raise KeyError("order")
        if scope["path"] == "/stream":
            kind, parts = b"text/event-stream", [b"data: You said \n\n", f"data: {body['message']}.\n\n".encode()]
        headers = [(b"content-type", kind), (b"set-cookie", b"id=7")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for place, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": place < len(parts)})


chat, other = Chat(), Chat()


async def refuses(scope: Any, receive: Any, send: Any) -> None:
    """Cannot start."""
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})


async def asked(app: HttpApp) -> Exchange:
    async with app:
        exchange: Exchange = await app.exchange(HELLO, {})
        return exchange


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/chat", "/stream"])
async def test_it_is_started_and_asked_and_shut_down(path: str) -> None:
    served = Chat()
    app = HttpApp(asgi=served, url=path)

    answers = [(await asked(app)).answer() for _ in range(2)]

    assert [each.response for each in answers] == ["You said Hello."] * 2
    assert answers[0].state["session"]["cookies"] == {"id": "7"}
    assert served.course == ["lifespan.startup", "lifespan.shutdown"] * 2


@pytest.mark.anyio
async def test_an_error_of_its_code_is_a_failure_of_the_app() -> None:
    failure = (await asked(HttpApp(asgi=Chat(), url="/broken"))).failure

    assert failure is not None
    assert failure.outcome == "failed"
    assert "HTTP 500: KeyError: 'order'" in str(failure)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "said"),
    [("/raises", "HTTP 500: KeyError: 'order'"), ("/error", "HTTP 500: Internal Server Error"), ("/breaks", "broke")],
)
async def test_an_error_beside_a_response_is_told_and_writes_no_traceback(
    path: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    failure = (await asked(HttpApp(asgi=Chat(), url=path))).failure

    assert said in str(failure)
    assert caplog.records == []


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:Sending a large body")
async def test_it_gets_messages_of_any_size() -> None:
    long = "x" * 2_000_000

    async with HttpApp(asgi=Chat(), url="/chat") as app:
        exchange = await app.exchange([{"role": "user", "content": long}], {})

    assert exchange.answer().response == f"You said {long}."


@pytest.mark.anyio
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
async def test_it_is_asked_by_whoever_comes_while_it_closes(steps: int) -> None:
    app = HttpApp(asgi=Chat(), url="/chat")
    async with app:
        await app.exchange(HELLO, {})
        closing = asyncio.create_task(app.__aexit__(None, None, None))
        for _ in range(steps):
            await asyncio.sleep(0)

        with anyio.fail_after(5):
            async with app:
                answers = [(await app.exchange(HELLO, {})).answer() for _ in range(3)]
        await closing
        await app.__aenter__()

    assert [each.response for each in answers] == ["You said Hello."] * 3


@pytest.mark.anyio
async def test_one_that_cannot_start_is_told() -> None:
    with pytest.raises(DefinitionError, match="its start failed: no database"):
        await asked(HttpApp(asgi=refuses, url="/chat"))


@pytest.mark.anyio
async def test_one_that_starts_at_the_second_time_is_shut_down() -> None:
    served, starts = Chat(), iter([refuses])
    app = HttpApp(asgi=lambda scope, receive, send: next(starts, served)(scope, receive, send), url="/chat")
    with pytest.raises(DefinitionError, match="no database"):
        await asked(app)

    await asked(app)

    assert served.course == ["lifespan.startup", "lifespan.shutdown"]


def test_the_only_route_for_a_post_is_its_chat(tmp_path: Any) -> None:
    named = app_of("tests.unit.suites.test_asgi:chat")
    read = load(tmp_path / "suite.yaml", suite(top="app: {asgi: 'tests.unit.suites.test_asgi:chat', url: /stream}\n"))

    assert as_app(chat) == named == HttpApp(asgi=chat, url="/chat")
    assert read.cast.app == HttpApp(asgi=chat, url="/stream")


def test_apps_with_the_same_path_have_names_of_their_own() -> None:
    found = [as_app(chat), as_app(other), HttpApp(asgi=chat, url="/chat", title="Shop")]

    names = [each.name for each in found]

    assert names == ["tests.unit.suites.test_asgi:chat/chat", "tests.unit.suites.test_asgi:other/chat", "Shop"]
    assert HttpApp(asgi=chat, url="/chat", reply="$.text").name.startswith(f"{names[0]} (")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: as_app(refuses), r"found an ASGI app with no known path for POST|an ASGI app with no known path"),
        (lambda: HttpApp(asgi=chat, url="http://127.0.0.1/chat"), "the path of its chat as url"),
        (lambda: HttpApp(asgi=len, url="/chat"), "give an ASGI app"),  # type: ignore[arg-type]
    ],
)
def test_one_that_cannot_be_asked_is_told(make: Any, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        make()
