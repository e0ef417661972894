"""The test of a mutant and a requirement: its level, its power, and which pairs it counts."""

from random import Random

import pytest

from simeval import MeanEvaluator, ProportionEvaluator
from simeval.core.trial import UNNEEDED, Failure, Score
from simeval.extras.mutate.noticing import SPARE, least_trials, p_value, sign_of

SHARE = ProportionEvaluator(min_proportion=0.9)
CRASH = Failure(stage="app", error="broken", cause="app")
LOST = Failure(stage="judge", error="no reply", cause="timeout")


@pytest.mark.parametrize("hypotheses", [1, 12, 48, 500])
def test_as_many_trials_prove_it_as_said_and_one_fewer_do_not(hypotheses: int) -> None:
    least = least_trials(hypotheses, 0.05)

    assert p_value([1] * least) <= 0.05 / hypotheses < p_value([1] * (least - 1))


def test_ten_trials_prove_a_mutant_of_a_small_suite() -> None:
    assert least_trials(24, 0.05) == 10
    assert SPARE == 2


def test_pairs_without_a_difference_prove_nothing() -> None:
    assert p_value([]) == p_value([0] * 50) == p_value([-1] * 50) == 1


def test_apps_that_differ_by_chance_are_noticed_no_more_often_than_the_level_at_any_moment() -> None:
    draws = Random(5)
    runs = [[draws.choice([1, -1]) for _ in range(40)] for _ in range(2000)]

    noticed = sum(p_value(each) <= 0.05 for each in runs)  # the largest evidence of all moments

    assert noticed / len(runs) <= 0.05


@pytest.mark.parametrize(
    ("before", "after", "sign"),
    [
        (Score(value=1), Score(value=0), 1),
        (Score(value=0), Score(value=1), -1),
        (Score(value=0), Score(value=0), 0),
        (Score(value=1), CRASH, 1),
        (Score(value=0), CRASH, 0),
        (CRASH, Score(value=1), -1),
        (Score(value=1), LOST, None),
        (UNNEEDED, Score(value=1), None),
    ],
)
def test_a_pair_is_worse_where_only_the_mutant_fails(
    before: Score | Failure, after: Score | Failure, sign: int | None
) -> None:
    assert sign_of(before, after, SHARE, "fail") == sign


def test_a_requirement_on_a_mean_is_missed_by_a_trial_on_the_bad_side_of_its_bar() -> None:
    high, low = MeanEvaluator(at_least=3, bounds=(0, 10)), MeanEvaluator(at_most=3, bounds=(0, 10))
    pair = Score(value=5), Score(value=2)

    assert (sign_of(*pair, high, "fail"), sign_of(*pair, low, "fail")) == (1, -1)
    assert sign_of(Score(value=5), Score(value=4), high, "fail") == 0
