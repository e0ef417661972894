"""Inference on a proportion that holds at every moment."""

from fractions import Fraction
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.binomial import clopper_pearson
from simeval.stats.evalues import (
    anytime_interval,
    anytime_interval_path,
    anytime_p_values,
    likelihood_ratio,
    mixture,
    running_p_values,
)
from tests.support.golden import cases_of

RATES = st.floats(0.01, 0.99)
LEVELS = st.floats(0.001, 0.4)
OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=60)


@st.composite
def counts(draw: st.DrawFn, largest: int = 200) -> tuple[int, int]:
    return draw(st.integers(0, largest)), draw(st.integers(0, largest))


def exact_mixture(successes: int, failures: int, p0: Fraction) -> Fraction:
    """Integrate q^s (1 - q)^f from p0 to 1 in rational numbers, the power (1 - q)^f expanded."""
    powers = range(failures + 1)
    terms = (
        Fraction((-1) ** j * comb(failures, j), successes + j + 1) * (1 - p0 ** (successes + j + 1)) for j in powers
    )
    return sum(terms, Fraction(0)) / (p0**successes * (1 - p0) ** (failures + 1))


def integrated_mixture(successes: int, failures: int, p0: float) -> float:
    """Integrate by Simpson's rule over the rates above p0 that matter, in units of the largest integrand."""
    from scipy.integrate import simpson

    n = successes + failures
    peak = max(p0, successes / n)
    rates = np.linspace(p0, min(peak + 15 * (peak * (1 - peak) / n) ** 0.5, 1 - 1e-12), 2_000_001)
    logs = successes * np.log(rates / p0) + failures * (np.log1p(-rates) - np.log1p(-p0))
    return float(np.log(simpson(np.exp(logs - logs.max()), x=rates)) + logs.max() - np.log1p(-p0))


def chance_to_pass(p0: float, rate: float, n_max: int) -> float:
    """Sum the probabilities of all paths of n_max trials that prove "above p0" at 5% before "below p0"."""
    running, passed = np.array([1.0]), 0.0
    for n in range(1, n_max + 1):
        running = np.r_[(1 - rate) * running, 0.0] + np.r_[0.0, rate * running]
        successes = np.arange(n + 1)
        above = mixture(successes, n - successes, p0) >= log(20)
        below = mixture(n - successes, successes, 1 - p0) >= log(20)
        passed += float(running[above].sum())
        running[above | below] = 0.0
    return passed


@pytest.mark.parametrize("case", cases_of("bernoulli_mixture_evalue"))
def test_mixtures_equal_the_reference(case: dict[str, Any]) -> None:
    given = case["inputs"]

    log_e = float(mixture(given["successes"], given["failures"], given["p0"]))

    assert exp(log_e) == pytest.approx(case["expected"]["e_value"], rel=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("bernoulli_lr"))
def test_likelihood_ratios_equal_the_reference(case: dict[str, Any]) -> None:
    log_ratio = float(likelihood_ratio(**case["inputs"]))

    assert exp(log_ratio) == pytest.approx(case["expected"]["lr"], rel=case["tolerance"])


