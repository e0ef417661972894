"""Cells of CSV files as people write them: an empty one is no reference, and a row of commas no example."""

from pathlib import Path

import pytest

from simeval import Scorer, read_dataset
from simeval.scorers import Classification, Contains, ExactMatch, LevenshteinSimilarity, TokenF1
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("cell", ["", '""', '" "'])
@pytest.mark.parametrize(
    "measure", [ExactMatch(), TokenF1(), LevenshteinSimilarity(), Contains(), Classification(labels=["Yes.", "No."])]
)
async def test_an_empty_reference_is_missing_and_no_miss(tmp_path: Path, measure: Scorer, cell: str) -> None:
    path = tmp_path / "qa.csv"
    path.write_text(f"question,expected\nIs it open?,Yes.\nIs it shut?,{cell}\n", encoding="utf-8")

    result = await engine().experiment(read_dataset(path), lambda question: "Yes.", scorers=[measure])

    assert [f"scorer {measure.name}: no reference" in cause for cause in result.failures] == [True]
    assert {metric.estimate.n for metric in result.metrics} == {1}


@pytest.mark.parametrize("row", [",", ", ", '"",""'])
def test_a_row_of_commas_is_no_example(tmp_path: Path, row: str) -> None:
    path = tmp_path / "qa.csv"
    path.write_text(f"question,expected\nIs it open?,Yes.\n{row}\nIs it shut?,No.\n{row}\n", encoding="utf-8")

    assert [example.inputs["question"] for example in read_dataset(path)] == ["Is it open?", "Is it shut?"]
