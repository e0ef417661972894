"""The first page of the viewer: the name of a suite, the course of each metric over experiments on a dataset."""

from pathlib import Path
from typing import Any

import pytest

from simeval.datasets.files import dataset_of
from simeval.engine.engine import Engine
from simeval.extras.viewer.listing import Listing
from simeval.results.html.heads import head_of
from simeval.scorers.text.formats import ValidJSON
from simeval.store.opening import open_database
from simeval.suites.files import load_suite

pytestmark = pytest.mark.anyio

QUESTIONS = [{"input": f"question {n}"} for n in range(4)]


def never(_message: str) -> str:
    return "no"


def always(_message: str) -> str:
    return "{}"


async def test_a_metric_has_a_point_for_each_run_on_its_dataset(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    scorer, dataset = ValidJSON(name="json"), dataset_of(QUESTIONS, name="questions")
    for app in (never, always):
        engine, own = Engine(store=store, seed=1, display="none"), {"suite": "nightly"}
        await engine.experiment(dataset, app, scorers=[scorer], metadata=own)

    database = open_database(str(store), must_exist=True)
    [suite] = Listing(database, "runs.db").data()["suites"]
    database.close()

    [row] = suite["rows"]
    assert suite["runs"][0]["metadata"]["suite"] == "nightly"
    points: list[Any] = [each for each in row["picture"][2:] if each[0] == "a"]
    assert (row["label"], row["outcome"], row["said"][:2]) == ("json.valid", "measured", "1 ")
    assert [each[1]["aria-label"].split(": ")[1][:2] for each in points] == ["0 ", "1 "]
    assert [each[1]["href"] for each in points] == [f"run/{run['run_id']}/" for run in suite["runs"][::-1]]


SUITE = """
sample_size: 3
scenarios:
  - title: Answers in JSON
    given: A user
    when: They ask
    script: [hello]
    then: {scorer: turn_count, evaluator: {type: proportion, threshold: 9, at_least: false, min_proportion: 0.5}}
"""


@pytest.mark.parametrize(("title", "name"), [("title: The support bot", "The support bot"), ("", "support")])
async def test_a_suite_has_its_title_as_name_else_that_of_its_file(tmp_path: Path, title: str, name: str) -> None:
    file, store = tmp_path / "support.yaml", tmp_path / "runs.db"
    file.write_text(title + SUITE, encoding="utf-8")
    result = await Engine(store=store, seed=1, display="none").evaluate(load_suite(str(file)), always)

    database = open_database(str(store), must_exist=True)
    [suite] = Listing(database, "runs.db").data()["suites"]
    database.close()

    assert suite["name"] == name
    assert suite["runs"][0]["metadata"] == {}
    assert ("Suite", name) in head_of(result.document()).facts
