"""Requests before the first turn: logins, sessions, tokens that expire."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest
from simeval.core.conversation import ChatMessage
from simeval.errors import DefinitionError
from simeval.suites.apps.before import Before
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.remote_app import AppFailure
from simeval.suites.apps.socket_app import SocketApp
from tests.support.session_apps import Shop, shop
from tests.support.suite_files import load, mistake, suite

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello & welcome"}]
AGAIN: list[ChatMessage] = [*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "A refund"}]
SHARE = ProportionEvaluator(min_proportion=0.5, early_stopping=False)
LOGIN: dict[str, Any] = {
    "request": {"user": "tester", "password": "let-me-in"},
    "take": {"token": "$.data.access_token"},
}


@pytest.fixture
async def server() -> AsyncIterator[Shop]:
    async with shop() as served:
        yield served


def login(server: Shop, **options: Any) -> Before:
    return Before(url=f"{server.url}/login", **{**LOGIN, **options})


def bearer(server: Shop, **options: Any) -> HttpApp:
    """An app that wants a token, which a login gives."""
    given: dict[str, Any] = {
        "url": f"{server.url}/guarded",
        "request": {"text": "{message}", "session": "{session}"},
        "headers": {"Authorization": "Bearer {token}"},
        "before": login(server),
    }
    return HttpApp(**{**given, **options})


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


def scenario(**about: Any) -> ScenarioTest:
    then = Expectation(scorer=lambda output: bool(output), evaluator=SHARE)
    given: dict[str, Any] = {"title": "Refunds", "given": "A user", "when": "The user wants a refund. They thank."}
    return ScenarioTest(**{**given, "sample_size": 5, "max_turns": 3, "then": then, **about})


@pytest.mark.anyio
async def test_a_login_gives_a_token_to_later_requests(server: Shop) -> None:
    answers = await talk(bearer(server), HELLO, AGAIN)

    assert [answer[0] for answer in answers] == ["1", "2"]
    assert server.asked == ["POST /login", "POST /guarded", "POST /guarded"]
    assert server.headers[1]["Authorization"] == "Bearer tok-0-abcdef"


@pytest.mark.anyio
async def test_a_session_is_opened_and_named_in_the_address(server: Shop) -> None:
    steps = [
        login(server, per="run"),
        Before(
            url=f"{server.url}/sessions",
            headers={"Authorization": "Bearer {token}"},
            request={},
            take={"session": "$.id"},
        ),
    ]
    url = f"{server.url}/sessions/{{session}}/messages"
    app = bearer(server, url=url, request={"text": "{message}"}, before=steps)

    async with app:
        first = await app(HELLO, {})
        other = await app(HELLO, {})
        again = await app(AGAIN, first.state)

    assert [each.response[0] for each in (first, other, again)] == ["1", "1", "2"]
    assert server.turns == {"s1": 2, "s2": 1}
    assert server.asked.count("POST /login") == 1
    assert (first.metadata["session"], other.metadata["session"]) == ("s1", "s2")
    assert app.session_warning == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("where", "take"),
    [
        ({"url": "/chat?session={id}", "request": {"text": "{message}"}}, "header:X-Session"),
        ({"url": "/chat", "headers": {"X-Session": "{id}"}, "request": {"text": "{message}"}}, "$.id"),
        ({"url": "/chat", "request": {"text": "{message}", "session": "{id}"}}, "id"),
    ],
)
async def test_what_is_taken_can_stand_anywhere(server: Shop, where: dict[str, Any], take: str) -> None:
    server.tokens["good"] = 100
    opened = Before(url=f"{server.url}/sessions", headers={"X-API-Key": "good"}, take={"id": take})
    app = HttpApp(**{**where, "url": f"{server.url}{where['url']}", "before": opened})

    answers = await talk(app, HELLO, AGAIN)

    assert [answer[0] for answer in answers] == ["1", "2"]
    assert server.turns == {"s1": 2}
    assert app.session_warning == ""


@pytest.mark.anyio
async def test_a_whole_answer_may_be_a_token(server: Shop) -> None:
    echo = Before(url=f"{server.url}/text", request="tok-plain", encoding="text", take={"token": "$"})
    server.tokens["tok-plain"] = 5

    answers = await talk(bearer(server, before=echo), HELLO, AGAIN)

    assert [answer[0] for answer in answers] == ["1", "2"]


@pytest.mark.anyio
async def test_a_page_that_logs_in_by_a_form_gives_a_cookie(server: Shop) -> None:
    page = Before(url=f"{server.url}/page", request={"user": "tester"}, encoding="form")
    app = HttpApp(url=f"{server.url}/guarded", request={"text": "{message}", "session": "{session}"}, before=page)

    answers = await talk(app, HELLO, AGAIN)

    assert [answer[0] for answer in answers] == ["1", "2"]
    assert server.asked[0] == "POST /page"


@pytest.mark.anyio
@pytest.mark.parametrize("per", ["trial", "run"])
async def test_a_login_that_has_expired_is_made_anew_once(server: Shop, per: str) -> None:
    server.uses = 2

    answers = await talk(bearer(server, before=login(server, per=per)), *[HELLO] * 5)

    assert [answer[0] for answer in answers] == ["1", "2", "3", "4", "5"]
    assert server.asked.count("POST /login") == 3


@pytest.mark.anyio
async def test_a_cookie_that_has_expired_is_made_anew_too(server: Shop) -> None:
    server.uses = 2
    page = Before(url=f"{server.url}/page", request={"user": "tester"}, encoding="form", per="run")
    app = HttpApp(url=f"{server.url}/guarded", request={"text": "{message}", "session": "{session}"}, before=page)

    answers = await talk(app, *[HELLO] * 5)

    assert [answer[0] for answer in answers] == ["1", "2", "3", "4", "5"]


@pytest.mark.anyio
async def test_a_session_outlives_the_token_that_opened_it(server: Shop) -> None:
    server.uses = 3  # the third turn is refused
    opened = Before(url=f"{server.url}/sessions", headers={"Authorization": "Bearer {token}"}, take={"session": "$.id"})
    url = f"{server.url}/sessions/{{session}}/messages"
    app = bearer(server, url=url, request={"text": "{message}"}, before=[login(server), opened])

    answers = await talk(app, *[HELLO] * 4)

    assert [answer[0] for answer in answers] == ["1", "2", "3", "4"]
    assert server.asked.count("POST /sessions") == 1


@pytest.mark.anyio
async def test_a_later_step_may_find_that_the_shared_login_has_expired(server: Shop) -> None:
    server.uses = 2
    opened = Before(url=f"{server.url}/sessions", headers={"Authorization": "Bearer {token}"}, take={"session": "$.id"})
    url = f"{server.url}/sessions/{{session}}/messages"
    app = bearer(server, url=url, request={"text": "{message}"}, before=[login(server, per="run"), opened])

    async with app:
        said = [(await app(HELLO, {})).response[0] for _ in range(4)]

    assert said == ["1"] * 4
    assert server.asked.count("POST /login") == 4


@pytest.mark.anyio
async def test_concurrent_trials_wait_for_one_login(server: Shop) -> None:
    app = bearer(server, before=login(server, per="run"))

    async with app:
        await asyncio.gather(*(app(HELLO, {}) for _ in range(20)))

    assert server.asked.count("POST /login") == 1


@pytest.mark.anyio
async def test_a_run_with_a_short_token_is_a_run_with_a_long_one() -> None:
    outcomes = []
    for uses in (5, 1000):
        async with shop(uses=uses) as server:
            app = bearer(server, before=login(server, per="run"))
            result = await Engine(seed=1, store=None, display="none").evaluate([scenario(sample_size=20)], app)
            outcomes.append((result.outcome, [len(each.responses) for each in result[0].conversations]))

    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == "pass"


@pytest.mark.anyio
async def test_a_socket_is_opened_with_a_token_and_again_with_a_new_one(server: Shop) -> None:
    server.uses = 1
    app = SocketApp(
        url=f"{server.url.replace('http', 'ws')}/socket?key={{token}}",
        request={"text": "{message}"},
        before=login(server, per="run"),
        greets=False,
    )

    assert await talk(app) == ["you said Hello & welcome"]
    async with app:
        for _ in range(3):
            answer = await app(HELLO, {})
            await app.leave(answer.state)
    assert server.asked.count("POST /login") == 4


@pytest.mark.anyio
async def test_a_refusal_that_stays_is_told(server: Shop) -> None:
    server.uses = 0

    with pytest.raises(AppFailure, match="HTTP 401"):
        await talk(bearer(server))

    assert server.asked == ["POST /login"] * 2


@pytest.mark.anyio
async def test_no_error_and_no_answer_shows_a_token(server: Shop) -> None:
    app = HttpApp(
        url=f"{server.url}/sessions/gone/messages",
        request={"text": "{message} {token}"},
        headers={"Authorization": "Bearer {token}"},
        before=login(server),
    )
    echo = bearer(server, request={"text": "{message} {token}", "session": "{session}"})

    async with app, echo:
        failed, answered = [await each.exchange(HELLO, {}) for each in (app, echo)]

    assert str(failed.failure) == 'HTTP 404: {"error": "no session gone"} (check the path of its URL)'
    assert answered.response is not None
    assert answered.response.response.endswith("You said Hello & welcome {token}")
    assert "tok-" not in f"{failed} {answered} {app!r} {app.name}"


@pytest.mark.anyio
async def test_an_id_in_a_header_stays_in_answers_and_after_a_new_login(server: Shop) -> None:
    server.uses = 2
    opened = Before(url=f"{server.url}/sessions", headers={"Authorization": "Bearer {token}"}, take={"id": "$.id"})
    headers = {"Authorization": "Bearer {token}", "X-Session": "{id}"}
    app = bearer(server, request={"text": "{message} in {id}"}, headers=headers, before=[login(server), opened])

    answers = await talk(app, *[HELLO] * 3)

    assert [answer[0] for answer in answers] == ["1", "2", "3"]
    assert all(answer.endswith("in s1") for answer in answers)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"request": {"user": "nobody"}}, "`before:` could not be done: POST {url}/login: HTTP 401"),
        ({"take": {"token": "$.token"}}, "there is no text and no number at $.token of its answer, which has data"),
        ({"take": {"token": "cookie:sid"}}, "at cookie:sid of its answer"),
        ({"url": "http://127.0.0.1:9/login"}, "`before:` could not be done: POST http://127.0.0.1:9/login"),
    ],
)
async def test_a_login_that_fails_is_told_and_no_turn_is_asked(
    server: Shop, options: dict[str, Any], said: str
) -> None:
    before = Before(**{"url": f"{server.url}/login", **LOGIN, **options})

    with pytest.raises(AppFailure) as raised:
        await talk(bearer(server, before=before))

    assert said.replace("{url}", server.url) in str(raised.value)
    assert "let-me-in" not in str(raised.value) or "nobody" in str(raised.value)
    assert "tok-" not in str(raised.value)
    assert "POST /guarded" not in server.asked


@pytest.mark.anyio
async def test_a_login_that_fails_is_no_failure_of_the_app(server: Shop) -> None:
    app = bearer(server, before=login(server, request={"user": "nobody"}))

    result = await Engine(seed=1, store=None, display="none").evaluate([scenario()], app)

    assert result.outcome == "error"
    assert all("`before:` could not be done" in failure.error for _, failure in result[0].failures)
    assert {failure.stage for _, failure in result[0].failures} == {"app_access"}


@pytest.mark.anyio
async def test_a_login_that_is_not_accepted_is_told_with_what_to_write(server: Shop) -> None:
    async with bearer(server, headers={"Authorization": "Bearer other-{token}"}) as app:
        exchange = await app.exchange(HELLO, {})

    assert "the login of `before:` is not accepted" in str(exchange.failure)
    assert "write `per: run`" in str(exchange.failure)


@pytest.mark.anyio
async def test_a_first_turn_that_is_asked_again_keeps_its_session(server: Shop) -> None:
    server.later, server.tokens["good"] = 2, 100
    opened = Before(url=f"{server.url}/sessions", headers={"X-API-Key": "good"}, take={"session": "$.id"})
    url = f"{server.url}/sessions/{{session}}/messages"
    app = HttpApp(url=url, request={"text": "{message}"}, headers={"X-API-Key": "good"}, before=opened)

    result = await Engine(seed=1, store=None, display="none").evaluate([scenario(sample_size=2)], app)

    assert server.later == 0
    assert server.asked.count("POST /sessions") == 2
    assert all(each.responses for each in result[0].conversations)


def test_an_app_with_what_was_taken_in_its_address_has_a_name() -> None:
    before = Before(url="http://a/login", take={"id": "$.id"})

    names = {HttpApp(url="http://a/{id}", before=each).name for each in (before, [before, before])}

    assert len(names) == 2
    assert all(name.startswith("http://a/{id} (") for name in names)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({"url": "http://a/{token}"}, "found {token}"),
        ({"url": "http://a/", "request": {"q": "{message}"}}, "found {message}"),
        ({"url": "http://a/", "headers": {"X": "$KEY"}}, "did you mean ${KEY}?"),
        ({"url": "http://a/", "request": {"s": "{session}"}, "per": "run"}, "found {session}"),
        ({"url": "http://a/", "take": {"session": "$.id"}, "per": "run"}, "all conversations would be one"),
        ({"url": "http://a/", "take": {"message": "$.id"}}, "give names such as token"),
        ({"url": "http://a/", "take": {"id": "a..b"}}, "write a path such as"),
        ({"url": "http://a/", "per": "turn"}, "use 'trial' or 'run'"),
        ({"url": "ftp://a/"}, "write one that begins with http"),
        ({"url": "http://a/", "method": "HEAD"}, "before: method"),
    ],
)
def test_what_cannot_be_done_before_is_refused(before: dict[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        HttpApp(url="http://a/", before=Before(**before))

    assert said in str(raised.value)


def test_a_suite_may_have_one_request_before_or_several(tmp_path: Path) -> None:
    one = "app:\n  url: http://a/\n  headers: {X-Token: '{t}'}\n  before: {url: 'http://a/login', take: {t: $.t}}\n"
    several = one.replace("before: {", "before:\n    - {").replace(
        "$.t}}\n", "$.t}, per: run}\n    - url: http://a/o\n"
    )

    [first], [second, third] = (
        load(tmp_path / "suite.yaml", suite(top=top)).cast.app._preparation.steps  # type: ignore[union-attr]
        for top in (one, several)
    )

    assert (first.per, second.per, third.url) == ("trial", "run", "http://a/o")


def test_a_mistake_before_is_told_at_its_place(tmp_path: Path) -> None:
    top = "app:\n  url: http://a/\n  before:\n    - url: http://a/login\n      tak: {t: $.t}\n"

    error = mistake(tmp_path / "suite.yaml", suite(top=top))

    assert "there is no field 'tak'; did you mean 'take'?" in str(error)
    assert error.line == 5
