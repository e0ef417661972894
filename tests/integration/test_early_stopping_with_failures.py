"""Early stopping where scorers and apps fail: no failure makes a verdict, and none unmakes one."""

import re
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from simeval import (
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    scorer,
)
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, is_said, scenario, trial_seeds

pytestmark = pytest.mark.anyio


async def test_a_judge_that_cannot_be_had_is_an_error_and_not_a_verdict() -> None:
    @scorer
    def broken(output: str) -> bool:
        raise ValueError("no measure")

    result = await engine().evaluate(scenario(Expectation(scorer=broken, evaluator=AT_90)), SeededApp(1.0))

    assert (result.outcome, result.verdicts[0].reason) == ("error", "errors")
    assert result.trials < 15


@pytest.mark.parametrize("seed", range(6))
async def test_crashes_that_are_left_out_can_neither_hang_a_run_nor_prolong_it(seed: int) -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        await anyio.lowlevel.checkpoint()
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    test = scenario(
        Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.6), label="mean"),
        Expectation(scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.7), label="share"),
        sample_size=25,
    )

    with anyio.fail_after(60):
        made = engine(concurrency=8, on_app_error="exclude", max_error_rate=1.0, seed=seed)
        result = await made.evaluate(test, crashes)

    assert all(judgement.trial.index < 25 for judgement in (*result.judgements, *result.extras))
    assert any(verdict.left_out for verdict in result.verdicts)


async def test_too_many_crashes_that_are_left_out_are_an_error_whatever_the_others_prove() -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    result = await engine(on_app_error="exclude").evaluate(scenario(), crashes)

    assert result.outcome == "error"
    assert re.search(
        r"ERROR +(\d+) of \d+ trials have no score.*; \1 are missing$", str(result), re.DOTALL | re.MULTILINE
    )
    assert "left out" not in str(result)


def broken_after(trials: int) -> Any:
    calls = 0

    @scorer
    async def breaks(output: str) -> bool:
        nonlocal calls
        calls += 1
        if calls > trials:
            raise ValueError("no measure")
        return True

    return breaks


async def test_what_comes_after_a_verdict_does_not_turn_it_into_an_error() -> None:
    both = [
        ProportionEvaluator(min_proportion=0.5),
        ProportionEvaluator(min_proportion=0.9, early_stopping=False),
    ]

    result = await engine(concurrency=1).evaluate(
        scenario(Expectation(scorer=broken_after(15), evaluator=both)), SeededApp(1.0)
    )

    assert [verdict.outcome for verdict in result.verdicts] == ["pass", "error"]


@pytest.mark.parametrize("outcomes", ["----++x+++", "---------x", "--+-++x+x+"])
async def test_a_crash_that_is_left_out_after_no_pass_can_be_reached_takes_one_trial_more(outcomes: str) -> None:
    test, found = scenario(), []
    options: dict[str, Any] = {"on_app_error": "exclude", "min_trials": 10, "stop": None, "max_error_rate": 0.5}

    for concurrency in (1, 5, 64):
        made = engine(concurrency=concurrency, **options)
        becomes = dict(zip(map(str, trial_seeds(made, test)), outcomes.ljust(100, "-"), strict=True))

        async def app(message: str, state: dict[str, Any], becomes: dict[str, str] = becomes) -> str:
            await anyio.sleep({"-": 0.001, "+": 0.005, "x": 0.02}[becomes[message]])
            if becomes[message] == "x":
                raise ValueError("no")
            return "good" if becomes[message] == "+" else "bad"

        with anyio.fail_after(60):
            found.append(await made.evaluate(test, app))

    assert [each.verdicts for each in found] == [found[0].verdicts] * 3
    [verdict] = found[0].verdicts
    assert (verdict.n, verdict.missing, verdict.left_out) == (10, 0, outcomes.count("x"))
