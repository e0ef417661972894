"""Rows of experiments and of simulated conversations: the same from memory and from the store."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simeval import MeanEvaluator, ProportionEvaluator, scorer
from simeval.cli.rows import Condition, chosen_rows
from simeval.core.trial import Failure
from simeval.engine.actors import tabulator
from simeval.errors import DefinitionError
from simeval.results import experiment
from simeval.results.experiment import ExperimentResult
from simeval.results.rows import Row
from simeval.suites.scenario import Expectation
from tests.support.command_line import simeval
from tests.support.experiments import double, engine, length, logged, sums
from tests.support.suites import good_app, scenario

pytestmark = pytest.mark.anyio


@scorer(direction="higher")
def right(output: str, answer: str, n: int) -> dict[str, object]:
    if n == 2:
        raise RuntimeError("not this one")
    return {"ok": output == answer and n != 1, "size": "big" if n > 2 else "small", "reason": f"because of {n}"}


def app(n: int) -> str:
    if n == 3:
        raise RuntimeError("down")
    return double(n)


async def measured(store: Path | None = None, **options: Any) -> ExperimentResult:
    return await engine(store=store).evaluate(sums(5), app, scorers=[right], **options)


async def test_a_row_holds_inputs_output_reference_scores_with_reasons_and_failures() -> None:
    rows = list((await measured()).rows)

    assert [row.inputs["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert (rows[1].output, rows[1].reference, rows[1].example) == ("2", "2", rows[1].example)
    assert (rows[1].scores["right.ok"].value, rows[1].scores["right.ok"].comment) == (False, "because of 1")
    assert rows[4].scores["right.size"].value == "big"
    assert "not this one" in str(rows[2].scores["right"].failure)
    assert rows[3].failure == Failure(stage="app", error=str(rows[3].failure and rows[3].failure.error), cause="app")
    assert rows[0].seconds is not None


async def test_rows_of_the_store_are_those_of_memory(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "repetitions": 2,
        "then": [Expectation(scorer=length, evaluator=MeanEvaluator(at_least=1, bounds=(0, 9)))],
    }
    kept, stored = await measured(**options), await measured(tmp_path / "store.db", **options)

    assert len(kept.rows) == len(stored.rows) == 10
    assert [_timeless(row) for row in kept.rows] == [_timeless(row) for row in stored.rows]


def _timeless(row: Row) -> dict[str, Any]:
    found = row.encode()
    turns = [{**turn, "started": "", "seconds": 0} for turn in found["turns"]]
    return {**found, "seconds": 0, "turns": turns}


async def test_rows_of_the_store_are_read_a_part_at_a_time_in_the_datasets_order(tmp_path: Path) -> None:
    result = await engine(store=tmp_path / "store.db").evaluate(sums(450), double, scorers=[length])

    rows = iter(result.rows)

    assert [row.inputs["n"] for row in rows] == list(range(450))


async def test_without_a_store_so_many_rows_are_kept_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tabulator, experiment):
        monkeypatch.setattr(module, "MOST_KEPT", 10)
    result = await engine().evaluate(sums(15), double, scorers=[length])

    assert ([row.inputs["n"] for row in result.rows], result.rows.left_out) == ([*range(10)], 5)
    assert repr(result.rows) == "<10 rows, 5 more not kept: name a store>"


async def test_of_a_log_the_user_is_the_input() -> None:
    result = await engine().evaluate(logged(["Hi", "Hello"], ["Bye", "Good bye"]), scorers=[length])

    assert [(row.inputs, row.output) for row in result.rows] == [
        ({"input": "Hi"}, "Hello"),
        ({"input": "Bye"}, "Good bye"),
    ]


async def test_tables_have_a_column_for_each_input_and_metric(tmp_path: Path) -> None:
    rows = (await measured()).rows
    rows.to_csv(tmp_path / "rows.csv")
    rows.to_jsonl(tmp_path / "rows.jsonl")
    frame = rows.to_pandas()

    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert list(frame.columns) == list(table[0])
    assert {"example", "trial", "inputs.n", "output", "reference", "right.ok", "right.ok.comment"} <= {*frame.columns}
    assert frame["right.size"].tolist()[:2] == ["small", "small"]
    assert pd.isna(frame["right.ok"][2])
    assert [line["scores"]["right.ok"]["value"] for line in lines[:2]] == [True, False]
    assert lines[0]["turns"][-1]["content"] == "0"


async def test_conversations_have_rows_too_the_same_from_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    suite = [scenario("One", sample_size=3), scenario("Two", sample_size=2)]
    result = await engine(store=store, early_stopping=False).evaluate(suite, good_app)

    rows = list(result.rows)

    assert [(row.title, row.trial) for row in rows] == [("One", 0), ("One", 1), ("One", 2), ("Two", 0), ("Two", 1)]
    label = result[0].expectations[0].label
    assert rows[0].scores[label].value == result[0].expectations[0].scores[0]
    assert rows[0].scores[label].comment
    assert rows[0].output == result[0].conversations[0].output
    found = simeval(tmp_path, "show", "--store", str(store), "--rows", "--out", "rows.jsonl")
    assert "5 of 5 rows are in rows.jsonl" in found.stdout
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert lines == [json.loads(json.dumps(row.encode())) for row in rows]


async def test_rows_have_the_names_of_metrics_whatever_is_concluded_on(tmp_path: Path) -> None:
    @scorer
    def polite(output: str) -> dict[str, object]:
        return {"ok": False, "words": 2, "reason": "no greeting"}

    bar = ProportionEvaluator(threshold=1, min_proportion=0.5)
    one = scenario("One", sample_size=1, then=Expectation(scorer=polite, score="ok", evaluator=bar))
    labelled = scenario("Two", sample_size=1, then=Expectation(scorer=polite, score="ok", evaluator=bar, label="tone"))
    result = await engine(store=tmp_path / "store.db", early_stopping=False).evaluate([one, labelled], good_app)
    own, named = list(result.rows)

    assert {name: each.value for name, each in own.scores.items()} == {"polite.ok": False, "polite.words": 2}
    assert own.scores["polite.ok"].value is False
    assert own.scores["polite.ok"].comment == "no greeting"
    assert list(named.scores) == ["tone", "tone.ok", "tone.words"]


async def test_a_label_that_ends_like_another_number_hides_none() -> None:
    @scorer
    def tone(output: str) -> dict[str, object]:
        return {"b": 3.0, "a": {"b": 5.0}}

    bar = ProportionEvaluator(threshold=4, min_proportion=0.5)
    nested = scenario("One", sample_size=1, then=Expectation(scorer=tone, score="a.b", evaluator=bar))
    labelled = scenario("Two", sample_size=1, then=Expectation(scorer=tone, score="a.b", evaluator=bar, label="x.b"))
    result = await engine(early_stopping=False).evaluate([nested, labelled], good_app)
    own, named = ({name: each.value for name, each in row.scores.items()} for row in result.rows)

    assert own == {"tone.a.b": 5.0, "tone.b": 3.0}
    assert named == {"x.b": 5.0, "x.b.b": 3.0, "x.b.a.b": 5.0}


async def test_a_yes_or_no_stays_one_where_it_is_concluded_on() -> None:
    bar = ProportionEvaluator(threshold=1, min_proportion=0.5)
    then = Expectation(scorer=right, score="ok", evaluator=bar)

    found = list((await measured(then=then)).rows)

    assert found[1].scores["right.ok"].value is False


async def test_a_frame_of_a_library_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (await measured()).rows
    monkeypatch.setitem(__import__("sys").modules, "polars", None)

    with pytest.raises(DefinitionError, match="polars is not installed; pip install polars, or use to_jsonl"):
        rows.to_polars()


class TestShow:
    async def test_rows_are_chosen_by_conditions(self, tmp_path: Path) -> None:
        await measured(tmp_path / "store.db")

        shown = simeval(tmp_path, "show", "--store", "store.db", "--where", "right.ok=no")

        assert "trial 1, example" in shown.stdout
        assert "right.ok: False (because of 1)" in shown.stdout
        assert "1 of 5 rows" in shown.stdout

    async def test_the_worst_come_first_and_a_crash_is_worst(self, tmp_path: Path) -> None:
        await measured(tmp_path / "store.db")

        shown = simeval(tmp_path, "show", "--store", "store.db", "--worst", "right.ok", "--limit", "2").stdout

        assert shown.index("trial 3, ") < shown.index("trial 1, ")
        assert "failure: the app failed at turn 1: RuntimeError: down" in shown
        assert "2 of 5 rows (--limit 2)" in shown

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--where", "rigth.ok=no"), "there is no metric 'rigth.ok'; did you mean 'right.ok'?"),
            (("--where", "right.ok"), "found 'right.ok'; write it as METRIC<0.5"),
            (("--where", "right.size<big"), "found 'big' in 'right.size<big'; give a number"),
            (("--worst", "length"), "it is not known which way it is better"),
            (("--rows", "--out", "rows.txt"), "name a file that ends in .csv or .jsonl"),
        ],
    )
    async def test_mistakes_are_told(self, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
        await engine(store=tmp_path / "store.db").evaluate(sums(3), double, scorers=[right, length])

        found = simeval(tmp_path, "show", "--store", "store.db", *arguments)

        assert (found.returncode, said in found.stderr) == (2, True)


async def test_a_metric_called_like_a_column_of_the_table_hides_nothing(tmp_path: Path) -> None:
    @scorer(name="output", direction="higher")
    def named_output(n: int) -> float:
        return n / 2

    @scorer(name="failure")
    def named_failure(output: str) -> bool:
        return not output

    found = await engine().evaluate(sums(3), double, scorers=[named_output, named_failure])
    found.rows.to_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))

    assert [row["output"] for row in table] == ["0", "2", "4"]
    assert [row["scores.output"] for row in table] == ["0.0", "0.5", "1.0"]
    assert [row["failure"] for row in table] == ["", "", ""]


@pytest.mark.parametrize(
    ("condition", "trials"),
    [
        ("said=yes", [1, 2]),
        ("said!=yes", [0]),
        ("said<5", []),
        ("grade=5", [0]),
        ("grade!=5", [1, 2]),
        ("seconds>1", [2]),
    ],
)
async def test_rows_are_chosen_by_what_a_category_or_a_metric_is_called(condition: str, trials: list[int]) -> None:
    @scorer
    def said(n: int) -> str:
        return "yes" if n else "no"

    @scorer
    def grade(n: int) -> str:
        return str(5 - n)

    @scorer(direction="higher")
    def seconds(n: int) -> float:
        return float(n)

    found = await engine().evaluate(sums(3), double, scorers=[said, grade, seconds])

    assert [row.trial for row in chosen_rows(found.rows, where=[Condition.read(condition)], limit=9)] == trials
