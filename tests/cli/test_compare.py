"""`simeval compare` as a user meets it: two runs, exit statuses, reports, errors."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from simeval import Engine, Example, scorer
from simeval.datasets.dataset import check_dataset
from tests.support.command_line import ROOT, simeval

APP = """
async def good(message, state):
    return "I track orders, start returns."

async def bad(message, state):
    return "No idea."
"""
SUITE = """
sample_size: 60
scenarios:
  - title: The bot says what it does \u2602
    given: A new user
    when: The user asks what the bot can do
    max_turns: 1
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {type: success_rate, min_proportion: 0.9, early_stopping: false}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the results of two good runs and a bad one, all of the same seed."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "shop.py").write_text(APP)
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "nonsense.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    for app, name in (("good", "old"), ("good", "same"), ("bad", "worse")):
        done = simeval(folder, "run", "suite.yaml", "--app", f"shop:{app}", "--seed", "5", "--json", f"{name}.json")
        assert done.returncode in (0, 1), done.stderr
    stored = json.loads((folder / "old.json").read_text(encoding="utf-8"))
    (folder / "older.json").write_text(json.dumps({key: stored[key] for key in stored if key != "seed"}))
    return folder


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["old.json", "same.json"], 0),
        (["old.json", "worse.json"], 1),
        (["worse.json", "old.json"], 0),
        (["old.json", "same.json", "--margin", "0.01"], 1),
        (["old.json", "same.json", "--alpha", "0.01"], 1),
        (["old.json", "same.json", "--alpha", "0.01", "--gate", "not_proven_worse"], 0),
        (["old.json", "worse.json", "--gate", "not_proven_worse"], 1),
        (["old.json", "same.json", "--gate", "pass"], 2),
        (["old.json", "same.json", "--lower", "helps"], 2),
        (["old.json", "nothing.json"], 2),
        (["old.json", "."], 2),
        (["nonsense.json", "same.json"], 2),
        (["old.json", "list.json"], 2),
        (["old.json", "binary.json"], 2),
        (["old.json", "older.json"], 2),
        (["old.json", "suite.yaml"], 2),
        (["old.json", "same.json", "--margin", "5"], 2),
        (["old.json", "same.json", "--alpha", "0"], 2),
        (["old.json", "same.json", "--json", "no/such/folder/x.json"], 2),
        (["old.json"], 2),
    ],
)
def test_the_exit_status_says_how_it_went(folder: Path, arguments: list[str], status: int) -> None:
    done = simeval(folder, "compare", *arguments)

    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_it_says_first_what_is_found_and_then_the_table_and_the_reason(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "worse.json")

    said = " ".join(done.stdout.split())
    assert "60 of 60 before, 0 of 60 now; 60 trials got worse, 0 better: proven worse" in said
    assert done.stdout.splitlines()[0] == "WORSE  the requirement is worse"
    assert not done.stderr


def test_json_on_standard_output_stands_alone(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "worse.json", "--json", "-")

    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["finding"], len(found["changes"][0]["regressed"])) == ("worse", 60)
    assert "WORSE" in done.stderr


def test_json_is_written_to_a_file(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "same.json", "--json", "found.json")

    assert json.loads((folder / "found.json").read_text(encoding="utf-8"))["passed"] is True
    assert "NOT WORSE" in done.stdout


def test_a_terminal_that_cannot_show_a_title_stops_nothing(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "same.json", PYTHONIOENCODING="ascii")

    assert done.returncode == 0, done.stderr
    assert "\\u2602" in done.stdout


def test_a_file_that_is_no_result_is_named_with_the_way_out(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "older.json")

    assert done.stderr == (
        "simeval: candidate 'older.json': the key seed is missing; give what `--json PATH` writes, made by this "
        "version of simeval.\n"
    )


def test_it_starts_without_the_engine() -> None:
    heavy = ("litellm", "aiohttp", "anyio")
    code = f"import sys, simeval.cli.compare as _\nprint([m for m in {heavy!r} if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


class TestExperiments:
    """Two experiments of a store."""

    def test_runs_are_named_by_their_ids_and_a_loss_ends_with_status_1(self, tmp_path: Path) -> None:
        good, bad = (anyio.run(_experiment, tmp_path / "store.db", answer) for answer in ("yes", "no"))

        loss = simeval(tmp_path, "compare", good, bad, "--store", "store.db", "--json", "out.json")
        gain = simeval(tmp_path, "compare", bad, good[:-1], "--store", "store.db")

        assert (loss.returncode, gain.returncode) == (1, 0)
        assert loss.stdout.startswith("WORSE  the metric is worse; on 12 examples of both")
        assert gain.stdout.startswith("BETTER  the metric is better; on 12 examples of both")
        assert json.loads((tmp_path / "out.json").read_text())["changes"][0]["finding"] == "worse"

    def test_an_experiment_is_not_compared_with_a_suite(self, tmp_path: Path, folder: Path) -> None:
        run = anyio.run(_experiment, tmp_path / "store.db", "yes")

        done = simeval(tmp_path, "compare", str(folder / "old.json"), run, "--store", "store.db")

        assert done.returncode == 2
        assert "one is an experiment, the other a run of a suite" in done.stderr


async def _experiment(store: Path, answer: str) -> str:
    examples = [Example(inputs={"n": n}) for n in range(12)]
    dataset = check_dataset(lambda: examples, name="d")
    is_yes = scorer(lambda output: output == "yes", name="yes", direction="higher")
    engine = Engine(store=store, seed=1, display="none")
    return (await engine.evaluate(dataset, lambda n: answer, scorers=[is_yes])).run.run_id


def test_a_run_whose_app_never_answered_is_compared_with_nothing(folder: Path) -> None:
    (folder / "silent.py").write_text("async def app(message):\n    raise RuntimeError('down')\n")
    simeval(folder, "run", "suite.yaml", "--app", "silent:app", "--samples", "5", "--json", "silent.json")

    done = simeval(folder, "compare", "old.json", "silent.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert "is an error, so nothing is known of its app" in done.stderr
    assert "your app never answered" in done.stderr


def test_several_candidates_stand_in_one_table(folder: Path) -> None:
    done = simeval(folder, "compare", "old.json", "same.json", "worse.json")

    assert done.returncode == 1
    assert "Holm's correction holds over all" in " ".join(done.stdout.split())
    assert "WORSE  shop:bad" in done.stdout
    assert "UNCLEAR  shop:good" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("same.json", "same.json"), "compare: two are run"),
        (("same.json", "worse.json", "--html", "a.html"), "--html: found 2 candidates; leave it out"),
    ],
)
def test_mistakes_with_several_are_told(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = simeval(folder, "compare", "old.json", *arguments)

    assert (done.returncode, said in done.stderr) == (2, True)


def test_what_is_compared_is_not_written_over(folder: Path) -> None:
    before = (folder / "old.json").read_text(encoding="utf-8")

    done = simeval(folder, "compare", "old.json", "worse.json", "--json", "old.json")

    assert (done.returncode, "this file is read by the same command" in done.stderr) == (2, True)
    assert (folder / "old.json").read_text(encoding="utf-8") == before
