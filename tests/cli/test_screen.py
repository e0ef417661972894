"""The command line: what it shows before, after and instead of a run, in which colours, and what files tell it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import ROOT, SHOP, SUITE, simeval


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def test_standard_output_shows_how_it_went_why_it_did_not_pass_and_what_to_do_next(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:bad", "--json", "out.json")

    run = json.loads((folder / "out.json").read_text())["run_id"]
    assert done.stdout.startswith("FAIL  the scenario fails\n")
    assert "in 0 of 10 conversations; required: 90%" in " ".join(done.stdout.split())
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
    named = (
        "The bot says what it does, 1 and 7 more: cannot be proven with 5 trials, even if every one is met; at least"
    )
    assert named in done.stderr
    assert re.search(r"are needed; with \d+ a good app passes with 80%", done.stderr)


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
        (
            "sed = 5",
            "simeval: pyproject.toml, line 2, field tool.simeval.sed: there is no field 'sed'; did you mean 'seed'?\n",
        ),
        (
            "concurrency = 0",
            "simeval: pyproject.toml, line 2, field tool.simeval.concurrency: found 0; use a whole number of 1 or "
            "more.\n",
        ),
        (
            "app = 5",
            "simeval: pyproject.toml, line 2, field tool.simeval.app: found 5; give a text, in quotes.\n",
        ),
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


def test_a_suite_that_cannot_pass_is_told_before_it_runs(folder: Path) -> None:
    length = "      - {scorer: response_length, evaluator: {type: quantile, at_most: 900}}\n"
    judged = (
        SUITE.split("    then:\n")[1]
        .replace("      expected", "      - expected")
        .replace("      eval", "        eval")
    )
    (folder / "suite.yaml").write_text(SUITE.split("    then:\n")[0] + f"    then:\n{length}{judged}")

    few = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "12", "--store", "none")

    assert "the one that can pass passes with a chance of" in few.stderr
    assert "1 of 2 requirements cannot pass with so few trials, so the suite cannot" in few.stderr
    assert "take enough new trials of 'The bot says what it does'\n" in few.stdout


def test_a_run_that_stops_before_a_fail_shows_how_to_prove_it(folder: Path) -> None:
    (folder / "half.py").write_text(
        "count = 0\n\ndef handle(message):\n    global count\n    count += 1\n"
        "    return 'I track orders and start returns.' if count % 2 else 'No idea.'\n"
    )
    rule = "{type: proportion, threshold: 20, at_least: true, min_proportion: 0.7}"
    length = f"then:\n      - {{scorer: response_length, evaluator: {rule}}}\n"
    (folder / "suite.yaml").write_text(f"{SUITE.split('then:')[0]}{length}    max_turns: 1\n")
    run = ("run", "suite.yaml", "--app", "half:handle", "--store", "none", "--seed", "1", "--concurrency", "1")

    done = simeval(folder, *run)

    assert "go on until a fail is proven\n    simeval run suite.yaml" in done.stdout
    assert "--stop verdict\n" in done.stdout


def test_a_baseline_is_the_last_run_of_a_suite(folder: Path) -> None:
    (folder / "table.csv").write_text("input,said,reference\na,b,b\n")
    table = ("score", "table.csv", "--scorers", "exact_match", "--input", "input", "--recorded", "said")

    run = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "5")
    scored = simeval(folder, *table, "--output", "reference")
    again = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "5", "--baseline", "last")

    assert (run.returncode, scored.returncode) == (1, 0), scored.stderr
    assert again.returncode == 1, again.stderr


@pytest.mark.parametrize(
    ("evaluator", "samples", "wanted", "many"),
    [
        ("mean, at_least: 1, bounds: [0, 100000]", 10, 20, "more"),
        ("quantile, quantile: 0.9, at_most: 900", 5, 29, "enough"),
    ],
)
def test_what_is_open_is_to_be_taken_as_often_as_it_takes_and_a_mean_twice_as_often(
    folder: Path, evaluator: str, samples: int, wanted: int, many: str
) -> None:
    rule = f"{{scorer: response_length, evaluator: {{type: {evaluator}}}}}"
    (folder / "suite.yaml").write_text(SUITE.split("    then:\n")[0] + f"    then:\n      - {rule}\n")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", str(samples), "--store", "none")

    assert done.stdout.startswith("INCONCLUSIVE")
    assert f"take {many} new trials of 'The bot says what it does'\n" in done.stdout
    assert done.stdout.rstrip().endswith(f"--samples {wanted}")


def test_no_trials_are_offered_where_another_requirement_is_below_its_bar(folder: Path) -> None:
    """Where one ends the scenario, and of another the observed rate is no better than its bar."""
    rules = "[{type: success_rate, min_proportion: 0.8}, {type: rating_average, min_median_rating: 7}]"
    suite = re.sub(r"evaluator: \{.*\}", f"evaluator: {rules}", SUITE)
    (folder / "suite.yaml").write_text(suite)
    (folder / "halves.py").write_text(
        "import hashlib\n\ndef handle(message):\n    is_good = hashlib.sha256(message.encode()).digest()[0] > 160\n"
        "    return 'I track orders and start returns.' if is_good else 'Ask the harbour.'\n"
    )

    done = simeval(
        folder, "run", "suite.yaml", "--app", "halves:handle", "--store", "none", "--samples", "20", "--seed", "3"
    )

    told = " ".join(done.stdout.split())
    assert "because 'Bot tracks orders, starts returns: median rating at least 7' did not pass" in told
    assert "about 71 trials would prove it" in told
    assert "--samples" not in told


def test_no_trials_are_offered_for_a_mean_below_its_bar(folder: Path) -> None:
    rule = "{scorer: response_length, evaluator: {type: mean, at_least: 50, bounds: [0, 100]}}"
    (folder / "suite.yaml").write_text(SUITE.split("    then:\n")[0] + f"    then:\n      - {rule}\n")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "10", "--store", "none")

    assert done.stdout.startswith("INCONCLUSIVE")
    assert "--samples" not in done.stdout


def test_how_to_read_pictures_is_told_where_there_are_some(folder: Path) -> None:
    command = ("run", "suite.yaml", "--store", "none", "--app")
    narrow, wide = (simeval(folder, *command, "shop:good", COLUMNS=columns) for columns in ("80", "120"))
    failed = simeval(folder, *command, "shop:bad", COLUMNS="80")

    assert "● observed" not in narrow.stdout
    assert "● observed" in wide.stdout
    assert "● observed" in failed.stdout


def test_the_chance_of_a_pass_is_told_beside_a_mean_of_which_it_is_not_known(folder: Path) -> None:
    head, judged = SUITE.split("    then:\n")
    judged = judged.replace("      expected", "      - expected").replace("      eval", "        eval")
    mean = "      - {scorer: response_length, evaluator: {type: mean, at_least: 1, bounds: [0, 100000]}}\n"
    (folder / "suite.yaml").write_text(f"{head}    then:\n{mean}")
    alone = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--store", "none")
    (folder / "suite.yaml").write_text(f"{head}    then:\n{mean}{judged}")
    beside = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--store", "none")

    assert "; the chance of a pass cannot be told beforehand\n" in alone.stderr
    assert "the one whose chance is known passes with a chance of " in beside.stderr
    assert "; of one more it cannot be told beforehand" in beside.stderr


def test_a_reader_of_the_log_that_ends_decides_no_trial(folder: Path) -> None:
    arguments = ("-m", "simeval.cli", "run", "suite.yaml", "--app", "shop:good", "--log-level", "debug")
    run = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert run.stdout is not None
    run.stdout.readline()
    run.stdout.close()  # as `head -1` does
    run.wait()

    [told] = json.loads(simeval(folder, "runs", "--json").stdout)["runs"]
    assert (run.returncode, told["status"], told["outcome"]) == (0, "finished", "pass")


@pytest.mark.parametrize("arguments", [("demo",), ("rubric", "suite.yaml", "--write")])
def test_what_other_commands_say_fits_the_terminal_too(folder: Path, arguments: tuple[str, ...]) -> None:
    done = simeval(folder, *arguments, COLUMNS="45")

    assert max(map(len, done.stdout.splitlines())) <= 45
