"""Inference on turns within conversations."""

from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.stats.binomial import clopper_pearson
from simeval.stats.clusters import (
    anova_icc,
    cluster_ratio,
    conversation_share,
    design_effect,
    icc,
    korn_graubard,
    mean_squares,
)
from tests.support.golden import cases_of

GOOD = [5, 3, 7, 4, 6, 2, 8, 5, 4, 6, 5, 1]
SIZES = [5, 4, 7, 4, 7, 4, 8, 5, 4, 6, 6, 3]
COUNTS = st.lists(
    st.integers(1, 8).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))), min_size=2, max_size=20
)


def turns(good: list[int], sizes: list[int]) -> tuple[list[float], list[int]]:
    """Write counts as one 0 or 1 for each turn, with the conversation of each."""
    values = [float(turn < count) for count, size in zip(good, sizes, strict=True) for turn in range(size)]
    return values, [name for name, size in enumerate(sizes) for _ in range(size)]


@pytest.mark.parametrize("case", cases_of("anova_icc"))
def test_the_correlation_equals_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = anova_icc(given["ok"], given["turns"])

    assert (found.icc, found.n0, found.design_effect) == pytest.approx(
        (expected["icc"], expected["n0"], expected["design_effect"]), abs=case["tolerance"]
    )


@pytest.mark.parametrize("case", cases_of("cluster_ratio_se"))
def test_the_ratio_equals_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = cluster_ratio(given["ok"], given["turns"], p0=given["p0"])

    assert found.df == expected["df"]
    assert (found.ratio, found.standard_error, found.t, found.p_pass, found.mean_share) == pytest.approx(
        tuple(expected[name] for name in ("ratio", "se", "t", "p_pass", "mean_share")), abs=case["tolerance"]
    )


@pytest.mark.parametrize("case", cases_of("conversation_share_test"))
def test_the_share_per_conversation_equals_the_reference(case: dict[str, Any]) -> None:
    given, expected = case["inputs"], case["expected"]

    found = conversation_share(given["ok"], given["turns"], p0=given["p0"], alpha=given["alpha"])

    assert found.p_pass == pytest.approx(expected["p_pass"], abs=case["tolerance"])
    assert found.lower_bound == pytest.approx(expected["lower_bound"], abs=case["tolerance"])


def test_the_mean_squares_are_those_of_an_analysis_of_variance() -> None:
    from scipy.stats import f_oneway

    groups = [[1.5, 2.0, 4.0], [3.0, 3.5], [7.0, 5.0, 6.0, 8.5]]
    values = [value for group in groups for value in group]

    found = mean_squares(values, ["a", "a", "a", "b", "b", "c", "c", "c", "c"])

    assert found.between / found.within == pytest.approx(float(f_oneway(*groups).statistic))
    assert found.n0 == pytest.approx((9 - (9 + 4 + 16) / 9) / 2)


@given(COUNTS)
def test_the_correlation_of_counts_is_that_of_their_turns(counts: list[tuple[int, int]]) -> None:
    good, sizes = [count for count, _ in counts], [size for _, size in counts]

    by_counts, by_turns = anova_icc(good, sizes), icc(*turns(good, sizes))

    assert by_counts.icc == pytest.approx(by_turns.icc, nan_ok=True)
    assert by_counts.design_effect == pytest.approx(by_turns.design_effect, nan_ok=True)
    assert design_effect(good, sizes) == pytest.approx(by_turns.design_effect, nan_ok=True)


@given(COUNTS)
def test_the_correlation_of_turns_is_never_above_1(counts: list[tuple[int, int]]) -> None:
    found = anova_icc(*zip(*counts, strict=True)).icc

    assert isnan(found) or found <= 1 + 1e-12


@given(st.lists(st.integers(-9, 9), min_size=6, max_size=6), st.sampled_from([-1000.0, 0.1, 1e6]))
def test_the_correlation_does_not_change_with_the_unit_or_zero_of_the_values(values: list[int], start: float) -> None:
    clusters = [1, 1, 2, 2, 3, 3]

    found = icc([3 * value + start for value in values], clusters)

    assert found.icc == pytest.approx(icc(values, clusters).icc, rel=1e-6, abs=1e-6, nan_ok=True)


