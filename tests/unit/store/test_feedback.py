"""Feedback in a database: of what is there, listed, exported, imported, removed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from simeval.core.feedback import Feedback
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError, StoreError
from simeval.store.database import Database
from simeval.store.datasets import Datasets
from simeval.store.feedback import FeedbackBook
from simeval.store.runs import Runs
from tests.support.stores import begun, held, judged, rows

ODD = "Odd \0 \ud83d 🎁"
NOON = datetime(2025, 1, 2, 12, tzinfo=UTC)


@pytest.fixture
def book(database: Database) -> FeedbackBook:
    """A book on a store with two runs and a dataset."""
    database.append("run-1", [begun(titles=["A", ODD]), held(0), judged(0), held(1), held(0, 1), judged(0, 1)])
    database.append("run-2", [begun("run-2", titles=["only"]), held(0), judged(0)])
    database.append("run-2", [held(3)])
    Datasets(database).save(dataset_of([{"question": "a", "id": "e-1"}, {"question": "b", "id": ODD}], name="orders"))
    return FeedbackBook(database)


def said(minute: int = 0, **given: Any) -> Feedback:
    """Return feedback on a trial of a run, given at a minute after noon."""
    place = {} if "dataset" in given else {"run_id": "run-1", "scenario": "A", "trial": 0}
    return Feedback(**{"key": "helpful", "created": NOON + timedelta(minutes=minute), **place, **given})


def lines(path: Path, *found: Any) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in found))
    return path


@pytest.mark.parametrize("score", [True, False, 1, 0.1, -3.5, 10**15, None])
def test_feedback_is_listed_as_it_was_given(book: FeedbackBook, score: Any) -> None:
    given = [
        said(2, score=score, comment=ODD, source=ODD, key=ODD),
        said(1, score=score, comment="second", scenario=ODD),
        said(0, score=score, comment="third", feedback_id="my-id"),
    ]
    for each in given:
        book.add(each)

    found = book.of_run("run-1")

    assert found == given[::-1]
    assert [type(each.score) for each in found] == [type(score)] * 3
    assert book.count("run-1") == 3
    assert book.of_run("run-2") == []


def test_feedback_is_given_on_examples(book: FeedbackBook) -> None:
    given = [said(number, score=1.0, dataset="orders", example=key) for number, key in enumerate(["e-1", ODD])]
    for each in given:
        book.add(each)

    assert book.of_dataset("orders") == given


def test_the_scenario_is_the_only_one_where_none_is_named(book: FeedbackBook) -> None:
    book.add(said(score=True, run_id="run-2", scenario="", trial=3))

    assert [(each.scenario, each.trial) for each in book.of_run("run-2")] == [("only", 3)]


def test_a_part_of_a_title_names_a_scenario_where_it_is_in_no_other(book: FeedbackBook) -> None:
    book.add(said(score=True, run_id="run-2", scenario="ONL", trial=3))

    assert [each.scenario for each in book.of_run("run-2")] == ["only"]


def test_a_part_of_several_titles_names_none(book: FeedbackBook, database: Database) -> None:
    database.append("run-3", [begun("run-3", titles=["a return", "another return"]), held(0)])

    with pytest.raises(DefinitionError, match="2 scenarios have 'return' in their titles"):
        book.add(said(score=True, run_id="run-3", scenario="return"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"run_id": "run-3"}, "there is no run 'run-3'; see `simeval runs`"),
        ({"scenario": "C"}, "there is no scenario 'C' in run run-1; name one of 'A', "),
        ({"scenario": ""}, "no scenario is named in run run-1; name one of 'A', "),
        ({"trial": 2}, "there is no trial 2 of 'A' in run run-1"),
        ({"run_id": "run-2", "scenario": "only", "trial": 1}, "there is no trial 1 of 'only' in run run-2"),
        ({"dataset": "refunds", "example": "e-1"}, "there is no dataset 'refunds' in the store"),
        ({"dataset": "orders", "example": "e-9"}, "dataset 'orders' has no example 'e-9' in any version"),
    ],
)
def test_feedback_on_what_is_not_there_is_refused(book: FeedbackBook, given: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        book.add(said(score=1.0, **given))

    assert book.of_run("run-1") == []


@pytest.mark.parametrize("read", [lambda book: book.of_run("run-3"), lambda book: book.of_dataset("refunds")])
def test_feedback_on_what_is_not_there_is_not_listed(book: FeedbackBook, read: Any) -> None:
    with pytest.raises(DefinitionError, match=r"there is no (run|dataset)"):
        read(book)


def test_feedback_of_one_id_is_replaced_and_removed(book: FeedbackBook) -> None:
    for score in (1.0, 2.0):
        book.add(said(score=score, feedback_id="a"))
    replaced = [each.score for each in book.of_run("run-1")]

    book.remove("a")

    assert replaced == [2.0]
    assert book.of_run("run-1") == []
    with pytest.raises(DefinitionError, match="no feedback has the id 'a'"):
        book.remove("a")


def test_a_deleted_run_takes_its_feedback_along(book: FeedbackBook, database: Database) -> None:
    book.add(said(score=1.0))
    book.add(said(score=1.0, run_id="run-2", scenario="only"))

    Runs(database).delete("run-1")

    assert rows(database, "SELECT run_id FROM feedback") == [("run-2",)]


def test_what_is_exported_is_imported_as_it_was(book: FeedbackBook, tmp_path: Path) -> None:
    given = [said(0, score=True, comment=ODD), said(1, score=0.5, scenario=ODD), said(2, comment="x")]
    of_example = said(3, score=1, dataset="orders", example=ODD)
    for each in (*given, of_example):
        book.add(each)
    path = tmp_path / "all.jsonl"

    counts = [
        book.export(path),
        book.export(tmp_path / "run.jsonl", run_id="run-1"),
        book.export(tmp_path / "orders.jsonl", dataset="orders"),
    ]
    again = book.load(path)
    for each in (*given, of_example):
        book.remove(each.feedback_id)
    anew = book.load(path)

    assert counts == [4, 3, 1]
    assert (again, anew) == (0, 4)
    assert book.of_run("run-1") == given
    assert book.of_dataset("orders") == [of_example]
    assert len(path.read_text().splitlines()) == 4


def test_lines_without_an_id_are_kept_once_however_often_they_are_imported(book: FeedbackBook, tmp_path: Path) -> None:
    line = {"key": "helpful", "score": 1, "scenario": "A", "trial": 0}
    path = lines(tmp_path / "people.jsonl", line, "", line, {**line, "run_id": "run-1", "trial": 1})

    first, second = book.load(path, run_id="run-1"), book.load(path, run_id="run-1")
    found = book.of_run("run-1")
    lines(path, line, {**line, "score": 2})
    third = book.load(path, run_id="run-1")

    assert (first, second, third) == (3, 0, 1)
    assert [each.trial for each in sorted(found, key=lambda each: each.trial or 0)] == [0, 0, 1]
    assert set(found) <= set(book.of_run("run-1"))


def test_what_looks_like_a_key_is_not_kept(book: FeedbackBook, database: Database, tmp_path: Path) -> None:
    secret = "sk-abcdefghijkl1234567890"
    book.add(said(key=f"leak {secret}", comment=f"It told me {secret}.", source=f"ann {secret}"))
    line = {"key": "leak", "comment": secret, "scenario": "A", "trial": 1}
    loaded = [book.load(lines(tmp_path / "people.jsonl", line), run_id="run-1") for _ in range(2)]

    first, second = book.of_run("run-1")
    assert (first.key, first.comment, first.source) == ("leak [secret]", "It told me [secret].", "ann [secret]")
    assert (second.comment, loaded) == ("[secret]", [1, 0])
    assert secret not in str(rows(database, "SELECT * FROM feedback"))


def test_an_edited_line_replaces_what_was_there(book: FeedbackBook, tmp_path: Path) -> None:
    book.add(said(score=1.0, feedback_id="a"))
    path = tmp_path / "all.jsonl"
    book.export(path)
    path.write_text(path.read_text().replace("1.0", "3.0"))

    assert book.load(path) == 0
    assert [each.score for each in book.of_run("run-1")] == [3.0]


GOOD = {"key": "helpful", "score": 1, "run_id": "run-1", "scenario": "A", "trial": 0}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "line 3: it is not JSON"),
        ("5", "line 3: found 5; write a JSON object on each line"),
        ({**GOOD, "key": None}, "line 3: feedback key: it is missing"),
        ({**GOOD, "score": "good"}, "line 3: feedback score: found 'good'"),
        ({**GOOD, "score": [1]}, r"line 3: feedback score: found \[1\]"),
        ({**GOOD, "stars": 5}, "line 3: feedback: found stars"),
        ({**GOOD, "trial": 7}, "line 3: feedback trial: there is no trial 7"),
        ({**GOOD, "run_id": "run-9"}, "line 3: feedback run_id: there is no run 'run-9'"),
        ({**GOOD, "run_id": None}, "line 3: feedback run_id: found ''"),
        ({**GOOD, "feedback_id": "a"}, "line 3: the feedback_id 'a' is also that of .*line 1"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_nothing_is_kept(
    book: FeedbackBook, tmp_path: Path, bad: Any, message: str
) -> None:
    path = lines(tmp_path / "people.jsonl", {**GOOD, "feedback_id": "a"}, "", bad)

    with pytest.raises(DefinitionError, match=rf"people\.jsonl, {message}"):
        book.load(path)

    assert book.of_run("run-1") == []


def test_a_file_that_cannot_be_used_is_named(book: FeedbackBook, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"none\.jsonl: it cannot be read"):
        book.load(tmp_path / "none.jsonl")
    with pytest.raises(StoreError, match="could not be written"):
        book.export(tmp_path / "nowhere" / "all.jsonl")

    assert book.load(lines(tmp_path / "empty.jsonl")) == 0
