"""The examples of SigmaEval's README, with simeval: what is changed beside the imports has a comment."""

import asyncio
import secrets
from functools import partial
from typing import Any

import pytest

from simeval import (
    AppResponse,
    Expectation,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    RetryConfig,
    ScenarioResult,
    SuccessRateEvaluator,
    WritingStyleAxes,
    WritingStyleConfig,
)
from simeval import Engine as SigmaEval
from simeval import ScenarioTest as BehavioralTest  # called so from October 2025 on
from simeval.scorers import response_latency, turn_count
from simeval.testing import ScriptedModel, judge_reply, user_reply

pytestmark = pytest.mark.anyio

ASKED = "What can you do, where is my package, and what is the product's warranty?"
JUDGED = {"user": [user_reply(ASKED)], "judge": [judge_reply(9)]}
MODEL = ScriptedModel(JUDGED)  # in the place of "openai/gpt-4o": tests have no network
SigmaEval = partial(SigmaEval, store=None, display="none", seed=7)  # type: ignore[assignment,misc]  # keeps no files

scenario = BehavioralTest(
    title="Bot explains its capabilities",
    given="A new user who has not interacted with the bot before",
    when="The user asks a general question about the bot's capabilities",
    sample_size=30,  # of the scenario, not of the evaluator: all evaluators share the conversations
    then=Expectation(
        expected_behavior="Bot lists its main functions: tracking orders, initiating returns, answering product "
        "questions, and escalating to a human agent.",
        evaluator=SuccessRateEvaluator(
            significance_level=0.05,
            min_proportion=0.90,
        ),
    ),
)


async def app_handler(message: str, state: dict[str, Any]) -> AppResponse:
    history = state.get("history", [])
    history.append({"role": "user", "content": message})
    await asyncio.sleep(0)  # for the sake of the test's time
    response_message = f"Hello! This is turn #{len(history)}. You said: '{message}'."
    history.append({"role": "assistant", "content": response_message})
    return AppResponse(response=response_message, state={"history": history})


async def test_the_readme_s_example() -> None:
    sigma_eval = SigmaEval(judge_model=MODEL)
    results: ScenarioResult = await sigma_eval.evaluate(scenario, app_handler)

    assert results.passed  # not results.results['passed']
    assert results.p_value is not None  # not results.results['p_value']
    assert results.p_value < 0.05
    assert results.average_score == 9.0  # not sum(results.scores) / len(results.scores)
    assert results.conversations[0].messages[1].content.startswith("Hello! This is turn #1.")
    assert "PASS" in str(results)


async def test_the_evaluators_of_the_readme() -> None:
    mean_rating_evaluator = RatingAverageEvaluator(  # RatingMeanEvaluator until its test was one of the median
        significance_level=0.05,
        min_median_rating=7.0,
    )
    rating_evaluator = RatingProportionEvaluator(
        significance_level=0.05,
        min_rating=8,
        min_proportion=0.75,
    )
    many = BehavioralTest(
        title="Bot handles a complex multi-part request",
        given="A user needs to both track a package and ask a question about a different product",
        when="The user asks to track their package and then asks a follow-up question about a product's warranty",
        sample_size=50,
        then=[  # .expect_behavior(...).expect_metric(...) of later versions
            Expectation(
                expected_behavior="Bot successfully provides the tracking status for the user's package.",
                evaluator=[mean_rating_evaluator, rating_evaluator],  # criteria=[...]
                label="Tracks Package",
            ),
            Expectation(  # metrics.per_turn.response_latency, assertions.metrics.proportion_lt(1.0, 0.90)
                scorer=response_latency,
                evaluator=ProportionEvaluator(threshold=1.0, at_least=False, min_proportion=0.90),
            ),
            Expectation(  # metrics.per_conversation.turn_count, assertions.metrics.median_lt(3.0)
                scorer=turn_count,
                evaluator=QuantileEvaluator(at_most=2),  # below 3, of whole numbers
            ),
        ],
    )

    result = await SigmaEval(judge_model=MODEL).evaluate(many, app_handler)

    assert result.passed
    assert len(result.verdicts) == 4


async def test_writing_styles_retries_and_a_suite() -> None:
    custom_axes = WritingStyleAxes(
        proficiency=["writes perfectly", "makes some mistakes"],
        tone=["happy", "sad"],
        verbosity=["short", "long"],
        formality=["formal", "casual"],
    )
    custom_style_config = WritingStyleConfig(axes=custom_axes)
    custom_retry_config = RetryConfig(max_attempts=3, backoff_multiplier=1, max_backoff_seconds=10)
    sigma_eval = SigmaEval(
        judge_model=MODEL,
        significance_level=0.05,
        writing_style_config=custom_style_config,
        retry_config=custom_retry_config,
    )
    test_suite = [scenario, BehavioralTest(**{**SMALL, "title": "Another"})]

    all_results = await sigma_eval.evaluate(test_suite, app_handler)

    assert [result.passed for result in all_results] == [True, True]
    styles = [conversation.writing_style for conversation in all_results[0].conversations]
    assert {style["tone"] for style in styles if style} == {"happy", "sad"}
    assert not WritingStyleConfig(enabled=False).enabled


SMALL: dict[str, Any] = {
    "given": "A user interacting with a chatbot",
    "when": "The user greets the bot",
    "max_turns": 1,
    "sample_size": 20,
    "then": Expectation(
        expected_behavior="The bot provides a simple and friendly greeting.",
        evaluator=RatingProportionEvaluator(min_rating=7, min_proportion=0.75),  # scores.proportion_gte(7, 0.75)
    ),
}


async def test_the_hello_world_of_later_versions() -> None:
    async def app_handler(messages: list[dict[str, str]], state: Any) -> str:
        return "Hello there! Nice to meet you!"

    result = await SigmaEval(judge_model=MODEL, sample_size=20, significance_level=0.05).evaluate(
        BehavioralTest(title="Simple Test", **SMALL), app_handler
    )

    assert result.passed


async def test_a_handler_of_messages_with_a_state_of_its_own() -> None:
    async def app_handler(messages: list[dict[str, str]], state: Any) -> tuple[str, Any]:
        new_user_message = messages[-1]["content"]
        convo_id = state.get("convo_id", secrets.token_hex(4))
        response_message = f"Response for convo_id '{convo_id}' to message: '{new_user_message}'"
        return response_message, {"convo_id": convo_id}

    result = await SigmaEval(judge_model=MODEL).evaluate(scenario, app_handler)

    assert result.conversations[0].responses[0].content.endswith("to message: '" + ASKED + "'")
