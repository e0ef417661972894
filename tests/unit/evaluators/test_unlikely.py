"""Scenarios that end because a pass has become unlikely: their verdicts, and what is said of them."""

from collections.abc import Sequence

import numpy as np
import pytest

from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator, RatingAverageEvaluator
from simeval.evaluators.stopping import RunningTest, Taken, say_design
from simeval.stats.optimal import OptimalDesign, optimal_design

RULE = ProportionEvaluator(min_proportion=0.9)


def run(rule: Evaluator, outcomes: Sequence[Taken], *, n_max: int = 100) -> RunningTest:
    test = rule.running_test(n_max, stop="unlikely")
    for outcome in outcomes:
        test.take(outcome)
    return test


def test_a_scenario_ends_where_a_pass_has_become_unlikely_and_says_how_unlikely() -> None:
    test = run(RULE, [1.0] * 7 + [0.0] * 3 + [1.0] * 90)

    verdict = test.verdict()
    assert (verdict.outcome, verdict.reason, verdict.n) == ("inconclusive", "pass_unlikely", 10)
    assert verdict.why.startswith("a pass had become too unlikely (0.38%), so the run stopped; ")
    assert verdict.explanation.startswith("7 of 10 trials met the requirement: a pass had become")
    assert verdict.p_value_fail is not None
    assert verdict.p_value_fail > 0.05


def test_a_fail_that_is_proven_is_still_one() -> None:
    verdict = run(RULE, [0.0] * 60).verdict()

    assert (verdict.outcome, verdict.reason, verdict.n) == ("fail", "proven_below", 10)


def test_where_no_pass_can_be_reached_it_says_so() -> None:
    verdict = run(RULE, [0.0 if n in (21, 45, 70, 85, 89, 90) else 1.0 for n in range(1, 101)]).verdict()

    assert (verdict.reason, verdict.n) == ("pass_unreachable", 90)


def test_misses_that_are_borne_are_those_of_any_pass_and_what_ends_it_is_said_before() -> None:
    test = RULE.running_test(100, stop="unlikely")

    assert test.allowed == 5
    assert test.acceptance() == (
        "passes with 0 misses in 42, ≤ 1 in 62, ≤ 2 in 78, ≤ 3 in 90, ≤ 4 in 98, ≤ 5 in 100; "
        "ends without a pass at 3 misses in 21, 4 in 43, 5 in 87, 6 at any time (from trial 10 on)"
    )


def test_the_chart_has_the_points_at_which_it_ends_and_those_at_which_it_fails() -> None:
    chart = run(RULE, [0.0] * 60).verdict().chart

    assert chart
    assert (chart.stop, chart.end_at[0], chart.end_at[-1]) == ("gate", (10, 3), (99, 6))
    assert chart.fail_at[0][0] == 10
    assert all(run(RULE, [1.0] * (n - f) + [0.0] * f).verdict().failed for n, f in chart.fail_at)


@pytest.mark.parametrize(
    "rule", [RULE, ProportionEvaluator(min_proportion=0.5, early_stopping="anytime"), MeanEvaluator(at_least=0.9)]
)
@pytest.mark.parametrize("n_max", [10, 30])
def test_where_there_is_no_such_design_it_is_as_without(rule: Evaluator, n_max: int) -> None:
    outcomes = [0.0, 1.0] * 15

    unlikely, usual = rule.running_test(n_max, stop="unlikely"), rule.running_test(n_max)
    for outcome in outcomes[:n_max]:
        unlikely.take(outcome)
        usual.take(outcome)

    assert unlikely.verdict() == usual.verdict()


def test_an_evaluator_of_a_quantile_has_the_design_too() -> None:
    assert isinstance(RatingAverageEvaluator(7).rule.plan(60, stop="unlikely"), OptimalDesign)


def test_the_interval_of_a_quantile_covers_where_the_stops_bind() -> None:
    random, rule = np.random.default_rng(5), QuantileEvaluator(0.5, at_least=1.0, bounds=(0, 100))
    wrong, medians = 0, 1.0

    for _ in range(600):
        verdict = run(rule, random.exponential(medians / np.log(2), 60).tolist(), n_max=60).verdict()
        assert verdict.confidence_interval
        wrong += verdict.confidence_interval[0] > medians
        assert (verdict.confidence_interval[0] >= 1.0) == verdict.passed

    assert wrong / 600 <= 0.05 + 0.025


def test_the_bound_of_a_quantile_forgets_a_value_whose_count_had_ended() -> None:
    rule = QuantileEvaluator(0.5, at_least=1.0, bounds=(0, 10), min_trials=1)
    plan = rule.plan(30, stop="unlikely")
    end = int(plan.end_at[12])

    verdict = run(rule, [0.5] * (end - 1) + [5.0] * 60, n_max=30).verdict()

    assert verdict.confidence_interval
    assert (verdict.confidence_interval[0] >= 1.0) == verdict.passed


@pytest.mark.parametrize(
    ("p0", "n_max", "ends"),
    [
        (0.75, 30, "2 misses in 10, 3 in 21, 4 at any time"),
        (0.5, 50, "5 misses in 6, 6 in 8, 7 in 11, 8 in 13, 9 in 16, 10 in 18, …, 19 at any time"),
    ],
)
def test_at_most_eight_of_its_ends_are_named(p0: float, n_max: int, ends: str) -> None:
    said = say_design(optimal_design(p0, n_max, alpha=0.05))

    assert said.endswith(f"; ends without a pass at {ends}")
