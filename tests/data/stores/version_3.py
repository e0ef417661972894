"""What the store `version_3.db` holds: suites and experiments as they were run by the version that wrote it.

It was written by running this file with simeval at commit 0327aa6 (schema version 3):

    python version_3.py version_3.db
"""

import os
import sys
from pathlib import Path
from typing import Any

import anyio

from simeval import (
    Engine,
    ExactMatch,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RegexMatch,
    ScenarioTest,
    SuccessRateEvaluator,
    dataset_of,
    scorer,
)
from simeval.scorers.metrics import response_latency  # no face had it then

CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo", "Peru": "Lima"}
ROWS = [{"country": country, "capital": city, "copy": copy} for copy in range(4) for country, city in CAPITALS.items()]
SHARE = SuccessRateEvaluator(min_proportion=0.5)


@scorer
def words(output: str) -> int:
    return len(output.split())


def suite() -> list[ScenarioTest]:
    return [
        ScenarioTest(
            title="The bot says what it does",
            given="A new user",
            when="The user asks what the bot can do",
            sample_size=12,
            then=[
                Expectation(expected_behavior="Bot tracks orders, starts returns", evaluator=SHARE, label="abilities"),
                Expectation(
                    scorer=response_latency,
                    evaluator=ProportionEvaluator(threshold=5.0, min_proportion=0.5, at_least=False),
                    label="quick",
                ),
            ],
        ),
        ScenarioTest(
            title="The bot is short",
            given="A customer in a hurry",
            when="The user asks for the status of an order",
            sample_size=12,
            then=[
                Expectation(scorer=words, evaluator=QuantileEvaluator(quantile=0.5, at_most=30), label="words"),
                Expectation(
                    expected_behavior="Bot asks for the order number",
                    evaluator=[RatingAverageEvaluator(min_median_rating=3), SHARE],
                    label="number",
                ),
            ],
        ),
    ]


async def app(message: str, state: dict[str, Any]) -> str:
    if state.setdefault("turns", 0) or "status" in message.lower():
        return "Which order is it? Please give me the order number."
    return "I can track orders, start returns and answer questions about products."


async def capital(country: str) -> str:
    return "Lima, I believe" if country == "Peru" else CAPITALS[country]


async def worse_capital(country: str) -> str:
    return "no idea" if country in ("Peru", "Japan") else CAPITALS[country]


def experiment() -> dict[str, Any]:
    right = ExactMatch(column_map={"reference": "capital"})
    return {
        "scorers": [right, RegexMatch("Lima|Paris"), words],
        "then": [
            Expectation(scorer=right, evaluator=ProportionEvaluator(threshold=1, min_proportion=0.3)),
            Expectation(scorer="words", evaluator=MeanEvaluator(at_most=4, bounds=(0, 20))),
        ],
    }


def stopping(engine: Engine, function: Any, calls: int, end: Any) -> Any:
    """Return the app, which ends the run by `end` in its call of this number."""
    made = 0

    async def wrapped(country: str) -> str:
        nonlocal made
        made += 1
        if made == calls:
            end()
        return str(await function(country))

    wrapped.__qualname__, wrapped.__module__ = function.__qualname__, function.__module__
    return wrapped


async def write(store: Path) -> None:
    dataset = dataset_of(ROWS, name="capitals", outputs=["capital"])
    await Engine(seed=7, store=store, display="none", early_stopping=False).evaluate(suite(), app)
    await Engine(seed=7, store=store, display="none", early_stopping=False, max_calls=40, concurrency=4).evaluate(
        suite(), app
    )
    await Engine(seed=7, store=store, display="none", early_stopping=False).evaluate(dataset, capital, **experiment())
    await Engine(seed=7, store=store, display="none", early_stopping=False).evaluate(
        dataset, worse_capital, **experiment()
    )
    engine = Engine(seed=7, store=store, display="none", early_stopping=False, concurrency=2)
    stopped = stopping(engine, capital, 8, lambda: engine.stop("the test asked to"))
    await engine.evaluate(dataset, stopped, **experiment())


async def killed(store: Path) -> None:
    made = 0

    async def dying(message: str, state: dict[str, Any]) -> str:
        nonlocal made
        made += 1
        if made == 24:
            await anyio.sleep(0.5)
            os._exit(9)
        return await app(message, state)

    dying.__qualname__, dying.__module__ = app.__qualname__, app.__module__
    await Engine(seed=7, store=store, display="none", early_stopping=False, concurrency=6).evaluate(suite(), dying)


if __name__ == "__main__":
    sys.modules["version_3"] = sys.modules["__main__"]
    for function in (app, capital, worse_capital, words.function):
        function.__module__ = "version_3"
    path = Path(sys.argv[1])
    if os.fork() == 0:  # this one ends by os._exit in the middle of its run
        anyio.run(killed, path)
    os.wait()
    anyio.run(write, path)
