"""Evaluators: verdicts on many scores."""

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator


def yes_no(yes: int, no: int) -> list[bool]:
    return [True] * yes + [False] * no


# ---- proportions


def test_30_of_30_prove_90_percent() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(30, 0))

    assert (verdict.outcome, verdict.n, verdict.estimate, verdict.reason) == ("pass", 30, 1.0, "")
    assert verdict.p_value == pytest.approx(0.9**30)
    assert verdict.confidence_interval == pytest.approx((0.05 ** (1 / 30), 1.0))
    assert verdict.explanation == ""
    assert (verdict.passed, verdict.failed, verdict.inconclusive) == (True, False, False)


def test_20_of_30_disprove_90_percent() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(20, 10))

    assert (verdict.outcome, verdict.reason) == ("fail", "proven_below")
    assert verdict.p_value_fail is not None
    assert verdict.p_value_fail <= 0.05
    assert "20 of 30" in verdict.explanation


def test_28_of_30_prove_neither_side_of_90_percent() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(28, 2))

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "budget_exhausted")
    assert "28 of 30" in verdict.explanation


def test_an_inconclusive_verdict_names_the_trials_that_would_prove_the_observed_rate() -> None:
    from simeval.stats.binomial import n_for_power

    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(29, 1))

    needed = n_for_power(0.9, 29 / 30, alpha=0.05, power=0.8)
    assert f"about {needed} trials" in verdict.explanation


def test_more_trials_are_not_promised_to_prove_a_rate_below_the_bar() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(26, 4))

    assert verdict.outcome == "inconclusive"
    assert "no better than the bar" in verdict.explanation


def test_a_sample_that_is_too_small_names_the_number_needed() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(10, 0))

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "never_possible")
    assert "at least 29 are needed" in verdict.explanation


def test_a_p_value_equal_to_the_level_proves() -> None:
    passing = ProportionEvaluator(min_proportion=0.5, significance_level=0.0625).evaluate(yes_no(4, 0))
    failing = ProportionEvaluator(min_proportion=0.5, significance_level=0.0625).evaluate(yes_no(0, 4))

    assert (passing.p_value, passing.outcome) == (0.0625, "pass")
    assert (failing.p_value_fail, failing.outcome) == (0.0625, "fail")


def test_any_number_counts_towards_a_share_of_scores() -> None:
    evaluator = ProportionEvaluator(6, min_proportion=0.9)

    assert all(map(evaluator.accepts, (-1.0, 0.0, 99.0)))
    assert not evaluator.accepts(nan)


def test_a_value_on_the_threshold_counts_on_either_side() -> None:
    above = ProportionEvaluator(0.5, min_proportion=0.9).evaluate([0.5] * 30)
    below = ProportionEvaluator(0.5, min_proportion=0.9, at_least=False).evaluate([0.5] * 30)

    assert (above.estimate, below.estimate) == (1.0, 1.0)


def test_a_largest_share_is_proven_by_few_trials_on_the_side() -> None:
    rule = ProportionEvaluator(0.5, max_proportion=0.1)

    assert rule.evaluate([0.0] * 30).outcome == "pass"
    assert rule.evaluate([1.0] * 30).outcome == "fail"
    assert rule.evaluate([0.0] * 28 + [1.0] * 2).outcome == "inconclusive"


def test_a_largest_share_is_estimated_and_bounded_in_its_own_terms() -> None:
    verdict = ProportionEvaluator(0.5, max_proportion=0.1).evaluate([0.0] * 30)

    assert verdict.estimate == 0
    assert verdict.confidence_interval == pytest.approx((0.0, 1 - 0.05 ** (1 / 30)))


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.02, 0.98))
def test_a_largest_share_is_the_mirror_of_a_smallest_share(yes: int, no: int, share: float) -> None:
    most = ProportionEvaluator(0.5, max_proportion=share).evaluate(yes_no(yes, no))
    least = ProportionEvaluator(0.5, min_proportion=1 - share).evaluate(yes_no(no, yes))

    assert most.outcome == least.outcome
    assert most.p_value == pytest.approx(least.p_value)


def test_missing_trials_count_against_a_pass_and_against_a_fail() -> None:
    rule = ProportionEvaluator(min_proportion=0.9)

    good = rule.evaluate([1.0] * 30 + [nan] * 3)
    bad = rule.evaluate([0.0] * 4 + [1.0] * 6 + [nan] * 30)

    assert (good.outcome, good.n, good.missing, good.estimate) == ("inconclusive", 33, 3, 1.0)
    assert rule.evaluate([0.0] * 4 + [1.0] * 6).outcome == "fail"
    assert bad.outcome == "inconclusive"


def test_misses_are_trials_that_did_not_meet_the_requirement() -> None:
    rule = ProportionEvaluator(min_proportion=0.9)

    with_misses, as_zeros = rule.evaluate([1.0] * 20, misses=10), rule.evaluate(yes_no(20, 10))

    assert replace(with_misses, explanation="", why="") == replace(as_zeros, explanation="", why="")
    assert "10 failed before their end" in with_misses.explanation
    assert rule.evaluate([], misses=10).outcome == "fail"


def test_misses_count_against_a_largest_share_too() -> None:
    assert ProportionEvaluator(0.5, max_proportion=0.1).evaluate([], misses=10).outcome == "fail"


# ---- quantiles


