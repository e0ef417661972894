"""The command line as a user meets it: exit statuses, reports, errors, interruption."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import ASKED, PATIENCE_SECONDS, ROOT, SUITE, command, simeval, started, wait_for

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
        (["suite.yaml", "--app", "shop.py:good"], 2),
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
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    arguments = command("run", "suite.yaml", "--app", "shop:chatty", "--json", "-")
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)

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


def test_standard_output_shows_how_it_went_why_it_did_not_pass_and_what_to_do_next(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:bad", "--json", "out.json")

    run = json.loads((folder / "out.json").read_text())["run_id"]
    assert done.stdout.startswith("FAIL  the scenario fails\n")
    assert "in 0 of 4 conversations; required: 90%" in " ".join(done.stdout.split())
    assert re.search("assistant +No idea.", done.stdout)
    assert f"simeval show {run} --failed" in done.stdout


def test_a_terminal_of_any_width_is_filled_and_never_overrun(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:bad", "--store", "none", COLUMNS="40")

    assert max(map(len, done.stdout.splitlines())) <= 40


@pytest.mark.parametrize(
    ("arguments", "environment", "is_coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_come_where_they_are_wanted(
    folder: Path, arguments: tuple[str, ...], environment: dict[str, str], is_coloured: bool
) -> None:
    settings = ("--app", "shop:bad", "--store", "none")
    done = simeval(folder, "run", "suite.yaml", *settings, *arguments, **environment)

    assert ("\x1b[" in done.stdout) is is_coloured


def test_what_is_said_before_a_run_is_one_line_and_more_on_demand(folder: Path) -> None:
    arguments = ("run", "suite.yaml", "--app", "shop:good", "--samples", "60", "--store", "none")

    usual, verbose, quiet = (simeval(folder, *arguments, *more) for more in ((), ("-v",), ("-q",)))

    assert usual.stderr.count("\n") == 1
    assert "1 scenario, up to 60 conversations (about " in usual.stderr
    assert re.search(
        r"if the app is good \(half-way from each bar to 100%\), it passes with a chance of \d\d%", usual.stderr
    )
    assert "passes with 0 misses in" in verbose.stderr
    assert "exact sequential binomial test" in " ".join(verbose.stdout.split())
    assert (quiet.stdout, quiet.stderr) == ("PASS  the scenario passes\n", "")


def test_a_sample_that_is_too_small_is_told_once_for_all_scenarios(folder: Path) -> None:
    scenario = SUITE.split("scenarios:\n")[1]
    more = "".join(scenario.replace("says what it does", f"says what it does, {number}") for number in range(9))
    (folder / "suite.yaml").write_text(f"{SUITE}{more}")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "5", "--store", "none")

    assert (done.stderr + done.stdout).count("cannot be proven with 5 trials") == 1
    assert "10 of them (The bot says what it does, The bot says what it does, 0, " in done.stderr


def test_without_an_app_nothing_is_run(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "simeval: app: none is named; name yours with --app MODULE:HANDLER, or as app: in the suite; "
        "`simeval demo` shows a run without one.\n"
    )


def test_a_demo_needs_no_app(folder: Path) -> None:
    done = simeval(folder, "demo")

    assert done.returncode == 0
    assert "app offline/app" in " ".join(done.stdout.split())
    assert "simeval run suite.yaml --app app:handle" in done.stdout
    assert not (folder / ".simeval").exists()


def test_a_suite_says_its_app_and_finds_it_beside_itself(folder: Path) -> None:
    (folder / "suites").mkdir()
    (folder / "suites" / "own.py").write_text("def handle(message): return 'I track orders and start returns.'\n")
    (folder / "suites" / "suite.yaml").write_text(f"app: own:handle\njudge_model: offline/judge\n{SUITE}")

    done = simeval(folder, "run", "suites/suite.yaml", "--store", "none", "-q")
    other = simeval(folder, "run", "suites/suite.yaml", "--store", "none", "-q", "--app", "shop:bad")

    assert done.stdout == "PASS  the scenario passes\n"
    assert other.stdout == "FAIL  the scenario fails\n"


def test_a_project_sets_what_its_suites_do_not(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.simeval]\napp = "shop:good"\nseed = 5\nsample_size = 7\nstore = "p.db"\n'
    )
    arguments = ("run", "suite.yaml", "--json", "-")

    usual = json.loads(simeval(folder, *arguments).stdout)
    (folder / "suite.yaml").write_text(f"settings: {{seed: 6}}\n{SUITE}")
    of_suite = json.loads(simeval(folder, *arguments).stdout)
    of_command = json.loads(simeval(folder, *arguments, "--seed", "8").stdout)

    assert (usual["app"], usual["seed"], of_suite["seed"], of_command["seed"]) == ("shop:good", 5, 6, 8)
    assert (folder / "p.db").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sed = 5", "simeval: pyproject.toml [tool.simeval]: sed: there is no field 'sed'; did you mean 'seed'?\n"),
        (
            "concurrency = 0",
            "simeval: pyproject.toml [tool.simeval]: concurrency: found 0; use a whole number of 1 or more.\n",
        ),
        ("app = 5", "simeval: pyproject.toml [tool.simeval]: app: found 5; input should be a valid string.\n"),
    ],
)
def test_a_mistake_of_a_project_is_named(folder: Path, line: str, says: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.simeval]\n{line}\n")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good")

    assert (done.returncode, done.stderr) == (2, says)


def test_the_package_is_a_command(folder: Path) -> None:
    arguments = [sys.executable, "-m", "simeval", "--help"]
    done = subprocess.run(
        arguments, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("Usage: simeval ")


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
    assert "exist already" in again.stderr


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
    process = started(folder, "run", "suite.yaml", "--app", f"shop:{app}", "--store", "run.jsonl")
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
