"""The command line on feedback and datasets: added, listed, exported, imported, removed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simeval.cli.main import main
from simeval.datasets.files import dataset_of
from simeval.store.database import Database
from simeval.store.datasets import Datasets
from tests.support.command_line import simeval as simeval_process
from tests.support.stores import begun, held, judged, whole_run

STORE = Path(".simeval/simeval.db")


def simeval(*arguments: str) -> Result:
    """Run simeval in this process."""
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of two runs, of which the last has one scenario, and a dataset."""
    database = Database(tmp_path / STORE)
    entries, suite = whole_run(begun("run-a"))
    database.append("run-a", [*entries, suite])
    database.append("run-b", [begun("run-b", titles=["only"]), held(0), judged(0)])
    Datasets(database).save(dataset_of([{"question": "why?", "id": "e-1"}], name="orders"), tags=["stable"])
    database.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_feedback_is_added_listed_counted_and_removed(folder: Path) -> None:
    before = simeval("feedback", "run-a")
    added = simeval(
        "feedback", "run-a", "--scenario", "A", "--trial", "1", "--key", "helpful", "--score", "false",
        "--comment", "It says hello \x1b[31m only", "--source", "ann",
    )  # fmt: skip
    last = simeval("feedback", "--trial", "0", "--key", "tone", "--score", "0.5")
    listed = simeval("feedback", "run-a").stdout
    shown = simeval("show", "run-a").stdout
    of_last = simeval("feedback").stdout
    removed = simeval("feedback", "--remove", added.stdout.split()[1])
    after = simeval("feedback", "run-a").stdout

    assert before.stdout == after == "no feedback on run run-a\n"
    assert (added.exit_code, last.exit_code, removed.exit_code) == (0, 0, 0), added.stderr + last.stderr
    for text in ("A, trial 1", "helpful", "false", "It says hello", "ann", added.stdout.split()[1]):
        assert text in listed
    assert "\x1b" not in listed
    assert "feedback: 1 (see simeval people feedback run-a)" in shown
    assert "only, trial 0" in of_last
    assert "0.5" in of_last


def test_feedback_is_given_on_examples(folder: Path) -> None:
    added = simeval("feedback", "--dataset", "orders", "--example", "e-1", "--key", "clear", "--comment", "no")
    listed = simeval_process(folder, "feedback", "--dataset", "orders").stdout

    assert added.exit_code == 0, added.stderr
    assert "example e-1" in listed


def test_feedback_is_exported_and_imported(folder: Path) -> None:
    people = [{"key": "helpful", "score": 1, "scenario": "A", "trial": number} for number in range(3)]
    (folder / "people.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in people))

    imported = [simeval("feedback", "run-a", "--import", "people.jsonl").stdout for _ in range(2)]
    simeval("feedback", "run-b", "--trial", "0", "--key", "tone", "--score", "yes")
    places: list[list[str]] = [["run-a"], ["--dataset", "orders"], []]
    exported = [simeval("feedback", *place, "--export", "out.jsonl").stdout for place in places]

    assert imported == ["3 new from people.jsonl\n", "0 new from people.jsonl\n"]
    assert exported == [f"{count} written to out.jsonl\n" for count in (3, 0, 4)]
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [(each["run_id"], each["score"]) for each in found] == [("run-a", 1)] * 3 + [("run-b", True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run-c",), "there is no run 'run-c'"),
        (("run-a", "--trial", "0", "--key", "x", "--score", "1"), "name one of 'A', 'B'"),
        (("run-b", "--key", "x", "--score", "1"), "give the trial's number"),
        (("run-b", "--trial", "4", "--key", "x", "--score", "1"), "there is no trial 4 of 'only'"),
        (("run-b", "--trial", "0", "--score", "1"), "feedback: --key is missing"),
        (("run-b", "--trial", "0", "--key", "x"), "neither a score nor a comment"),
        (("run-b", "--trial", "0", "--key", "x", "--score", "good"), "--score: found 'good'"),
        (("run-b", "--export", "a", "--import", "b"), "use one of them at a time"),
        (("run-b", "--dataset", "orders"), "give one of them"),
        (("--dataset", "refunds"), "there is no dataset 'refunds'"),
        (("--import", "none.jsonl"), "none.jsonl: it cannot be read"),
        (("--store", "other.db"), "there is no 'other.db'"),
    ],
)
def test_what_cannot_be_done_is_said_with_status_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = simeval("feedback", *arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_datasets_are_listed(folder: Path) -> None:
    listed = simeval("datasets").stdout.splitlines()
    database = Database(folder / "empty.db")
    database.close()
    empty = simeval("datasets", "--store", "empty.db").stdout

    assert listed[0].split()[:5] == ["dataset", "version", "kind", "examples", "tags"]
    assert listed[2].split()[0::2][:2] == ["orders", "kv"]
    assert listed[2].split()[3:5] == ["1", "stable"]
    assert empty == "no datasets in empty.db\n"
