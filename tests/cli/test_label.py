"""Labelling in a terminal: sixty labels by the keyboard alone, blind, kept one by one; and what follows from them."""

import json
import os
import re
import shutil
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.support.command_line import SUITE, simeval
from tests.support.terminals import TerminalSession, in_terminal

APP = """
from itertools import count

numbers = count()

async def app(message, state):
    number = state.setdefault("number", next(numbers))
    return ("No idea." if number % 4 == 0 else "I track orders and start returns."), state
"""
SCORED = re.compile(r"score \d|heuristic|parts of the expectation are covered;|kappa|sensitivity|PASS|FAIL|the judge")
KEYS = "y: it does   n: it does not"
LABEL = ("label", "last", "--by", "ann")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eighty trials in the store, of which a quarter is bad."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "shop.py").write_text(APP)
    run = ("run", "suite.yaml", "--app", "shop:app", "--seed", "1", "--samples", "80", "--no-early-stopping")
    assert simeval(folder, *run, "--concurrency", "1", "-q").returncode == 1
    return folder


@pytest.fixture
def folder(evaluated: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be labelled."""
    return Path(shutil.copytree(evaluated, tmp_path / "evaluated"))


def is_shown(session: TerminalSession, number: int) -> bool:
    """Return whether the trial is to be seen that comes after so many labels."""
    return session.text.startswith(f"{number} labelled") and KEYS in session.text


def label(session: TerminalSession, labels: int, *, first: int = 0) -> None:
    """Say of so many trials whether the bot told what it can do, as a person reads it, but for every tenth."""
    for number in range(first, first + labels):
        session.until(partial(is_shown, session, number))
        is_good = "I track orders" in session.text
        session.type("y" if is_good != (number % 10 == 9) else "n")


def seen(session: TerminalSession) -> str:
    """Return all that was written before the screen was left."""
    return session.raw.split(b"\x1b[?1049l")[0].decode()


def test_sixty_labels_are_given_by_keys_alone_and_agree_says_what_follows(folder: Path) -> None:
    with in_terminal(folder, *LABEL, "--sample", "60") as session:
        label(session, 60)
        status = session.ended()
    after = session.raw.split(b"\x1b[?1049l")[1].decode()
    agreed = simeval(folder, "agree", "last", "--json", "agreed.json")
    report = json.loads((folder / "agreed.json").read_text())

    assert status == 0
    assert not SCORED.search(seen(session))
    assert "60 labelled, 0 skipped, 0 to go" in after
    assert "people and the judge disagree on 6:" in after
    assert re.search(r"ann says (pass|fail), the judge (pass|fail) with \d+: ", after)
    assert agreed.returncode == 0, agreed.stderr
    assert "60 of 80 conversations are labelled" in agreed.stdout
    assert "Cohen's kappa" in agreed.stdout
    assert report["raters"] == ["ann"]
    assert report["entries"][0]["confusion"]["accuracy"]["successes"] == 54


def test_a_narrow_screen_holds_all_from_the_count_to_the_keys(folder: Path) -> None:
    with in_terminal(folder, *LABEL, "--sample", "3", rows=40, columns=40) as session:
        session.until(lambda: "q: leave" in session.text)
        shown = session.text
        session.type("q")
        session.ended()

    assert "guideline, from 1" in shown
    assert shown.startswith("0 labelled, 0 skipped, 3 to go")


def test_a_person_who_is_killed_goes_on_where_they_were(folder: Path) -> None:
    with in_terminal(folder, *LABEL, "--sample", "5") as first:
        label(first, 3)
        first.until(lambda: first.text.startswith("3 labelled"))
        os.kill(first.process, signal.SIGKILL)
        first.ended()

    with in_terminal(folder, *LABEL, "--sample", "5") as second:
        second.until("3 labelled, 0 skipped, 2 to go")
        label(second, 2, first=3)
        status = second.ended()

    assert status == 0
    assert not SCORED.search(seen(second))
    assert b"5 labelled, 0 skipped, 0 to go" in second.raw


def test_a_label_is_taken_back_a_trial_skipped_and_the_screen_left_without_a_score(folder: Path) -> None:
    with in_terminal(folder, *LABEL, "--sample", "5") as session:
        session.until(KEYS)
        shown = session.text.split("\n", 1)[1]
        session.type("y")
        session.until("1 labelled")
        session.type("u")
        session.until("taken back")
        again = session.text.split("\n", 1)[1]
        session.type("sunclear\n")
        session.until("0 labelled, 1 skipped, 4 to go")
        session.type("x")
        session.until("x is none of the keys below")
        session.type("q")
        status = session.ended()
    said = simeval(folder, "feedback", "last", "--export", "said.jsonl")
    [kept] = [json.loads(line) for line in (folder / "said.jsonl").read_text().splitlines()]

    assert status == 0
    assert again.split("taken back")[0].strip() in shown
    assert not SCORED.search(session.raw.decode())
    assert b"0 labelled, 1 skipped, 4 to go; the same command goes on" in session.raw
    assert said.returncode == 0
    assert (kept["comment"], kept["source"], kept["labeller"], kept["inclusion"]) == (
        "unclear",
        "ann",
        "person",
        5 / 80,
    )


def test_two_people_are_held_against_each_other(folder: Path) -> None:
    for rater in ("ann", "bob"):
        with in_terminal(folder, "label", "last", "--sample", "12", "--by", rater) as session:
            label(session, 12)
            assert session.ended() == 0

    agreed = simeval(folder, "agree", "last")

    assert "against 2 people" in agreed.stdout
    assert "people among themselves 1.00" in agreed.stdout


def test_without_a_terminal_and_without_labels_it_is_said_what_to_do(folder: Path) -> None:
    labelled, agreed = simeval(folder, "label", "last"), simeval(folder, "agree", "last")

    assert (labelled.returncode, agreed.returncode) == (2, 2)
    assert "there is nobody to ask; run it in a terminal" in labelled.stderr
    assert "no person has labelled run" in agreed.stderr


def test_a_model_s_labels_are_no_people_s(folder: Path) -> None:
    simeval(folder, "show", "last", "--json", "run.json")
    title = json.loads((folder / "run.json").read_text())["scenarios"][0]["title"]
    (folder / "labels.csv").write_text(f"scenario,index,label,labeller\n{title},0,pass,model\n")
    line = {"key": "Bot tracks orders, starts returns", "trial": 0, "score": True, "labeller": "model", "source": "gpt"}
    (folder / "model.jsonl").write_text(json.dumps(line))

    refused = simeval(folder, "agree", "run.json", "labels.csv")
    imported = simeval(folder, "feedback", "last", "--import", "model.jsonl")
    agreed = simeval(folder, "agree", "last")

    assert refused.returncode == 2
    assert "labeller: found 'model'; give people's labels alone" in refused.stderr
    assert imported.returncode == 0, imported.stderr
    assert "no person has labelled run" in agreed.stderr