def test_conversations_that_are_all_good_or_all_bad_have_correlation_1() -> None:
    found = anova_icc([4, 0, 6, 0], [4, 5, 6, 3])

    assert found.icc == pytest.approx(1.0)
    assert found.design_effect > 4


def test_turns_that_vary_within_conversations_alone_have_a_negative_correlation() -> None:
    # with k turns each it cannot be below -1 / (k - 1)
    assert anova_icc([2, 2, 2], [4, 4, 4]).icc == pytest.approx(-1 / 3)


@pytest.mark.parametrize("counts", [([], []), ([2], [3]), ([3, 4], [3, 4]), ([0, 0], [3, 4]), ([1, 0], [1, 1])])
def test_the_correlation_is_undefined_where_nothing_can_be_compared(counts: tuple[list[int], list[int]]) -> None:
    assert isnan(anova_icc(*counts).icc)


def test_values_that_are_all_equal_have_no_correlation_or_design_effect() -> None:
    found = icc([0.1] * 7, [1, 1, 2, 2, 3, 3, 3])

    assert isnan(found.icc)
    assert isnan(found.design_effect)


@given(COUNTS, st.floats(0.05, 0.95))
def test_the_two_sides_of_the_t_test_add_up_to_1(counts: list[tuple[int, int]], p0: float) -> None:
    good, sizes = [count for count, _ in counts], [size for _, size in counts]
    bad = [size - count for count, size in counts]

    above, below = cluster_ratio(good, sizes, p0=p0), cluster_ratio(bad, sizes, p0=1 - p0)

    assert above.p_pass is not None
    assert below.p_pass is not None
    if above.standard_error > 0:
        assert above.p_pass + below.p_pass == pytest.approx(1.0)
    else:
        assert isnan(above.p_pass)


def test_a_ratio_of_single_turns_has_the_standard_error_of_a_mean() -> None:
    found = cluster_ratio([1, 0, 1, 1, 0, 1], [1] * 6)

    assert found.standard_error == pytest.approx(float(np.std([1, 0, 1, 1, 0, 1], ddof=1)) / 6**0.5)
    assert found.independent_standard_error == pytest.approx((4 / 6 * 2 / 6 / 6) ** 0.5)
    assert (found.t, found.p_pass) == (None, None)


def test_long_bad_conversations_lower_the_ratio_more_than_the_mean_share() -> None:
    found = cluster_ratio([2, 2, 2, 0], [2, 2, 2, 20])

    assert found.ratio == pytest.approx(6 / 26)
    assert found.mean_share == pytest.approx(0.75)


def test_equal_shares_prove_nothing_by_the_t_test() -> None:
    found = cluster_ratio([2, 4, 6], [3, 6, 9], p0=0.5)

    assert found.standard_error == 0.0
    assert found.p_pass is not None
    assert isnan(found.p_pass)


def test_a_ratio_needs_two_conversations_for_a_standard_error() -> None:
    assert isnan(cluster_ratio([2], [3]).standard_error)
    assert isnan(cluster_ratio([], []).ratio)


def test_korn_and_graubards_interval_by_its_formula() -> None:
    from scipy.stats import beta, t

    found = korn_graubard(GOOD, SIZES, alpha=0.05)

    p, error = 56 / 63, 0.048387787743951104  # of the reference case cluster-ratio
    n = p * (1 - p) / error**2 * (t.ppf(0.05, 62) / t.ppf(0.05, 11)) ** 2
    assert found.effective_n == pytest.approx(n)
    assert found.low == pytest.approx(float(beta.ppf(0.05, n * p, n - n * p + 1)))
    assert found.high == pytest.approx(float(beta.ppf(0.95, n * p + 1, n - n * p)))


