"""Scenarios in quarantine: reported in full, and deciding nothing until their day."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import SHOP, SUITE, simeval

HELD = """
  - title: The bot refuses
    given: A new user
    when: The user asks what the bot can do
    quarantine: {reason: "#81", until: %s}
    then:
      label: names the phone number
      scorer: {type: contains, texts: [telephone]}
      evaluator: {type: proportion, min_proportion: 0.9}
"""
REPORTS = ("--json", "now.json", "--junit", "now.xml", "--html", "now.html", "--markdown", "now.md")


def run(folder: Path, until: str) -> tuple[int, str]:
    """Run a suite whose second scenario fails, in quarantine until a day; return the status and what is said."""
    (folder / "suite.yaml").write_text(SUITE + HELD % until)
    (folder / "shop.py").write_text(SHOP)
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--seed", "1", *REPORTS)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_failure_in_quarantine_is_in_every_report_and_decides_nothing(tmp_path: Path) -> None:
    status, said = run(tmp_path, "2999-12-31")
    found = json.loads((tmp_path / "now.json").read_text())
    junit = ET.parse(tmp_path / "now.xml").getroot()

    told = "in quarantine until 2999-12-31 (#81): 'The bot refuses' fails, which decides nothing"
    assert (status, found["outcome"], found["gate_met"]) == (0, "pass", True), said
    assert told in said
    assert "the scenario passes" in said
    assert (found["scenarios"][1]["outcome"], found["scenarios"][1]["decides"]) == ("fail", False)
    assert (junit.get("failures"), junit.get("skipped")) == ("0", "1")
    assert told in (tmp_path / "now.html").read_text().replace("&#x27;", "'").replace("&#39;", "'")
    assert "in quarantine until 2999" in (tmp_path / "now.md").read_text()


def test_what_a_store_shows_of_a_run_has_the_quarantine_too(tmp_path: Path) -> None:
    run(tmp_path, "2999-12-31")

    shown = simeval(tmp_path, "show", "last", "--html", "shown.html")

    assert "in quarantine until 2999-12-31 (#81)" in " ".join(shown.stdout.split()), shown.stderr
    assert shown.stdout.startswith("PASS")
    assert "in quarantine until 2999-12-31" in (tmp_path / "shown.html").read_text()


def test_from_its_day_on_the_failure_decides_again_and_says_why(tmp_path: Path) -> None:
    status, said = run(tmp_path, "2020-01-01")

    assert status == 1
    assert "the quarantine of 'The bot refuses' ended on 2020-01-01 (#81), so that it decides again: mend it" in said


@pytest.mark.parametrize("until", ["soon", "20991231", "''"])
def test_a_day_that_is_none_is_told_at_its_place(tmp_path: Path, until: str) -> None:
    status, said = run(tmp_path, until)

    assert status == 2
    assert "quarantine" in said
    assert "until" in said


def test_a_quarantine_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text((SUITE + HELD % "2999-12-31").replace('"#81"', '" "'))
    (tmp_path / "shop.py").write_text(SHOP)

    done = simeval(tmp_path, "run", "suite.yaml", "--app", "shop:good")

    assert done.returncode == 2
    assert "reason" in done.stderr


def test_a_day_that_no_calendar_has_is_told_with_its_line(tmp_path: Path) -> None:
    status, said = run(tmp_path, "2026-13-45")

    line = 1 + (SUITE + HELD % "2026-13-45").splitlines().index('    quarantine: {reason: "#81", until: 2026-13-45}')
    assert (status, f"suite.yaml, line {line}: this is not YAML (month must be in 1..12)" in said) == (2, True)
