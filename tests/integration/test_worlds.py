"""Trials with a world of their own, through the whole engine."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any, Self

import anyio
import anyio.lowlevel
import pytest

from scenarios import telecom
from simeval import (
    AppResponse,
    Engine,
    Expectation,
    ProportionEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    SuiteResult,
)
from simeval.core.world import Unmeasured
from simeval.models.protocol.prompts import UserTurn
from simeval.results.suite import encode_suite
from simeval.scorers import ToolRules
from simeval.suites.files import load_file
from simeval.testing import ScriptedModel, user_reply

pytestmark = pytest.mark.anyio
SUITE = Path(__file__).resolve().parents[2] / "scenarios" / "telecom.yaml"
SLOW_SECONDS = 2.0
SHARE = ProportionEvaluator(min_proportion=0.5, early_stopping=False)


@dataclass
class Counter:
    """A world that counts what is added to it, and how many are open."""

    seed: int
    added: list[int] = field(default_factory=list)
    open_now: int = 0

    async def __aenter__(self) -> Self:
        await anyio.lowlevel.checkpoint()
        self.open_now += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open_now -= 1

    @property
    def tools(self) -> list[Callable[..., Any]]:
        return [self.add, self.fail]

    async def add(self, number: int) -> int:
        await anyio.lowlevel.checkpoint()
        self.added.append(number)
        return sum(self.added)

    def fail(self) -> None:
        raise LookupError("there is none")

    def state(self) -> Mapping[str, Any]:
        return {"seed": self.seed, "added": self.added}


async def adder(message: str, state: Any, *, tools: Mapping[str, Callable[..., Any]]) -> str:
    """Add a number to the trial's world, twice, with others at work in between."""
    for number in (1, 2):
        await tools["add"](number)
    return "It is done."


def suite(world: Any = Counter, *, then: Any = None, **about: Any) -> ScenarioTest:
    fields: dict[str, Any] = {"title": "Counts", "given": "A user", "when": "The user counts.", "sample_size": 20}
    default = Expectation(state={"added": [1, 2]}, evaluator=SHARE)
    return ScenarioTest(**{**fields, "max_turns": 1, "world": world, "then": then or default, **about})


async def run(scenario: ScenarioTest, app: Any = adder, **settings: Any) -> SuiteResult:
    return await Engine(seed=3, display="none", store=None, **settings).evaluate([scenario], app)


async def test_200_concurrent_worlds_share_nothing() -> None:
    made: list[Counter] = []

    def counter(seed: int) -> Counter:
        made.append(Counter(seed))
        return made[-1]

    result = await run(suite(counter, sample_size=200), concurrency=200)

    worlds = [conversation.world for conversation in result[0].conversations]
    assert result.passed
    assert [world["state"]["added"] for world in worlds if world] == [[1, 2]] * 200
    assert len({world["state"]["seed"] for world in worlds if world}) == 200
    assert {each.open_now for each in made} == {0}


async def test_calls_of_a_worlds_tools_are_in_the_transcript_whatever_the_app_reports() -> None:
    async def talker(message: str, state: Any, *, tools: Any) -> Any:
        await tools["add"](number=5)
        reported: list[Any] = [{"name": "fail"}, {"name": "mail", "arguments": {}}]
        return AppResponse("Done.", state, tool_calls=reported)

    result = await run(suite(then=Expectation(tools=ToolRules(required=["add"]), evaluator=SHARE)), talker)

    (answer,) = result[0].conversations[0].responses
    assert answer.tool_calls == (
        {"name": "add", "arguments": {"number": 5}, "result": 5},
        {"name": "mail", "arguments": {}},
    )


async def test_a_tool_that_raises_is_noted_with_its_error() -> None:
    def clumsy(message: str, state: Any, *, tools: Any) -> str:
        try:
            tools["fail"]()
        except LookupError:
            return "Sorry."
        return "Done."

    result = await run(suite(), clumsy)

    (answer,) = result[0].conversations[0].responses
    assert answer.tool_calls == ({"name": "fail", "arguments": {}, "error": "LookupError: there is none"},)


async def test_an_app_that_takes_tools_has_none_where_there_is_no_world() -> None:
    def app(message: str, state: Any, *, tools: Any) -> str:
        return f"I have {len(tools)} tools."

    has_none = Expectation(scorer=lambda output: output == "I have 0 tools.", evaluator=SHARE)

    result = await run(suite(None, then=has_none), app)

    assert result.passed


@asynccontextmanager
async def _unopened() -> AsyncIterator[object]:
    raise OSError("no server")
    yield object()


@asynccontextmanager
async def _stateless() -> AsyncIterator[object]:
    yield object()


@asynccontextmanager
async def _hanging() -> AsyncIterator[object]:
    await anyio.sleep_forever()
    yield object()


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (_unopened, "the world could not be opened: OSError: no server"),
        (_stateless, "the world has no method state()"),
        (_hanging, "the world was not open within 0.05 seconds"),
        (lambda: 1, "the world is no async context manager: its maker returned 1"),
    ],
)
async def test_a_trial_whose_world_fails_is_missing(world: Any, said: str) -> None:
    result = await run(suite(world, sample_size=4), app_timeout_seconds=0.05)

    failures = [failure for _, failure in result[0].failures]
    assert result.outcome == "error"
    assert {failure.stage for failure in failures} == {"world"}
    assert all(failure.error.startswith(said) for failure in failures)