@settings(deadline=None)
@given(counts(40), st.integers(1, 19))
def test_mixtures_equal_integrals_in_rational_numbers(count: tuple[int, int], twentieths: int) -> None:
    exact = exact_mixture(*count, Fraction(twentieths / 20))

    assert float(mixture(*count, twentieths / 20)) == pytest.approx(log(exact), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(
    ("successes", "failures", "p0"),
    [
        (900_000, 100_000, 0.9),
        (901_500, 98_500, 0.9),
        (700_000, 300_000, 0.9),  # the tail of the beta distribution underflows here and below
        (481_500, 518_500, 0.5),
        (6_000, 994_000, 0.01),
        (600, 1_400, 0.95),
    ],
)
def test_large_counts_neither_underflow_nor_lose_digits(successes: int, failures: int, p0: float) -> None:
    expected = integrated_mixture(successes, failures, p0)

    assert float(mixture(successes, failures, p0)) == pytest.approx(expected, abs=1e-8)


def test_the_series_takes_over_without_a_step() -> None:
    # between 6,400 and 6,000 successes of 10,000 the tail above 0.75 falls through 1e-250
    steps = np.diff(mixture(np.arange(5_000, 6_900), 10_000 - np.arange(5_000, 6_900), 0.75))

    assert np.all(steps > 0)
    assert np.all(np.abs(np.diff(steps)) < 1e-5)


def test_a_million_of_one_kind_has_a_finite_e_value() -> None:
    # no success: the integral of u^f is 1/(f + 1); no failure: (p0^-(s + 1) - 1) p0 / ((1 - p0)(s + 1))
    assert float(mixture(0, 10**6, 0.5)) == pytest.approx(-log(10**6 + 1))
    assert float(mixture(10**6, 0, 0.5)) == pytest.approx(10**6 * log(2) - log(10**6 + 1) + log(2))


@given(counts(), RATES, RATES)
def test_a_higher_bar_never_raises_the_e_value(count: tuple[int, int], one: float, other: float) -> None:
    lower, higher = sorted((one, other))

    assert mixture(*count, lower) >= mixture(*count, higher) - 1e-9


@given(counts(), RATES)
def test_one_more_success_raises_the_e_value_and_one_more_failure_lowers_it(count: tuple[int, int], p0: float) -> None:
    successes, failures = count

    assert mixture(successes + 1, failures, p0) > mixture(successes, failures, p0)
    assert mixture(successes, failures + 1, p0) < mixture(successes, failures, p0)


@given(counts(), RATES)
def test_the_next_trial_at_the_bar_is_a_fair_bet(count: tuple[int, int], p0: float) -> None:
    successes, failures = count

    won, lost = mixture(successes + 1, failures, p0), mixture(successes, failures + 1, p0)

    assert np.logaddexp(won + log(p0), lost + np.log1p(-p0)) == pytest.approx(
        float(mixture(successes, failures, p0)), abs=1e-9
    )


@given(counts(), RATES, RATES)
def test_a_likelihood_ratio_swaps_its_sign_with_its_rates(count: tuple[int, int], p0: float, p1: float) -> None:
    assert likelihood_ratio(*count, p0, p1) == pytest.approx(-likelihood_ratio(*count, p1, p0), abs=1e-9)
    assert likelihood_ratio(*count, p0, p0) == 0


def test_counts_may_be_arrays_and_are_taken_one_by_one() -> None:
    together = mixture([45, 57, 0], [0, 3, 9], 0.9)

    assert together.tolist() == [float(mixture(*each, 0.9)) for each in [(45, 0), (57, 3), (0, 9)]]
    assert mixture(5, [[0], [1]], 0.9).shape == likelihood_ratio(5, [[0], [1]], 0.9, 0.95).shape == (2, 1)


@pytest.mark.parametrize(
    ("p0", "rate", "n_max", "power"),
    # STATISTICS 5.1, rows e-mix(20)
    [
        (0.9, 0.9, 50, 0.011),
        (0.9, 0.99, 50, 0.649),
        (0.9, 0.9, 100, 0.018),
        (0.9, 0.95, 100, 0.254),
        (0.9, 0.99, 100, 0.955),
        (0.9, 0.9, 300, 0.030),
        (0.9, 0.95, 300, 0.773),
        (0.75, 0.75, 300, 0.034),
        (0.75, 0.85, 300, 0.948),
    ],
)
def test_the_chance_to_prove_a_rate_above_the_bar(p0: float, rate: float, n_max: int, power: float) -> None:
    assert chance_to_pass(p0, rate, n_max) == pytest.approx(power, abs=0.00051)


def test_nobody_passes_with_fewer_than_43_trials_at_a_bar_of_90_percent() -> None:
    above, _ = anytime_p_values([True] * 60, 0.9)

    assert int(np.argmax(above <= 0.05)) + 1 == 43


def test_p_values_are_one_over_the_largest_e_value_so_far() -> None:
    assert running_p_values([-1.0, log(4), log(2), log(8)]) == pytest.approx([1.0, 0.25, 0.25, 0.125])


@given(OUTCOMES, RATES)
def test_p_values_are_probabilities_that_never_rise(outcomes: list[bool], p0: float) -> None:
    for path in anytime_p_values(outcomes, p0):
        assert len(path) == len(outcomes)
        assert np.all((path > 0) & (path <= 1))
        assert np.all(np.diff(path) <= 0)


@given(OUTCOMES, RATES)
def test_swapping_success_and_failure_swaps_the_two_sides(outcomes: list[bool], p0: float) -> None:
    above, below = anytime_p_values(outcomes, p0)
    mirrored_above, mirrored_below = anytime_p_values([not outcome for outcome in outcomes], 1 - p0)

    assert mirrored_below == pytest.approx(above, rel=1e-9)
    assert mirrored_above == pytest.approx(below, rel=1e-9)


@given(OUTCOMES, st.integers(1, 60), RATES)
def test_more_trials_never_change_the_p_values_before_them(outcomes: list[bool], n: int, p0: float) -> None:
    whole, start = anytime_p_values(outcomes, p0), anytime_p_values(outcomes[:n], p0)

    assert whole[0][:n] == pytest.approx(start[0])
    assert whole[1][:n] == pytest.approx(start[1])


def test_false_proofs_at_any_time_are_rarer_than_the_level() -> None:
    random = np.random.default_rng(11)

    paths = [anytime_p_values(random.random(400) < 0.8, 0.8) for _ in range(500)]

    assert 0.005 < np.mean([above[-1] <= 0.05 for above, _ in paths]) <= 0.05
    assert 0.005 < np.mean([below[-1] <= 0.05 for _, below in paths]) <= 0.05


@given(counts(), LEVELS, RATES)
def test_the_interval_lies_beyond_the_bar_exactly_when_the_e_value_is_large(
    count: tuple[int, int], alpha: float, p0: float
) -> None:
    successes, failures = count
    low, high = anytime_interval(successes, failures, alpha)

    if abs(low - p0) > 1e-9:
        assert (low > p0) == (mixture(successes, failures, p0) >= -log(alpha))
    if abs(high - p0) > 1e-9:
        assert (high < p0) == (mixture(failures, successes, 1 - p0) >= -log(alpha))


@given(OUTCOMES, LEVELS, RATES)
def test_the_running_interval_lies_beyond_the_bar_exactly_when_a_side_is_proven(
    outcomes: list[bool], alpha: float, p0: float
) -> None:
    low, high = anytime_interval_path(outcomes, alpha)
    above, below = anytime_p_values(outcomes, p0)

    sure_low, sure_high = np.abs(low - p0) > 1e-9, np.abs(high - p0) > 1e-9

    assert np.array_equal((low > p0)[sure_low], (above <= alpha)[sure_low])
    assert np.array_equal((high < p0)[sure_high], (below <= alpha)[sure_high])


@given(counts(), LEVELS)
def test_the_interval_holds_the_observed_rate_and_clopper_and_pearsons(count: tuple[int, int], alpha: float) -> None:
    successes, failures = count
    low, high = anytime_interval(successes, failures, alpha)
    exact_low, exact_high = clopper_pearson(successes, successes + failures, alpha)

    assert 0 <= low <= exact_low + 1e-9
    assert exact_high - 1e-9 <= high <= 1
    assert successes + failures == 0 or low <= successes / (successes + failures) <= high


@given(counts(), LEVELS)
def test_the_interval_of_the_failures_is_the_mirror_image(count: tuple[int, int], alpha: float) -> None:
    low, high = anytime_interval(*count, alpha)

    assert anytime_interval(*count[::-1], alpha) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(counts(), LEVELS, LEVELS)
def test_a_smaller_level_never_narrows_the_interval(count: tuple[int, int], one: float, other: float) -> None:
    wide, narrow = (anytime_interval(*count, level) for level in sorted((one, other)))

    assert wide[0] <= narrow[0]
    assert wide[1] >= narrow[1]


@given(OUTCOMES, LEVELS)
def test_the_running_interval_is_the_intersection_of_all_so_far(outcomes: list[bool], alpha: float) -> None:
    low, high = anytime_interval_path(outcomes, alpha)

    each = [anytime_interval(sum(outcomes[:n]), n - sum(outcomes[:n]), alpha) for n in range(1, len(outcomes) + 1)]

    assert low[-1] == max(lower for lower, _ in each)
    assert high[-1] == min(upper for _, upper in each)


@pytest.mark.parametrize(("n", "ratio"), [(30, 1.5), (100, 1.7), (1000, 2.0)])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.8])
def test_how_much_wider_than_clopper_and_pearsons_it_is(n: int, rate: float, ratio: float) -> None:
    successes = round(n * rate)
    low, high = anytime_interval(successes, n - successes, 0.05)
    exact_low, exact_high = clopper_pearson(successes, n, 0.05)

    assert (high - low) / (exact_high - exact_low) == pytest.approx(ratio, abs=0.05)


