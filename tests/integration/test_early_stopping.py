"""Early stopping through the whole engine: which trials are started, and which are counted."""

from typing import Any

import pytest

from simeval import (
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    SuccessRateEvaluator,
    scorer,
)
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, is_said, scenario, trial_seeds

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("concurrency", [1, 20, 64])
async def test_no_more_trials_are_started_than_a_pass_can_need(concurrency: int) -> None:
    app = SeededApp(1.0)

    result = await engine(concurrency=concurrency).evaluate(scenario(), app)

    assert result.passed
    assert (result.trials, app.started, result.extras) == (45, 45, ())


async def test_verdicts_are_the_same_at_any_concurrency() -> None:
    found = []
    for concurrency in (1, 7, 64):
        suite = [scenario(title=f"s{number}") for number in range(6)]
        result = await engine(concurrency=concurrency).evaluate(suite, SeededApp(0.93))
        found.append([(each.verdicts[0], each.trials) for each in result])

    assert found[0] == found[1] == found[2]
    assert len({trials for _, trials in found[0]}) > 1


async def test_a_suite_of_good_and_bad_apps_needs_half_of_its_conversations() -> None:
    app = SeededApp(0.99)
    bad = SeededApp(0.80)

    async def either(message: str, state: dict[str, Any]) -> str:
        return await (bad if int(message) in bad_seeds else app)(message, state)

    suite = [scenario(title=f"{'bad' if number % 5 == 0 else 'good'} {number}") for number in range(20)]
    made = engine(concurrency=20)
    bad_seeds = {seed for each in suite if each.title.startswith("bad") for seed in trial_seeds(made, each)}

    result = await made.evaluate(suite, either)

    counted = sum(each.trials for each in result)
    assert counted <= 1_000
    assert app.started + bad.started <= 1.1 * counted
    assert not any(each.passed for each in result if each.title.startswith("bad"))


async def test_each_requirement_stops_at_its_own_trial() -> None:
    test = scenario(
        Expectation(
            scorer=is_said,
            evaluator=[AT_90, ProportionEvaluator(min_proportion=0.5), ProportionEvaluator(min_proportion=0.8)],
        )
    )

    result = await engine().evaluate(test, SeededApp(1.0))

    assert [verdict.n for verdict in result.verdicts] == [45, 11, 26]
    assert result.trials == 45


async def test_a_requirement_that_is_not_met_ends_its_scenario_at_a_gate() -> None:
    test = scenario(
        Expectation(scorer=is_good, evaluator=AT_90, label="good"),
        Expectation(scorer=is_said, evaluator=AT_90, label="said"),
    )

    at_gate = await engine().evaluate(test, SeededApp(0.5))
    to_verdicts = await engine(stop="verdict").evaluate(test, SeededApp(0.5))

    assert [each.verdicts[0].reason for each in at_gate.expectations] == ["proven_below", "scenario_settled"]
    assert [each.outcome for each in to_verdicts.expectations] == ["fail", "pass"]
    assert at_gate.trials < to_verdicts.trials == 45


async def test_a_test_of_a_fixed_sample_keeps_its_scenario_going() -> None:
    test = scenario(
        Expectation(scorer=is_good, evaluator=AT_90, label="good"),
        Expectation(
            scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.9, early_stopping=False), label="said"
        ),
    )

    result = await engine().evaluate(test, SeededApp(0.5))

    assert result.trials == 100
    assert [each.verdicts[0].n for each in result.expectations][1] == 100
    assert result.expectations[0].verdicts[0].n < 30


async def test_early_stopping_can_be_turned_off_for_a_run_and_on_for_one_requirement() -> None:
    both = [AT_90, ProportionEvaluator(min_proportion=0.9, early_stopping=True)]

    result = await engine(early_stopping=False).evaluate(
        scenario(Expectation(scorer=is_good, evaluator=both)), SeededApp(1.0)
    )

    assert [verdict.n for verdict in result.verdicts] == [100, 45]


async def test_a_suite_that_only_wants_no_proven_fail_looks_for_one() -> None:
    result = await engine(gate="not_fail").evaluate([scenario(sample_size=20)], SeededApp(0.97))

    assert result.outcome == "inconclusive"
    assert not result.passed
    assert result.meets("not_fail")
    assert not result.meets("pass")


async def test_a_mean_stops_early_by_betting() -> None:
    test = scenario(Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.6)))

    result = await engine().evaluate(test, SeededApp(1.0))

    assert result.passed
    assert result.trials < 60
    assert result.extras == ()


async def test_ratings_of_the_judge_stop_early_too() -> None:
    test = scenario(
        Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.9))
    )

    async def app(message: str, state: dict[str, Any]) -> str:
        return "I can track orders."

    result = await engine().evaluate(test, app)

    assert (result.outcome, result.trials) == ("pass", 45)
    assert result.run.usage["judge"].calls == 45


async def test_the_acceptance_table_is_told_before_the_first_call(caplog: pytest.LogCaptureFixture) -> None:
    told: list[bool] = []

    async def app(message: str, state: dict[str, Any]) -> str:
        told.append("0 misses in 45" in caplog.text)
        return "good"

    with caplog.at_level("INFO", logger="simeval"), caplog.at_level("INFO", logger="simeval.details"):
        await engine().evaluate(scenario(), app)

    assert all(told)
    assert told


async def test_a_settled_expectation_is_measured_no_more() -> None:
    measured = 0

    @scorer
    async def counted(output: str) -> bool:
        nonlocal measured
        measured += 1
        return True

    test = scenario(
        Expectation(scorer=counted, evaluator=ProportionEvaluator(min_proportion=0.5), label="soon"),
        Expectation(scorer=is_said, evaluator=AT_90, label="later"),
    )

    result = await engine(concurrency=1).evaluate(test, SeededApp(1.0))

    assert (result.trials, measured, result.verdicts[0].n) == (45, 11, 11)
    assert result.failures == ()
    assert len(result.expectations[0].scores) == 11
    assert result.worst(result.expectations[0]) is None


async def test_a_joint_claim_tests_each_requirement_at_its_share_of_the_level() -> None:
    suite = [scenario(title=f"s{number}") for number in range(4)]

    result = await engine(joint=True).evaluate(suite, SeededApp(1.0))

    assert {verdict.significance_level for each in result for verdict in each.verdicts} == {0.0125}
    assert "passes any of these is at most 5% (each of the 4 requirements" in result.guarantee
