"""Runs over HTTP for tests: their scenario, their app, and what makes their engine."""

from collections.abc import Callable
from typing import Any

from simeval import AppResponse, Engine, Expectation, ScenarioResult, ScenarioTest, SuccessRateEvaluator

KEY = "test-key-SECRET"
MAX_ATTEMPTS = 3

MakeEngine = Callable[..., Engine]


def scenario(sample_size: int, *, title: str = "Bot explains its capabilities", **options: Any) -> ScenarioTest:
    """Return a scenario with one expectation: a success rate of 90%."""
    return ScenarioTest(
        title=title,
        given="A new user who has not interacted with the bot before",
        when="The user asks a general question about the bot's capabilities",
        sample_size=sample_size,
        then=Expectation(
            expected_behavior="Bot lists its main functions",
            evaluator=SuccessRateEvaluator(significance_level=0.05, min_proportion=0.90),
        ),
        **options,
    )


async def app_handler(message: str, state: dict[str, int]) -> AppResponse:
    """Answer, and count the turns."""
    answer = f'I answer questions and book meetings. You said: "{message}"'
    return AppResponse(answer, {"turn": state.get("turn", 0) + 1})


def calls_by_role(result: ScenarioResult) -> dict[str, int]:
    """Return how many calls were made in each role."""
    return {role: usage.calls for role, usage in result.run.usage.items()}
