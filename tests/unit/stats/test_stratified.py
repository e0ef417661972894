"""Shares and agreement from samples of two strata: what they estimate, and that bounds hold."""

from dataclasses import astuple
from math import isnan

import numpy as np
import pytest

from simeval.stats.agreement import cohen_kappa, krippendorff_alpha
from simeval.stats.stratified import Stratum, stratified_rates, weighted_alpha, weighted_kappa

ALPHA = 0.05


def test_each_label_counts_for_as_many_conversations_as_its_stratum_has_for_it() -> None:
    found = stratified_rates(Stratum(900, 30, 27), Stratum(100, 50, 10), alpha=ALPHA)

    assert found.rate.value == pytest.approx(0.9 * 0.9 + 0.1 * 0.2)
    assert found.sensitivity.value == pytest.approx(810 / 830)
    assert found.specificity.value == pytest.approx(80 / 170)
    assert found.accuracy.value == pytest.approx((810 + 80) / 1000)
    for each in (found.rate, found.sensitivity, found.specificity, found.accuracy):
        assert 0 < each.low < each.value < each.high < 1


def test_where_passes_are_failures_sensitivity_is_specificity() -> None:
    one = stratified_rates(Stratum(70, 20, 14), Stratum(30, 25, 5), alpha=ALPHA)
    other = stratified_rates(Stratum(30, 25, 20), Stratum(70, 20, 6), alpha=ALPHA)

    assert astuple(one.sensitivity) == pytest.approx(astuple(other.specificity))
    assert one.rate.low == pytest.approx(1 - other.rate.high)


def test_more_labels_say_more() -> None:
    few = stratified_rates(Stratum(900, 30, 27), Stratum(100, 20, 4), alpha=ALPHA).sensitivity
    more = stratified_rates(Stratum(900, 300, 270), Stratum(100, 100, 20), alpha=ALPHA).sensitivity

    assert few.low < more.low < more.value < more.high < few.high


def test_a_stratum_without_labels_says_nothing_about_its_part() -> None:
    found = stratified_rates(Stratum(90, 10, 10), Stratum(10, 0, 0), alpha=ALPHA)

    assert isnan(found.rate.value)
    assert 0.3 < found.rate.low < 0.9
    assert found.rate.high == 1


def test_of_no_conversations_nothing_is_known() -> None:
    found = stratified_rates(Stratum(0, 0, 0), Stratum(0, 0, 0), alpha=ALPHA)

    assert isnan(found.sensitivity.value)
    assert (found.sensitivity.low, found.sensitivity.high) == (0, 1)


def test_a_judge_that_fails_nothing_has_a_specificity_near_none() -> None:
    found = stratified_rates(Stratum(300, 60, 50), Stratum(0, 0, 0), alpha=ALPHA)

    assert found.specificity.value == found.specificity.low == 0
    assert found.specificity.high < 0.3


@pytest.mark.parametrize(("passes", "p1", "p0"), [(0.9, 0.95, 0.3), (0.5, 0.8, 0.2), (0.7, 0.3, 0.7)])
def test_bounds_hold_at_least_as_often_as_they_say(passes: float, p1: float, p0: float) -> None:
    """80 runs of 300 trials; of what the judge passes, and of what it fails, people pass these shares."""
    chance = np.random.default_rng(7)
    met = passes * p1 + (1 - passes) * p0
    truth = (passes * p1 / met, (1 - passes) * (1 - p0) / (1 - met), met)
    outside = np.zeros(6)
    for _ in range(80):
        size = int(chance.binomial(300, passes))
        strata = [
            Stratum(each, min(each, 30), int(chance.binomial(min(each, 30), p)))
            for each, p in ((size, p1), (300 - size, p0))
        ]
        found = stratified_rates(strata[0], strata[1], alpha=ALPHA)
        shares = (found.sensitivity, found.specificity, found.rate)
        outside += [
            is_out for each, at in zip(shares, truth, strict=True) for is_out in (each.low > at, each.high < at)
        ]

    assert outside.max() <= 80 * ALPHA


def test_with_equal_weights_coefficients_are_the_plain_ones() -> None:
    people, judge = np.array([1.0] * 12 + [0.0] * 8), np.array([1.0] * 9 + [0.0] * 9 + [1.0] * 2)
    weights = np.full(20, 3.0)

    assert weighted_kappa(people, judge, weights) == pytest.approx(cohen_kappa(people, judge).value)
    assert weighted_alpha(people, judge, weights) == pytest.approx(
        krippendorff_alpha([people, judge], level="ordinal").value
    )


def test_a_weight_is_as_so_many_pairs() -> None:
    people, judge, weights = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 1]), np.array([6.0, 1, 3, 2])
    times = weights.astype(int)

    found = weighted_kappa(people, judge, weights)

    assert found == pytest.approx(cohen_kappa(np.repeat(people, times), np.repeat(judge, times)).value)


def test_coefficients_of_one_value_throughout_are_undefined() -> None:
    ones = np.ones(3)

    assert isnan(weighted_kappa(ones, ones, ones))
    assert isnan(weighted_alpha(ones, ones, ones))
