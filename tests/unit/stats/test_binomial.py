"""Exact inference on a proportion."""

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from simeval.evaluators.scores import ProportionEvaluator
from simeval.stats.binomial import (
    at_most,
    clopper_pearson,
    log_factorials,
    minimum_n,
    more_than,
    most_misses,
    n_for_power,
    p_at_least,
    p_at_most,
)
from tests.support.golden import cases_of

SHARES = st.floats(0.01, 0.99)
LEVELS = st.floats(0.001, 0.4)


@st.composite
def counts(draw: st.DrawFn, smallest: int = 0, largest: int = 200) -> tuple[int, int]:
    n = draw(st.integers(smallest, largest))
    return draw(st.integers(0, n)), n


def exact_tail(successes: int, n: int, p0: Fraction) -> Fraction:
    """Sum P(Bin(n, p0) >= successes) in rational numbers, over the denominator that all terms have."""
    of, met = p0.denominator, p0.numerator
    terms = (comb(n, k) * met**k * (of - met) ** (n - k) for k in range(successes, n + 1))
    return Fraction(sum(terms), of**n)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (63, 0.1), (64, 0.97), (250, 0.75), (1_023, 0.9)])
def test_tails_from_tables_equal_sums_of_fractions(n: int, p: float) -> None:
    for successes in {0, n // 4, n // 2, n - n // 10 - 1, n - 1}:
        above = exact_tail(successes + 1, n, Fraction(p))

        assert float(more_than(successes, n, p)) == pytest.approx(float(above), rel=1e-12, abs=1e-300)
        assert float(at_most(successes, n, p)) == pytest.approx(float(1 - above), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("n", [1_023, 1_024])
def test_tails_of_many_trials_equal_those_of_scipy(n: int) -> None:
    successes, sizes = np.array([0, 700, 800, 900, n]), np.array([300, 1_000, 1_000, n, n])

    assert np.allclose(at_most(successes[1:], sizes[1:], 0.8), scipy.special.bdtr(successes[1:], sizes[1:], 0.8))
    assert np.allclose(more_than(successes, sizes, 0.8), scipy.special.bdtrc(successes, sizes, 0.8))


@pytest.mark.parametrize("n", [3, 1_024])
def test_no_successes_are_less_than_none(n: int) -> None:
    assert at_most(np.array([-1, n]), n, 0.5).tolist() == [0, 1]
    assert more_than(np.array([-1, n]), n, 0.5).tolist() == [1, 0]


def test_factorials_are_those_of_integers() -> None:
    assert np.exp(log_factorials(5)) == pytest.approx([1, 1, 2, 6, 24, 120])


@pytest.mark.parametrize("case", cases_of("proportion_exact_test"))
def test_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected, tolerance = case["inputs"], case["expected"], max(case["tolerance"], 1e-15)

    above = p_at_least(given["successes"], given["n"], given["p0"])
    below = p_at_most(given["successes"], given["n"], given["p0"])

    assert above == pytest.approx(expected["p_pass"], rel=tolerance, abs=tolerance)
    assert below == pytest.approx(expected["p_fail"], rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("case", [c for c in cases_of("proportion_exact_test") if "p0-one" not in str(c.id)])
def test_verdicts_equal_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]
    values = [True] * given["successes"] + [False] * (given["n"] - given["successes"])

    verdict = ProportionEvaluator(min_proportion=given["p0"], significance_level=given["alpha"]).evaluate(values)

    assert verdict.outcome == case["expected"]["verdict"].lower()


@pytest.mark.parametrize("case", cases_of("clopper_pearson"))
def test_intervals_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    low, high = clopper_pearson(given["successes"], given["n"], given["alpha_each_side"])

    assert (low, high) == pytest.approx((expected["lower"], expected["upper"]), abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("min_n_to_pass"))
def test_smallest_samples_equal_the_reference(case: dict[str, Any]) -> None:
    assert minimum_n(**case["inputs"]) == case["expected"]["n_min"]


@pytest.mark.parametrize("case", cases_of("plan_fixed_n"))
def test_planned_samples_equal_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]

    assert (
        n_for_power(given["p0"], given["p1"], alpha=given["alpha"], power=given["power"])
        == (case["expected"]["n_first"])
    )


@pytest.mark.parametrize("case", cases_of("worst_case_missing"))
def test_missing_trials_count_as_in_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    values = [1.0] * given["successes"] + [0.0] * given["failures"] + [float("nan")] * given["errors"]

    verdict = ProportionEvaluator(min_proportion=given["p0"], significance_level=given["alpha"]).evaluate(values)

    assert verdict.p_value == pytest.approx(expected["p_pass"], abs=case["tolerance"])
    assert verdict.p_value_fail == pytest.approx(expected["p_fail"], abs=case["tolerance"])
    assert verdict.outcome == expected["verdict"].lower()


@pytest.mark.parametrize(
    ("successes", "n", "above", "below"),
    [
        # scipy.stats.binomtest(k, n, p, alternative="greater" and "less").pvalue, scipy 1.15
        (28, 30, 0.41135123955950537, 0.8163049808073964),
        (30, 30, 0.0423911582752162, 1.0),
        (96, 100, 0.023711082663476764, 0.9921635128788155),
    ],
)
def test_p_values_against_a_bar_of_90_percent(successes: int, n: int, above: float, below: float) -> None:
    assert p_at_least(successes, n, 0.9) == pytest.approx(above, rel=1e-9)
    assert p_at_most(successes, n, 0.9) == pytest.approx(below, rel=1e-9)


@given(counts(1, 40), st.integers(1, 19))
def test_p_values_equal_sums_in_rational_numbers(count: tuple[int, int], twentieths: int) -> None:
    successes, n = count

    exact = exact_tail(successes, n, Fraction(twentieths, 20))

    assert p_at_least(successes, n, twentieths / 20) == pytest.approx(float(exact), rel=1e-9)


@given(counts(1), SHARES)
def test_p_values_agree_with_scipys_binomial_test(count: tuple[int, int], p0: float) -> None:
    from scipy.stats import binomtest

    greater = binomtest(*count, p0, alternative="greater").pvalue
    less = binomtest(*count, p0, alternative="less").pvalue

    assert p_at_least(*count, p0) == pytest.approx(greater, rel=1e-8, abs=1e-300)
    assert p_at_most(*count, p0) == pytest.approx(less, rel=1e-8, abs=1e-300)


@given(counts(1), LEVELS)
def test_intervals_agree_with_scipys(count: tuple[int, int], alpha: float) -> None:
    from scipy.stats import binomtest

    interval = binomtest(*count).proportion_ci(1 - 2 * alpha, method="exact")

    assert clopper_pearson(*count, alpha) == pytest.approx((interval.low, interval.high), abs=1e-8)


@given(counts(), SHARES)
def test_p_values_are_probabilities(count: tuple[int, int], p0: float) -> None:
    assert 0 <= p_at_least(*count, p0) <= 1
    assert 0 <= p_at_most(*count, p0) <= 1


@given(counts(1), SHARES)
def test_one_more_success_never_raises_the_p_value_of_a_rate_above(count: tuple[int, int], p0: float) -> None:
    successes, n = count
    fewer = max(successes - 1, 0)

    assert p_at_least(successes, n, p0) <= p_at_least(fewer, n, p0)
    assert p_at_most(successes, n, p0) >= p_at_most(fewer, n, p0)


@given(counts(), SHARES)
def test_the_two_tails_overlap_in_the_observed_count_alone(count: tuple[int, int], p0: float) -> None:
    successes, n = count

    assert p_at_least(successes + 1, n, p0) + p_at_most(successes, n, p0) == pytest.approx(1.0)


@given(counts(), SHARES, LEVELS)
def test_the_interval_lies_beyond_the_bar_exactly_when_a_side_is_proven(
    count: tuple[int, int], p0: float, alpha: float
) -> None:
    low, high = clopper_pearson(*count, alpha)
    above, below = p_at_least(*count, p0), p_at_most(*count, p0)

    if abs(low - p0) > 1e-9:
        assert (low > p0) == (above < alpha)
    if abs(high - p0) > 1e-9:
        assert (high < p0) == (below < alpha)


@given(counts(1), LEVELS)
def test_the_interval_contains_the_estimate(count: tuple[int, int], alpha: float) -> None:
    low, high = clopper_pearson(*count, alpha)

    assert 0 <= low <= count[0] / count[1] <= high <= 1


@given(counts(1), LEVELS, LEVELS)
def test_a_smaller_level_never_narrows_the_interval(count: tuple[int, int], one: float, other: float) -> None:
    wide = clopper_pearson(*count, min(one, other))
    narrow = clopper_pearson(*count, max(one, other))

    assert wide[0] <= narrow[0] + 1e-12
    assert wide[1] >= narrow[1] - 1e-12


def test_no_trials_prove_nothing() -> None:
    assert (p_at_least(0, 0, 0.9), p_at_most(0, 0, 0.9)) == (1.0, 1.0)
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)