def test_the_running_interval_holds_the_rate_throughout_more_often_than_promised() -> None:
    random = np.random.default_rng(7)

    ends = [anytime_interval_path(random.random(150) < 0.7, 0.05) for _ in range(100)]

    assert np.mean([low[-1] > 0.7 for low, _ in ends]) <= 0.05
    assert np.mean([high[-1] < 0.7 for _, high in ends]) <= 0.05


def test_no_trials_prove_nothing() -> None:
    assert float(mixture(0, 0, 0.9)) == pytest.approx(0.0, abs=1e-12)
    assert anytime_interval(0, 0, 0.05) == (0.0, 1.0)
    assert [len(path) for path in (*anytime_p_values([], 0.9), *anytime_interval_path([], 0.05))] == [0] * 4


def test_without_a_success_the_interval_starts_at_0_and_without_a_failure_it_ends_at_1() -> None:
    low, high = anytime_interval(0, 20, 0.05)

    assert low == 0.0
    assert 0 < high < 1
    assert anytime_interval(20, 0, 0.05) == pytest.approx((1 - high, 1.0))


@pytest.mark.parametrize("p0", [0.0, 1.0, -0.1, float("nan")])
def test_a_bar_at_the_edge_is_refused(p0: float) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        mixture(1, 1, p0)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        likelihood_ratio(1, 1, 0.9, p0)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        anytime_p_values([True], p0)


@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan")])
def test_a_level_at_the_edge_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        anytime_interval(1, 1, alpha)
    with pytest.raises(ValueError, match="alpha"):
        anytime_interval_path([True], alpha)


@pytest.mark.parametrize("outcomes", [[0.5], [2], [float("nan")], [[True, False]]])
def test_outcomes_that_are_not_yes_or_no_are_refused(outcomes: list[Any]) -> None:
    with pytest.raises(ValueError, match="True or False"):
        anytime_p_values(outcomes, 0.9)
    with pytest.raises(ValueError, match="True or False"):
        anytime_interval_path(outcomes, 0.05)


@pytest.mark.parametrize("count", [-1, float("nan"), float("inf")])
def test_counts_that_are_no_counts_are_refused(count: float) -> None:
    with pytest.raises(ValueError, match="counts"):
        mixture(count, 1, 0.9)
    with pytest.raises(ValueError, match="counts"):
        anytime_interval(1, count, 0.05)  # type: ignore[arg-type]
