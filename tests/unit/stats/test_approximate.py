"""Approximate intervals of a proportion."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtr, ndtri

from simeval.stats.approximate import jeffreys, wilson
from simeval.stats.binomial import clopper_pearson
from tests.support.golden import cases_of

LEVELS = st.floats(0.001, 0.4)
INTERVALS = pytest.mark.parametrize("interval", [wilson, jeffreys])
Interval = Callable[[int, int, float], tuple[float, float]]


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 200))
    return draw(st.integers(0, n)), n


@pytest.mark.parametrize("case", [*cases_of("wilson"), *cases_of("jeffreys")])
def test_intervals_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    interval = {"wilson": wilson, "jeffreys": jeffreys}[case["method"]]

    bounds = interval(given["successes"], given["n"], given["alpha_each_side"])

    assert bounds == pytest.approx((expected["lower"], expected["upper"]), abs=case["tolerance"])


@given(counts(), LEVELS)
def test_wilsons_interval_agrees_with_scipys(count: tuple[int, int], alpha: float) -> None:
    from scipy.stats import binomtest

    expected = binomtest(*count).proportion_ci(1 - 2 * alpha, method="wilson")

    assert wilson(*count, alpha) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(counts(), LEVELS)
def test_jeffreys_interval_agrees_with_scipys_quantiles(count: tuple[int, int], alpha: float) -> None:
    from scipy.stats import beta

    posterior = beta(count[0] + 0.5, count[1] - count[0] + 0.5)

    assert jeffreys(*count, alpha) == pytest.approx((posterior.ppf(alpha), posterior.ppf(1 - alpha)), abs=1e-9)


@given(counts(), LEVELS)
def test_the_normal_score_of_a_rate_at_wilsons_bound_is_the_critical_one(count: tuple[int, int], alpha: float) -> None:
    successes, n = count
    low, high = wilson(successes, n, alpha)

    for bound, sign in ((low, 1), (high, -1)):
        if 1e-6 < bound < 1 - 1e-6:
            score = (successes / n - bound) / np.sqrt(bound * (1 - bound) / n)
            assert score == pytest.approx(-sign * ndtri(alpha), abs=1e-5)


@INTERVALS
@given(counts(), LEVELS)
def test_failures_have_the_mirrored_interval(interval: Interval, count: tuple[int, int], alpha: float) -> None:
    successes, n = count
    low, high = interval(successes, n, alpha)

    assert interval(n - successes, n, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(counts(), LEVELS)
def test_wilsons_interval_contains_the_estimate(count: tuple[int, int], alpha: float) -> None:
    low, high = wilson(*count, alpha)

    assert 0 <= low <= count[0] / count[1] <= high <= 1


@INTERVALS
def test_no_trials_leave_the_rate_open(interval: Interval) -> None:
    assert interval(0, 0, 0.05) == (0.0, 1.0)


def test_wilsons_interval_ends_exactly_at_0_and_1() -> None:
    assert (wilson(0, 10, 0.05)[0], wilson(10, 10, 0.05)[1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("interval", "n", "coverage"),
    [
        *[(clopper_pearson, 10, 0.95), (clopper_pearson, 30, 0.95), (clopper_pearson, 100, 0.95)],
        *[(wilson, 10, 0.909), (wilson, 30, 0.925), (wilson, 100, 0.931), (wilson, 300, 0.932)],
        *[(jeffreys, 10, 0.846), (jeffreys, 30, 0.851), (jeffreys, 100, 0.853), (jeffreys, 300, 0.853)],
    ],
)
def test_the_lower_bound_covers_as_little_as_documented(interval: Interval, n: int, coverage: float) -> None:
    # the coverage is smallest just below a bound: P(Bin(n, p) < k) for p at the bound of k successes
    bounds = np.array([interval(k, n, 0.05)[0] for k in range(1, n + 1)])
    inside = (bounds >= 0.5) & (bounds <= 0.9999)

    smallest = min(bdtr(k - 1, n, bound) for k, bound in enumerate(bounds, start=1) if inside[k - 1])

    assert smallest == pytest.approx(coverage, abs=0.0005)
