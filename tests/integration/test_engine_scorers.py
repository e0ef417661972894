"""Scorers of a scenario: what they measure is concluded on, and what they raise costs the others nothing."""

import math
import re
import threading
from collections import Counter
from typing import Any

import anyio
import pytest

from simeval import (
    Expectation,
    ProportionEvaluator,
    QuantileEvaluator,
    Score,
    Scorer,
    scorer,
)
from simeval.core.trial import Failure
from simeval.errors import DefinitionError
from simeval.scorers import metrics
from tests.support.suites import SUCCESS, Engine, good_app, scenario

pytestmark = pytest.mark.anyio


class TestScorers:
    async def test_a_function_measures_and_any_evaluator_concludes(self) -> None:
        @scorer
        def mentions_returns(output: str) -> bool:
            return "returns" in output

        test = scenario(then=Expectation(scorer=mentions_returns, evaluator=ProportionEvaluator(min_proportion=0.9)))
        result = await Engine(seed=1).evaluate(test, good_app)

        assert result.passed
        assert result.expectations[0].label == "mentions_returns"

    async def test_a_scorer_that_raises_loses_its_own_score_only(self) -> None:
        @scorer
        async def fragile(seed: int) -> float:
            if seed % 20 == 0:
                raise ZeroDivisionError("no words")
            return 1.0

        test = scenario(
            sample_size=60,
            then=[
                Expectation(scorer=fragile, evaluator=ProportionEvaluator(min_proportion=0.5)),
                Expectation(scorer=metrics.turn_count, evaluator=QuantileEvaluator(at_most=9)),
            ],
        )
        result = await Engine(seed=3).evaluate(test, good_app)

        lost = [found for found in result.expectations[0].results if isinstance(found, Failure)]
        assert 0 < len(lost) <= 6
        assert all(failure.stage == "scorer" and "no words" in failure.error for failure in lost)
        assert len(result.expectations[1].scores) == 60
        assert result.verdicts[0].missing == len(lost)

    async def test_a_broken_scorer_is_an_error_of_its_own_and_the_others_conclude(self) -> None:
        @scorer
        def broken(output: str) -> float:
            raise ZeroDivisionError("no words")

        test = scenario(
            then=[
                Expectation(scorer=broken, evaluator=ProportionEvaluator(min_proportion=0.5)),
                Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS),
            ],
        )
        result = await Engine(seed=3).evaluate(test, good_app)

        assert [expectation.outcome for expectation in result.expectations] == ["error", "pass"]
        assert result.outcome == "error"
        assert "broken: ZeroDivisionError: no words (test_engine_scorers.py:" in result.verdicts[0].explanation

    @pytest.mark.parametrize("value", [math.nan, "text", None, {}, {"a": 1, "b": 2}])
    async def test_what_is_no_number_is_a_failure_and_too_many_are_an_error(self, value: Any) -> None:
        @scorer
        def odd(output: str) -> Any:
            return value

        test = scenario(then=Expectation(scorer=odd, evaluator=ProportionEvaluator(min_proportion=0.9)))
        result = await Engine(seed=1).evaluate(test, good_app)

        assert result.outcome == "error"
        assert result.verdicts[0].reason == "errors"
        assert "max_error_rate" in result.verdicts[0].explanation

    async def test_a_scenario_that_can_only_be_an_error_is_not_dealt_to_its_end(self) -> None:
        turns = Counter[str]()

        async def app(message: str, state: Any) -> str:
            turns["all"] += 1
            return "ok"

        @scorer
        def broken(output: str) -> float:
            raise ValueError("always")

        test = scenario(
            max_turns=1,
            sample_size=100,
            then=Expectation(scorer=broken, evaluator=ProportionEvaluator(min_proportion=0.9)),
        )
        await Engine(seed=1, concurrency=2).evaluate(test, app)

        assert turns["all"] < 50

    async def test_a_scorer_that_gives_no_number_costs_the_others_nothing(self) -> None:
        @scorer
        def wrong(output: str) -> Score:
            return Score(value="x")  # type: ignore[arg-type]

        test = scenario(
            then=[
                Expectation(scorer=wrong, evaluator=ProportionEvaluator(min_proportion=0.9)),
                Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS),
            ]
        )
        result = await Engine(seed=1, max_error_rate=1).evaluate(test, good_app)

        assert [expectation.outcome for expectation in result.expectations] == ["inconclusive", "pass"]

    async def test_a_scorer_that_asks_for_a_column_there_is_not_is_refused_before_the_run(self) -> None:
        @scorer
        def wants_documents(output: str, documents: str) -> float:
            return 1.0

        test = scenario(then=Expectation(scorer=wants_documents, evaluator=ProportionEvaluator(min_proportion=0.9)))
        with pytest.raises(DefinitionError, match=r"documents.*output"):
            await Engine().evaluate(test, good_app)


async def test_a_scorer_that_never_answers_is_a_failure_in_time() -> None:
    class Stuck(Scorer):
        timeout_seconds = 0.05

        async def score(self, output: str) -> float:
            await anyio.sleep(3600)
            return 1.0

    test = scenario(sample_size=3, then=Expectation(scorer=Stuck(), evaluator=ProportionEvaluator(min_proportion=0.5)))
    with anyio.fail_after(60):
        result = await Engine(seed=1).evaluate(test, good_app)

    assert "no score within 0.05 seconds" in result.verdicts[0].explanation


async def test_a_plain_scorer_does_not_hold_up_the_event_loop() -> None:
    threads: set[int] = set()

    @scorer
    def slow(output: str) -> float:
        threads.add(threading.get_ident())
        return 1.0

    await Engine(seed=1).evaluate(
        scenario(then=Expectation(scorer=slow, evaluator=ProportionEvaluator(min_proportion=0.5))), good_app
    )

    assert threading.get_ident() not in threads


async def test_what_kept_a_requirement_from_being_measured_is_told_with_it_and_not_with_a_conversation() -> None:
    @scorer
    def broken(output: str) -> float:
        raise ValueError("the meter is off")

    then = Expectation(scorer=broken, evaluator=ProportionEvaluator(threshold=1, min_proportion=0.5))
    shown = str(await Engine(seed=1).evaluate(scenario(then=then), good_app))

    assert re.search(r"not measured; required: 50%; \d are missing", shown)
    assert re.search(r"worst conversation \(trial \d\)\n", shown)
