"""How evaluators of scores are said in words, and what they refuse to be made of."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import (
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    SuccessRateEvaluator,
)


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
    own = ProportionEvaluator(min_proportion=0.9, significance_level=0.01, early_stopping="anytime", min_trials=20)
    none = ProportionEvaluator(min_proportion=0.9)

    with_defaults = [
        each.with_defaults(significance_level=0.1, early_stopping=False, min_trials=5) for each in (own, none)
    ]

    assert [each.alpha for each in with_defaults] == [0.01, 0.1]
    assert [each.early_stopping for each in with_defaults] == ["anytime", False]
    assert [each.min_trials for each in with_defaults] == [20, 5]
    assert (none.alpha, none.first_verdict) == (0.05, 10)


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
        (lambda: ProportionEvaluator(min_proportion=0.9, at_least=1.5), "ProportionEvaluator.at_least"),  # type: ignore[arg-type]
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
