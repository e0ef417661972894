"""A suite tested by mutants, through the whole engine: which are noticed, at which cost, for every form of app."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from simeval import (
    Conversation,
    Engine,
    Expectation,
    HttpApp,
    ProportionEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
    scorer,
)
from simeval.cli.init import APP
from simeval.cli.starter_apps import SUITE
from simeval.engine import MutationReport, mutate
from simeval.errors import DefinitionError
from simeval.extras.mutate.mutants import STANDARD
from simeval.models.protocol.model import Request
from simeval.suites import Check, Step, load_suite
from simeval.suites.apps.named import app_of
from simeval.testing import ScriptedModel
from tests.support.serving import serving

pytestmark = pytest.mark.anyio

ALL = {each.name for each in STANDARD}
SAID = ["I am Ann.", "When does order F7 arrive?", "Can I return it?"]


def answered(name: str, message: str) -> str:
    """Answer as the shop does, which knows the name of its user from the first turn."""
    if "arrive" in message:
        return f"Dear {name}! Order F7 arrives on Friday."
    return f"You can return it within 30 days, {name}." if "return" in message else f"Hello {name}, how can I help?"


def with_state(message: str, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = message[5:-1] if message.startswith("I am ") else state.get("name", "stranger")
    return answered(name, message), {"name": name}


def with_history(messages: list[dict[str, str]]) -> str:
    said = [each["content"][5:-1] for each in messages if each["content"].startswith("I am ")]
    return answered(said[0] if said else "stranger", messages[-1]["content"])


class WithObject:
    def __init__(self) -> None:
        self.name = "stranger"

    async def __call__(self, message: str) -> str:
        self.name = message[5:-1] if message.startswith("I am ") else self.name
        return answered(self.name, message)


@scorer
def is_right(conversation: Conversation) -> bool:
    return [each.content for each in conversation.responses] == [answered("Ann", each) for each in SAID]


@scorer
def is_fast(conversation: Conversation) -> bool:
    return max(each.seconds for each in conversation.responses) < 30


@scorer
def is_greeted(output: str, name: str) -> bool:
    return name in output


@scorer
def says_something(output: str) -> bool:
    return bool(output)


def suite(*scorers: Any) -> Sequence[ScenarioTest]:
    """Return a suite that requires these of nearly all conversations."""
    then = [Expectation(scorer=each, evaluator=ProportionEvaluator(min_proportion=0.9)) for each in scorers]
    script = [Step(user=each) for each in SAID]
    return [ScenarioTest(title="An order", given="Ann", when="Ann asks", script=script, then=then)]


async def report_on(scenarios: Any, app: Any = with_state, *, concurrency: int = 8, **options: Any) -> MutationReport:
    engine = Engine(seed=3, store=None, display="none", concurrency=concurrency)
    return await mutate(scenarios, app, engine=engine, **options)


def statuses(report: MutationReport) -> dict[str, str]:
    return {each.name: each.status for each in report.mutants}


async def test_a_strict_suite_notices_every_standard_mutant() -> None:
    report = await report_on(suite(is_right, is_fast))

    assert statuses(report) == dict.fromkeys(ALL, "noticed")
    assert report.passed
    [late] = [each for each in report.mutants if each.name == "delays"]
    assert [each.requirement for each in late.noticed_by] == ["is_fast: ≥ 90%"]
    assert not report.toothless


async def test_a_blind_suite_misses_every_one_and_its_requirement_is_named() -> None:
    report = await report_on(suite(says_something))

    assert statuses(report) == dict.fromkeys(ALL, "missed")
    assert not report.passed
    assert [each.requirement for each in report.toothless] == ["says_something: ≥ 90%"]
    assert all(0.1 < each.at_most < 0.3 for each in report.missed)
    assert "0 of 11 mutants noticed" not in report.text()
    assert "now: Hello Ann, how can I help?" in report.text()


async def test_a_noticed_mutant_is_asked_no_more_than_that_takes() -> None:
    report = await report_on(suite(is_right), concurrency=1)

    trials = {each.status: each.trials for each in report.mutants}
    assert trials["noticed"] < trials["missed"]  # the delay is missed
    assert trials["noticed"] <= 10


@pytest.mark.parametrize("app", [with_history, WithObject])
async def test_apps_of_other_forms_can_be_mutants(app: Any) -> None:
    report = await report_on(suite(is_right, is_fast), app)

    assert statuses(report) == dict.fromkeys(ALL, "noticed")


async def test_an_app_at_a_url_can_be_a_mutant() -> None:
    sessions: dict[str, dict[str, Any]] = {}

    async def chat(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        text, sessions[body["id"]] = with_state(body["message"], sessions.get(body["id"], {}))
        return web.json_response({"reply": text})

    application = web.Application()
    application.router.add_post("/chat", chat)
    async with serving(application) as url:
        app = HttpApp(url=f"{url}/chat", request={"message": "{message}", "id": "{session}"}, reply="$.reply")
        report = await report_on(suite(is_right, is_fast), app)

    assert statuses(report) == dict.fromkeys(ALL, "noticed")


async def test_a_model_can_be_a_mutant() -> None:
    report = await report_on(suite(says_something), "offline/app", mutants=["forgets-first", "says-done"])

    assert statuses(report) == {"forgets-first": "missed", "says-done": "missed"}


async def test_a_mutant_that_says_done_never_asks_the_app() -> None:
    asked: list[str] = []

    def app(message: str, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        asked.append(message)
        return with_state(message, state)

    report = await report_on(suite(is_right), app, mutants=["says-done"], samples=8)

    assert len(asked) == len(SAID) * 8  # of the unchanged app
    assert statuses(report) == {"says-done": "noticed"}


async def test_it_finds_the_same_however_many_are_in_flight() -> None:
    found = [await report_on(suite(is_right, says_something), concurrency=each) for each in (1, 5, 64)]

    noticed = [
        [(each.name, each.status, [one.noticed for one in each.noticings]) for each in report.mutants]
        for report in found
    ]
    assert noticed == [noticed[0]] * 3  # a p-value is that of the look at which a mutant was noticed


async def test_a_mutant_that_changes_no_answer_is_neither_noticed_nor_missed() -> None:
    def nothing(answer: str) -> str | None:
        return None

    report = await report_on(suite(is_right), mutants=[nothing, "refuses"])

    assert statuses(report) == {"nothing": "not applied", "refuses": "noticed"}
    assert report.passed


async def test_where_the_unchanged_app_fails_nothing_is_measured_and_that_is_said() -> None:
    report = await report_on(suite(is_right), lambda message: "No.", mutants=["refuses"])

    assert statuses(report) == {"refuses": "not measured"}
    assert "the unchanged app misses these" in report.text()
    assert not report.toothless


async def test_a_mutant_of_ones_own_that_breaks_is_not_measured_and_its_error_is_shown() -> None:
    def broken(answer: str) -> str:
        raise ValueError(answer[:5])

    report = await report_on(suite(is_right), mutants=[broken, "refuses"])

    assert statuses(report) == {"broken": "not measured", "refuses": "noticed"}
    assert "broken: ValueError: Hello" in report.text()


async def test_a_mutant_without_a_name_that_returns_no_text_is_told_as_such() -> None:
    report = await report_on(suite(is_right), mutants=[partial(len), "refuses"])

    assert statuses(report) == {"partial": "not measured", "refuses": "noticed"}
    assert "mutant 'partial': it returned int; return a text, or None" in report.text(200)


async def test_a_models_rewriting_takes_the_place_of_the_rules() -> None:
    asked: list[str] = []

    async def write(request: Request) -> str:
        asked.append(request.messages()[0]["content"])
        return str(request.messages()[-1]["content"]).replace("Friday", "Monday")

    engine = Engine("offline/judge", ScriptedModel(write), seed=3, store=None, display="none")
    report = await mutate(
        suite(is_right), with_state, engine=engine, mutants=["changes-number", "refuses"], models=True
    )

    assert statuses(report) == {"changes-number": "noticed", "refuses": "noticed"}
    assert report.calls == len(asked) > 0
    assert all("Change one number" in each for each in asked)


async def test_a_requirement_without_scores_is_named_as_not_measured() -> None:
    @scorer
    def breaks(output: str) -> bool:
        raise ValueError(output)

    report = await report_on(suite(is_right, breaks), mutants=["refuses"])

    assert "not measured:\n  breaks: ≥ 90% (An order)" in report.text()


async def test_of_an_app_that_never_answers_nothing_is_concluded() -> None:
    def down(message: str) -> str:
        raise ValueError("down")

    report = await report_on(suite(is_right), down)

    assert "never answered" in report.problem
    assert not report.passed
    assert report.text().startswith("nothing can be concluded")


async def test_a_mutant_of_ones_own_may_look_at_the_messages_and_be_async() -> None:
    async def forgets_the_day(answer: str, messages: list[dict[str, str]]) -> str:
        assert messages[-1]["role"] == "user"
        return re.sub("Friday", "soon", answer)

    report = await report_on(suite(is_right), mutants=[forgets_the_day])

    assert statuses(report) == {"forgets_the_day": "noticed"}


async def test_instructions_that_are_given_are_those_that_leak() -> None:
    report = await report_on(suite(says_something), mutants=["leaks-instructions"], system_prompt="Sell a warranty.")

    assert report.mutants[0].became.endswith("[My instructions: Sell a warranty.]")


async def test_a_table_of_cases_is_measured_to_the_last_trial_of_each_mutant() -> None:
    script = [Step(user="I am {name}."), Step(user="When does order F7 arrive?")]
    greeted = Expectation(scorer=is_greeted, evaluator=ProportionEvaluator(min_proportion=0.9))
    cases = [{"name": "Ann"}, {"name": "Ben"}]
    table = ScenarioTest(title="An order", given="{name}", when="{name} asks", script=script, then=greeted, cases=cases)

    report = await report_on(table, mutants=["refuses", "delays"], samples=9)

    assert statuses(report) == {"refuses": "noticed", "delays": "missed"}
    [seen] = next(each.noticings for each in report.missed)
    assert seen.trials == 9


def asking(*script: Step, **more: Any) -> ScenarioTest:
    """Return a scenario whose user a model plays, and whose app a model judges."""
    then = Expectation(expected_behavior="It says Friday", evaluator=SuccessRateEvaluator(min_proportion=0.9))
    when = "Ann asks when order F7 arrives. Ann wants to return it."
    return ScenarioTest(title="An order", given="Ann", when=when, script=script, then=then, **more)


async def test_what_it_costs_is_foretold_where_a_mutants_conversations_end_early() -> None:
    first = Step(user=SAID[1]), Step(check=Check(contains=["Friday"])), Step(simulate="to_end")

    report = await report_on(asking(*first, max_turns=6), mutants=["refuses", "says-done", "repeats", "delays"])

    assert report.foretold == pytest.approx(report.calls, rel=0.2)
    unchanged, refuses, *_ = [each.judgements[0].conversation for each in report.run]
    assert len(unchanged.responses) > len(refuses.responses)


@pytest.mark.parametrize("samples", [1, 2, 40])
async def test_what_it_costs_is_foretold_for_any_number_of_samples(samples: int) -> None:
    report = await report_on(asking(max_turns=1), mutants=["refuses", "delays"], samples=samples)

    assert report.foretold == pytest.approx(report.calls, rel=0.2)
    assert ("foretold: up to about" in report.text(200)) == (samples == 1)


async def test_a_budget_ends_it_with_what_was_found_by_then() -> None:
    engine = Engine(seed=3, store=None, display="none", max_calls=60)

    report = await mutate(asking(max_turns=2), with_state, engine=engine)

    assert report.calls <= 60
    assert "max_calls of 60" in report.text()
    assert {each.status for each in report.mutants} <= {"noticed", "open"}


async def test_it_cannot_be_resumed_as_nothing_of_it_is_stored() -> None:
    engine = Engine(seed=3, store=None, display="none", resume="last")

    with pytest.raises(DefinitionError, match="mutate: resume: found 'last'; leave it out"):
        await mutate(suite(is_right), with_state, engine=engine)


async def test_a_models_rewriting_needs_a_model() -> None:
    with pytest.raises(DefinitionError, match="offline/user cannot write"):
        await report_on(suite(is_right), models=True)


@pytest.mark.parametrize(
    ("name", "app", "missed"),
    [
        ("returns_desk.yaml", "returns_desk:handle", "leaks-instructions delays flips-policy"),
        (
            "handbook.yaml",
            "handbook_bot:current",
            "answers-earlier leaks-instructions delays repeats ends-early flips-policy",
        ),
    ],
)
async def test_of_a_public_suite_the_missed_are_named_and_its_cost_foretold(name: str, app: str, missed: str) -> None:
    scenarios = load_suite(f"{Path(__file__).parents[2]}/scenarios/{name}")

    report = await report_on(scenarios, app_of(f"scenarios.{app}"))

    assert [each.name for each in report.missed] == missed.split()
    assert [each.name for each in report.of("not applied")] == ["forgets-first"]
    assert {each.name for each in report.of("noticed")} == ALL - {*missed.split(), "forgets-first"}
    assert report.foretold == pytest.approx(report.calls, rel=0.2)


async def test_of_the_starter_suite_the_cost_is_foretold_within_a_fifth(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.read_text())
    shop: dict[str, Any] = {}
    exec(APP, shop)
    handle: Callable[..., Awaitable[Any]] = shop["handle"]

    report = await report_on(load_suite(f"{tmp_path}/suite.yaml"), handle)

    assert report.foretold is not None
    assert 0.8 * report.foretold < report.calls < 1.2 * report.foretold
    assert {each.name for each in report.of("noticed")} == ALL - {each.name for each in report.missed} - {
        "forgets-first"
    }
    assert {"changes-number", "leaks-instructions", "flips-policy"} < {each.name for each in report.missed}
