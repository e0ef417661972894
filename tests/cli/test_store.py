"""The command line on stored runs: interrupted, resumed, listed, shown, compared, deleted."""

import json
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command_line import AN_HOUR, ASKED, PATIENCE_SECONDS, Started, simeval, started, wait_for

SCENARIO = """
  - title: The bot says what it does, {number}
    given: A new user
    when: The user asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {{type: success_rate, min_proportion: 0.9}}
"""
APP = f"""
import sys, time, anyio
from itertools import count
from pathlib import Path

numbers = count(1)

def asked():
    print({ASKED!r}, file=sys.stderr, flush=True)

async def good(message, state):
    if next(numbers) > 100 and Path("stall").exists():
        asked()
        while Path("stall").exists():
            await anyio.sleep(0.01)
    return "I track orders and start returns."

async def hangs(message, state):
    asked()
    await anyio.sleep(3600)

def sleeps(message, state):
    asked()
    time.sleep(3600)

async def blocks(message, state):
    asked()
    time.sleep(3600)
"""
STORE = Path(".simeval/simeval.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a suite of 20 scenarios and apps."""
    suite = "".join(SCENARIO.format(number=number) for number in range(20))
    (tmp_path / "suite.yaml").write_text(f"sample_size: 30\nscenarios:\n{suite}", encoding="utf-8")
    (tmp_path / "shop.py").write_text(APP, encoding="utf-8")
    return tmp_path


def stalled(folder: Path, *arguments: str) -> Started:
    """Start a run whose app answers a hundred times; return when it holds up all conversations under way.

    It goes on when there is no file named "stall" any more.
    """
    (folder / "stall").touch()
    options = ("--app", "shop:good", "--seed", "3", "--concurrency", "20")
    return started(folder, "run", "suite.yaml", *options, *arguments, lines=20)


def interrupted(process: Started, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Send a signal; give the status and both outputs."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return process.wait(PATIENCE_SECONDS), output, errors


def test_an_interrupted_run_finishes_what_is_under_way_and_goes_on_as_if_nothing_had_happened(folder: Path) -> None:
    process = stalled(folder, "--json", "cut.json")
    process.send_signal(signal.SIGINT)
    wait_for("no more trials are started; the 20 under way are finished, in about", process)
    (folder / "stall").unlink()
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    run = json.loads((folder / "cut.json").read_text())["run_id"]
    assert process.returncode == 130
    assert errors.count("Traceback") == 0
    assert output.startswith(
        "INCONCLUSIVE  all 20 scenarios are inconclusive\nthe run ended early: interrupted (SIGINT)\n"
    )
    assert f"simeval run suite.yaml --app shop:good --seed 3 --concurrency 20 --json cut.json --resume {run}" in errors

    resumed = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--json", "a.json", "--resume", run)
    whole = simeval(
        folder, "run", "suite.yaml", "--app", "shop:good", "--seed", "3", "--json", "b.json", "--store", "none"
    )

    one, other = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    assert resumed.returncode == whole.returncode == 0, resumed.stderr
    assert one["run_id"] == run
    assert "resumed: " in one["notes"][1]
    assert [s["expectations"] for s in one["scenarios"]] == [s["expectations"] for s in other["scenarios"]]
    assert not any("cut off" in note for note in one["notes"])


def test_a_request_to_terminate_ends_a_run_at_once_and_the_resumed_one_says_what_that_cost(folder: Path) -> None:
    process = stalled(folder, "--json", "cut.json")

    status, said, _ = interrupted(process, signal.SIGTERM)
    (folder / "stall").unlink()
    run = json.loads((folder / "cut.json").read_text())["run_id"]
    simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--json", "a.json", "--resume", run)

    found = json.loads((folder / "a.json").read_text())
    missing = [error for scenario in found["scenarios"] for error in scenario["errors"]]
    assert status == 130
    assert "the run ended early: interrupted (SIGTERM)" in said
    assert {error["stage"] for error in missing} == {"run"}
    assert f"the run was cut off in {len(missing)} trials that were under way" in found["notes"][-1]


@pytest.mark.parametrize("app", ["hangs", "sleeps"])
def test_an_app_that_hangs_does_not_hold_up_a_second_interrupt(folder: Path, app: str) -> None:
    process = started(folder, "run", "suite.yaml", "--app", f"shop:{app}", *AN_HOUR)
    process.send_signal(signal.SIGINT)
    wait_for("no more trials are started", process)

    status, _, errors = interrupted(process)

    assert status == 130
    assert "--resume" in errors
    assert "Traceback" not in errors


def test_an_app_that_holds_up_the_event_loop_does_not_hold_up_a_third_interrupt(folder: Path) -> None:
    process = started(folder, "run", "suite.yaml", "--app", "shop:blocks", *AN_HOUR)
    wait_for("the event loop has been blocked", process)

    for _ in range(2):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)  # of two signals at once the system gives one
    status, _, errors = interrupted(process)

    assert status == 130
    assert "simeval runs" in errors
    assert "Traceback" not in errors


def test_an_app_that_interrupts_the_program_itself_ends_it_without_a_traceback(folder: Path) -> None:
    (folder / "abrupt.py").write_text("def handle(message): raise KeyboardInterrupt\n")

    done = simeval(folder, "run", "suite.yaml", "--app", "abrupt:handle", "-q")

    assert done.returncode == 130
    assert "simeval: interrupted; `simeval runs` lists what is kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_are_listed_shown_and_deleted(folder: Path) -> None:
    app = ("--app", "shop:good", "--samples", "2")
    first = simeval(folder, "run", "suite.yaml", *app, "--json", "1.json")
    simeval(folder, "run", "suite.yaml", *app, "--max-calls", "80")
    run = json.loads((folder / "1.json").read_text())["run_id"]

    listed = simeval(folder, "runs").stdout
    report = simeval(folder, "show", run)
    document = simeval(folder, "show", run[:-1], "--json")
    agreed = simeval(folder, "compare", "1.json", "1.json")
    unasked = simeval(folder, "delete", run)
    deleted = simeval(folder, "delete", run, "--yes")
    gone = simeval(folder, "show", run)

    assert re.search(rf"{run} .* inconclusive +shop:good", listed)
    assert "inconclusive, stopped" in listed
    assert report.stdout.split("\nnote:")[0] == first.stdout.split("\nnote:")[0]
    assert json.loads(document.stdout) == json.loads((folder / "1.json").read_text())
    assert agreed.returncode == 2
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert (deleted.returncode, deleted.stdout) == (0, f"deleted {run}\n")
    assert (gone.returncode, "Traceback" in gone.stderr) == (2, False)
    assert run not in simeval(folder, "runs").stdout


def test_a_killed_run_shows_how_far_it_came_and_is_resumed(folder: Path) -> None:
    process = stalled(folder, "--samples", "10")
    process.kill()
    process.communicate()
    (folder / "stall").unlink()

    listed = simeval(folder, "runs").stdout
    shown = simeval(folder, "show")
    resumed = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "10", "--resume", "last")

    assert "interrupted" in listed
    assert "was interrupted" in shown.stdout
    assert "--resume" in shown.stdout
    assert resumed.returncode == 1, resumed.stderr
    assert "resumed: " in resumed.stdout

    again = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "10", "--resume", "last")

    assert " had finished: nothing is left to do" in again.stderr


