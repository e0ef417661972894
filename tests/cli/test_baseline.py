"""`simeval run --baseline`: a run is held against another, beside its bars."""

import json
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import SHOP, SUITE, simeval

FEW_BARS = SUITE.replace("0.9", "0.01")
ALL = ("--samples", "60", "--no-early-stopping")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a suite of an easy bar, and what a good app came to."""
    made = tmp_path_factory.mktemp("begun")
    (made / "suite.yaml").write_text(FEW_BARS)
    (made / "shop.py").write_text(SHOP + WORSE)
    done = simeval(made, "run", "suite.yaml", "--app", "shop:good", *ALL, "--seed", "5", "--json", "main.json")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def folder(begun: Path, tmp_path: Path) -> Path:
    """Return a folder of a test's own with the same in it."""
    return Path(copytree(begun, tmp_path, dirs_exist_ok=True))


WORSE = """
asked = iter(range(1_000_000))

async def worse(message, state):
    return await (good if next(asked) % 2 else bad)(message, state)
"""


def test_the_same_app_is_proven_no_worse_with_the_baselines_seed(folder: Path) -> None:
    done = simeval(
        folder, "run", "suite.yaml", "--app", "shop:good", *ALL, "--baseline", "main.json", "--json", "now.json"
    )
    found = json.loads((folder / "now.json").read_text())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "gates: the bars are met, the baseline is met: proven to be no worse than run" in " ".join(
        done.stdout.split()
    )
    assert (found["seed"], found["baseline"]["met"], found["gate_met"]) == (5, True, True)


def test_an_app_within_its_bars_that_got_worse_fails_at_the_baseline_in_every_report(folder: Path) -> None:
    reports = ("--json", "now.json", "--junit", "now.xml", "--html", "now.html", "--markdown", "now.md")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:worse", *ALL, "--baseline", "last", *reports)
    found = json.loads((folder / "now.json").read_text())
    junit = ET.parse(folder / "now.xml").getroot()

    said = "gates: the bars are met, the baseline is not met: not proven to be no worse than run"
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())
    assert (found["outcome"], found["gate_met"], found["baseline"]["rows"][0]["finding"]) == ("pass", False, "worse")
    assert [len(suite.findall("testcase/failure")) for suite in junit] == [0, 2]
    assert said in (folder / "now.html").read_text()
    assert (folder / "now.md").read_text().startswith("## simeval: ✅ PASS, ❌ not proven to be no worse")


def test_what_came_of_the_baseline_is_shown_again_by_the_store(folder: Path) -> None:
    now = ("--baseline", "last", "--json", "now.json")
    simeval(folder, "run", "suite.yaml", "--app", "shop:worse", *ALL, *now)

    reports = ("--json", "again.json", "--html", "again.html", "--markdown", "again.md")
    done = simeval(folder, "show", "last", *reports)
    then, again = (json.loads((folder / name).read_text()) for name in ("now.json", "again.json"))

    said = "gates: the bars are met, the baseline is not met: not proven to be no worse than run"
    assert said in " ".join(done.stdout.split())
    assert said in (folder / "again.html").read_text()
    assert "❌ not proven to be no worse" in (folder / "again.md").read_text()
    assert (again["baseline"], again["gate_met"]) == (then["baseline"], False)


def test_the_list_of_runs_says_that_the_gate_of_a_baseline_was_not_met(folder: Path) -> None:
    for app in ("good", "worse"):
        simeval(folder, "run", "suite.yaml", "--app", f"shop:{app}", *ALL, "--baseline", "main.json")

    lines = simeval(folder, "runs").stdout.splitlines()
    listed = json.loads(simeval(folder, "runs", "--json", "-").stdout)["runs"]

    assert [line.count("pass, baseline not met") for line in lines[-3:]] == [1, 0, 0]
    assert [(each["outcome"], each["baseline_met"]) for each in listed] == [
        ("pass", False),
        ("pass", True),
        ("pass", None),
    ]


def test_what_does_not_fit_the_baseline_is_said(folder: Path) -> None:
    options = ("--samples", "10", "--seed", "6", "--baseline", "main.json", "--margin", "0.05")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options)

    assert done.returncode == 1
    assert "its seed is 5, so trials are no pairs" in done.stderr
    assert "early stopping leaves fewer trials to compare" in done.stderr
    assert "10 trials cannot prove a loss of less than 5%" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--baseline", "other.json"), "it has no scenario and expectation of this suite"),
        (("--baseline", "notes.json"), "it is not JSON"),
        (("--baseline", "main.json", "--margin", "1.5"), "--margin"),
        (("--margin", "0.1"), "there is no baseline"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_told_before_anything_is_run(
    folder: Path, options: tuple[str, ...], said: str
) -> None:
    (folder / "notes.json").write_text("no JSON")
    other = json.loads((folder / "main.json").read_text())
    other["scenarios"][0]["title"] = "Another scenario"
    (folder / "other.json").write_text(json.dumps(other))

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options, "--store", "new.db")

    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "new.db").exists()
