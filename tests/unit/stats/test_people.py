"""The rate that people would find: the deal of labels, the exact test, its interval, and what labels will prove."""

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest

from benchmarks.statistics.people_cells import Truth
from simeval.stats.people import (
    Judge,
    Labelled,
    PeopleTest,
    _Surface,
    as_exact_as,
    least_labels,
)


@pytest.mark.parametrize(
    ("judged_good", "judged", "labels", "bar", "dealt"),
    [
        (450, 500, 100, 0.9, (72, 28)),
        (180, 200, 100, 0.9, (80, 20)),
        (420, 500, 100, 0.8, (68, 32)),
        (95, 100, 50, 0.9, (45, 5)),
        (500, 500, 100, 0.9, (100, 0)),
    ],
)
def test_labels_are_dealt_by_the_verdict_of_the_judge(
    judged_good: int, judged: int, labels: int, bar: float, dealt: tuple[int, int]
) -> None:
    assert PeopleTest(judged, labels, bar).deal(judged_good) == Labelled(*dealt)


@pytest.mark.parametrize("judged_good", range(0, 61, 5))
def test_a_deal_uses_all_labels_and_no_trial_twice(judged_good: int) -> None:
    dealt = PeopleTest(60, 40, 0.9).deal(judged_good)

    assert dealt.total == 40
    assert dealt.good <= judged_good
    assert dealt.bad <= 60 - judged_good


# reference values of another program, on a finer grid
@pytest.mark.parametrize(
    ("judged_good", "good", "judged", "bar", "p"),
    [
        (450, (72, 15), 500, 0.9, 0.008245),
        (450, (71, 15), 500, 0.9, 0.050416),
        (180, (79, 11), 200, 0.9, 0.046221),
        (430, (62, 25), 500, 0.8, 0.060787),
        (500, (97, 0), 500, 0.9, 0.008336),
        (450, (40, 5), 500, 0.9, 1.0),  # hopeless: its box never meets the bar
        (450, (60, 15), 500, 0.9, 0.999450),
        (0, (0, 96), 500, 0.9, 0.024211),  # a judge that fails everything
    ],
)
def test_the_p_value_of_a_pass(judged_good: int, good: tuple[int, int], judged: int, bar: float, p: float) -> None:
    assert PeopleTest(judged, 100, bar).p_above(judged_good, Labelled(*good)) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("judged_good", "judged", "good", "p"),
    [(420, 500, (60, 8), 0.041186), (400, 500, (50, 16), 0.002775), (150, 200, (48, 10), 0.000501)],
)
def test_the_p_value_of_a_fail(judged_good: int, judged: int, good: tuple[int, int], p: float) -> None:
    assert PeopleTest(judged, 100, 0.9).p_below(judged_good, Labelled(*good)) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("statistic", "judged", "labels", "bar", "chances", "expected"),
    [
        (2, 100, 50, 0.9, (0.92, 0.95, 0.325), 0.038453),
        (2, 200, 100, 0.9, (0.9, 0.96, 0.36), 0.031157),
        (2, 200, 100, 0.9, (0.865, 0.98844, 0.7036), 0.619439),
        (2.2, 500, 100, 0.9, (0.9075, 0.99449, 0.513514), 0.721575),
        (1.9, 100, 50, 0.8, (0.7, 0.95, 0.45), 0.026211),
    ],
)
def test_the_chance_of_a_statistic(
    statistic: float, judged: int, labels: int, bar: float, chances: tuple[float, float, float], expected: float
) -> None:
    w, a, b = chances
    surface = _Surface(PeopleTest(judged, labels, bar), bar, mirrored=False)

    assert surface.chances(statistic, w, np.array([a]), np.array([b])) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sensitivity", [0.8, 0.95, 1.0])
@pytest.mark.parametrize("specificity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_an_app_at_the_bar_is_wrongly_judged_in_at_most_five_per_cent_and_in_no_more_than_its_bound(
    sensitivity: float, specificity: float, mirrored: bool
) -> None:
    test = PeopleTest(12, 8, 0.6)

    bound, _ = Truth.at_the_bar(test, (sensitivity, specificity), mirrored=mirrored).bound()

    assert _level(test, _rejected(test, mirrored), sensitivity, specificity) - 1e-12 <= bound <= 0.05


