"""Only an answer and a failure of the app are data about it; "later", a refused key and a lost network are not."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from simeval import ScenarioResult
from simeval.errors import AppUnusable
from simeval.suites import Attack, CommandApp, HttpApp, SocketApp
from simeval.suites.apps.remote_app import named_status, of_exception, of_status
from tests.support.serving import serving
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

ANSWER = {"reply": "I can track orders and start returns."}
LATER, KEY = 429, 401
Answering = Callable[["Counted"], Awaitable[web.Response]]


@dataclass(slots=True)
class Counted:
    """What a server knows of the requests so far."""

    calls: int = 0
    in_flight: int = 0
    accepted: deque[float] = field(default_factory=deque)


@asynccontextmanager
async def served(answering: Answering) -> AsyncIterator[tuple[HttpApp, Counted]]:
    """Serve an app that answers as it is said, and give it."""
    known = Counted()

    async def chat(request: web.Request) -> web.StreamResponse:
        await request.read()
        known.calls += 1
        known.in_flight += 1
        try:
            return await answering(known)
        finally:
            known.in_flight -= 1

    application = web.Application()
    application.router.add_post("/", chat)
    async with serving(application) as url:
        yield HttpApp(url=url, request={"messages": "{messages}"}), known


async def evaluated(answering: Answering, *, seed: int = 1, **settings: Any) -> ScenarioResult:
    async with served(answering) as (app, _):
        return await Engine(seed=seed, **settings).evaluate(scenario(), app)


def refused(status: int, **headers: str) -> web.Response:
    return web.json_response(
        {"error": "no"}, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


async def fifty_a_second(known: Counted) -> web.Response:
    now = monotonic()
    while known.accepted and now - known.accepted[0] >= 0.1:
        known.accepted.popleft()
    if len(known.accepted) >= 5:
        return refused(LATER, Retry_After="0.1")
    known.accepted.append(now)
    return web.json_response(ANSWER)


async def eight_at_once(known: Counted) -> web.Response:
    if known.in_flight > 8:
        return refused(503, Retry_After="0.05")
    await asyncio.sleep(0.02)
    return web.json_response(ANSWER)


@pytest.mark.parametrize("answering", [fifty_a_second, eight_at_once])
@pytest.mark.parametrize("concurrency", [1, 10, 100])
async def test_an_app_with_a_limit_has_the_same_verdict_at_any_concurrency(
    answering: Answering, concurrency: int
) -> None:
    result = await evaluated(answering, concurrency=concurrency, app_concurrency=concurrency)

    assert (result.outcome, result.verdicts[0].n, result.verdicts[0].missing) == ("pass", 30, 0)


async def test_how_often_an_app_said_later_is_shown() -> None:
    result = await evaluated(fifty_a_second)

    assert any("could not be asked" in note and "HTTP 429" in note for note in result.run.notes)
    assert "HTTP 429" in str(result)


async def test_an_app_at_a_url_is_asked_ten_turns_at_once_at_most() -> None:
    at_once: list[int] = []
    are_ten = asyncio.Event()

    async def answering(known: Counted) -> web.Response:
        at_once.append(known.in_flight)
        if known.in_flight == 10:
            are_ten.set()
        await are_ten.wait()
        return web.json_response(ANSWER)

    await evaluated(answering)

    assert max(at_once) == 10


async def test_no_more_turns_a_minute_are_put_to_the_app_than_is_set() -> None:
    started = monotonic()

    async with served(fifty_a_second) as (app, known):
        result = await Engine(seed=1, app_requests_per_minute=1200).evaluate(scenario(sample_size=10), app)

    assert result.outcome != "error"
    assert known.calls / (monotonic() - started) < 25


@pytest.mark.parametrize("status", [401, 402, 403, 407, 511])
async def test_a_key_that_expires_is_no_failure_of_the_app(status: int) -> None:
    async def answering(known: Counted) -> web.Response:
        return refused(status) if known.calls > 25 else web.json_response(ANSWER)

    result = await evaluated(answering)

    assert result.outcome == "error"
    assert f"HTTP {status}" in result.verdicts[0].explanation
    assert not any(judgement.failure and judgement.failure.is_of_app for judgement in result.judgements)


LOGIN_PAGE = "<html><form>Please <b>sign in</b> <input type='password'></form></html>"
NOT_LET_IN = {
    "redirection": lambda: web.Response(status=302, headers={"Location": "/login"}),
    "page of a login": lambda: web.Response(text=LOGIN_PAGE, content_type="text/html"),
    "check for people": lambda: web.Response(text="<title>Just a moment...</title>", content_type="text/html"),
    "status within": lambda: web.json_response({"statusCode": 401, "message": "Unauthorized"}),
    "code of an error": lambda: web.json_response({"error": {"code": "403", "message": "no"}}),
    "name of an error": lambda: web.json_response({"error": {"type": "authentication_error", "message": "no"}}),
    "words of an error": lambda: web.json_response({"error": "Payment required"}),
}


@pytest.mark.parametrize("refusing", NOT_LET_IN.values(), ids=NOT_LET_IN)
async def test_an_app_that_no_longer_lets_us_in_has_not_failed(refusing: Callable[[], web.Response]) -> None:
    async def answering(known: Counted) -> web.Response:
        return refusing() if known.calls > 25 else web.json_response(ANSWER)

    result = await evaluated(answering)

    assert result.outcome == "error"
    assert not any(judgement.failure and judgement.failure.is_of_app for judgement in result.judgements)


@pytest.mark.parametrize("said", ["500", "429", "350"])
def test_an_answer_of_three_digits_is_no_status(said: str) -> None:
    assert named_status({"message": said}) is None
    assert named_status({"message": said, "code": 429}) == 429


SAYS_LATER = {
    "status 529": lambda: web.json_response({"type": "overloaded_error"}, status=529),
    "code of an error": lambda: web.json_response({"error": {"code": 429, "message": "Rate limit exceeded"}}),
    "name of an error": lambda: web.json_response({"error": {"status": "RESOURCE_EXHAUSTED", "message": "wait"}}),
    "words of an error": lambda: web.json_response({"error": "Too many requests"}),
    "name of an exception": lambda: web.json_response({"code": "ThrottlingException", "message": "Rate exceeded"}),
    "event of a stream": lambda: web.Response(
        text='data: {"text": "We"}\n\nevent: error\ndata: {"type": "error", "error": {"type": "rate_limit_error"}}\n\n',
        content_type="text/event-stream",
    ),
}


@pytest.mark.parametrize("refusing", SAYS_LATER.values(), ids=SAYS_LATER)
async def test_an_app_that_says_later_in_its_own_words_is_asked_again(refusing: Callable[[], web.Response]) -> None:
    async def answering(known: Counted) -> web.Response:
        return refusing() if known.calls in (5, 9, 14) else web.json_response(ANSWER)

    result = await evaluated(answering)

    assert (result.outcome, result.verdicts[0].n, result.verdicts[0].missing) == ("pass", 30, 0)


DEEP: Any = json.loads('{"error": ' * 700 + '{"code": 429}' + "}" * 700)


@pytest.mark.parametrize(
    "body",
    [
        *({"error": "no such booking"}, {"error": {"code": 12}}, {"status": "failed"}, {"error": {"code": 500}}),
        DEEP,
    ],
    ids=["words", "small code", "status", "code", "deep"],
)
async def test_other_errors_within_a_body_are_failures_of_the_app(body: dict[str, Any]) -> None:
    async def answering(known: Counted) -> web.Response:
        return web.json_response(body if known.calls > 25 else ANSWER)

    assert (await evaluated(answering)).outcome == "fail"


@pytest.mark.parametrize("status", [400, 422, 500, 502, 503, 504])
async def test_other_error_statuses_are_failures_of_the_app(status: int) -> None:
    async def answering(known: Counted) -> web.Response:
        return refused(status) if known.calls > 25 else web.json_response(ANSWER)

    assert (await evaluated(answering)).outcome == "fail"


@pytest.mark.parametrize("answered", [0, 5])
async def test_an_app_that_refuses_everything_ends_the_run_after_an_outage(answered: int) -> None:
    async def answering(known: Counted) -> web.Response:
        return refused(LATER) if known.calls > answered else web.json_response(ANSWER)

    with pytest.raises(AppUnusable, match="HTTP 429") as raised:
        await evaluated(answering, outage_seconds=0.5)

    assert raised.value.partial is not None


async def test_an_app_that_is_restarted_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, refused = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def connected(*to: Any) -> None:
        try:
            await connect(*to)
        except ConnectionRefusedError:
            refused.set()
            raise

    async def chat(request: web.Request) -> web.StreamResponse:
        asked.set()
        return web.json_response(ANSWER)

    async def opened(port: int) -> web.AppRunner:
        application = web.Application()
        application.router.add_post("/", chat)
        runner = web.AppRunner(application, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
        return runner

    async def restarted(runner: web.AppRunner, port: int) -> web.AppRunner:
        await asked.wait()
        await runner.cleanup()
        await refused.wait()
        return await opened(port)

    runner = await opened(0)
    port = runner.addresses[0][1]
    monkeypatch.setattr(loop, "sock_connect", connected)
    restarting = asyncio.create_task(restarted(runner, port))
    app = HttpApp(url=f"http://127.0.0.1:{port}/", request={"messages": "{messages}"})
    result = await Engine(seed=1, concurrency=1).evaluate(scenario(sample_size=60), app)
    await (await restarting).cleanup()

    assert result.outcome == "pass"
    assert any("cannot be reached" in note for note in result.run.notes)


async def test_an_address_where_nobody_answers_is_an_error_at_once() -> None:
    app = HttpApp(url="http://127.0.0.1:9/", request={"messages": "{messages}"})

    result = await Engine(seed=1).evaluate(scenario(), app)

    assert result.outcome == "error"
    assert "http://127.0.0.1:9/ cannot be reached (Connection" in str(result)
    assert "your app never answered" in str(result)


class TooManyRequests(Exception):
    """What HTTP clients raise for a status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status_code = status


