"""A suite, an engine and an app for tests of runs that end early, and what is found of them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio

import simeval
from simeval import (
    Expectation,
    QuantileEvaluator,
    ScenarioTest,
    SuccessRateEvaluator,
)

Engine = partial(simeval.Engine, seed=4, concurrency=8)
BEHAVIOUR = Expectation(
    expected_behavior="The bot tracks orders, starts returns", evaluator=SuccessRateEvaluator(min_proportion=0.6)
)
LOWER = SuccessRateEvaluator(min_proportion=0.5)
LENGTH = Expectation(scorer=lambda output: len(output), label="length", evaluator=QuantileEvaluator(0.5, at_least=20))
SUITE = [
    ScenarioTest(
        title=f"scenario {number}",
        given=f"A customer with {number} orders",
        when="The customer asks what the bot can do. The customer asks how long a return takes.",
        then=[BEHAVIOUR, LENGTH],
        sample_size=30,
        max_turns=4,
    )
    for number in range(3)
]


class App:
    """Answers well two times in three, by the message alone; calls `then` at the turn with a number."""

    def __init__(self, at: int = -1, then: Callable[[], Any] = lambda: None) -> None:
        self.turns, self.at, self.then = 0, at, then

    async def __call__(self, message: str) -> str:
        self.turns += 1
        if self.turns == self.at:
            self.then()
        await anyio.sleep(0.001 * (len(message) % 5))
        return "I track orders and start returns." if len(message) % 3 else "I can not help with that, sorry."


def findings(results: Sequence[simeval.ScenarioResult]) -> list[Any]:
    """All that was concluded and what it rests on, but for times."""
    return [
        (
            result.title,
            result.outcome,
            [expectation.verdicts for expectation in result.expectations],
            [expectation.results for expectation in result.expectations],
            [(conversation.as_chat(), conversation.ended) for conversation in result.conversations],
        )
        for result in results
    ]
