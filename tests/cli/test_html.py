"""`--html` as a user meets it: of runs, of stored runs, of measured logs, and paths that cannot be written."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import SUITE, simeval

APP = """
async def handle(message, state):
    return "I track orders, start returns."
"""
RUN = ("run", "suite.yaml", "--app", "shop:handle", "--samples", "30", "--no-early-stopping", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an app and a suite, and a store with a run."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "shop.py").write_text(APP)
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    done = simeval(folder, *RUN, "--html", "run.html", "--json", "run.json", "--seed", "7")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_run_and_the_same_run_of_the_store_have_one_report(folder: Path) -> None:
    done = simeval(folder, "show", "last", "--html", "shown.html")

    assert done.returncode == 0
    assert json.loads((folder / "run.json").read_text("utf-8"))["run_id"] in (folder / "shown.html").read_text("utf-8")
    assert abs((folder / "shown.html").stat().st_size - (folder / "run.html").stat().st_size) < 100


def test_a_measured_log_has_a_report(folder: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (folder / "log.jsonl").write_text(f"{json.dumps({'messages': turns})}\n" * 5, encoding="utf-8")

    done = simeval(folder, "score", "log.jsonl", "--scorers", "response_length", "--html", "measured.html")

    assert done.returncode == 0, done.stderr
    assert "response_length" in (folder / "measured.html").read_text("utf-8")


@pytest.mark.parametrize("command", [RUN, ("show", "last"), ("compare", "run.json", "run.json")])
def test_a_report_that_cannot_be_written_is_a_mistake_told_at_once(folder: Path, command: tuple[str, ...]) -> None:
    done = simeval(folder, *command, "--html", "no/where.html")

    assert done.returncode == 2
    assert "no/where.html" in done.stderr
