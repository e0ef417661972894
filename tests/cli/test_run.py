"""The command line as a user meets it: exit statuses, reports, errors, interruption."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import (
    AN_HOUR,
    ASKED,
    PATIENCE_SECONDS,
    ROOT,
    SUITE,
    command,
    simeval,
    started,
    wait_for,
)

APP = f"""
import sys
import time
import anyio
from itertools import count

numbers = count(1)

def asked():
    print({ASKED!r}, file=sys.stderr, flush=True)

async def good(message, state):
    return "I track orders and start returns."

async def bad(message, state):
    return "No idea."

async def slow(message, state):
    asked()
    await anyio.sleep(3600)

def hangs(message, state):
    asked()
    time.sleep(3600)

async def stalls(message, state):
    number = state.get("number") or next(numbers)
    if number > 10:
        asked()
        await anyio.sleep(3600)
    return "I track orders and start returns.", {{"number": number}}

async def leaves(message, state):
    raise SystemExit(0)

async def chatty(message, state):
    print("debug", message)
    return "I track orders, start returns. \u2713"

async def crashes(message, state):
    raise RuntimeError("boom")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "empty.yaml").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["suite.yaml", "--app", "shop:good"], 0),
        (["suite.yaml", "--app", "shop:bad"], 1),
        (["suite.yaml", "--app", "shop:good", "--samples", "5"], 1),
        (["suite.yaml", "--app", "shop:crashes"], 3),
        (["nothing.yaml", "--app", "shop:good"], 2),
        (["shop:good", "--app", "shop:good"], 2),
        (["shop.py", "--app", "shop:good"], 2),
        (["suite.yaml", "--app", "shop.py:good"], 0),
        (["suite.yaml", "--app", "shop:good", "--json", "shop.py/x.json"], 2),
        (["suite.yaml", "--app", "shop:nobody"], 2),
        (["suite.yaml", "--app", "nonsense"], 2),
        (["suite.yaml", "--app", "shop:good", "--judge-model", "no-such-provider/x"], 2),
        (["suite.yaml", "--app", "shop:good", "--json", "no/such/folder/x.json"], 2),
        (["suite.yaml", "--app", "shop:good", "--concurrency", "0"], 2),
        (["suite.yaml", "--app", "shop:crashes", "--on-app-error", "stop"], 3),
        (["suite.yaml", "--app", "shop:crashes", "--on-app-error", "exclude"], 3),
        (["suite.yaml", "--app", "shop:leaves"], 3),
        (["suite.yaml", "--app", "shop:good", "--store", "/dev/full"], 2),
        (["empty.yaml", "--app", "shop:good"], 2),
    ],
)
def test_the_exit_status_says_how_it_went(folder: Path, arguments: list[str], status: int) -> None:
    done = simeval(folder, "run", *arguments)

    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistake_in_a_suite_names_file_line_and_field(folder: Path) -> None:
    (folder / "suite.yaml").write_text(SUITE.replace("min_proportion: 0.9", "min_proportion: 90"))

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good")

    assert done.returncode == 2
    assert "suite.yaml, line 9, field scenarios.0.then.evaluator" in done.stderr
    assert "found 90" in done.stderr