@given(COUNTS)
def test_korn_and_graubards_interval_contains_the_ratio_and_counts_no_turn_twice(counts: list[tuple[int, int]]) -> None:
    good, sizes = [count for count, _ in counts], [size for _, size in counts]

    found = korn_graubard(good, sizes, alpha=0.05)

    assert 0 <= found.low <= found.ratio <= found.high <= 1
    assert found.effective_n <= sum(sizes)


@given(COUNTS)
def test_korn_and_graubards_interval_is_mirrored_by_counting_bad_turns(counts: list[tuple[int, int]]) -> None:
    good, sizes = [count for count, _ in counts], [size for _, size in counts]

    found = korn_graubard(good, sizes, alpha=0.05)
    mirrored = korn_graubard([size - count for count, size in counts], sizes, alpha=0.05)

    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


def test_without_variance_each_conversation_counts_as_one_turn() -> None:
    perfect, hopeless = korn_graubard([4] * 50, [4] * 50, alpha=0.05), korn_graubard([0] * 50, [4] * 50, alpha=0.05)

    assert (perfect.low, perfect.high) == pytest.approx(clopper_pearson(50, 50, 0.05))
    assert (hopeless.low, hopeless.high) == pytest.approx(clopper_pearson(0, 50, 0.05))
    assert korn_graubard([2, 4, 6], [3, 6, 9], alpha=0.05).effective_n == 3


def test_one_conversation_or_none_leaves_the_ratio_open() -> None:
    for counts in (([3], [4]), ([], [])):
        found = korn_graubard(*counts, alpha=0.05)
        assert (found.low, found.high) == (0.0, 1.0)


@settings(max_examples=20)
@given(COUNTS, st.floats(0.05, 0.95))
def test_the_bound_of_shares_lies_above_the_bar_exactly_when_they_are_proven_above(
    counts: list[tuple[int, int]], p0: float
) -> None:
    good, sizes = [count for count, _ in counts], [size for _, size in counts]

    found = conversation_share(good, sizes, p0=p0, alpha=0.05)

    assert found.lower_bound <= found.mean_share + 1e-9
    assert found.upper_bound >= found.mean_share - 1e-9
    if abs(found.lower_bound - p0) > 1e-5:
        assert (found.lower_bound > p0) == (found.p_pass <= 0.05 + 1e-9)
    if abs(found.upper_bound - p0) > 1e-5:
        assert (found.upper_bound < p0) == (found.p_fail <= 0.05 + 1e-9)


def test_more_turns_in_a_conversation_prove_no_more_than_one() -> None:
    few, many = (conversation_share([k] * 28, [k] * 28, p0=0.9, alpha=0.05) for k in (1, 50))

    # 28 conversations are one too few for 90 % at 5 %: 0.9**28 = 0.0523
    assert few.p_pass == pytest.approx(0.9**28, abs=1e-6)
    assert many.p_pass == pytest.approx(few.p_pass, abs=1e-6)


def test_no_conversations_prove_nothing() -> None:
    found = conversation_share([], [], p0=0.5, alpha=0.05)

    assert (found.p_pass, found.p_fail, found.lower_bound, found.upper_bound) == (1.0, 1.0, 0.0, 1.0)
    assert isnan(found.mean_share)


@pytest.mark.parametrize(
    ("good", "sizes", "message"),
    [
        ([0], [0], "no turns"),
        ([5], [4], "more good turns than turns"),
        ([-1], [4], "fewer than 0"),
        ([1, 2], [4], "equal length"),
        ([float("nan")], [4], "from 0 to its size"),
    ],
)
def test_counts_that_cannot_be_are_refused(good: list[float], sizes: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cluster_ratio(good, sizes)


def test_values_that_are_missing_or_without_a_cluster_are_refused() -> None:
    with pytest.raises(ValueError, match="missing or infinite"):
        icc([1.0, float("nan")], [1, 1])
    with pytest.raises(ValueError, match="equal length"):
        icc([1.0, 2.0], [1])
