"""Evaluators of a judge's ratings."""

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import (
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    SuccessRateEvaluator,
)

RATINGS = st.lists(st.one_of(st.integers(1, 10).map(float), st.just(nan)), max_size=60)
ALL = (
    SuccessRateEvaluator(min_proportion=0.9),
    RatingProportionEvaluator(min_rating=8, min_proportion=0.9),
    RatingAverageEvaluator(min_median_rating=8),
)


def test_a_rating_of_6_is_a_success_and_less_is_none() -> None:
    rule = SuccessRateEvaluator(min_proportion=0.9)

    assert rule.evaluate([6.0] * 30).outcome == "pass"
    assert rule.evaluate([5.9] * 30).outcome == "fail"


def test_a_proportion_of_ratings_counts_those_at_the_rating() -> None:
    rule = RatingProportionEvaluator(min_rating=8, min_proportion=0.9)

    assert rule.evaluate([8.0] * 30).outcome == "pass"
    assert rule.evaluate([7.0] * 30).outcome == "fail"
    assert rule.evaluate([8.0] * 28 + [7.0] * 2).outcome == "inconclusive"


def test_a_typical_rating_is_a_median_in_the_bounds_of_ratings() -> None:
    verdict = RatingAverageEvaluator(min_median_rating=8).evaluate([9.0, 8.0, 10.0])

    assert verdict.estimate == 9.0
    assert verdict.confidence_interval == (1.0, 10.0)
    assert verdict.reason == "never_possible"
    assert "at least 5 are needed" in verdict.explanation


@given(RATINGS, st.integers(0, 5))
def test_each_rating_evaluator_is_its_general_one(ratings: list[float], misses: int) -> None:
    pairs: list[tuple[Evaluator, Evaluator]] = [
        (SuccessRateEvaluator(min_proportion=0.8), ProportionEvaluator(6, min_proportion=0.8)),
        (RatingProportionEvaluator(min_rating=7, min_proportion=0.8), ProportionEvaluator(7, min_proportion=0.8)),
        (RatingAverageEvaluator(min_median_rating=7), QuantileEvaluator(0.5, at_least=7, bounds=(1, 10))),
    ]

    for rating, general in pairs:
        one, other = rating.evaluate(ratings, misses=misses), general.evaluate(ratings, misses=misses)
        assert (one.outcome, one.p_value, one.estimate, one.confidence_interval) == (
            (other.outcome, other.p_value, other.estimate, other.confidence_interval)
        )
        assert rating.minimum_trials() == general.minimum_trials()


def test_the_level_reaches_the_test() -> None:
    verdict = SuccessRateEvaluator(min_proportion=0.5, significance_level=0.01).evaluate([9.0] * 5)

    assert (verdict.outcome, verdict.significance_level) == ("inconclusive", 0.01)


def test_clusters_of_ratings_are_reduced() -> None:
    verdict = SuccessRateEvaluator(min_proportion=0.9).evaluate([9.0, 3.0, 9.0], ["a", "a", "b"])

    assert (verdict.n, verdict.estimate) == (2, 0.5)


@pytest.mark.parametrize(
    ("evaluator", "words", "bar"),
    [
        (ALL[0], "success (rating ≥ 6) in at least 90% of conversations", "≥ 90%"),
        (ALL[1], "rating ≥ 8 in at least 90% of conversations", "≥ 90%"),
        (ALL[2], "median rating at least 8", "≥ 8"),
    ],
)
def test_a_requirement_is_said_in_words(evaluator: Evaluator, words: str, bar: str) -> None:
    assert evaluator.describe() == evaluator.evaluate([9.0]).evaluator == words
    assert evaluator.show_bar() == bar


@pytest.mark.parametrize("evaluator", ALL)
def test_the_best_rating_meets_every_requirement_and_the_worst_none(evaluator: Evaluator) -> None:
    assert (evaluator.meets(10.0), evaluator.meets(1.0)) == (True, False)
    assert evaluator.meets(np.array([10.0, 1.0])).tolist() == [True, False]


@pytest.mark.parametrize("evaluator", ALL)
def test_only_ratings_from_1_to_10_are_accepted(evaluator: Evaluator) -> None:
    assert evaluator.prefers_high
    assert all(map(evaluator.accepts, (1.0, 5.5, 10.0)))
    assert not any(map(evaluator.accepts, (0.9, 10.1, nan)))


@pytest.mark.parametrize("evaluator", ALL)
@pytest.mark.parametrize("rating", [0.0, 11.0])
def test_a_value_that_is_no_rating_is_refused(evaluator: Evaluator, rating: float) -> None:
    with pytest.raises(DefinitionError, match=type(evaluator).__name__):
        evaluator.evaluate([rating] * 30)
