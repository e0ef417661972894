"""What people said of a run's answers: concluded on as a score, and held against the judge; a model's words are not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import SUITE, simeval

APP = """
async def app(message, state):
    return "I track orders and start returns.", state
"""
TRIALS = 40


def said(trial: int, score: object, **changes: Any) -> dict[str, Any]:
    """Return what ann says of a trial."""
    return {"key": "helpful", "trial": trial, "score": score, "source": "ann", "labeller": "person", **changes}


def of_everyone() -> Iterator[dict[str, Any]]:
    """Yield what ann says of thirty trials, bob of two of them, and a model of all."""
    yield from (said(trial, trial != 7) for trial in range(30))
    yield from (said(trial, False, source="bob") for trial in (0, 1))
    yield from (said(trial, False, source="gpt", labeller="model") for trial in range(TRIALS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of forty good answers in the store, with feedback."""
    place = tmp_path_factory.mktemp("people")
    (place / "suite.yaml").write_text(SUITE)
    (place / "shop.py").write_text(APP)
    run = ("run", "suite.yaml", "--app", "shop:app", "--samples", str(TRIALS), "--no-early-stopping", "-q")
    assert simeval(place, *run).returncode == 0
    (place / "people.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in of_everyone()))
    assert simeval(place, "feedback", "last", "--import", "people.jsonl").returncode == 0
    (place / "run_id").write_text(json.loads(simeval(place, "runs", "--json", "-").stdout)["runs"][0]["run_id"])
    return place


def run_of(folder: Path) -> str:
    return (folder / "run_id").read_text()


@pytest.mark.parametrize(("bar", "status"), [("helpful=0.7", 0), ("helpful=0.99", 1)])
def test_a_share_of_what_people_said_is_concluded_on(folder: Path, bar: str, status: int) -> None:
    done = simeval(folder, "score", run_of(folder), "--feedback", "helpful", "--share", bar, "--json", f"{status}.json")

    assert done.returncode == status, done.stderr
    (verdict,) = json.loads((folder / f"{status}.json").read_text())["expectations"][0]["verdicts"]
    assert (verdict["n"], verdict["estimate"]) == (30, pytest.approx(27 / 30))


def test_who_said_it_and_how_many_stand_in_the_rows_and_models_do_not_count(folder: Path) -> None:
    done = simeval(folder, "score", run_of(folder), "--feedback", "helpful", "--scorers", "turn_count")
    rows = simeval(folder, "show", "last", "--rows", "--out", "rows.jsonl")

    assert (done.returncode, rows.returncode) == (0, 0), done.stderr + rows.stderr
    found = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert len(found) == 30
    assert found[0]["scores"]["helpful.score"]["value"] == 0.5
    assert found[0]["scores"]["helpful.people"]["value"] == 2
    assert all("turn_count" in each["scores"] for each in found)
    assert "ann: True; bob: False" in json.dumps(found[0])
    assert "gpt" not in json.dumps(found)


def test_the_judge_is_held_against_it(folder: Path) -> None:
    done = simeval(folder, "agree", run_of(folder), "--feedback", "helpful", "--json", "agree.json")
    of_labels = simeval(folder, "agree", run_of(folder))

    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "agree.json").read_text())
    assert report["raters"] == ["ann", "bob"]
    assert "no person has labelled run" in of_labels.stderr


def test_a_key_under_which_no_person_said_anything_is_told(folder: Path) -> None:
    found = [simeval(folder, *each, "--feedback", "tone") for each in (("score", "last"), ("agree", run_of(folder)))]

    assert [each.returncode for each in found] == [2, 2]
    assert "no person has scored a trial under tone" in found[0].stderr
    assert "no person has labelled run" in found[1].stderr


def test_the_command_line_says_who_is_a_person(folder: Path) -> None:
    given = ("feedback", run_of(folder), "--trial", "0", "--key", "kind", "--score", "yes")

    as_nobody = [simeval(folder, *given), simeval(folder, "score", run_of(folder), "--feedback", "kind")]
    as_person = [
        simeval(folder, *given, "--labeller", "person"),
        simeval(folder, "score", run_of(folder), "--feedback", "kind"),
    ]

    assert [each.returncode for each in as_nobody] == [0, 2]
    assert [each.returncode for each in as_person] == [0, 0], as_person[1].stderr


def test_a_file_has_no_feedback(folder: Path) -> None:
    found = simeval(folder, "score", "people.jsonl", "--feedback", "helpful")

    assert found.returncode == 2
    assert "give a run of the store" in found.stderr


def test_a_one_is_good_to_the_score_and_to_the_agreement(folder: Path) -> None:
    run = run_of(folder)
    (folder / "thumbs.jsonl").write_text("".join(f"{json.dumps(said(trial, 1, key='thumb'))}\n" for trial in range(9)))
    assert simeval(folder, "feedback", run, "--import", "thumbs.jsonl").returncode == 0

    scored = simeval(folder, "score", run, "--feedback", "thumb", "--share", "thumb=0.5", "-q")
    shown = simeval(folder, "show", "last", "-q")
    agreed = simeval(folder, "agree", run, "--feedback", "thumb")

    assert scored.stdout.startswith(f"PASS  the requirement passes: dataset run {run}, ")
    assert scored.stdout == shown.stdout
    assert scored.stdout.count("\n") == 1
    assert "(passes and failures)" in agreed.stdout
    assert "people would find" in agreed.stdout
    assert " 100% " in agreed.stdout
