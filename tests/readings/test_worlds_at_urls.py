"""The world of an app at a URL: probes and worlds know the session, and see what the app did in it."""

import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.core.world import NamedWorld, made_world
from simeval.errors import DefinitionError
from simeval.suites.apps.before import Before
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.worlds import Probes, read_world
from tests.support.session_apps import Shop, shop
from tests.support.suite_files import mistake, suite

pytestmark = pytest.mark.anyio
SHARE = ProportionEvaluator(min_proportion=0.8, early_stopping=False)
STATE = "      state: {order.status: refunded}\n"
RULE = "{type: proportion, min_proportion: 0.9}"


@pytest.fixture
async def server() -> AsyncIterator[Shop]:
    async with shop() as served:
        yield served


def probes(**arguments: Any) -> NamedWorld:
    world: NamedWorld = read_world({"type": "probes", **arguments})
    return world


def scenario(world: Any, **about: Any) -> ScenarioTest:
    given: dict[str, Any] = {
        "title": "Refunds",
        "given": "A customer with an order",
        "when": "The user wants a refund.",
        "sample_size": 15,
        "max_turns": 2,
        "then": Expectation(state={"order.status": "refunded"}, evaluator=SHARE),
    }
    return ScenarioTest(**{**given, "world": world, **about})


async def run(scenario: ScenarioTest, app: Any) -> SuiteResult:
    return await Engine(seed=1, store=None, display="none").evaluate([scenario], app)


def chat(server: Shop, **options: Any) -> HttpApp:
    request = {"text": "{message}", "session": "{session}"}
    return HttpApp(**{"url": f"{server.url}/chat", "request": request, **options})


@pytest.mark.parametrize(
    "probe",
    [
        {"url": "/sessions/{session}/order"},
        {"url": "/state?session={session}"},
        {"url": "/state", "headers": {"X-Session": "{session}"}},
        {"url": "/state", "request": {"session": "{session}"}},
        {"url": "/state", "method": "GET", "request": {"session": "{session}"}},
        {"url": "/state", "request": {"session": "{session}"}, "encoding": "form"},
        {"command": "PYTHON -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())' URL"},
    ],
)
@pytest.mark.parametrize("lies", [False, True])
async def test_a_probe_sees_the_state_of_its_own_trial(server: Shop, probe: dict[str, Any], lies: bool) -> None:
    server.lies = lies
    found = {name: value for name, value in probe.items() if name not in ("url", "command")}
    if "url" in probe:
        found["url"] = f"{server.url}{probe['url']}"
    else:
        command = probe["command"].replace("PYTHON", sys.executable)
        found["command"] = command.replace("URL", f"{server.url}/sessions/{{session}}/order")

    result = await run(scenario(probes(order=found)), chat(server))

    assert result.outcome == ("fail" if lies else "pass")
    worlds = [each.world for each in result[0].conversations]
    assert {str(each and each["state"]["order"]) for each in worlds} == {
        str({"status": "delivered" if lies else "refunded"})
    }
    assert len(server.turns) == 15


async def test_said_done_and_a_state_that_disagrees_is_told(server: Shop) -> None:
    server.lies = True
    said = Expectation(expected_behavior="refunded", evaluator=SuccessRateEvaluator(min_proportion=0.5))
    state = Expectation(state={"order.status": "refunded"}, evaluator=SHARE)
    world = probes(order={"url": f"{server.url}/sessions/{{session}}/order"})

    result = await run(scenario(world, then=[said, state]), chat(server))

    assert result[0].expectations[1].outcome == "fail"
    assert "said done, state disagrees" in str(result)


@pytest.mark.parametrize("session", ["$.id", "before"])
async def test_the_session_may_be_named_by_the_app(server: Shop, session: str) -> None:
    server.tokens["good"] = 1000
    opened = Before(url=f"{server.url}/sessions", headers={"X-API-Key": "good"}, take={"session": "$.id"})
    options: dict[str, Any] = {"session": session} if session != "before" else {"before": opened}
    world = probes(order={"url": f"{server.url}/sessions/{{session}}/order"})

    result = await run(scenario(world), chat(server, **options))

    assert result.passed
    assert all(name.startswith("new-" if session == "$.id" else "s") for name in server.orders)


async def test_a_request_before_the_conversation_resets_the_state(server: Shop) -> None:
    world = probes(
        before={"url": f"{server.url}/reset", "request": {"session": "{session}", "status": "trial {trial} {seed}"}},
        order={"url": f"{server.url}/sessions/{{session}}/order"},
    )

    result = await run(scenario(world, when="The user says hello."), chat(server))

    found = [str(each.world and each.world["state"]["order"]["status"]) for each in result[0].conversations]
    assert [each.split()[1] for each in found] == [str(number) for number in range(15)]
    assert len({each.split()[2] for each in found}) == 15


