"""What users and judges are told beyond their form, point by point, and what comes of it."""

from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioResult, ScenarioTest, SuccessRateEvaluator
from simeval.core.trial import NOT_IN_SCENARIO, Score
from simeval.errors import MalformedReply
from simeval.models.protocol.lenient_json import read_reply
from simeval.models.protocol.prompt_texts import built_in
from simeval.models.protocol.prompts import GradeRequest, UserTurn
from simeval.testing import ScriptedModel, user_reply
from tests.support.records import conversation

JUDGES = ("judge", "criteria", "judge_label", "criterion_label")
LEAVES = {"status": "not_known", "message": ""}
ASKED = "Please give me your date of birth first."


@pytest.mark.parametrize(
    "point",
    [
        "is not as you know it, say so; do not go along with it",
        "go through all that you want: each part must be done or answered",
        "asked what you prefer, that you do not mind",
        "Asked for something else, say that you do not know it",
        "Where you were not understood, say it in other words",
        "Stay this person to the end, and keep to your language",
        "Never invent anything",
        "wait until it says so",
    ],
)
def test_a_user_is_told(point: str) -> None:
    told = built_in("user").parts["system"]

    assert point in told


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize(
    "point",
    [
        "that the assistant says it has done something is no proof: look there",
        "Look across all turns: at what it promised, changed or forgot",
        "Length, courtesy, markdown and confidence are no merit",
    ],
)
def test_a_judge_is_told_in_every_form_of_reply(name: str, point: str) -> None:
    assert point in built_in(name).parts["system"]


@pytest.mark.parametrize("name", ["user", *JUDGES])
def test_prompts_are_short_and_one_thought_a_sentence(name: str) -> None:
    sentences = [each for part in built_in(name).parts.values() for each in part.replace("\n", ". ").split(". ")]

    assert sum(len(each.split()) for each in sentences) < 700
    assert not [each for each in sentences if len(each.split()) > 45]


def grading(*said: str) -> GradeRequest:
    about: dict[str, Any] = {"given": "G", "when": "W", "expected_behavior": "E", "levels": {"1": "L"}}
    return GradeRequest(**about, conversation=conversation(*said).messages, seed=1)


@pytest.mark.parametrize("message", ["2", "4", '"4"', "4.0"])
def test_a_rating_rests_on_a_message_of_the_assistants(message: str) -> None:
    reply = f'{{"reasoning": "it did", "message": {message}, "score": 9}}'

    assert read_reply(reply, grading("a", "b", "c", "d").reads, model="judge").score == 9


@pytest.mark.parametrize("message", ["0", "1", "3", "5", "6", "-2", "2.5", '"the last"', "null"])
def test_a_rating_that_names_none_of_them_is_asked_for_again(message: str) -> None:
    reply = f'{{"reasoning": "it did", "message": {message}, "score": 9}}'

    with pytest.raises(MalformedReply, match="message"):
        read_reply(reply, grading("a", "b", "c", "d").reads, model="judge")


@pytest.mark.parametrize("score", ["3", "null"])
def test_what_was_not_done_needs_no_message(score: str) -> None:
    reply = f'{{"reasoning": "it did not", "message": null, "score": {score}}}'

    assert read_reply(reply, grading("a", "b").reads, model="judge").message is None


def test_a_judge_whose_prompt_does_not_ask_for_it_names_none() -> None:
    assert read_reply('{"reasoning": "it did", "score": 9}', grading("a", "b").reads, model="judge").score == 9


def scenario(**about: Any) -> ScenarioTest:
    fields: dict[str, Any] = {
        "title": "Order",
        "given": "A customer with order F1001",
        "when": "They ask where order F1001 is",
        "then": Expectation(
            expected_behavior="The assistant says where it is", evaluator=SuccessRateEvaluator(min_proportion=0.5)
        ),
        "sample_size": 8,
    }
    return ScenarioTest(**{**fields, **about})


async def run(user: Any, answer: str) -> ScenarioResult:
    models = {"user": user, "judge": [{"reasoning": "it did", "message": 2, "score": 9}]}
    engine = Engine(ScriptedModel(models), store=None, rubric_folder=None, display="none", seed=1, early_stopping=False)
    return await engine.evaluate(scenario(), lambda message, state: answer)


@pytest.mark.anyio
async def test_the_message_that_a_rating_rests_on_stands_behind_its_reasons() -> None:
    result = await run([user_reply("Where is order F1001?")], "It is in Bonn.")

    scores = result.expectations[0].results
    assert {each.reasoning for each in scores if isinstance(each, Score)} == {"it did (message 2)"}


def goes_on_and_leaves(request: Any) -> dict[str, str]:
    assert isinstance(request, UserTurn)
    said = ["Where is order F1001?", "I do not know that."]
    turn = len(request.history) // 2
    return LEAVES if turn == len(said) else {"status": "open", "message": said[turn]}


@pytest.mark.anyio
async def test_a_scenario_that_says_too_little_is_nobodys_failure() -> None:
    result = await run(goes_on_and_leaves, ASKED)

    assert {each.ended for each in result.conversations} == {"not_in_scenario"}
    assert not any(verdict.passed or verdict.failed for verdict in result.verdicts)
    assert {failure.cause for _, failure in result.failures} == {NOT_IN_SCENARIO}
    report = " ".join(str(result).split())
    assert " were asked for what the scenario does not say" in report
    assert f"the scenario does not say what the app asked for, so that its user left: {ASKED!r}" in report


@pytest.mark.anyio
@pytest.mark.parametrize("status", ["not_known", "satisfied", "gave_up"])
async def test_nobody_leaves_at_the_first_question_for_what_it_does_not_know(status: str) -> None:
    def write(request: Any) -> dict[str, str]:
        return {"status": status if request.history else "open", "message": f"I say this {len(request.history)}."}

    result = await run(write, ASKED)

    assert all(len(each.responses) > 2 for each in result.conversations)