def test_json_on_standard_output_stands_alone(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--json", "-", "--seed", "5")

    result: dict[str, Any] = json.loads(done.stdout)
    assert result["outcome"] == "pass"
    assert result["seed"] == 5
    assert "PASS" in done.stderr


def test_what_an_app_prints_does_not_mix_with_the_json(folder: Path) -> None:
    chatty = ("run", "suite.yaml", "--app", "shop:chatty", "--json", "-")
    done = simeval(folder, *chatty, PYTHONIOENCODING="ascii")

    assert json.loads(done.stdout)["scenarios"][0]["conversations"][0]["turns"][1]["content"].endswith("\u2713")
    assert "debug" in done.stderr


@pytest.mark.parametrize(
    ("written", "arguments", "status", "seed"),
    [("seed: 4", [], 0, 4), ("seed: 4", ["--seed", "5"], 0, 5), ("seed: 4, app_timeout_seconds: 0", [], 2, None)],
)
def test_the_command_line_comes_before_what_a_suite_sets(
    folder: Path, written: str, arguments: list[str], status: int, seed: int | None
) -> None:
    (folder / "suite.yaml").write_text(f"settings: {{{written}}}\n{SUITE}")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--json", "out.json", *arguments)

    assert done.returncode == status, done.stderr
    if seed is None:
        assert "suite.yaml, line 1, field settings.app_timeout_seconds: found 0" in done.stderr
    else:
        assert json.loads((folder / "out.json").read_text())["seed"] == seed


def test_the_gate_of_a_suite_decides_the_exit_status_and_can_be_raised(folder: Path) -> None:
    (folder / "suite.yaml").write_text(f"settings: {{gate: not_fail}}\n{SUITE}")
    arguments = ("suite.yaml", "--app", "shop:good", "--samples", "5", "--store", "none")

    assert simeval(folder, "run", *arguments).returncode == 0
    assert simeval(folder, "run", *arguments, "--gate", "pass").returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_report_that_cannot_be_written_costs_no_verdict(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--json", "/dev/full")

    assert done.returncode == 3
    assert "'/dev/full' could not be written" in done.stderr
    assert "PASS" in done.stdout


@pytest.mark.parametrize("path", ["result.json", "-"])
def test_a_reader_that_has_gone_costs_no_verdict_and_no_report(folder: Path, path: str) -> None:
    arguments = command("run", "suite.yaml", "--app", "shop:good", "--json", path, "--junit", "report.xml")
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, cwd=folder, env=environment, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert done.returncode == 0, done.stderr
    assert b"broke" not in done.stderr
    assert (folder / "report.xml").exists()
    assert path == "-" or json.loads((folder / path).read_text())["outcome"] == "pass"


@pytest.mark.parametrize(
    ("option", "path"), [("--json", "suite.yaml"), ("--html", "./suite.yaml"), ("--junit", "runs.db")]
)
def test_a_report_is_not_written_over_what_is_read(folder: Path, option: str, path: str) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--store", "runs.db", option, path)

    assert (done.returncode, "this file is read by the same command" in done.stderr) == (2, True)
    assert (folder / "suite.yaml").read_text() == SUITE
    assert not (folder / "runs.db").exists()


def test_failed_conversations_are_offered_where_there_are_some(folder: Path) -> None:
    met = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "5")
    failed = simeval(folder, "run", "suite.yaml", "--app", "shop:bad")

    assert "INCONCLUSIVE" in met.stdout
    assert ["--failed" in each.stdout for each in (met, failed)] == [False, True]


def test_an_os_error_of_the_run_is_not_taken_for_one_of_a_report(folder: Path) -> None:
    (folder / "suites.py").write_text("def suite():\n    raise OSError('the suite broke')\n")

    done = simeval(folder, "run", "suites:suite", "--app", "shop:good")

    assert done.returncode == 3
    assert "the suite broke" in done.stderr
    assert "could not be written" not in done.stderr


def test_reports_are_written(folder: Path) -> None:
    simeval(folder, "run", "suite.yaml", "--app", "shop:bad", "--json", "out.json", "--junit", "out.xml")

    assert json.loads((folder / "out.json").read_text())["scenarios"][0]["outcome"] == "fail"
    assert ET.parse(folder / "out.xml").getroot().get("failures") == "1"


def test_debug_shows_prompts_and_reasoning_as_json_lines(folder: Path) -> None:
    done = simeval(
        folder,
        "run",
        "suite.yaml",
        "--app",
        "shop:good",
        "--samples",
        "1",
        "--log-level",
        "debug",
        "--log-format",
        "json",
    )

    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"run started", "prompt", "reply", "rubric", "grade"} <= {event["event"] for event in events}


def test_the_starter_runs_as_it_is_and_is_never_overwritten(folder: Path) -> None:
    first = simeval(folder, "init", "start")
    again = simeval(folder, "init", "start")

    run = simeval(folder / "start", "run", "suite.yaml", "--app", "app:handle")

    assert (first.returncode, again.returncode, run.returncode) == (0, 2, 0), run.stdout
    assert "already there: start/suite.yaml, start/app.py" in again.stderr