@pytest.mark.parametrize("arguments", [("runs",), ("show",), ("delete", "last", "--yes")])
def test_a_store_that_is_not_there_is_not_made(folder: Path, arguments: tuple[str, ...]) -> None:
    done = simeval(folder, *arguments)

    assert done.returncode == 2
    assert "simeval.db" in done.stderr
    assert not (folder / STORE).exists()


def test_a_spent_budget_ends_with_status_3(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--max-calls", "110")

    assert done.returncode == 3
    assert "the run ended early: max_calls of 110 is reached" in done.stdout
    assert "max_calls of" not in done.stderr  # it is told once
    assert "--max-calls 110 --resume" in done.stderr
    assert "raise that limit" in done.stderr


def test_the_second_run_is_answered_from_the_store(folder: Path) -> None:
    arguments = ("run", "suite.yaml", "--app", "shop:good", "--samples", "2", "--seed", "3", "--cache", "--json", "-")

    first, second = (json.loads(simeval(folder, *arguments).stdout) for _ in range(2))

    assert first["usage"]["cached_calls"] < 10
    assert second["usage"]["calls"] == 0
    assert second["usage"]["cached_calls"] == first["usage"]["calls"] + first["usage"]["cached_calls"]
    assert [s["expectations"] for s in second["scenarios"]] == [s["expectations"] for s in first["scenarios"]]


def test_a_secret_pattern_that_cannot_be_used_is_refused(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--secret-pattern", "(")

    assert done.returncode == 2
    assert "secret" in done.stderr


def test_the_store_of_the_project_is_read_and_written_by_all_commands(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.simeval]\nstore = "ours.db"\n')
    (folder / "answers.jsonl").write_text('{"input": "hi", "said": "hello"}\n')

    scored = simeval(folder, "score", "answers.jsonl", "--recorded", "said", "--scorers", "response_length")
    listed = simeval(folder, "runs")
    (folder / "pyproject.toml").write_text('[tool.simeval]\nstore = "none"\n')
    none = simeval(folder, "runs")

    assert (scored.returncode, listed.returncode) == (0, 0), scored.stderr + listed.stderr
    assert "answers" in listed.stdout
    assert not (folder / ".simeval").exists()
    assert none.stderr == "simeval: store: none is kept; name the store of a run with --store.\n"
