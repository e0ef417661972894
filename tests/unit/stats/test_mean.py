"""Inference on the mean of a bounded score."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.binomial import clopper_pearson, p_at_least, p_at_most
from simeval.stats.mean import lower_bound, p_above, p_below, upper_bound
from tests.support.golden import cases_of

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)
MEANS = st.floats(0.05, 0.95)


@pytest.mark.parametrize("case", cases_of("gaffke_mean"))
def test_p_value_and_bound_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected, tolerance = case["inputs"], case["expected"], case["tolerance"]
    low = given["lower_support"]

    assert p_above(given["values"], given["mean0"], low=low) == pytest.approx(expected["p_pass"], abs=tolerance)
    assert lower_bound(given["values"], given["alpha"], low=low) == pytest.approx(
        expected["lower_bound"], abs=tolerance
    )


def test_ratings_skewed_to_the_top() -> None:
    # 2e6 draws of numpy.random.dirichlet([1]*31) @ [1, *values] <= 8: 0.0810; Imhof quadrature: 0.0810364
    values = [10, 10, 9, 8, 10, 3, 9, 10, 10, 7, 9, 10, 10, 9, 10, 8, 10, 10, 9, 1, 10, 9, 10, 10, 9, 8, 10, 10, 9, 10]

    assert p_above(values, 8.0, low=1) == pytest.approx(0.0810364125, abs=1e-6)
    assert lower_bound(values, 0.05, low=1) == pytest.approx(7.8504099556, abs=1e-6)


def test_one_value_against_the_closed_form() -> None:
    # with one value x, D uniform on [0, 1]: P(D low + (1 - D) x <= m) = (m - low) / (x - low)
    assert p_above([0.8], 0.2, low=0.0) == pytest.approx(0.25, abs=1e-6)


def test_p_values_agree_with_draws_from_the_simplex() -> None:
    random = np.random.default_rng(5)
    values = [0.9, 0.7, 1.0, 0.4, 0.95, 0.8, 0.85, 0.6]
    draws = random.dirichlet(np.ones(len(values) + 1), size=200_000) @ np.array([0.0, *values])

    # the standard error of 200,000 draws is 0.0011 at most
    assert p_above(values, 0.6, low=0.0) == pytest.approx(float(np.mean(draws <= 0.6)), abs=0.006)


@given(st.integers(1, 60), st.data(), MEANS)
def test_on_yes_or_no_it_is_the_exact_binomial_test(n: int, data: st.DataObject, mean: float) -> None:
    successes = data.draw(st.integers(0, n))
    values = [1.0] * successes + [0.0] * (n - successes)

    assert p_above(values, mean, low=0.0) == pytest.approx(p_at_least(successes, n, mean), abs=1e-6)
    assert p_below(values, mean, high=1.0) == pytest.approx(p_at_most(successes, n, mean), abs=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 40), st.data())
def test_on_yes_or_no_its_bounds_are_clopper_and_pearsons(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    values = [1.0] * successes + [0.0] * (n - successes)

    bounds = lower_bound(values, 0.05, low=0.0), upper_bound(values, 0.05, high=1.0)

    assert bounds == pytest.approx(clopper_pearson(successes, n, 0.05), abs=1e-5)


@given(VALUES, MEANS)
def test_p_values_are_probabilities(values: list[float], mean: float) -> None:
    assert 0 <= p_above(values, mean, low=0.0) <= 1
    assert 0 <= p_below(values, mean, high=1.0) <= 1


@given(VALUES, MEANS, MEANS)
def test_a_higher_bar_is_never_easier_to_prove(values: list[float], one: float, other: float) -> None:
    lower, higher = sorted((one, other))

    assert p_above(values, lower, low=0.0) <= p_above(values, higher, low=0.0) + 1e-6


@given(VALUES, MEANS, st.floats(0, 1))
def test_a_higher_value_never_speaks_against_a_mean_above(values: list[float], mean: float, raised: float) -> None:
    better = [max(values[0], raised), *values[1:]]

    assert p_above(better, mean, low=0.0) <= p_above(values, mean, low=0.0) + 1e-6


@settings(max_examples=20)
@given(VALUES)
def test_the_bounds_contain_the_mean(values: list[float]) -> None:
    mean = sum(values) / len(values)

    assert lower_bound(values, 0.05, low=0.0) <= mean + 1e-9
    assert upper_bound(values, 0.05, high=1.0) >= mean - 1e-9


@settings(max_examples=20)
@given(VALUES, st.sampled_from([0.01, 0.05, 0.1]), MEANS)
def test_the_bound_lies_above_the_bar_exactly_when_the_mean_is_proven_above(
    values: list[float], alpha: float, mean: float
) -> None:
    bound = lower_bound(values, alpha, low=0.0)

    if abs(bound - mean) > 1e-5:
        assert (bound > mean) == (p_above(values, mean, low=0.0) <= alpha + 1e-9)


def test_no_values_prove_nothing() -> None:
    assert (p_above([], 0.5, low=0.0), p_below([], 0.5, high=1.0)) == (1.0, 1.0)
    assert (lower_bound([], 0.05, low=0.0), upper_bound([], 0.05, high=1.0)) == (0.0, 1.0)


def test_values_that_all_equal_the_bar_prove_nothing() -> None:
    assert p_above([0.5] * 20, 0.5, low=0.0) == 1.0
    assert p_below([0.5] * 20, 0.5, high=1.0) == 1.0