async def test_a_reset_that_fails_makes_the_trial_missing_and_asks_nothing(server: Shop) -> None:
    world = probes(
        before=[{"command": "true"}, {"url": f"{server.url}/nowhere"}],
        order={"url": f"{server.url}/sessions/{{session}}/order"},
    )

    result = await run(scenario(world), chat(server))

    assert result.outcome == "error"
    assert "`before:` could not be done: HTTP 404" in result[0].failures[0][1].error
    assert not server.turns


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("order: {url: 'http://a/{sesion}'}", "did you mean {session}?"),
        ("order: {url: 'http://a/{order_id}'}", "the places are {seed}, {trial}, {session}"),
        ("order: {url: 'http://a/', headers: {X: '{message}'}}", "the places are {seed}, {trial}, {session}"),
        ("order: {url: 'http://a/', request: {q: '{{session}}'}}", "did you mean {session}?"),
        ("order: {url: 'http://a/', headers: {X-Key: $KEY}}", "did you mean ${KEY}?"),
        ("order: {command: 'echo {conversation_id}'}", "did you mean {session}?"),
        ("before: {url: 'http://a/{order}'}, order: {url: 'http://a/'}", "found {order}"),
        ("before: {uri: 'http://a/'}, order: {url: 'http://a/'}", "give each probe {url: ...}"),
        ("trial: {url: 'http://a/'}", "give the probe another name"),
    ],
)
def test_a_place_that_a_probe_does_not_know_is_refused_with_its_line(tmp_path: Path, world: str, said: str) -> None:
    text = suite(scenario=f"    world: {{type: probes, {world}}}\n", then=STATE, evaluator=RULE)

    error = mistake(tmp_path / "suite.yaml", text)

    assert said in str(error)
    assert error.line == 6


@pytest.mark.parametrize("text", ["sh -c 'echo $HOME'", "echo {} { print }", "echo ${PATH}"])
def test_what_a_command_has_of_its_own_stays(text: str) -> None:
    assert Probes(found={"command": text})


@pytest.mark.parametrize(
    ("app", "probe", "said"),
    [
        ({"request": {"text": "{message}"}}, {}, "the app has no session"),
        ({"session": "$.id"}, {"before": {"url": "http://127.0.0.1:9/{session}"}}, "names its session later"),
        (None, {}, "the app has no session"),
    ],
)
async def test_probes_of_a_session_that_is_not_known_are_refused_before_anything_is_asked(
    server: Shop, app: dict[str, Any] | None, probe: dict[str, Any], said: str
) -> None:
    world = probes(**probe, order={"url": f"{server.url}/sessions/{{session}}/order"})

    with pytest.raises(DefinitionError, match=said):
        await run(scenario(world), (lambda message: "Hi") if app is None else chat(server, **app))

    assert not server.asked


async def test_a_world_and_a_scorer_get_the_session(server: Shop) -> None:
    made: list[tuple[int, str | None]] = []

    class Seen:
        def __init__(self, trial: int, session: str | None) -> None:
            made.append((trial, session))

        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(self, *_: object) -> None: ...

        def state(self, *, session: str | None) -> Mapping[str, Any]:
            return {"session": session, "order": {"status": server.orders[str(session)]}}

    def agrees(conversation: Any, response: Any) -> bool:
        return bool(conversation.world["state"]["session"] == response["metadata"]["session"])

    result = await run(scenario(Seen, then=Expectation(scorer=agrees, evaluator=SHARE)), chat(server))

    assert result.passed
    assert sorted(trial for trial, _ in made) == list(range(15))
    assert {session for _, session in made} == set(server.orders)


async def test_a_program_has_a_session_for_probes(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text("import json, sys; print(json.load(sys.stdin)['session'])")
    world = probes(seen={"command": "echo {session}"})

    def agrees(output: str, conversation: Any) -> bool:
        return bool(conversation.world["state"]["seen"] == output)

    then = Expectation(scorer=agrees, evaluator=SHARE)
    result = await run(scenario(world, then=then), CommandApp(f"{sys.executable} {program}"))

    assert result.passed


def test_an_argument_of_a_world_is_its_own() -> None:
    class Shop:
        def __init__(self, session: str) -> None:
            self.session = session

    world = NamedWorld("shop", Shop, {"session": "mine"})  # type: ignore[arg-type]

    assert made_world(world, seed=1, session="theirs").session == "mine"  # type: ignore[attr-defined]
