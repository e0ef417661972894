"""Judges that answer with a label: a rating is the mean by probabilities, and a criterion has one, too."""

from dataclasses import replace
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioResult, ScenarioTest, SuccessRateEvaluator
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import LabelGradeRequest, LabelRulingRequest
from simeval.testing import ScriptedModel
from tests.support.chat_server import Body, chat_server, refused, said

pytestmark = pytest.mark.anyio

RULE = SuccessRateEvaluator(min_proportion=0.2)
LEVELS = ("It is silent.", "It names some.", "It names all.")


async def app(message: str) -> str:
    return "I track orders."


async def evaluated(judge: Any, then: Expectation, **settings: Any) -> ScenarioResult:
    defaults: dict[str, Any] = {
        "judge_reply": "label",
        "store": None,
        "rubric_folder": None,
        "seed": 1,
        "on_failed_control": "off",
        "early_stopping": False,
    }
    engine = Engine(judge, "offline/user", **{**defaults, **settings})
    scenario = ScenarioTest(title="t", given="A user", when="The user asks", then=then, sample_size=3, max_turns=1)
    return await engine.evaluate(scenario, app)


RATED = Expectation(expected_behavior="Names its abilities", rubric=LEVELS, evaluator=RULE)
RULED = Expectation(criteria=["It greets", "It names orders"], evaluator=RULE)


async def test_a_rating_is_the_mean_of_all_by_their_probabilities() -> None:
    judge = ScriptedModel([Completion(text="9", first_token={"9": 0.6, "4": 0.2, "x": 0.2})])

    result = await evaluated(judge, RATED)

    assert result.expectations[0].scores == pytest.approx([0.75 * 10 + 0.25 * 5] * 3)
    assert all(isinstance(request, LabelGradeRequest) for request in judge.requests)
    prompt = judge.requests[0].messages()[-1]["content"]
    assert '<level label="0">It is silent.</level>' in prompt


async def test_a_judge_without_probabilities_rates_by_the_label_it_says() -> None:
    result = await evaluated(ScriptedModel(["4"]), RATED)

    assert result.expectations[0].scores == (5, 5, 5)


def yes_to(criterion: str) -> Any:
    def answer(request: Request) -> Completion:
        assert isinstance(request, LabelRulingRequest)
        share = 0.9 if request.criterion == criterion else 0.2
        return Completion(text="Yes" if share > 0.5 else "No", first_token={"Yes": share, "No": 1 - share})

    return answer


async def test_a_criterion_is_ruled_on_by_the_likelier_word_and_has_its_probability() -> None:
    result = await evaluated(ScriptedModel(yes_to("It greets")), RULED)

    score: Any = result.expectations[0].results[0]
    assert score.value == 1
    rulings = [(each["criterion"], each["ruling"], each["reasoning"]) for each in score.details["rulings"]]
    assert rulings == [("It greets", "met", "Yes (90%)"), ("It names orders", "not_met", "No (80%)")]


async def test_what_a_judge_cannot_tell_is_missing() -> None:
    result = await evaluated(ScriptedModel(["Unclear"]), RULED, max_error_rate=1)

    assert len(result.failures) == 3
    assert not result.passed


async def test_probabilities_are_asked_for_over_the_wire_and_given_up_where_they_are_refused() -> None:
    def answer(body: Body) -> tuple[int, Body]:
        return refused("logprobs are not supported") if "logprobs" in body else said("9")

    async with chat_server(answer) as server:
        result = await evaluated("openai-compatible/small", RATED, judge_options={"api_base": server.base_url})

    assert list(result.expectations[0].scores) == [10, 10, 10]
    asked = [body.get("top_logprobs") for body in server.bodies if "messages" in body]
    assert asked.count(20) >= 1
    assert asked[-1] is None


async def test_a_kept_answer_has_the_same_probabilities(tmp_path: Any) -> None:
    top = [{"token": "9", "logprob": -0.223, "bytes": None}, {"token": "4", "logprob": -1.609, "bytes": None}]
    first = {"token": "9", "logprob": -0.223, "bytes": None, "top_logprobs": top}
    scores = []
    async with chat_server(lambda _: said("9", logprobs={"content": [first]})) as server:
        for _ in range(2):
            result = await evaluated(
                "openai-compatible/small",
                RATED,
                judge_options={"api_base": server.base_url},
                store=tmp_path / "runs.db",
                cache=True,
            )
            scores.append(list(result.expectations[0].scores))

    assert scores[0] == scores[1] == pytest.approx([0.8 * 10 + 0.2 * 5] * 3, abs=0.01)
    assert sum("messages" in body for body in server.bodies) == 3


@pytest.mark.parametrize("then", [RATED, RULED])
async def test_controls_are_answered_with_labels_too(then: Expectation) -> None:
    words = ["9"] if then is RATED else ["yes"]
    shown = replace(then, example="I greet you, and track orders.")

    strict = await evaluated(ScriptedModel({"judge": words}), shown, on_failed_control="refuse")
    credulous = await evaluated(ScriptedModel({"judge": words, "control": words}), shown, on_failed_control="refuse")

    assert all(each.is_right for each in strict.expectations[0].prepared.controls)  # type: ignore[union-attr]
    assert strict.passed
    assert "is not to be trusted here" in credulous.verdicts[0].explanation
