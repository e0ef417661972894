"""An expectation with several criteria: rulings with quotes that were said, and "cannot tell" as missing data."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from simeval import AppResponse, Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult, dataset_of
from simeval.core.trial import Failure, Score
from simeval.models.protocol.prompts import CriteriaRequest
from simeval.testing import ScriptedModel, user_reply

pytestmark = pytest.mark.anyio
CRITERIA = ["It names the opening hour", "It does not promise a discount"]
ANSWER = "We open at nine, and prices are as marked."
GOOD = {"reasoning": "said", "quote": "We open at nine", "ruling": "met"}
ABSENT = {"reasoning": "no discount", "quote": "prices are as marked", "ruling": "met"}
INVENTED = {"reasoning": "said", "quote": "we open at eight, promised", "ruling": "met"}
BAD = {"reasoning": "it gave one", "quote": "", "ruling": "not_met"}
UNCLEAR = {"reasoning": "not shown", "quote": "", "ruling": "cannot_tell"}


def judged_by(*replies: Mapping[str, Any]) -> ScriptedModel:
    return ScriptedModel({"user": [user_reply("When do you open?")], "judge": list(replies)})


def rulings(*each: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"rulings": {str(number): ruling for number, ruling in enumerate(each, 1)}}


def app(message: str, state: Any) -> AppResponse:
    return AppResponse(ANSWER, state, tool_calls=[{"name": "hours"}], metadata={"end_state": {"till": "closed"}})


async def run(model: ScriptedModel, *, samples: int = 4, **options: Any) -> SuiteResult:
    expectation = Expectation(
        criteria=CRITERIA, reference="At nine.", evaluator=SuccessRateEvaluator(min_proportion=0.5)
    )
    scenario = ScenarioTest(
        title="Hours",
        given="A customer",
        when="They ask when the shop opens",
        facts="It opens at nine & never at eight.",
        then=expectation,
        sample_size=samples,
    )
    fixed: dict[str, Any] = {
        "seed": 1,
        "display": "none",
        "early_stopping": False,
        "store": None,
        "rubric_folder": None,
    }
    return await Engine(model, **{**fixed, **options}).evaluate([scenario], app)


def results(found: SuiteResult) -> Sequence[Score | Failure]:
    return found[0].expectations[0].results


async def test_all_met_is_a_success_and_one_that_is_not_is_none() -> None:
    found = await run(judged_by(rulings(GOOD, ABSENT), rulings(GOOD, BAD)), samples=2, concurrency=1)

    values = [each.value for each in results(found) if isinstance(each, Score)]
    [met, missed] = [each for each in results(found) if isinstance(each, Score)]
    assert values == [10, 1]
    assert met.details["rulings"][0] == {  # type: ignore[index]
        "judge": "scripted/model",
        "repeat": 0,
        "criterion": CRITERIA[0],
        "ruling": "met",
        "quote": "We open at nine",
        "reasoning": "said",
    }
    assert "NOT met: It does not promise a discount: it gave one" in missed.reasoning
    assert "NOT met: It does not promise a discount" in " ".join(str(found).split())


async def test_a_quote_that_was_not_said_is_asked_for_again_and_then_the_rating_is_missing() -> None:
    again = judged_by(rulings(INVENTED, ABSENT), rulings(GOOD, ABSENT))
    never = judged_by(rulings(INVENTED, ABSENT))

    mended, missing = await run(again, samples=1), await run(never, samples=1, max_error_rate=1.0)

    asked = [each for each in again.requests if each.role == "judge"]
    [failure] = results(missing)
    assert [each.value for each in results(mended) if isinstance(each, Score)] == [10]
    assert "the quote of criterion 1 does not stand in the conversation" in asked[1].messages()[-1]["content"]
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.cause) == ("judge", "malformed")


async def test_what_cannot_be_told_is_missing_and_its_share_is_reported() -> None:
    found = await run(judged_by(rulings(GOOD, UNCLEAR), rulings(GOOD, ABSENT)), concurrency=1, max_error_rate=0.5)

    failures = [each for each in results(found) if isinstance(each, Failure)]
    assert [(each.stage, each.cause) for each in failures] == [("judge", "cannot_tell")]
    assert found[0].verdicts[0].missing == 1
    assert "it cannot be told in 1 of 4 conversations (25%)" in " ".join(str(found).split())


async def test_what_is_not_met_settles_it_whatever_cannot_be_told() -> None:
    found = await run(judged_by(rulings(BAD, UNCLEAR)), samples=1)

    assert [each.value for each in results(found) if isinstance(each, Score)] == [1]


async def test_each_criterion_can_be_asked_in_a_call_of_its_own() -> None:
    def one(request: Any) -> Mapping[str, Any]:
        [number] = request.criteria
        return {"rulings": {number: GOOD if number == "1" else ABSENT}}

    model = ScriptedModel({"user": [user_reply("When do you open?")], "judge": one})

    found = await run(model, samples=3, criteria_calls="each")

    assert [each.value for each in results(found) if isinstance(each, Score)] == [10, 10, 10]
    assert sum(each.role == "judge" for each in model.requests) == 6
    assert not any(each.role == "rubric" for each in model.requests)


async def test_facts_reference_tools_and_state_are_for_the_judge_alone() -> None:
    model = judged_by(rulings(GOOD, ABSENT))

    await run(model, samples=1)

    for request in (each for each in model.requests if each.role != "control"):
        text = str(request.messages())
        shown = [
            "It opens at nine &amp; never at eight." in text,
            "<reference>\\nAt nine.\\n</reference>" in text,
            '<end_state>\\n{"till": "closed"}\\n</end_state>' in text,
            '<tool_call>{"name": "hours"}</tool_call>' in text,
        ]
        assert all(shown) if isinstance(request, CriteriaRequest) else not any(shown[:3])


async def test_a_mean_of_several_rulings_is_held_against_the_bar() -> None:
    found = await run(
        judged_by(rulings(GOOD, ABSENT), rulings(GOOD, BAD), rulings(GOOD, ABSENT)), samples=1, judge_repeats=3
    )

    [score] = [each for each in results(found) if isinstance(each, Score)]
    assert (score.value, len(score.ratings)) == (7, 3)


async def test_of_a_long_conversation_the_judge_sees_both_ends_and_the_score_says_so() -> None:
    def asks(request: Any) -> Mapping[str, Any]:
        words = f"question {len(request.history)} of many " * 10
        return user_reply(words, goes_on=True)

    talk = ScriptedModel({"user": asks, "judge": [rulings(GOOD, ABSENT)]})

    found = await run(talk, samples=1, judge_context_tokens=500, on_user_fault="count")

    [score] = [each for each in results(found) if isinstance(each, Score)]
    [asked] = [each for each in talk.requests if each.role == "judge"]
    assert re.fullmatch(r"messages \d+ to \d+ of \d+", str(score.details["left_out"]))
    assert "<left_out messages=" in str(asked.messages())


async def test_the_embedded_judge_rules_on_criteria() -> None:
    scenario = ScenarioTest(
        title="Hours",
        given="A customer",
        when="They ask when the shop opens",
        then=Expectation(
            criteria=["It opens at nine", "It sells bread"], evaluator=SuccessRateEvaluator(min_proportion=0.5)
        ),
        sample_size=2,
    )

    found = await Engine(store=None, seed=1, display="none").evaluate(scenario, app)

    [score, *_] = [each for each in found.expectations[0].results if isinstance(each, Score)]
    assert [each["ruling"] for each in score.details["rulings"]] == ["met", "not_met"]  # type: ignore[attr-defined]


async def test_a_column_of_a_dataset_holds_the_facts_of_each_example() -> None:
    dataset = dataset_of(
        [{"input": "When?", "facts": {"opens": 9}}, {"input": "Now?", "facts": "Closed."}], name="hours"
    )
    model = judged_by(rulings(GOOD, ABSENT))

    then = Expectation(criteria=CRITERIA, evaluator=SuccessRateEvaluator(min_proportion=0.5))
    engine = Engine(model, store=None, rubric_folder=None, display="none", on_failed_control="off")
    await engine.evaluate(dataset, lambda message, state: ANSWER, then=then)

    asked = " ".join(str(each.messages()) for each in model.requests)
    assert '<facts>\\n{"opens": 9}\\n</facts>' in asked
    assert "<facts>\\nClosed.\\n</facts>" in asked
