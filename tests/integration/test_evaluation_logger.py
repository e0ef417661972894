"""Answers and scores of one's own loop, logged and concluded on."""

from typing import Any

import pytest

from simeval import Engine, EvaluationLogger, Expectation, ProportionEvaluator, scorer
from simeval.errors import DefinitionError

pytestmark = pytest.mark.anyio


def logger(**options: Any) -> EvaluationLogger:
    return EvaluationLogger(engine=Engine(store=None, display="none"), name="sums", **options)


async def test_what_is_logged_is_concluded_on() -> None:
    sums = logger(directions={"correct": "higher"})
    for number in range(40):
        sums.log(f"{number + 1}", inputs={"number": number}, scores={"correct": number != 7, "words": 1})

    found = await sums.conclude(
        Expectation(scorer="correct", evaluator=ProportionEvaluator(threshold=1, min_proportion=0.85))
    )

    assert found.passed
    assert found.metric("correct").estimate.value == 39 / 40
    assert found.metric("words").estimate.value == 1
    [worst] = [row for row in found.rows if row.scores["correct"].value == 0]
    assert (worst.inputs["number"], worst.output) == (7, "8")


async def test_scorers_measure_the_logged_answers_beside_a_reference() -> None:
    @scorer
    def same(output: str, reference: str) -> bool:
        return output == reference

    sums = logger()
    sums.log("2", inputs="1 + 1?", reference="2", scores={"sure": {"value": 0.9, "comment": "by the model"}})
    sums.log("5", inputs="2 + 2?", reference="4", scores={"sure": {"value": 0.5, "comment": "a guess"}})

    found = await sums.conclude(scorers=[same])

    assert found.metric("same").estimate.value == 0.5
    assert found.metric("sure.value").estimate.value == pytest.approx(0.7)


async def test_a_score_that_was_not_logged_is_missing_and_answers_may_be_data() -> None:
    sums = logger()
    sums.log({"sum": 2}, inputs="1 + 1?", scores={"right": True})
    sums.log({"sum": 5}, inputs="2 + 2?", scores={})

    found = await sums.conclude()

    assert found.metric("right").estimate.value == 1
    assert [row.output for row in found.rows] == [{"sum": 2}, {"sum": 5}]
    first, second = (row.scores["right"].failure for row in found.rows)
    assert first is None
    assert second is not None
    assert "no score 'right' was logged for this answer" in second.error


async def test_nothing_logged_is_refused() -> None:
    with pytest.raises(DefinitionError, match="nothing was logged; call log"):
        await logger().conclude()


async def test_inputs_that_differ_from_answer_to_answer_are_all_there() -> None:
    sums = logger()
    sums.log("2", scores={"right": True})
    sums.log("4", inputs={"sum": "2 + 2", "id": 7}, reference="4", scores={"right": True})

    found = [row.inputs for row in (await sums.conclude()).rows]

    assert found == [{"input": "", "sum": None, "id": None}, {"input": None, "sum": "2 + 2", "id": 7}]


@pytest.mark.parametrize("output", [None, b"4", object(), float("inf")])
def test_an_answer_that_is_nothing_to_measure_is_refused_where_it_is_logged(output: object) -> None:
    with pytest.raises(DefinitionError, match="dataset 'sums', example 1"):
        logger().log(output, inputs="2 + 2?", scores={"right": True})


@pytest.mark.parametrize("name", ["reference", "conversation", "logged_scores"])
def test_an_input_with_a_name_that_is_taken_is_refused_where_it_is_logged(name: str) -> None:
    with pytest.raises(DefinitionError, match=f"{name}.*give it another name"):
        logger().log("4", inputs={name: "2 + 2"}, scores={"right": True})


@pytest.mark.parametrize("directions", [{"correct": "up"}, {"correct": True}, ["correct"]])
def test_a_direction_that_is_none_is_refused_before_anything_is_logged(directions: Any) -> None:
    with pytest.raises(DefinitionError, match=r"EvaluationLogger 'sums': .*found"):
        logger(directions=directions)