async def test_a_function_whose_call_was_refused_is_asked_again_with_its_state_as_it_was() -> None:
    lengths: list[int] = []
    calls = 0

    async def handle(message: str, state: dict[str, Any]) -> str:
        nonlocal calls
        calls += 1
        state.setdefault("said", []).append(message)
        if calls % 3 == 0:
            raise TooManyRequests(LATER)
        lengths.append(len(state["said"]))
        return f"I can track orders and start returns. ({len(state['said'])})"

    result = await Engine(seed=1).evaluate(scenario(max_turns=2), handle)

    assert result.verdicts[0].missing == 0
    assert max(lengths) <= 2
    assert result.outcome == "pass"


@pytest.mark.parametrize("cause", [TooManyRequests(KEY), ConnectionRefusedError(111, "Connection refused")])
async def test_a_function_whose_key_or_network_fails_has_not_failed_its_user(cause: Exception) -> None:
    def handle(message: str) -> str:
        try:
            raise cause
        except Exception as error:
            raise RuntimeError("the backend is not there") from error

    result = await Engine(seed=1).evaluate(scenario(), handle)

    assert result.outcome == "error"
    assert {each.failure.stage for each in result.judgements if each.failure} == {"app_access"}


async def test_an_app_that_raises_two_kinds_of_errors_never_answered() -> None:
    calls = 0

    async def handle(message: str) -> str:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise KeyError("order")
        raise ConnectionError("the database is down")

    result = await Engine(seed=1).evaluate(scenario(), handle)

    assert result.outcome == "error"
    assert "5 x KeyError: 'order' (" in result.verdicts[0].explanation
    assert "5 x ConnectionError: the database is down (" in result.verdicts[0].explanation


