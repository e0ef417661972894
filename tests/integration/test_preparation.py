"""What is made ready before the first trial: a scenario waits for its own rubrics, and is never begun without them."""

from typing import Any

import anyio
import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator, dataset_of
from simeval.models.protocol.model import Request
from simeval.models.protocol.prompts import RubricRequest
from simeval.results.suite import SuiteResult, encode_suite
from simeval.testing import ScriptedModel, judge_reply, rubric_reply
from tests.support.doubles import failure

pytestmark = pytest.mark.anyio

RULE = SuccessRateEvaluator(min_proportion=0.5)
ONE, OTHER = (Expectation(expected_behavior=what, label=what, evaluator=RULE) for what in ("one", "other"))


def scenario(title: str = "A title", *then: Expectation) -> ScenarioTest:
    return ScenarioTest(title=title, given="A user", when="They ask", then=then or [ONE], sample_size=8, max_turns=1)


def asked_for(request: Request) -> str:
    """Return the behaviour that a rubric is asked for; empty for another request."""
    return request.expected_behavior if isinstance(request, RubricRequest) else ""


class App:
    """An app that counts how often it was asked, and says so."""

    def __init__(self) -> None:
        self.turns, self.was_asked = 0, anyio.Event()

    async def __call__(self, message: str, state: Any) -> str:
        self.turns += 1
        self.was_asked.set()
        return "Here you are."


async def evaluated(judge: ScriptedModel, app: App, *suite: ScenarioTest, **options: Any) -> SuiteResult:
    options = {"rubric_folder": None, "seed": 1, "store": None, "retry_config": RetryConfig(enabled=False), **options}
    with anyio.fail_after(60):
        found: SuiteResult = await Engine(judge, "offline/user", **options).evaluate(list(suite), app)
    return found


async def test_a_judge_that_cannot_write_a_rubric_costs_no_conversation() -> None:
    judge, app = ScriptedModel({"rubric": [failure("content")], "judge": [judge_reply(8)]}), App()

    result = await evaluated(judge, app, scenario())

    (verdict,) = result[0].verdicts
    assert (verdict.outcome, verdict.reason, verdict.n) == ("error", "errors", 0)
    assert "rubric: scripted/model failed (content)" in verdict.explanation
    assert "no trial was paid for" in str(result)
    assert (app.turns, judge.calls, result[0].trials) == (0, 1, 0)
    assert result.run.stopped == ""


async def test_a_scenario_waits_for_its_own_rubrics_only() -> None:
    app = App()

    async def write(request: Request) -> Any:
        if asked_for(request) == "other":
            await app.was_asked.wait()
        return rubric_reply()

    judge = ScriptedModel({"rubric": write, "judge": [judge_reply(8)]})

    result = await evaluated(judge, app, scenario("Late", OTHER), scenario("Early"))

    assert result.passed


async def test_rubrics_of_several_scenarios_are_written_at_once() -> None:
    all_asked = anyio.Event()

    async def write(request: Request) -> Any:
        if judge.under_way == 3:
            all_asked.set()
        await all_asked.wait()
        return rubric_reply()

    judge = ScriptedModel({"rubric": write, "judge": [judge_reply(8)]})
    several = [scenario(str(n), Expectation(expected_behavior=f"it does {n}", evaluator=RULE)) for n in range(3)]

    assert (await evaluated(judge, App(), *several)).passed


class TestNobodyWaitsForARubricThatIsNotNeeded:
    async def test_it_is_given_up_when_its_scenario_cannot_pass(self) -> None:
        other_asked, app = anyio.Event(), App()

        async def write(request: Request) -> Any:
            if asked_for(request) == "other":
                other_asked.set()
                await anyio.sleep_forever()
            await other_asked.wait()
            return failure("content")

        judge = ScriptedModel({"rubric": write, "judge": [judge_reply(8)]})

        result = await evaluated(judge, app, scenario("A title", ONE, OTHER))

        assert [verdict.outcome for verdict in result[0].verdicts] == ["error", "inconclusive"]
        assert "they ended because 'one' cannot be judged" in result[0].verdicts[1].explanation
        assert result.run.usage["rubric"].ended_calls == 1
        assert (judge.under_way, app.turns) == (0, 0)

    async def test_it_is_given_up_when_the_run_is_stopped(self) -> None:
        app = App()

        async def write(_request: Request) -> Any:
            engine.stop("enough")
            await anyio.sleep_forever()

        judge = ScriptedModel({"rubric": write})
        engine = Engine(judge, "offline/user", rubric_folder=None, store=None)
        with anyio.fail_after(60):
            result = await engine.evaluate([scenario()], app)

        assert result.run.stopped == "enough"
        assert result.outcome == "inconclusive"
        assert (judge.under_way, app.turns) == (0, 0)

    async def test_what_can_be_judged_goes_on_where_verdicts_are_wanted_at_any_price(self) -> None:
        async def write(request: Request) -> Any:
            return failure("content") if asked_for(request) == "one" else rubric_reply()

        judge = ScriptedModel({"rubric": write, "judge": [judge_reply(8)]})

        result = await evaluated(judge, App(), scenario("A title", ONE, OTHER), stop="verdict")

        assert [verdict.outcome for verdict in result[0].verdicts] == ["error", "pass"]
        asked = {(each.role, getattr(each, "expected_behavior", "")) for each in judge.requests}
        assert asked == {("rubric", "one"), ("rubric", "other"), ("control", "other"), ("judge", "other")}


async def test_an_experiment_asks_for_no_answer_that_nothing_can_measure() -> None:
    judge, app = ScriptedModel({"rubric": [failure("content")]}), App()
    questions = dataset_of([{"question": str(number)} for number in range(3)])
    engine = Engine(judge, rubric_folder=None, store=None, retry_config=RetryConfig(enabled=False))

    with anyio.fail_after(60):
        result = await engine.experiment(questions, app, then=ONE)

    assert (result.outcome, result.run.stopped, app.turns) == ("error", "", 0)
    assert "rubric: scripted/model failed (content)" in str(result)


async def test_the_result_says_whose_rubrics_were_judged_by() -> None:
    own = Expectation(expected_behavior="other", label="own", evaluator=RULE, rubric=["It is not.", "It is."])

    result = await evaluated(ScriptedModel({"judge": [judge_reply(8)]}), App(), scenario("A title", ONE, own))

    first, second = encode_suite(result.results, result.run, version="1")["scenarios"][0]["expectations"]
    assert (first["rubric"]["by"], first["rubric"]["model"]) == ("model", "scripted/model")
    assert (second["rubric"]["by"], len(second["rubric"]["key"])) == ("suite", 64)
    assert "1 rubric given by the suite, 1 rubric written by scripted/model" in " ".join(str(result).split())


async def test_levels_that_the_suite_gives_are_what_the_judge_is_shown() -> None:
    own = Expectation(expected_behavior="other", evaluator=RULE, rubric=["It is not.", "It is nearly.", "It is."])
    judge = ScriptedModel({"judge": [judge_reply(8)]})

    await evaluated(judge, App(), scenario("A title", own))

    assert {request.role for request in judge.requests} == {"control", "judge"}
    prompt = judge.requests[0].messages()[1]["content"]
    assert '<level score="5">It is nearly.</level>' in prompt
    assert prompt.count("<level ") == 3