def test_beside_an_app_py_of_the_users_the_starter_asks_for_its_name(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def answer(message): return 'hello'\n")

    refused = simeval(tmp_path, "init")
    named = simeval(tmp_path, "init", "--app", "app:answer")

    assert refused.stderr == "simeval: already there: app.py; name your app with --app, or name another folder.\n"
    assert (refused.returncode, named.returncode) == (2, 0), named.stderr
    assert (tmp_path / "app.py").read_text() == "def answer(message): return 'hello'\n"


@pytest.mark.parametrize("place", ["shop.py", "shop.py/inner"])
def test_a_starter_is_not_written_into_a_file(folder: Path, place: str) -> None:
    done = simeval(folder, "init", place)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"simeval: cannot write into {place} (")
    assert done.stderr.count("\n") == 1
    assert (folder / "shop.py").read_text() == APP


BAR = ("--bar", "0.9", "--rate", "0.97")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*BAR, "--samples", "50"), "plan: --samples: it applies to a suite only; leave it out."),
        ((*BAR, "--stop", "gate"), "plan: --stop: it applies"),
        ((*BAR, "--gate", "pass"), "plan: --gate: it applies"),
        ((*BAR, "--no-early-stopping"), "plan: --no-early-stopping: it applies"),
        (("suite.yaml", "--bar", "0.9"), "plan: --bar: it does not apply to a suite"),
        (("suite.yaml", "--power", "0.8"), "plan: --power: it does not apply to a suite"),
        (("suite.yaml", "--requirements", "2"), "plan: --requirements: it does not apply to a suite"),
        (("--bar", "0.9"), "plan: --rate is missing"),
        (("--rate", "0.9"), "plan: --bar is missing"),
        ((), "plan: there is nothing to plan"),
    ],
)
def test_a_plan_refuses_what_it_would_not_use(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = simeval(folder, "plan", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"simeval: {says}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (*BAR, "--power", "0.9", "--alpha", "0.1", "--requirements", "2", "--joint"),
        ("suite.yaml", "--rate", "0.97", "--samples", "40", "--stop", "gate", "--gate", "not_fail", "--alpha", "0.1"),
        ("suite.yaml", "--no-early-stopping", "--joint"),
        ("suite.yaml", "--no-joint"),
    ],
)
def test_a_plan_takes_every_option_that_applies(folder: Path, arguments: tuple[str, ...]) -> None:
    done = simeval(folder, "plan", *arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert "trials" in done.stdout


@pytest.mark.parametrize("arguments", [("--bar", "0.9", "--rate", "0.8"), ("suite.yaml", "--samples", "3")])
def test_a_plan_of_what_cannot_be_proven_ends_with_1(folder: Path, arguments: tuple[str, ...]) -> None:
    done = simeval(folder, "plan", *arguments)

    assert (done.returncode, done.stderr) == (1, "")


def test_a_plan_takes_the_settings_of_its_suite_after_those_of_the_command(folder: Path) -> None:
    twice = SUITE + SUITE.split("scenarios:")[1].replace("says what it does", "says it again")
    (folder / "joint.yaml").write_text(f"settings: {{joint: true}}\n{twice}")
    (folder / "alone.yaml").write_text(twice)

    joint, taken_back, alone = (
        simeval(folder, "plan", *arguments).stdout
        for arguments in (["joint.yaml"], ["joint.yaml", "--no-joint"], ["alone.yaml"])
    )

    assert taken_back == alone != joint


@pytest.mark.parametrize("app", ["slow", "hangs"])
def test_a_run_that_is_interrupted_twice_ends_at_once_and_names_its_store(folder: Path, app: str) -> None:
    process = started(folder, "run", "suite.yaml", "--app", f"shop:{app}", "--store", "run.jsonl", *AN_HOUR)
    process.send_signal(signal.SIGINT)
    wait_for("no more trials are started", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
    assert "run.jsonl" in said
    assert "Traceback" not in said


def test_a_killed_run_leaves_every_finished_trial_in_its_store(folder: Path) -> None:
    arguments = ("--app", "shop:stalls", "--store", "run.jsonl", "--concurrency", "2")
    process = started(folder, "run", "suite.yaml", *arguments, lines=2)
    process.kill()
    process.communicate()

    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    assert sum(line["type"] == "judgement" for line in lines) == 10
