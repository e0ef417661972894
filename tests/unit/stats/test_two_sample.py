"""Comparison of the rates of two versions tried on independent samples."""

from itertools import product
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from simeval.stats.approximate import wilson
from simeval.stats.two_sample import boschloo, fisher, newcombe_interval, not_worse, supremum
from tests.support.golden import cases_of

LEVELS = st.floats(0.001, 0.4)
MARGINS = st.sampled_from([-0.2, -0.05, 0.0, 0.02, 0.05, 0.1, 0.3])
Table = tuple[int, int, int, int]


@st.composite
def tables(draw: st.DrawFn, largest: int = 60) -> Table:
    """Draw new_good, new_n, old_good, old_n."""
    new_n, old_n = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return draw(st.integers(0, new_n)), new_n, draw(st.integers(0, old_n)), old_n


def exchanged(table: Table) -> Table:
    return table[2], table[3], table[0], table[1]


def in_failures(table: Table) -> Table:
    new_good, new_n, old_good, old_n = table
    return new_n - new_good, new_n, old_n - old_good, old_n


def weights(n: int, rate: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)])


def score(new: float, new_n: int, old: float, old_n: int, margin: float) -> float:
    """Return Farrington and Manning's z from the rates, searching the most likely rates on a fine grid."""
    rates = np.linspace(max(0.0, -margin), min(1.0, 1 - margin), 400_001)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = rates + margin
        terms = [(new_n * new, rates), (new_n * (1 - new), 1 - rates), (old_n * old, others)]
        terms.append((old_n * (1 - old), 1 - others))
        likelihood = sum(np.where(count == 0, 0.0, count * np.log(share)) for count, share in terms)
    best = rates[np.nanargmax(likelihood)]
    variance = best * (1 - best) / new_n + (best + margin) * (1 - best - margin) / old_n
    return float((new - old + margin) / sqrt(variance)) if variance > 1e-9 else 0.0


def unconditional(table: Table, margin: float, points: int = 2_001) -> float:
    """Return the p-value by its definition: the tables at least as extreme, summed at each rate of a grid."""
    new_good, new_n, old_good, old_n = table
    scores = np.array(
        [[score(k / new_n, new_n, j / old_n, old_n, margin) for j in range(old_n + 1)] for k in range(new_n + 1)]
    )
    extreme = scores >= scores[new_good, old_good] - 1e-4
    rates = np.linspace(max(0.0, -margin), min(1.0, 1 - margin), points)
    return max(float(weights(new_n, rate) @ extreme @ weights(old_n, rate + margin)) for rate in rates)


@pytest.mark.parametrize("case", cases_of("two_sample_exact"))
def test_p_values_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    tested = fisher(given["new_ok"], given["new_n"], given["baseline_ok"], given["baseline_n"])

    for name, value in expected.items():
        assert getattr(tested, name) == pytest.approx(value, rel=case["tolerance"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases_of("newcombe_difference_ci"))
def test_intervals_equal_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]
    table = given["new_ok"], given["new_n"], given["baseline_ok"], given["baseline_n"]

    interval = newcombe_interval(*table, given["alpha_each_side"])

    assert interval == pytest.approx((expected["lower"], expected["upper"]), abs=case["tolerance"])


@given(tables(500))
def test_fishers_test_agrees_with_scipys(table: Table) -> None:
    from scipy.stats import fisher_exact

    new_good, new_n, old_good, old_n = table
    counts = np.array([[new_good, old_good], [new_n - new_good, old_n - old_good]])

    tested = fisher(*table)

    assert tested.p_new_better == pytest.approx(fisher_exact(counts, "greater").pvalue, rel=1e-8, abs=1e-300)
    assert tested.p_new_worse == pytest.approx(fisher_exact(counts, "less").pvalue, rel=1e-8, abs=1e-300)


@given(tables())
def test_exchanging_the_versions_exchanges_fishers_p_values(table: Table) -> None:
    assert fisher(*exchanged(table)).p_new_better == pytest.approx(fisher(*table).p_new_worse, rel=1e-9)


@given(tables())
def test_fishers_tails_overlap_in_the_observed_table_alone(table: Table) -> None:
    new_good, new_n, old_good, old_n = table
    good = new_good + old_good
    observed = comb(new_n, new_good) * comb(old_n, old_good) / comb(new_n + old_n, good)

    tested = fisher(*table)

    assert tested.p_new_better + tested.p_new_worse == pytest.approx(1 + observed)


@given(tables())
def test_one_more_success_never_speaks_against_the_new_version(table: Table) -> None:
    more = min(table[0] + 1, table[1]), *table[1:]

    assert fisher(*more).p_new_better <= fisher(*table).p_new_better * (1 + 1e-9)


