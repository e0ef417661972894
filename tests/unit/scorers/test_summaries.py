"""Plain functions of all rows of a dataset: their columns, what they return, and what is missing."""

from collections.abc import Callable
from typing import Any

import pytest

from simeval import Engine
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError
from simeval.scorers import SummaryFunction, summary_scorer

pytestmark = pytest.mark.anyio
ROWS = [{"input": f"{n}", "output": f"{n % 3}", "topic": "x"} for n in range(6)]


@summary_scorer
def accuracy(outputs: list[str], references: list[str]) -> float:
    """Return the share of answers that are the reference."""
    return sum(one == other for one, other in zip(outputs, references, strict=True)) / len(outputs)


def app(message: str) -> str:
    if message == "5":
        raise RuntimeError("down")
    return message


async def run(scorer: SummaryFunction, answer: Callable[[str], Any] = str) -> Any:
    return await Engine(store=None).experiment(dataset_of(ROWS), lambda message: answer(message), scorers=[scorer])


async def test_a_function_of_all_rows_is_a_summary_and_no_metric_of_a_row() -> None:
    result = await run(accuracy)

    assert result.summaries["accuracy"]["accuracy"].value == 0.5
    assert result.summaries["accuracy"]["accuracy"].n == 6
    assert not result.metrics
    assert accuracy(["a"], ["a"]) == 1


async def test_rows_without_an_answer_are_left_out_and_counted() -> None:
    found = (await run(accuracy, app)).summaries["accuracy"]["accuracy"]

    assert (found.value, found.n, found.method) == (0.6, 5, "of 5 rows together; 1 missing")


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ({"low": 1, "high": 2.5}, {"low": 1.0, "high": 2.5}),
        ({"key": "f1", "score": 0.25}, {"f1": 0.25}),
        (float("nan"), {"given": None}),
        (True, {"given": 1.0}),
    ],
)
async def test_every_form_of_a_number_is_read(returned: object, named: dict[str, float | None]) -> None:
    def given(inputs: list[dict[str, str]], reference_outputs: list[dict[str, str]], topics: list[str]) -> object:
        assert [each["input"] for each in inputs] == [row["input"] for row in ROWS]
        assert [each["output"] for each in reference_outputs] == [row["output"] for row in ROWS]
        assert topics == ["x"] * 6
        return returned

    result = await run(summary_scorer(given))

    assert not result.failures
    assert {name: each.value for name, each in result.summaries["given"].items()} == named


async def test_what_it_raises_or_forgets_to_return_is_a_failure_with_its_cause() -> None:
    def forgets(outputs: list[str]) -> None:
        """Return nothing."""

    result = await run(summary_scorer(forgets))

    assert any("summary of forgets" in cause and "nothing" in cause for cause in result.failures)


async def test_a_parameter_that_is_no_column_is_told_before_the_run() -> None:
    def odd(answers: list[str]) -> float:
        return len(answers)

    with pytest.raises(DefinitionError, match=r"parameters \['answers'\]"):
        await run(summary_scorer(odd))
