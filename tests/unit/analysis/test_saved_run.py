"""What is read back of a run that was saved."""

from typing import Any

import pytest

from simeval.evaluators.scores import (
    MeanEvaluator,
    ProportionEvaluator,
    QuantileEvaluator,
    RatingAverageEvaluator,
    RatingProportionEvaluator,
    SuccessRateEvaluator,
)
from simeval.results.document import ScoreCut


@pytest.mark.parametrize(
    "evaluator",
    [
        SuccessRateEvaluator(min_proportion=0.9),
        RatingProportionEvaluator(8, 0.9),
        RatingAverageEvaluator(7.5),
        ProportionEvaluator(3, 0.5),
        ProportionEvaluator(3, 0.5, at_least=False),
        ProportionEvaluator(3, max_proportion=0.5),
        ProportionEvaluator(3, max_proportion=0.5, at_least=False),
        QuantileEvaluator(at_least=4),
        QuantileEvaluator(at_most=4),
        MeanEvaluator(at_least=4, bounds=(1, 10)),
        MeanEvaluator(at_most=4, bounds=(1, 10)),
    ],
    ids=repr,
)
def test_the_cut_that_is_written_is_where_the_evaluator_begins_to_be_met(evaluator: Any) -> None:
    sign, score = evaluator.cut
    cut = ScoreCut(sign=sign, score=score)

    assert all(cut.holds(half / 2) == evaluator.meets(half / 2) for half in range(2, 21))