@pytest.mark.parametrize("mirrored", [False, True])
def test_no_outcome_is_rejected_that_its_bound_counts_as_accepted(mirrored: bool) -> None:
    test = PeopleTest(40, 20, 0.8)
    found, accepted, tried = Truth.at_the_bar(test, (0.9, 0.8), mirrored=mirrored).accepted()
    counted = np.flatnonzero(accepted & (found.at_least() < 0.08))

    outcomes = np.column_stack([found.judged_good, found.good, found.bad])[counted].tolist()
    rejected = [each for each in outcomes if _p_value(test, *each, mirrored=mirrored) <= 0.05]

    assert len(counted) > tried > 0
    assert rejected == []


def _p_value(test: PeopleTest, judged_good: int, good: int, bad: int, *, mirrored: bool) -> float:
    """Return the p-value of an outcome as a side of the test sees it."""
    if not mirrored:
        return test.p_above(judged_good, Labelled(good, bad))
    dealt = test.deal(test.judged - judged_good)
    return test.p_below(test.judged - judged_good, Labelled(dealt.good - bad, dealt.bad - good))


@cache
def _rejected(test: PeopleTest, mirrored: bool) -> Sequence[tuple[int, int, int]]:
    """Return the trials judged good and the good labels of all outcomes that pass, or those that fail."""
    null = 1 - test.bar if mirrored else test.bar
    return [
        (judged_good, good, bad)
        for judged_good in range(test.judged + 1)
        for dealt in [test.deal(judged_good)]
        for good, bad in product(range(dealt.good + 1), range(dealt.bad + 1))
        if test.p_value(judged_good, Labelled(good, bad), null, mirrored=mirrored, limit=0.05) <= 0.05
    ]


def _level(test: PeopleTest, rejected: Sequence[tuple[int, int, int]], sensitivity: float, specificity: float) -> float:
    """Return the chance of these outcomes at the bar."""
    called = test.bar * sensitivity + (1 - test.bar) * (1 - specificity)
    a = test.bar * sensitivity / called if called else 0.0
    b = test.bar * (1 - sensitivity) / (1 - called) if called < 1 else 0.0
    total = 0.0
    for judged_good, good, bad in rejected:
        dealt = test.deal(judged_good)
        total += (
            _binomial(judged_good, test.judged, called) * _binomial(good, dealt.good, a) * _binomial(bad, dealt.bad, b)
        )
    return total


def _binomial(successes: int, n: int, chance: float) -> float:
    return float(comb(n, successes) * chance**successes * (1 - chance) ** (n - successes))


def test_too_few_labels_prove_nothing_even_if_all_are_good() -> None:
    least = least_labels(0.9, alpha=0.05)
    enough, fewer = PeopleTest(least, least, 0.9), PeopleTest(least - 1, least - 1, 0.9)

    assert enough.p_above(least, Labelled(least, 0)) <= 0.05
    assert fewer.p_above(least - 1, Labelled(least - 1, 0)) > 0.05


def test_the_rate_of_people_follows_from_that_of_a_judge_whose_errors_are_known() -> None:
    judge = Judge(0.9, 0.8)

    assert judge.rate(0.6 * 0.9 + 0.4 * 0.2) == pytest.approx(0.6)
    assert judge.chances(0.62) == pytest.approx((0.54 / 0.62, 0.06 / 0.38))


def test_labels_dealt_by_a_good_judge_are_as_exact_as_many_more_of_a_random_sample() -> None:
    chances = Judge(0.86, 0.86).chances(0.4779)  # llmbar: GPT-4, swap and CoT; people .47

    assert as_exact_as(PeopleTest(500, 55, 0.47), 239, chances) == pytest.approx(100, abs=3)
    assert as_exact_as(PeopleTest(500, 55, 0.47), 239, (0.47, 0.47)) == pytest.approx(55, abs=0.1)


def test_a_judge_is_found_from_the_labels_by_its_verdict() -> None:
    judge = Judge(0.9, 0.8)

    found = Judge.found(0.62, judge.chances(0.62))

    assert (found.sensitivity, found.specificity) == pytest.approx((0.9, 0.8))
    assert found.auc == pytest.approx(0.85)