@dataclass
class Blind(Counter):
    """A world in which something cannot be looked at."""

    def state(self) -> Mapping[str, Any]:
        return {"added": self.added, "mail": {"sent": Unmeasured("the mail server is down")}}


async def test_what_could_not_be_measured_asserts_nothing() -> None:
    unknown = Expectation(state={"added": [1, 2], "mail.sent": 1}, evaluator=SHARE, label="unknown")
    wrong = Expectation(state={"added": [], "mail.sent": 1}, evaluator=SHARE, label="wrong")

    result = await run(suite(Blind, then=[unknown, wrong]))

    outcomes = [expectation.outcome for expectation in result[0].expectations]
    assert outcomes == ["error", "fail"]
    assert "could not be measured: the mail server is down" in result[0].failures[0][1].error


async def test_a_state_that_raises_asserts_nothing() -> None:
    class Broken(Counter):
        def state(self) -> Mapping[str, Any]:
            raise RuntimeError("locked")

    result = await run(suite(Broken))

    assert result.outcome == "error"
    assert "RuntimeError: locked" in result[0].failures[0][1].error


async def test_a_world_that_cannot_be_closed_costs_no_trial() -> None:
    class Stuck(Counter):
        async def __aexit__(self, *_: object) -> None:
            raise OSError("still in use")

    assert (await run(suite(Stuck))).passed


async def test_a_world_may_hold_a_task_group_open() -> None:
    @asynccontextmanager
    async def busy(seed: int) -> AsyncIterator[Counter]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            yield Counter(seed)
            tasks.cancel_scope.cancel()

    assert (await run(suite(busy))).passed


# The telecom world


async def test_a_bot_that_does_what_it_says_passes() -> None:
    result = await Engine(seed=7, display="none", store=None).evaluate(load_file(SUITE), telecom.helper)

    assert result.passed
    assert result[0].claims.refuted == ()


async def test_a_bot_that_only_claims_success_fails_by_the_state_where_the_judge_says_pass() -> None:
    result = await Engine(seed=7, display="none", store=None).evaluate(load_file(SUITE), telecom.claimer)

    by_label = {each.label: each.outcome for each in result[0].expectations}
    claims = result[0].claims
    assert by_label == {"judge": "pass", "online": "fail"}
    assert len(claims.refuted) == claims.judged == claims.both > 0
    assert "said done, state disagrees" in str(result)
    assert encode_suite(result, result.run, version="0")["scenarios"][0]["claims"]["refuted"] == [*claims.refuted]


async def test_what_a_user_does_with_its_tools_is_its_call_and_it_knows_what_came_of_it() -> None:
    asked: list[UserTurn] = []

    def user(request: Any) -> dict[str, Any]:
        asked.append(request)
        return user_reply("It does not work.", goes_on=True)

    scenario = ScenarioTest(
        title="Phone",
        given="A customer",
        when="The customer wants data.",
        then=Expectation(state={"phone.restarts": 1}, evaluator=SHARE),
        world=telecom.Telecom,
        max_turns=2,
        sample_size=5,
    )

    result = await run(scenario, answering(), user_simulator_model=ScriptedModel(user))

    messages = result[0].conversations[0].messages
    assert messages[2].tool_calls == (
        {"name": "restart_phone", "arguments": {}, "result": "the phone has started again"},
    )
    knew = {(len(each.history), "the phone has started again" in each.given) for each in asked}
    assert knew == {(0, False), (2, True)}


def answering() -> Callable[[str, Any], str]:
    def app(message: str, state: Any) -> Any:
        said = "Please restart your phone." if not state else "Do not restart the phone again."
        return said, {"asked": True}

    return app


def test_a_judge_may_stand_beside_a_state() -> None:
    judged = Expectation(expected_behavior="It counts", evaluator=SuccessRateEvaluator(min_proportion=0.5))

    assert suite(then=[judged, Expectation(state={"added": [1, 2]}, evaluator=SHARE)]).labels == ("It counts", "state")


class Slow(Counter):
    """A world that takes long to look at, in a plain function."""

    def state(self) -> Mapping[str, Any]:
        sleep(SLOW_SECONDS + 0.1)
        return {"added": self.added}


class Demanding(Counter):
    """A world whose user has a tool that wants arguments."""

    @property
    def user_tools(self) -> list[Callable[..., Any]]:
        return [self.add]


@pytest.mark.parametrize(
    ("world", "says"), [(Slow, "no state within 2 seconds"), (Demanding, "calls it without arguments")]
)
async def test_worlds_that_cannot_be_used_so_give_no_score(world: Any, says: str) -> None:
    result = await run(suite(world, sample_size=1), app_timeout_seconds=SLOW_SECONDS, max_error_rate=1)

    [(_, failure)] = result[0].failures
    assert says in failure.error
