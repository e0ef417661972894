"""Retrieved passages against those that should have been, without a model."""

import pytest

from simeval.errors import DefinitionError
from simeval.scorers.text.similarity import ContextMatch


def test_precision_is_the_mean_precision_down_to_each_passage_that_is_right() -> None:
    found = ContextMatch().score(
        ["Paris is big.", "Bread is baked.", "Rome is old."], ["Rome is old.", "Paris is big."]
    )

    assert found["relevant"] == [True, False, True]
    assert found["precision"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["recall"] == 1.0


def test_recall_is_the_share_of_the_passages_that_were_found() -> None:
    found = ContextMatch().score("Paris is big.", ["Paris is big.", "Something else altogether."])

    assert (found["precision"], found["recall"]) == (1.0, 0.5)


def test_where_nothing_is_right_both_are_zero() -> None:
    assert ContextMatch().score(["xxxx"], ["Paris is big."]) == {"precision": 0.0, "recall": 0.0, "relevant": [False]}


@pytest.mark.parametrize(("context", "reference"), [([], ["a"]), (["a"], []), (None, ["a"]), (["a"], [""])])
def test_without_a_passage_there_is_no_score(context: object, reference: object) -> None:
    with pytest.raises(ValueError, match="no passage"):
        ContextMatch().score(context, reference)


def test_a_threshold_lies_between_0_and_1() -> None:
    with pytest.raises(DefinitionError, match="threshold"):
        ContextMatch(threshold=0)