def test_boschloos_test_of_a_published_table() -> None:
    # the example of scipy.stats.boschloo_exact (N. M. Saari 2004): Fisher's p = 0.0483, Boschloo's p = 0.0355
    assert fisher(74, 117, 31, 63).p_new_better == pytest.approx(0.0483, abs=5e-5)
    assert boschloo(74, 117, 31, 63).p_new_better == pytest.approx(0.0355, abs=1e-4)


@settings(max_examples=15)
@given(tables(15))
def test_boschloos_p_values_are_never_above_fishers(table: Table) -> None:
    sharp, plain = boschloo(*table), fisher(*table)

    assert sharp.p_new_better <= plain.p_new_better + 1e-6
    assert sharp.p_new_worse <= plain.p_new_worse + 1e-6


@pytest.mark.parametrize("table", [(0, 0, 0, 0), (0, 0, 3, 4), (3, 4, 0, 0), (4, 4, 9, 9), (0, 4, 0, 9)])
def test_without_trials_or_differences_nothing_is_proven(table: Table) -> None:
    for test in (fisher, boschloo):
        assert (test(*table).p_new_better, test(*table).p_new_worse) == (1.0, 1.0)
    assert not_worse(*table, margin=0.0).p_value == 1.0


@given(tables(200), LEVELS)
def test_newcombes_interval_is_built_from_wilsons(table: Table, alpha: float) -> None:
    new_good, new_n, old_good, old_n = table
    (new_low, new_high), (old_low, old_high) = wilson(new_good, new_n, alpha), wilson(old_good, old_n, alpha)
    new, old = new_good / new_n, old_good / old_n

    low, high = newcombe_interval(*table, alpha)

    assert -1 <= low <= new - old <= high <= 1
    assert (new - old - low) ** 2 == pytest.approx((new - new_low) ** 2 + (old_high - old) ** 2)
    assert (high - new + old) ** 2 == pytest.approx((new_high - new) ** 2 + (old - old_low) ** 2)


def test_newcombes_interval_of_published_tables() -> None:
    # R. G. Newcombe (1998), table II, method 10, 95%: 56/70 - 48/80, 9/10 - 3/10 and 10/10 - 0/10
    assert newcombe_interval(56, 70, 48, 80, 0.025) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe_interval(9, 10, 3, 10, 0.025) == pytest.approx((0.1705, 0.8090), abs=5e-5)
    assert newcombe_interval(10, 10, 0, 10, 0.025) == pytest.approx((0.6075, 1.0000), abs=5e-5)


@given(tables(), LEVELS)
def test_exchanging_the_versions_mirrors_newcombes_interval(table: Table, alpha: float) -> None:
    low, high = newcombe_interval(*table, alpha)

    assert newcombe_interval(*exchanged(table), alpha) == pytest.approx((-high, -low), abs=1e-12)


def test_without_trials_the_difference_is_open() -> None:
    assert newcombe_interval(0, 0, 3, 4, 0.05) == newcombe_interval(3, 4, 0, 0, 0.05) == (-1.0, 1.0)


def test_not_worse_on_the_data_of_chan() -> None:
    # I. S. F. Chan (1998), nephroblastoma: 83 of 88 against 69 of 76 with a margin of 10 points
    tested = not_worse(83, 88, 69, 76, margin=0.1)

    assert tested.exact
    assert tested.p_value == pytest.approx(0.0017, abs=5e-5)


@pytest.mark.parametrize(
    ("table", "margin"),
    [((6, 7, 5, 6), 0.1), ((3, 5, 6, 9), 0.2), ((7, 7, 3, 4), 0.05), ((0, 4, 2, 7), 0.3), ((6, 6, 2, 8), -0.1)],
)
def test_not_worse_equals_the_sum_over_all_tables(table: Table, margin: float) -> None:
    assert not_worse(*table, margin=margin).p_value == pytest.approx(unconditional(table, margin), abs=2e-6)


@settings(max_examples=25)
@given(tables(40))
def test_with_no_margin_it_is_barnards_test(table: Table) -> None:
    from scipy.stats import barnard_exact

    new_good, new_n, old_good, old_n = table
    if new_good * old_n <= old_good * new_n:
        return
    counts = [[new_good, old_good], [new_n - new_good, old_n - old_good]]

    expected = barnard_exact(counts, alternative="greater", pooled=True, n=256).pvalue

    # SciPy's search from 256 points may fall short of the maximum, ours must not
    assert expected - 1e-9 <= not_worse(*table, margin=0.0).p_value <= expected + 1e-4