async def test_an_app_that_never_answers_is_given_up_after_ten_conversations_of_all_scenarios() -> None:
    calls = 0

    async def handle(message: str) -> str:
        nonlocal calls
        calls += 1
        raise KeyError("order")

    suite = Attack(secrets=["AMBER-7741"]).scenarios()
    result = await Engine(seed=1, concurrency=5, stop="verdict").evaluate(suite, handle)

    assert result.outcome == "error"
    assert calls < 10 + 2 * 5


@pytest.mark.parametrize(("status", "outcome"), [(75, "later"), (77, "key"), (1, "failed")])
async def test_the_exit_status_of_a_program_tells_later_and_a_key_apart(
    tmp_path: Path, status: int, outcome: str
) -> None:
    program = tmp_path / "app.sh"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\nexit {status}\n")
    program.chmod(0o755)

    exchange = await CommandApp(str(program)).exchange([{"role": "user", "content": "hi"}], {})

    assert exchange.failure is not None
    assert exchange.failure.outcome == outcome


@pytest.mark.parametrize(("code", "outcome"), [(1013, "later"), (4401, "key"), (1011, "failed")])
async def test_the_code_of_a_closed_socket_tells_later_and_a_key_apart(code: int, outcome: str) -> None:
    async def chat(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        await socket.close(code=code)
        return socket

    application = web.Application()
    application.router.add_get("/", chat)
    async with serving(application) as url, SocketApp(url=url.replace("http", "ws")) as app:
        exchange = await app.exchange([{"role": "user", "content": "hi"}], {})

    assert exchange.failure is not None
    assert exchange.failure.outcome == outcome


def test_statuses_are_found_in_the_errors_of_common_clients() -> None:
    def raised(**known: Any) -> Exception:
        error = Exception("no")
        vars(error).update(known)
        return error

    of_requests = raised(response=SimpleNamespace(status_code=LATER, headers={"retry-after": "3"}))
    of_botocore = raised(response={"ResponseMetadata": {"HTTPStatusCode": LATER}})
    of_urllib = raised(code=KEY)

    found = [of_exception(each, "no") for each in (of_requests, of_botocore, of_urllib, ValueError("no"))]

    assert [each.outcome for each in found] == ["later", "later", "key", "failed"]
    assert found[0].retry_after == 3


def test_an_error_of_requests_for_a_refused_connection_means_that_the_app_was_not_asked() -> None:
    """Its own error hides urllib3's in the context; an answer that breaks off is the app's failure all the same."""
    outcomes = []
    for hidden in (NewConnectionError(HTTPConnection("a"), "refused"), ProtocolError("broken off")):
        with pytest.raises(OSError) as raised:
            _raise_as_requests_does(hidden)
        outcomes.append(of_exception(raised.value, "no").outcome)

    assert outcomes == ["network", "failed"]


def _raise_as_requests_does(hidden: Exception) -> None:
    try:
        raise MaxRetryError(HTTPConnectionPool("a"), "/", hidden) from hidden
    except MaxRetryError as error:
        raise OSError(error)  # noqa: B904


def test_only_an_overload_that_says_when_to_come_back_is_later() -> None:
    found = [of_status("no", 503, headers).outcome for headers in ({"Retry-After": "1"}, {})]

    assert found == ["later", "failed"]
