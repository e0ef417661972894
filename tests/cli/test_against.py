"""`simeval run --against`: a run is held against another one, pair by pair, in place of its bars."""

import json
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import SHOP, SUITE, simeval

ALL = ("--samples", "100", "--no-early-stopping", "--seed", "5")
WORSE = """
asked = iter(range(1_000_000))

async def worse(message, state):
    return await (good if next(asked) % 2 else bad)(message, state)
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a suite, and what a good app came to."""
    made = tmp_path_factory.mktemp("begun")
    (made / "suite.yaml").write_text(SUITE)
    (made / "shop.py").write_text(SHOP + WORSE)
    done = simeval(made, "run", "suite.yaml", "--app", "shop:good", *ALL, "--json", "main.json")
    assert done.returncode == 0, done.stdout + done.stderr
    (made / "main").write_text((made / "main.json").read_text())
    return made


@pytest.fixture
def folder(begun: Path, tmp_path: Path) -> Path:
    """Return a folder of a test's own with the same in it."""
    return Path(copytree(begun, tmp_path, dirs_exist_ok=True))


def test_the_same_app_passes_with_the_seed_of_the_other_run_and_fewer_conversations(folder: Path) -> None:
    options = ("--samples", "100", "--against", "main.json", "--json", "now.json")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options)
    main, found = (json.loads((folder / name).read_text()) for name in ("main.json", "now.json"))
    [scenario] = found["scenarios"]
    [verdict] = scenario["expectations"][0]["verdicts"]

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"+0 points in 75 pairs; tolerated: a loss of 5 points against run {main['run_id']}" in " ".join(
        done.stdout.split()
    )
    assert (found["seed"], scenario["trials"], found["gate_met"]) == (5, 75, True)
    assert (verdict["against"], verdict["margin"], verdict["outcome"]) == (main["run_id"], 0.05, "pass")
    assert "worse by more than the margin" in found["guarantee"]


def test_a_worse_app_fails_in_every_report(folder: Path) -> None:
    reports = ("--json", "now.json", "--junit", "now.xml", "--html", "now.html", "--markdown", "now.md")
    options = ("--samples", "100", "--against", "last", "--margin", "0.1", *reports)

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:worse", *options)
    found = json.loads((folder / "now.json").read_text())
    junit = ET.parse(folder / "now.xml").getroot()

    assert done.returncode == 1, done.stdout + done.stderr
    assert (found["outcome"], found["scenarios"][0]["trials"] <= 50) == ("fail", True)
    assert [len(suite.findall("testcase/failure")) for suite in junit] == [1]
    for name in ("now.html", "now.md"):
        assert "tolerated: a loss of 10 points against run" in (folder / name).read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--against", "main.json", "--baseline", "main.json"), "there is a --baseline, too"),
        (("--against", "main.json", "--seed", "6"), "its seed is 5, not 6"),
        (("--against", "main.json", "--margin", "1.5"), "--margin"),
        (("--against", "missing.json"), "cannot be read"),
        (("--against", "20200101"), "20200101"),
        (("--against", "shop"), "it is no run and no app"),
        (("--against", "./shop.json:good"), "shop.json"),
        (("--against", "./main"), "it is a file, and may be the name of an app"),
    ],
)
def test_what_cannot_be_used_ends_the_command_before_the_app_is_asked(
    folder: Path, options: tuple[str, ...], said: str
) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options)

    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr


def test_a_run_that_ended_in_the_middle_is_gone_on_with(folder: Path) -> None:
    options = ("--samples", "100", "--against", "main.json")
    cut = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options, "--max-calls", "120")

    done = simeval(
        folder, "run", "suite.yaml", "--app", "shop:good", *options, "--resume", "last", "--json", "now.json"
    )
    found = json.loads((folder / "now.json").read_text())

    assert cut.returncode == 3, cut.stdout + cut.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert (found["outcome"], found["scenarios"][0]["trials"]) == ("pass", 75)


def test_an_app_is_asked_beside_the_other_and_its_side_is_a_run_of_the_store(folder: Path) -> None:
    options = ("--samples", "100", "--against", "shop:good", "--seed", "5", "--json", "now.json")
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:worse", *options)
    listed = simeval(folder, "runs")
    found = json.loads((folder / "now.json").read_text())
    [verdict] = found["scenarios"][0]["expectations"][0]["verdicts"]
    other = next(line for line in listed.stdout.splitlines() if "shop:good" in line).split()[0]

    again = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "50", "--against", other)

    assert done.returncode == 1, done.stdout + done.stderr
    assert (verdict["against"], verdict["outcome"]) == ("shop:good", "fail")
    assert f"run {other} has them" in " ".join(found["notes"])
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"run {other} stopped early on its data" in " ".join((again.stdout + again.stderr).split())


def test_what_is_known_beforehand_is_told_once_and_foretells_no_chance(folder: Path) -> None:
    text = (folder / "suite.yaml").read_text()
    scenario = text.split("scenarios:\n")[1]
    (folder / "suite.yaml").write_text(text + scenario.replace("says what it does", "says it again"))
    few = ("--samples", "20", "--no-early-stopping", "--seed", "5", "--json", "few.json")
    simeval(folder, "run", "suite.yaml", "--app", "shop:bad", *few)

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "40", "--against", "few.json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "can pass" not in done.stderr
    assert "chance of" not in done.stderr
    assert done.stderr.count("has 20 of 40 trials, so there are at most 20 pairs") == 1
    assert done.stderr.count("without any change, 20 trials cannot prove that it is not worse; at least 59") == 1