@pytest.mark.parametrize(("new_n", "old_n", "margin"), [(6, 9, 0.1), (10, 4, 0.05), (8, 8, 0.0), (7, 7, -0.15)])
def test_the_level_is_kept_for_all_rates_of_the_hypothesis(new_n: int, old_n: int, margin: float) -> None:
    p_values = np.array(
        [[not_worse(k, new_n, j, old_n, margin=margin).p_value for j in range(old_n + 1)] for k in range(new_n + 1)]
    )
    rates = np.linspace(0, 1, 41)
    null = [(new, old) for new, old in product(rates, rates) if new - old <= -margin + 1e-12]

    for level in (0.01, 0.05, 0.2):
        sizes = [weights(new_n, new) @ (p_values <= level) @ weights(old_n, old) for new, old in null]
        assert max(sizes) <= level + 1e-9


@settings(max_examples=40)
@given(tables(), MARGINS)
def test_the_same_question_about_failures_has_the_same_answer(table: Table, margin: float) -> None:
    mirrored = in_failures(exchanged(table))

    assert not_worse(*mirrored, margin=margin).p_value == pytest.approx(
        not_worse(*table, margin=margin).p_value, rel=1e-6, abs=1e-12
    )


@settings(max_examples=40)
@given(tables(), MARGINS)
def test_one_more_success_never_makes_the_new_version_worse(table: Table, margin: float) -> None:
    more = min(table[0] + 1, table[1]), *table[1:]

    assert not_worse(*more, margin=margin).p_value <= not_worse(*table, margin=margin).p_value + 1e-9


@settings(max_examples=40)
@given(tables(), MARGINS)
def test_not_worse_and_worse_are_never_both_proven(table: Table, margin: float) -> None:
    not_worse_by, worse_by = not_worse(*table, margin=margin), not_worse(*exchanged(table), margin=-margin)

    assert min(not_worse_by.p_value, worse_by.p_value) >= 0
    assert not_worse_by.p_value + worse_by.p_value >= 1 - 1e-9


def test_large_samples_take_the_asymptotic_score_test() -> None:
    # the likelihood under a difference of -0.05 maximised by scipy.optimize.brentq on its derivative: rates
    # 0.8813814635 and 0.9313814635, z below. (score_test_proportions_2indep of statsmodels 0.15 gives 1.6262 or,
    # with the versions exchanged, 1.6248: a coefficient of its cubic is wrong.)
    tested = not_worse(450, 500, 460, 500, margin=0.05)

    assert not tested.exact
    assert tested.p_value == pytest.approx(ndtr(-1.6344068096737776), rel=1e-10)


def test_exact_and_asymptotic_p_values_meet_where_one_takes_over() -> None:
    exact, asymptotic = not_worse(270, 300, 275, 300, margin=0.05), not_worse(271, 301, 276, 301, margin=0.05)

    assert (exact.exact, asymptotic.exact) == (True, False)
    assert exact.p_value == pytest.approx(asymptotic.p_value, abs=0.02)


def test_the_score_at_its_critical_value_has_the_level() -> None:
    new, old, n, margin = 905, 920, 1_000, 0.05
    expected = score(new / n, n, old / n, n, margin)

    assert -float(ndtri(not_worse(new, n, old, n, margin=margin).p_value)) == pytest.approx(expected, abs=1e-4)


def test_the_greatest_probability_is_found_between_the_points_of_a_grid() -> None:
    peaks = np.array([0.1234567, 0.7654321])

    def two_peaks(rates: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.asarray(np.exp(-500 * (rates[:, None] - peaks) ** 2) @ np.array([0.30, 0.31]))

    assert supremum(two_peaks, 0.0, 1.0, n=100) == pytest.approx(0.31, abs=1e-9)


@pytest.mark.parametrize("margin", [-1.0, 1.0, 2.0, float("nan")])
def test_a_margin_beyond_any_difference_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="between -1 and 1"):
        not_worse(3, 4, 3, 4, margin=margin)


@pytest.mark.parametrize("table", [(5, 4, 3, 4), (-1, 4, 3, 4), (3, 4, 5, 4)])
def test_more_successes_than_trials_are_refused(table: Table) -> None:
    for test in (fisher, boschloo):
        with pytest.raises(ValueError, match="between 0 and the number of trials"):
            test(*table)
    with pytest.raises(ValueError, match="between 0 and the number of trials"):
        not_worse(*table, margin=0.1)
    with pytest.raises(ValueError, match="between 0 and the number of trials"):
        newcombe_interval(*table, 0.05)