def test_a_median_that_ties_with_the_bar_meets_it() -> None:
    assert QuantileEvaluator(0.5, at_least=8).evaluate([8] * 10).outcome == "pass"
    assert QuantileEvaluator(0.5, at_most=8).evaluate([8] * 10).outcome == "pass"


def test_a_median_above_and_below_the_bar_passes_and_fails() -> None:
    rule = QuantileEvaluator(0.5, at_least=8)

    assert rule.evaluate([9] * 10).outcome == "pass"
    assert rule.evaluate([7] * 10).outcome == "fail"
    assert rule.evaluate([7, 9] * 5).outcome == "inconclusive"


def test_a_90th_percentile_of_latency_passes_when_all_are_fast() -> None:
    rule = QuantileEvaluator(0.9, at_most=2.0, bounds=(0.0, inf))

    assert rule.evaluate([1.0] * 30).outcome == "pass"
    assert rule.evaluate([1.0] * 20 + [3.0] * 10).outcome == "fail"
    assert rule.evaluate([1.0] * 28 + [3.0] * 2).outcome == "inconclusive"


def test_missing_and_missed_trials_stand_at_the_edges_of_the_support() -> None:
    verdict = QuantileEvaluator(0.5, at_least=5, bounds=(1, 10)).evaluate([6.0] * 10 + [nan] * 10)
    missed = QuantileEvaluator(0.5, at_least=5, bounds=(1, 10)).evaluate([6.0] * 2, misses=10)

    assert verdict.confidence_interval == (1.0, 10.0)
    assert (verdict.outcome, verdict.n, verdict.missing) == ("inconclusive", 20, 10)
    assert (missed.outcome, missed.n, missed.missing) == ("fail", 12, 0)
    assert missed.confidence_interval == (1.0, 1.0)


def test_misses_are_part_of_the_estimate_of_a_quantile() -> None:
    verdict = QuantileEvaluator(0.5, at_least=5, bounds=(1, 10)).evaluate([6.0] * 2, misses=10)

    assert verdict.estimate is not None
    assert verdict.confidence_interval is not None
    assert verdict.confidence_interval[0] <= verdict.estimate <= verdict.confidence_interval[1]


def test_a_time_that_never_ended_is_a_value() -> None:
    rule = QuantileEvaluator(0.5, at_most=2.0)
    verdict = rule.evaluate([inf] * 10)

    assert verdict.outcome == "fail"
    assert verdict.estimate == inf
    assert rule.tell("seconds", verdict) == (
        "seconds: no finite median (too many conversations have no finite value); required: at most 2"
    )


# ---- means


def test_a_mean_passes_fails_and_is_inconclusive() -> None:
    rule = MeanEvaluator(at_least=7, bounds=(1, 10))

    assert rule.evaluate([9.0] * 30).outcome == "pass"
    assert rule.evaluate([3.0] * 30).outcome == "fail"
    assert rule.evaluate([6.0, 8.5] * 5).outcome == "inconclusive"


def test_a_mean_at_most_is_the_mirror_of_a_mean_at_least() -> None:
    values = [0.1, 0.2, 0.05, 0.3, 0.15, 0.1, 0.2, 0.1]

    most = MeanEvaluator(at_most=0.5).evaluate(values)
    least = MeanEvaluator(at_least=0.5).evaluate([1 - value for value in values])

    assert most.outcome == least.outcome
    assert most.p_value == pytest.approx(least.p_value, abs=1e-6)


def test_the_interval_of_a_mean_stays_within_its_bounds() -> None:
    verdict = MeanEvaluator(at_least=7, bounds=(1, 10)).evaluate([10.0] * 3)

    assert verdict.confidence_interval is not None
    assert 1 <= verdict.confidence_interval[0] <= verdict.confidence_interval[1] <= 10


@pytest.mark.parametrize("value", [0.5, 10.5, inf, -inf])
def test_a_score_outside_the_bounds_of_a_mean_is_refused(value: float) -> None:
    with pytest.raises(DefinitionError, match=r"MeanEvaluator.bounds.*widen the bounds"):
        MeanEvaluator(at_least=7, bounds=(1, 10)).evaluate([value])


def test_missing_and_missed_trials_count_against_both_sides_of_a_mean() -> None:
    rule = MeanEvaluator(at_least=7, bounds=(1, 10))

    good, bad = rule.evaluate([9.0] * 30 + [nan] * 30), rule.evaluate([3.0] * 30, misses=30)

    assert (good.outcome, bad.outcome) == ("inconclusive", "inconclusive")
    assert (good.missing, bad.missing) == (30, 30)
    assert (good.estimate, bad.estimate) == (9.0, 3.0)


def test_scores_from_one_bound_to_the_other_are_accepted() -> None:
    evaluator = MeanEvaluator(at_least=5, bounds=(1, 10))

    assert all(map(evaluator.accepts, (1.0, 5.5, 10.0)))
    assert not any(map(evaluator.accepts, (0.9, 10.1, nan)))


def test_bounds_on_one_side_of_the_cut_do_not_fit() -> None:
    evaluator = ProportionEvaluator(0.5, min_proportion=0.9)

    assert evaluator.misfit(0, 1) == ""
    assert evaluator.misfit(0, 0.4) == "every score from 0 to 0.4 misses it"
    assert evaluator.misfit(0.6, 1) == "every score from 0.6 to 1 meets it"
