"""A suite for tests of the engine, and an app that meets it."""

from functools import partial
from typing import Any

import simeval
from simeval import (
    AppResponse,
    Expectation,
    ScenarioTest,
    SuccessRateEvaluator,
)

SUCCESS = SuccessRateEvaluator(min_proportion=0.9)


Engine = partial(simeval.Engine, early_stopping=False, store=None)  # whole samples; early stopping has tests of its own


def scenario(title: str = "Bot explains itself", **fields: Any) -> ScenarioTest:
    defaults: dict[str, Any] = {
        "given": "A new user who has not interacted with the bot before",
        "when": "The user asks what the bot can do",
        "sample_size": 30,
        "then": Expectation(expected_behavior="Bot tracks orders, starts returns", evaluator=SUCCESS),
    }
    return ScenarioTest(title=title, **{**defaults, **fields})


async def good_app(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse("I can track orders and start returns.", state)
