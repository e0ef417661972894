"""Inference on a quantile through order statistics."""

from fractions import Fraction
from math import comb, inf
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simeval.evaluators.scores import QuantileEvaluator
from simeval.stats.binomial import p_at_least, p_at_most
from simeval.stats.quantile import interval_ranks, order_interval, sample_quantile
from tests.support.golden import cases_of

UNBOUNDED = (-inf, inf)
QUANTILES = st.floats(0.05, 0.95)
LEVELS = st.floats(0.001, 0.4)
RATINGS = st.lists(st.integers(1, 10).map(float), min_size=1, max_size=60)


@pytest.mark.parametrize("case", cases_of("quantile_ci_order_statistics"))
def test_ranks_and_interval_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    ranks = interval_ranks(len(given["values"]), given["q"], given["alpha_each_side"])
    interval = order_interval(given["values"], given["q"], given["alpha_each_side"], bounds=UNBOUNDED)

    assert ranks == (expected["rank_lower"], expected["rank_upper"])
    assert interval == (expected["lower"], expected["upper"])


@pytest.mark.parametrize("case", cases_of("quantile_test"))
def test_verdicts_on_a_quantile_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    assert given["comparison"] == ">="

    verdict = QuantileEvaluator(given["q"], at_least=given["threshold"], significance_level=given["alpha"]).evaluate(
        given["values"]
    )

    assert verdict.p_value == pytest.approx(expected["p_pass"], abs=case["tolerance"])
    assert verdict.p_value_fail == pytest.approx(expected["p_fail"], abs=case["tolerance"])
    assert verdict.outcome == expected["verdict"].lower()


def test_the_ranks_of_a_median_of_20() -> None:
    below = [sum(Fraction(comb(20, k), 2**20) for k in range(rank)) for rank in range(21)]
    lower = max(rank for rank, tail in enumerate(below) if tail <= Fraction(1, 20))

    assert lower == 6
    assert interval_ranks(20, 0.5, 0.05) == (lower, 21 - lower)


@pytest.mark.parametrize(
    ("quantile", "lower", "upper"), [(0.25, 1, 2), (0.3, 2, 2), (0.5, 2.5, 2.5), (0.75, 3, 9), (0.8, 9, 9)]
)
def test_a_quantile_between_two_values_is_the_one_on_the_side_that_is_asked_for(
    quantile: float, lower: float, upper: float
) -> None:
    values = [9, 2, 1, 3]

    assert sample_quantile(values, quantile, upper=False) == lower
    assert sample_quantile(values, quantile, upper=True) == upper


def test_too_few_values_leave_the_interval_unbounded() -> None:
    assert interval_ranks(4, 0.5, 0.05) == (0, 5)
    assert order_interval([3.0, 1.0, 4.0, 1.0], 0.5, 0.05, bounds=UNBOUNDED) == UNBOUNDED
    assert order_interval([3.0, 1.0, 4.0, 1.0], 0.5, 0.05, bounds=(1.0, 10.0)) == (1.0, 10.0)


def test_no_values_give_the_whole_support() -> None:
    assert order_interval([], 0.5, 0.05, bounds=(1.0, 10.0)) == (1.0, 10.0)


@given(st.integers(0, 150), QUANTILES, LEVELS)
def test_ranks_are_in_order_and_at_most_one_beyond_the_sample(n: int, quantile: float, alpha: float) -> None:
    lower, upper = interval_ranks(n, quantile, alpha)

    assert 0 <= lower < upper <= n + 1


@given(st.integers(1, 150), QUANTILES, LEVELS)
def test_each_side_leaves_out_at_most_alpha_and_the_next_rank_would_leave_out_more(
    n: int, quantile: float, alpha: float
) -> None:
    lower, upper = interval_ranks(n, quantile, alpha)

    if lower > 0:
        assert p_at_most(lower - 1, n, quantile) <= alpha
    assert lower == n + 1 or p_at_most(lower, n, quantile) > alpha
    if upper <= n:
        assert p_at_least(upper, n, quantile) <= alpha
    assert p_at_least(upper - 1, n, quantile) > alpha


@given(RATINGS, st.integers(2, 10), LEVELS)
def test_the_lower_end_of_a_median_reaches_the_bar_exactly_when_the_test_passes(
    values: list[float], bar: int, alpha: float
) -> None:
    verdict = QuantileEvaluator(0.5, at_least=bar, bounds=(1, 10), significance_level=alpha).evaluate(values)

    low, high = order_interval(values, 0.5, alpha, bounds=(1.0, 10.0))

    assert (low >= bar) == (verdict.outcome == "pass")
    assert verdict.confidence_interval == (low, high)


@given(RATINGS, LEVELS)
def test_the_interval_of_a_median_contains_the_estimate(values: list[float], alpha: float) -> None:
    verdict = QuantileEvaluator(0.5, at_least=5, significance_level=alpha).evaluate(values)

    assert verdict.estimate is not None
    assert verdict.confidence_interval is not None
    assert verdict.confidence_interval[0] <= verdict.estimate <= verdict.confidence_interval[1]


@example([1.0, 2.0, 3.0, 4.0, 5.0], 0.99, 0.05)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.floats(0.05, 0.99), st.sampled_from([0.01, 0.05, 0.1]))
def test_the_interval_of_any_quantile_contains_the_estimate(values: list[float], quantile: float, alpha: float) -> None:
    verdict = QuantileEvaluator(quantile, at_most=50, significance_level=alpha).evaluate(values)

    assert verdict.estimate is not None
    assert verdict.confidence_interval is not None
    assert verdict.confidence_interval[0] <= verdict.estimate <= verdict.confidence_interval[1]


@given(RATINGS, st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], random: Any) -> None:
    mixed = random.sample(values, len(values))

    assert order_interval(mixed, 0.5, 0.05, bounds=UNBOUNDED) == order_interval(values, 0.5, 0.05, bounds=UNBOUNDED)
