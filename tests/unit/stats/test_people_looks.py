"""Looks at labels before all are given: their level, what they prove, and how many labels are planned."""

from math import comb

import numpy as np
import pytest

from simeval.stats.binomial import clopper_pearson
from simeval.stats.people import Judge, Labelled, PeopleTest
from simeval.stats.people_looks import PeopleLooks, labels_for


def binomial(successes: int, n: int, chance: float) -> float:
    return float(comb(n, successes) * chance**successes * (1 - chance) ** (n - successes))


@pytest.mark.parametrize("judged_good", [0, 31, 88, 180, 199, 200])
def test_the_labels_of_a_look_are_among_those_of_the_next(judged_good: int) -> None:
    deals = PeopleLooks(200, 60, 0.9, 5).deals(judged_good)

    assert [each.total for each in deals] == [20, 30, 40, 50, 60]
    assert sorted(deals, key=lambda each: each.good) == sorted(deals, key=lambda each: each.bad) == list(deals)


def test_a_single_look_is_the_test_of_all_labels() -> None:
    plan, test, good = PeopleLooks(60, 40, 0.8), PeopleTest(60, 40, 0.8), Labelled(28, 5)

    assert plan.deals(50) == (test.deal(50),)
    assert plan.p_above(50, [good]) == test.p_above(50, good)
    assert plan.p_below(50, [good]) == test.p_below(50, good)


@pytest.mark.parametrize("below", [False, True])
def test_an_app_at_the_bar_is_found_on_a_side_at_any_look_in_at_most_five_per_cent(below: bool) -> None:
    level = level_of(PeopleLooks(7, 6, 0.5, 2), 0.9, 0.2, below=below)

    assert 0 < level <= 0.05


def level_of(plan: PeopleLooks, sensitivity: float, specificity: float, *, below: bool) -> float:
    """Return the chance of a wrong verdict at any look, by a sum over all ways of the labels."""
    called = 0.5 * sensitivity + 0.5 * (1 - specificity)
    a, b = 0.5 * sensitivity / called, 0.5 * (1 - sensitivity) / (1 - called) if called < 1 else 0.0
    total = 0.0
    for judged_good in range(plan.judged + 1):
        ways: dict[tuple[Labelled, ...], float] = {(): binomial(judged_good, plan.judged, called)}
        before = Labelled(0, 0)
        for dealt in plan.deals(judged_good):
            more: dict[tuple[Labelled, ...], float] = {}
            for path, chance in ways.items():
                now = path[-1] if path else Labelled(0, 0)
                for good in range(dealt.good - before.good + 1):
                    for bad in range(dealt.bad - before.bad + 1):
                        step = binomial(good, dealt.good - before.good, a) * binomial(bad, dealt.bad - before.bad, b)
                        more[*path, Labelled(now.good + good, now.bad + bad)] = chance * step
            p = plan.p_below if below else plan.p_above
            ended = {path for path, chance in more.items() if chance and p(judged_good, path) <= 0.05}
            total += sum(more[path] for path in ended)
            ways, before = {path: more[path] for path in more.keys() - ended}, dealt
    return total


def test_a_p_value_never_grows_at_a_later_look() -> None:
    plan = PeopleLooks(60, 40, 0.8, 4)
    path = [Labelled(each.good - 1, each.bad // 2) for each in plan.deals(50)]

    found = [plan.p_above(50, path[: look + 1]) for look in range(4)]

    assert found == sorted(found, reverse=True)


def test_an_app_that_is_hopeless_at_the_first_look_is_proven_to_be_below_the_bar() -> None:
    plan = PeopleLooks(60, 40, 0.8, 3)
    first = plan.deals(50)[0]

    assert plan.p_below(50, [Labelled(first.good // 3, 0)]) <= 0.05
    assert plan.p_above(50, [Labelled(first.good // 3, 0)]) == 1.0


def test_the_interval_excludes_the_bar_if_a_side_is_proven_and_holds_that_of_the_labels_alone() -> None:
    plan = PeopleLooks(40, 40, 0.7, 3)
    path = [Labelled(each.good, 0) for each in plan.deals(38)]

    low, high = plan.low(38, path, alpha=0.05), plan.high(38, path, alpha=0.05)

    assert plan.p_above(38, path) <= 0.05
    assert 0.7 < low < 0.95 < high
    assert low == pytest.approx(clopper_pearson(38, 40, 0.05)[0], abs=0.03)


def test_the_interval_of_a_single_look_excludes_the_bar_if_a_side_is_proven() -> None:
    plan, good = PeopleLooks(200, 100, 0.9), [Labelled(79, 11)]

    assert plan.p_above(180, good) == pytest.approx(0.0462, abs=1e-4)
    assert 0.9 < plan.low(180, good, alpha=0.05) < 0.91


def test_if_all_trials_are_labelled_the_interval_is_nearly_that_of_the_labels() -> None:
    plan, good = PeopleLooks(100, 100, 0.9), [Labelled(95, 0)]

    ends = plan.low(100, good, alpha=0.05), plan.high(100, good, alpha=0.05)

    assert ends == pytest.approx(clopper_pearson(95, 100, 0.05), abs=0.005)


def test_the_last_labels_may_still_decide_until_no_look_can() -> None:
    plan = PeopleLooks(60, 40, 0.8, 3)
    _, now, last = plan.deals(50)
    good, unknown = Labelled(now.good - 1, now.bad), Labelled(now.good // 2, 0)

    assert plan.may_decide(50, good, good, after=2, alpha=0.05)
    assert not plan.may_decide(50, unknown, now, after=2, alpha=0.05)
    assert not plan.may_decide(50, last, last, after=3, alpha=0.05)


def test_the_chance_to_pass_over_all_verdicts_of_a_judge_is_the_power_that_was_computed_elsewhere() -> None:
    plan, judge = PeopleLooks(500, 100, 0.9), Judge(0.98, 0.9)
    called = 0.95 * 0.98 + 0.05 * 0.1
    numbers = np.arange(453, 486, 4)  # trials that the judge calls good: within two and a half standard deviations

    weights = np.array([binomial(int(each), 500, called) for each in numbers])
    chances = [plan.chance_to_pass(int(each), judge.chances(called), alpha=0.05) for each in numbers]

    assert float(np.average(chances, weights=weights)) == pytest.approx(0.84, abs=0.01)


def test_the_fewest_labels_are_those_that_reach_the_power() -> None:
    chances = Judge().chances(0.95)

    found = labels_for(PeopleLooks(60, 40, 0.8), 57, chances, alpha=0.05, power=0.8)

    assert found is not None
    assert PeopleLooks(60, found, 0.8).chance_to_pass(57, chances, alpha=0.05) >= 0.8
    assert labels_for(PeopleLooks(60, 40, 0.8), 30, Judge().chances(0.5), alpha=0.05, power=0.8) is None


def test_three_looks_prove_a_little_less_with_the_same_labels() -> None:
    chances = Judge().chances(0.86)

    alone, looked = (PeopleLooks(60, 45, 0.8, n).chance_to_pass(52, chances, alpha=0.05) for n in (1, 3))

    assert alone > looked > 0.85 * alone
