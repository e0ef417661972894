"""pass^k: the test of a rate, in terms of conversations in a row."""

import pytest

from simeval.errors import DefinitionError
from simeval.evaluators import PassHatKEvaluator, ProportionEvaluator

FOUR = PassHatKEvaluator(4, 0.9)


def test_the_rate_that_is_tested_is_the_kth_root() -> None:
    assert PassHatKEvaluator(2, 0.81).required_share == pytest.approx(0.9)
    assert FOUR.required_share == pytest.approx(0.974004)


def test_the_fewest_that_pass_are_all_good() -> None:
    assert FOUR.minimum_trials() == 114  # 0.974004**113 = 0.0510, 0.974004**114 = 0.0497

    assert FOUR.evaluate([10.0] * 114).passed
    assert FOUR.evaluate([10.0] * 113).inconclusive


def test_one_of_one_is_the_share_itself() -> None:
    scores = [8.0] * 57 + [3.0] * 3
    once, share = PassHatKEvaluator(1, 0.9).evaluate(scores), ProportionEvaluator(6, 0.9).evaluate(scores)

    assert (once.p_value, once.p_value_fail, once.confidence_interval) == (
        share.p_value,
        share.p_value_fail,
        share.confidence_interval,
    )


def test_estimate_and_interval_are_the_chance_of_k_in_a_row() -> None:
    scores = [1.0] * 90 + [0.0] * 10

    verdict = PassHatKEvaluator(2, 0.5, threshold=1).evaluate(scores)
    share = ProportionEvaluator(1, 0.5**0.5).evaluate(scores)

    assert verdict.estimate == pytest.approx(0.81)
    assert share.confidence_interval is not None
    assert verdict.confidence_interval == pytest.approx(tuple(bound**2 for bound in share.confidence_interval))
    assert verdict.p_value == share.p_value


def test_the_sequential_test_is_that_of_the_rate() -> None:
    test = FOUR.running_test(200)
    share = ProportionEvaluator(6, 0.9**0.25).running_test(200)

    assert test.acceptance() == share.acceptance() != ""


def test_a_crash_is_a_miss_and_a_missing_trial_counts_against_both_sides() -> None:
    assert FOUR.evaluate([10.0] * 150, misses=3).inconclusive
    assert FOUR.evaluate([10.0] * 113 + [float("nan")]).inconclusive
    assert FOUR.evaluate([10.0] * 10, misses=10).failed


def test_a_sentence_says_the_rate_and_the_chance() -> None:
    told = FOUR.tell("books a table", FOUR.evaluate([9.0] * 98 + [2.0] * 2))

    assert told == (
        "books a table in 98 of 100 conversations, 4 times in a row in 92.2%; required: 90% (a rate of 97.4%)"
    )
    assert FOUR.tell("x", FOUR.evaluate([])) == "x, 4 times in a row: not measured; required: 90% (a rate of 97.4%)"


def test_what_cannot_be_asked_is_refused() -> None:
    for k, at_least in ((0, 0.9), (4, 1.0), (4, 0.0)):
        with pytest.raises(DefinitionError):
            PassHatKEvaluator(k, at_least)
