"""Evaluators: verdicts on many scores."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.ratings import RatingAverageEvaluator, RatingProportionEvaluator, SuccessRateEvaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator

VALUES = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, nan])), max_size=60)
LEVELS = st.floats(0.001, 0.49)
SHARES = st.floats(0.02, 0.98)
EVALUATORS = st.one_of(
    st.builds(
        ProportionEvaluator,
        threshold=st.floats(0, 1),
        min_proportion=SHARES,
        at_least=st.booleans(),
        significance_level=LEVELS,
    ),
    st.builds(ProportionEvaluator, threshold=st.floats(0, 1), max_proportion=SHARES, significance_level=LEVELS),
    st.builds(QuantileEvaluator, quantile=SHARES, at_least=st.floats(0, 1), significance_level=LEVELS),
    st.builds(QuantileEvaluator, quantile=SHARES, at_most=st.floats(0, 1), significance_level=LEVELS),
    st.builds(MeanEvaluator, at_least=SHARES, significance_level=LEVELS),
    st.builds(MeanEvaluator, at_most=SHARES, significance_level=LEVELS),
)
ALL = (
    ProportionEvaluator(min_proportion=0.9),
    ProportionEvaluator(max_proportion=0.1, at_least=False, threshold=0.0),
    QuantileEvaluator(0.5, at_least=0.5),
    QuantileEvaluator(0.9, at_most=0.5),
    MeanEvaluator(at_least=0.5),
    MeanEvaluator(at_most=0.5),
)


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
    assert "not above the bar" in verdict.explanation


def test_a_sample_that_is_too_small_names_the_number_needed() -> None:
    verdict = ProportionEvaluator(min_proportion=0.9).evaluate(yes_no(10, 0))

    assert (verdict.outcome, verdict.reason) == ("inconclusive", "never_possible")
    assert "at least 29 are needed" in verdict.explanation


def test_a_p_value_equal_to_the_level_proves() -> None:
    passing = ProportionEvaluator(min_proportion=0.5, significance_level=0.0625).evaluate(yes_no(4, 0))
    failing = ProportionEvaluator(min_proportion=0.5, significance_level=0.0625).evaluate(yes_no(0, 4))

    assert (passing.p_value, passing.outcome) == (0.0625, "pass")
    assert (failing.p_value_fail, failing.outcome) == (0.0625, "fail")


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


@given(st.integers(0, 60), st.integers(0, 60), SHARES)
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

    assert replace(with_misses, explanation="") == replace(as_zeros, explanation="")
    assert "the app failed in 10" in with_misses.explanation
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
    verdict = QuantileEvaluator(0.5, at_most=2.0).evaluate([inf] * 10)

    assert verdict.outcome == "fail"
    assert verdict.estimate == inf


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


# ---- all


@pytest.mark.parametrize("evaluator", ALL)
def test_no_values_prove_nothing(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([])

    assert (verdict.outcome, verdict.n, verdict.estimate) == ("inconclusive", 0, None)
    assert verdict.p_value == verdict.p_value_fail == 1.0


@pytest.mark.parametrize("evaluator", ALL)
def test_nothing_but_missing_values_prove_nothing(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([nan] * 50)

    assert (verdict.outcome, verdict.n, verdict.missing, verdict.estimate) == ("inconclusive", 50, 50, None)


@settings(max_examples=150)
@given(EVALUATORS, VALUES)
def test_a_verdict_follows_from_its_p_values_and_never_both_ways(evaluator: Evaluator, values: list[float]) -> None:
    verdict = evaluator.evaluate(values)

    assert verdict.p_value is not None
    assert verdict.p_value_fail is not None
    proven, disproven = verdict.p_value <= evaluator.alpha, verdict.p_value_fail <= evaluator.alpha
    assert not (proven and disproven)
    assert verdict.outcome == ("pass" if proven else "fail" if disproven else "inconclusive")
    assert bool(verdict.explanation) == bool(verdict.reason) == (verdict.outcome != "pass")
    assert 0 <= verdict.p_value <= 1
    assert 0 <= verdict.p_value_fail <= 1


@settings(max_examples=100)
@given(EVALUATORS, VALUES)
def test_a_verdict_does_not_depend_on_the_order_of_values(evaluator: Evaluator, values: list[float]) -> None:
    forward, backward = evaluator.evaluate(values), evaluator.evaluate(values[::-1])

    assert forward.outcome == backward.outcome
    assert forward.p_value == pytest.approx(backward.p_value)


@settings(max_examples=100)
@given(EVALUATORS, VALUES, st.integers(1, 5))
def test_missing_trials_never_help(evaluator: Evaluator, values: list[float], missing: int) -> None:
    before, after = evaluator.evaluate(values), evaluator.evaluate([*values, *[nan] * missing])

    assert before.p_value is not None
    assert before.p_value_fail is not None
    assert after.p_value is not None
    assert after.p_value_fail is not None
    assert after.p_value >= before.p_value - 1e-6
    assert after.p_value_fail >= before.p_value_fail - 1e-6


@given(EVALUATORS)
def test_the_smallest_sample_proves_the_requirement_when_all_is_well(evaluator: Evaluator) -> None:
    n = evaluator.minimum_trials()
    if isinstance(evaluator, MeanEvaluator):
        best = evaluator.bounds[1] if evaluator.prefers_high else evaluator.bounds[0]
        fewer, enough = (evaluator.running_test(max(1, size), stop="verdict") for size in (n - 1, n))
        for test in (fewer, enough):
            for _ in range(test.n_max):
                test.take(best)
        assert enough.passes
        assert n == 1 or not fewer.passes
    elif n < 5000:
        good = next(value for value in (0.0, 1.0, 2.0, -1.0) if evaluator.meets(value))
        assert evaluator.evaluate([good] * n).passed
        assert not evaluator.evaluate([good] * (n - 1)).passed


@pytest.mark.parametrize(
    ("evaluator", "n"),
    [
        (ProportionEvaluator(min_proportion=0.1, significance_level=0.01), 2),
        (ProportionEvaluator(max_proportion=0.95, significance_level=0.05), 1),
        (ProportionEvaluator(max_proportion=0.1, significance_level=0.05), 29),
        (QuantileEvaluator(0.9, at_least=0.5, significance_level=0.01), 2),
    ],
)
def test_rounding_of_a_share_costs_no_trial(evaluator: ProportionEvaluator | QuantileEvaluator, n: int) -> None:
    good = next(value for value in (1.0, 0.0) if evaluator.meets(value))

    assert evaluator.minimum_trials() == n
    assert evaluator.evaluate([good] * n).passed


def test_90_percent_takes_29_trials_or_more_at_any_time_and_a_mean_by_how_it_is_tested() -> None:
    assert ProportionEvaluator(min_proportion=0.9).minimum_trials() == 29
    assert QuantileEvaluator(0.5, at_least=8).minimum_trials() == 5
    assert MeanEvaluator(at_least=0.5).minimum_trials() == 6
    assert MeanEvaluator(at_least=0.5, early_stopping=False).minimum_trials() == 5
    assert MeanEvaluator(at_least=1 - 1e-12).minimum_trials() == 10_001
    assert ProportionEvaluator(min_proportion=0.9, early_stopping="anytime").minimum_trials() == 43


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, 0.0], [np.True_, np.False_], np.array([1.0, 0.0])])
def test_numbers_and_booleans_of_any_kind_are_values(values: Any) -> None:
    assert ProportionEvaluator(min_proportion=0.9).evaluate(values).estimate == 0.5


@pytest.mark.parametrize("value", ["1", None, [1], {"score": 1}])
def test_anything_else_among_the_values_is_refused(value: Any) -> None:
    with pytest.raises(DefinitionError, match="give numbers or booleans"):
        ProportionEvaluator(min_proportion=0.9).evaluate([value])


# ---- clusters


def test_a_cluster_is_good_when_every_value_in_it_is() -> None:
    verdict = ProportionEvaluator(0.5, min_proportion=0.9).evaluate([1, 1, 1, 0, 1], ["a", "a", "b", "b", "c"])

    assert verdict.n == 3
    assert verdict.estimate == pytest.approx(2 / 3)


def test_a_cluster_is_bad_for_a_largest_share_when_one_value_in_it_is() -> None:
    verdict = ProportionEvaluator(0.5, max_proportion=0.1).evaluate([1, 0, 0, 0], ["a", "a", "b", "b"])

    assert (verdict.n, verdict.estimate) == (2, 0.5)


def test_a_cluster_with_a_missing_value_is_missing() -> None:
    verdict = ProportionEvaluator(0.5, min_proportion=0.9).evaluate([1, nan, 1], ["a", "a", "b"])

    assert (verdict.n, verdict.missing) == (2, 1)


def test_clusters_are_reduced_to_their_quantile_and_their_mean() -> None:
    values, clusters = [1.0, 3.0, 8.0, 5.0], ["a", "a", "a", "b"]

    assert QuantileEvaluator(0.5, at_least=2).evaluate(values, clusters).estimate == 4.0
    assert MeanEvaluator(at_least=2, bounds=(0, 10)).evaluate(values, clusters).estimate == 4.5


@pytest.mark.parametrize("evaluator", ALL)
def test_a_missing_value_makes_its_cluster_missing_for_every_evaluator(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate([1.0, nan, 1.0], ["a", "a", "b"])

    assert (verdict.n, verdict.missing) == (2, 1)


@given(EVALUATORS, VALUES)
def test_clusters_of_one_value_change_nothing(evaluator: Evaluator, values: list[float]) -> None:
    assert evaluator.evaluate(values, range(len(values))) == evaluator.evaluate(values)


def test_clusters_must_be_as_many_as_values() -> None:
    with pytest.raises(DefinitionError, match=r"clusters: .*2 clusters for 3 values"):
        ProportionEvaluator(min_proportion=0.9).evaluate([1, 1, 1], ["a", "b"])


# ---- words and definitions


@pytest.mark.parametrize(
    ("evaluator", "words", "bar"),
    [
        (ProportionEvaluator(6, min_proportion=0.9), "score ≥ 6 in at least 90% of conversations", "≥ 90%"),
        (
            ProportionEvaluator(2.5, max_proportion=0.125, at_least=False),
            "score ≤ 2.5 in at most 12.5% of conversations",
            "≤ 12.5%",
        ),
        (QuantileEvaluator(0.5, at_least=8), "median at least 8", "≥ 8"),
        (QuantileEvaluator(0.95, at_most=2.5), "95th percentile at most 2.5", "≤ 2.5"),
        (QuantileEvaluator(0.5, at_most=0), "median at most 0", "≤ 0"),
        (MeanEvaluator(at_least=0.5), "mean at least 0.5", "≥ 0.5"),
        (MeanEvaluator(at_most=0.5), "mean at most 0.5", "≤ 0.5"),
    ],
)
def test_a_requirement_is_said_in_words_and_in_signs(evaluator: Evaluator, words: str, bar: str) -> None:
    assert evaluator.describe() == words
    assert evaluator.show_bar() == bar
    assert evaluator.evaluate([]).evaluator == words


def test_shares_are_shown_as_percentages_and_values_as_numbers() -> None:
    assert ProportionEvaluator(min_proportion=0.9).show(0.93333) == "93.3%"
    assert QuantileEvaluator(0.5, at_least=8).show(7.6666) == "7.67"


@pytest.mark.parametrize(
    ("evaluator", "high"),
    [
        (ProportionEvaluator(min_proportion=0.9), True),
        (ProportionEvaluator(max_proportion=0.1), False),
        (ProportionEvaluator(min_proportion=0.9, at_least=False), False),
        (ProportionEvaluator(max_proportion=0.1, at_least=False), True),
        (QuantileEvaluator(at_least=1), True),
        (QuantileEvaluator(at_most=1), False),
        (MeanEvaluator(at_least=0.5), True),
        (MeanEvaluator(at_most=0.5), False),
    ],
)
def test_an_evaluator_knows_whether_high_scores_speak_for_it(evaluator: Evaluator, high: bool) -> None:
    assert evaluator.prefers_high is high


def test_a_level_of_its_own_is_kept_and_else_the_default_is_taken() -> None:
    own = ProportionEvaluator(min_proportion=0.9, significance_level=0.01, early_stopping="anytime")
    none = ProportionEvaluator(min_proportion=0.9)

    with_defaults = [each.with_defaults(significance_level=0.1, early_stopping=False) for each in (own, none)]

    assert [each.alpha for each in with_defaults] == [0.01, 0.1]
    assert [each.early_stopping for each in with_defaults] == ["anytime", False]
    assert none.alpha == 0.05


@pytest.mark.parametrize(
    ("define", "where"),
    [
        (lambda: ProportionEvaluator(), "ProportionEvaluator"),
        (lambda: ProportionEvaluator(min_proportion=0.9, max_proportion=0.1), "ProportionEvaluator"),
        (lambda: ProportionEvaluator(min_proportion=1.0), "ProportionEvaluator.min_proportion"),
        (lambda: ProportionEvaluator(min_proportion=0.0), "ProportionEvaluator.min_proportion"),
        (lambda: ProportionEvaluator(min_proportion=90), "ProportionEvaluator.min_proportion"),
        (lambda: ProportionEvaluator(min_proportion=nan), "ProportionEvaluator.min_proportion"),
        (lambda: ProportionEvaluator(max_proportion=-0.1), "ProportionEvaluator.max_proportion"),
        (lambda: ProportionEvaluator(min_proportion=0.9, significance_level=0.0), "significance_level"),
        (lambda: ProportionEvaluator(min_proportion=0.9, significance_level=0.5), "significance_level"),
        (lambda: ProportionEvaluator(min_proportion=0.9, significance_level=5), "significance_level"),
        (lambda: ProportionEvaluator(min_proportion=0.9, threshold=nan), "ProportionEvaluator.threshold"),
        (lambda: QuantileEvaluator(0.5), "QuantileEvaluator"),
        (lambda: QuantileEvaluator(0.5, at_least=1, at_most=2), "QuantileEvaluator"),
        (lambda: QuantileEvaluator(50, at_least=1), "QuantileEvaluator.quantile"),
        (lambda: QuantileEvaluator(0.5, at_least=nan), "QuantileEvaluator.at_least"),
        (lambda: QuantileEvaluator(0.5, at_least=5, bounds=(10, 1)), "QuantileEvaluator.bounds"),
        (lambda: MeanEvaluator(), "MeanEvaluator"),
        (lambda: MeanEvaluator(at_least=0.4, at_most=0.5), "MeanEvaluator"),
        (lambda: MeanEvaluator(at_least=7), "MeanEvaluator.bounds"),
        (lambda: MeanEvaluator(at_least=0.0), "MeanEvaluator.bounds"),
        (lambda: MeanEvaluator(at_least=5, bounds=(0, inf)), "MeanEvaluator.bounds"),
        (lambda: MeanEvaluator(at_least=nan), "MeanEvaluator"),
        (lambda: SuccessRateEvaluator(min_proportion=1.0), "SuccessRateEvaluator.min_proportion"),
        (lambda: RatingProportionEvaluator(min_rating=1, min_proportion=0.9), "RatingProportionEvaluator.min_rating"),
        (lambda: RatingProportionEvaluator(min_rating=8, min_proportion=2), "RatingProportionEvaluator.min_proportion"),
        (lambda: RatingAverageEvaluator(min_median_rating=11), "RatingAverageEvaluator.min_median_rating"),
        (lambda: RatingAverageEvaluator(min_median_rating=nan), "RatingAverageEvaluator.min_median_rating"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(define: Callable[[], object], where: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        define()

    assert where in raised.value.where
    assert raised.value.do


@pytest.mark.parametrize(
    ("define", "where"),
    [
        (lambda wrong: ProportionEvaluator(min_proportion=wrong), "ProportionEvaluator.min_proportion"),
        (lambda wrong: ProportionEvaluator(wrong, min_proportion=0.9), "ProportionEvaluator.threshold"),
        (lambda wrong: ProportionEvaluator(min_proportion=0.9, significance_level=wrong), "significance_level"),
        (lambda wrong: QuantileEvaluator(wrong, at_least=1), "QuantileEvaluator.quantile"),
        (lambda wrong: MeanEvaluator(at_least=wrong), "MeanEvaluator"),
        (lambda wrong: SuccessRateEvaluator(min_proportion=wrong), "SuccessRateEvaluator.min_proportion"),
        (lambda wrong: RatingAverageEvaluator(min_median_rating=wrong), "RatingAverageEvaluator.min_median_rating"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(define: Callable[[Any], object], where: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        define("0.9")

    assert where in raised.value.where


@pytest.mark.parametrize(
    "define",
    [
        lambda: SuccessRateEvaluator(min_proportion=None),  # type: ignore[arg-type]
        lambda: RatingProportionEvaluator(min_rating=8, min_proportion=None),  # type: ignore[arg-type]
        lambda: RatingAverageEvaluator(min_median_rating=None),  # type: ignore[arg-type]
    ],
)
def test_an_argument_that_was_left_empty_is_found_when_it_is_defined(define: Callable[[], object]) -> None:
    with pytest.raises(DefinitionError):
        define()
