"""The rate that people would find: the deal of labels, the exact test, its interval, and what labels will prove."""

from math import comb

import numpy as np
import pytest

from simeval.stats.binomial import clopper_pearson
from simeval.stats.people import (
    Judge,
    Labelled,
    PeopleTest,
    as_exact_as,
    chance_to_pass,
    labels_for,
    least_labels,
    planned_looks,
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
    assert PeopleTest(judged, labels, bar).chance(statistic, *chances) == pytest.approx(expected, abs=1e-6)


def test_an_app_at_the_bar_passes_in_at_most_five_per_cent_whatever_the_judge_is() -> None:
    judged, test = 12, PeopleTest(12, 8, 0.6)
    passes = {}
    for judged_good in range(judged + 1):
        dealt = test.deal(judged_good)
        for good in range(dealt.good + 1):
            for bad in range(dealt.bad + 1):
                passes[judged_good, good, bad] = test.p_above(judged_good, Labelled(good, bad)) <= 0.05

    for sensitivity in (0.8, 0.95, 1.0):
        for specificity in (0.0, 0.5, 1.0):
            assert _level(test, passes, sensitivity, specificity) <= 0.05


def _level(test: PeopleTest, passes: dict[tuple[int, int, int], bool], sensitivity: float, specificity: float) -> float:
    """Return the chance of a pass at the bar, by a sum over all outcomes."""
    called = test.bar * sensitivity + (1 - test.bar) * (1 - specificity)
    a = test.bar * sensitivity / called if called else 0.0
    b = test.bar * (1 - sensitivity) / (1 - called) if called < 1 else 0.0
    total = 0.0
    for (judged_good, good, bad), passed in passes.items():
        if passed:
            dealt = test.deal(judged_good)
            total += (
                _binomial(judged_good, test.judged, called)
                * _binomial(good, dealt.good, a)
                * _binomial(bad, dealt.bad, b)
            )
    return total


def _binomial(successes: int, n: int, chance: float) -> float:
    return float(comb(n, successes) * chance**successes * (1 - chance) ** (n - successes))


def test_the_interval_excludes_the_bar_where_a_side_is_proven() -> None:
    test = PeopleTest(200, 100, 0.9)

    low, high = test.interval(180, Labelled(80, 11), alpha=0.05)

    assert test.p_above(180, Labelled(80, 11)) <= 0.05
    assert 0.9 < low < high


def test_where_all_trials_are_labelled_the_interval_is_nearly_that_of_the_labels() -> None:
    test = PeopleTest(100, 100, 0.9)

    low, high = test.interval(100, Labelled(95, 0), alpha=0.05)

    assert (low, high) == pytest.approx(clopper_pearson(95, 100, 0.05), abs=0.005)


def test_too_few_labels_prove_nothing_even_if_all_are_good() -> None:
    least = least_labels(0.9, alpha=0.05)
    enough, fewer = PeopleTest(least, least, 0.9), PeopleTest(least - 1, least - 1, 0.9)

    assert enough.p_above(least, Labelled(least, 0)) <= 0.05
    assert fewer.p_above(least - 1, Labelled(least - 1, 0)) > 0.05


def test_the_chance_to_pass_over_all_verdicts_of_a_judge_is_the_power_that_was_computed_elsewhere() -> None:
    test, judge = PeopleTest(500, 100, 0.9), Judge(0.98, 0.9)
    called = 0.95 * 0.98 + 0.05 * 0.1
    numbers = np.arange(453, 486, 4)  # trials that the judge calls good: within two and a half standard deviations

    weights = np.array([_binomial(int(each), 500, called) for each in numbers])
    chances = [chance_to_pass([test], int(each), judge.chances(called), alpha=0.05) for each in numbers]

    assert float(np.average(chances, weights=weights)) == pytest.approx(0.84, abs=0.01)


def test_the_fewest_labels_are_those_that_reach_the_power() -> None:
    chances = Judge().chances(0.95)

    found = labels_for(60, 57, 0.8, chances, alpha=0.05, power=0.8)

    assert found is not None
    assert chance_to_pass([PeopleTest(60, found, 0.8)], 57, chances, alpha=0.05) >= 0.8
    assert labels_for(60, 30, 0.8, Judge().chances(0.5), alpha=0.05, power=0.8) is None


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


@pytest.mark.parametrize("judged_good", [0, 31, 88, 180, 199, 200])
def test_the_labels_of_a_look_are_among_those_of_the_next(judged_good: int) -> None:
    deals = [each.deal(judged_good) for each in planned_looks(200, 60, 0.9, 5)]

    assert [each.total for each in deals] == [30, 38, 45, 53, 60]
    assert sorted(deals, key=lambda each: each.good) == sorted(deals, key=lambda each: each.bad) == deals


def test_the_looks_of_a_plan_share_the_level_of_one_test() -> None:
    looks = planned_looks(200, 60, 0.9, 3)

    assert sum(each.part for each in looks) == pytest.approx(1)
    assert planned_looks(200, 60, 0.9, 1) == (PeopleTest(200, 60, 0.9),)


def test_an_app_at_the_bar_passes_at_any_look_in_at_most_five_per_cent() -> None:
    looks = planned_looks(7, 7, 0.5, 2)

    assert 0 < _level_of(looks, 1.0, 1.0) <= 0.05
    assert 0 < _level_of(looks, 0.9, 0.2) <= 0.05


def _level_of(looks: tuple[PeopleTest, ...], sensitivity: float, specificity: float) -> float:
    """Return the chance of a pass at any look, by a sum over all ways of the labels."""
    called = 0.5 * sensitivity + 0.5 * (1 - specificity)
    a, b = 0.5 * sensitivity / called, 0.5 * (1 - sensitivity) / (1 - called) if called < 1 else 0.0
    total = 0.0
    for judged_good in range(8):
        ways, before = {(0, 0): _binomial(judged_good, 7, called)}, Labelled(0, 0)
        for test in looks:
            dealt = test.deal(judged_good)
            more: dict[tuple[int, int], float] = {}
            for (good, bad), chance in ways.items():
                for of_good in range(dealt.good - before.good + 1):
                    for of_bad in range(dealt.bad - before.bad + 1):
                        step = _binomial(of_good, dealt.good - before.good, a)
                        step *= _binomial(of_bad, dealt.bad - before.bad, b)
                        key = good + of_good, bad + of_bad
                        more[key] = more.get(key, 0.0) + chance * step
            passed = {each for each in more if test.p_above(judged_good, Labelled(*each)) <= 0.05}
            total += sum(more[each] for each in passed)
            ways, before = {key: more[key] for key in more.keys() - passed}, dealt
    return total


def test_more_looks_prove_a_little_less_and_need_more_labels() -> None:
    chances = Judge().chances(0.86)

    alone, looked = (chance_to_pass(planned_looks(60, 45, 0.8, n), 52, chances, alpha=0.05) for n in (1, 3))

    assert alone > looked > 0.5 * alone
    assert least_labels(0.8, alpha=0.05, part=planned_looks(60, 45, 0.8, 3)[-1].part) > least_labels(0.8, alpha=0.05)