def test_the_interval_of_no_success_starts_at_0_and_of_no_failure_ends_at_1() -> None:
    assert clopper_pearson(0, 10, 0.05) == pytest.approx((0.0, 1 - 0.05**0.1))
    assert clopper_pearson(10, 10, 0.05) == pytest.approx((0.05**0.1, 1.0))


@pytest.mark.parametrize(
    ("p0", "alpha", "n"),
    # the smallest n with Fraction(p0)**n <= Fraction(alpha), counted up from 1
    [(0.9, 0.05, 29), (0.95, 0.05, 59), (0.5, 0.0625, 4), (0.1, 0.01, 2), (0.01, 0.4, 1)],
)
def test_the_smallest_sample_that_can_prove_a_rate(p0: float, alpha: float, n: int) -> None:
    assert minimum_n(p0, alpha) == n


@given(SHARES, LEVELS)
def test_the_smallest_sample_is_enough_and_one_less_is_not(p0: float, alpha: float) -> None:
    n = minimum_n(p0, alpha)

    assert p0**n <= alpha * (1 + 1e-9)
    assert n == 1 or p0 ** (n - 1) > alpha * (1 - 1e-9)


def test_the_sample_for_a_power_has_it_and_one_less_has_not() -> None:
    def power(n: int) -> float:
        proving = next(k for k in range(n + 2) if k > n or p_at_least(k, n, 0.75) <= 0.05)
        return 0.0 if proving > n else p_at_least(proving, n, 0.9)

    n = n_for_power(0.75, 0.9, alpha=0.05, power=0.8)

    assert n is not None
    assert power(n) >= 0.8
    assert all(power(fewer) < 0.8 for fewer in range(1, n))


def test_no_sample_proves_a_rate_that_is_not_above_the_bar() -> None:
    assert n_for_power(0.9, 0.9, alpha=0.05, power=0.8) is None
    assert n_for_power(0.9, 0.89, alpha=0.05, power=0.8) is None


def test_a_rate_just_above_the_bar_needs_more_than_the_limit() -> None:
    assert n_for_power(0.9, 0.9001, alpha=0.05, power=0.8, n_limit=1000) is None


def test_a_rate_of_1_needs_the_smallest_sample_that_can_prove_the_bar() -> None:
    assert n_for_power(0.9, 1.0, alpha=0.05, power=0.8) == minimum_n(0.9, 0.05) == 29


@pytest.mark.parametrize(("n", "most"), [(1, -1), (2, 0), (3, 0), (4, 1), (8, 2)])
def test_misses_whose_chance_is_the_level_itself_still_prove(n: int, most: int) -> None:
    level = {2: 0.25, 3: 0.125, 4: 0.3125}.get(n, 0.25)  # P(no miss) of 2 and 3 and P(at most one) of 4 coins

    assert most_misses(n, 0.5, level) == most
