"""The GitHub Action: its steps run here, against a GitHub on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from simeval.results.suite import SuiteResult
from tests.support.command_line import PATIENCE_SECONDS, ROOT, SHOP, SUITE
from tests.support.fake_github import LONGEST, FakeGitHub
from tests.support.records import RUN, rated

ACTION = yaml.safe_load((ROOT / "action/action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def github() -> FakeGitHub:
    return FakeGitHub()


@pytest.fixture
def job(tmp_path: Path, github: FakeGitHub) -> Iterator[dict[str, str]]:
    """Return the environment of a job on pull request 7, whose workspace is the temporary folder."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(SHOP)
    with github.serving() as address:
        yield {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GITHUB_ACTION_PATH": str(ROOT / "action"),
            "GITHUB_API_URL": address,
            "GITHUB_REPOSITORY": "shop/bot",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        }


def step(folder: Path, script: str, job: dict[str, str], **inputs: str) -> "subprocess.CompletedProcess[str]":
    """Run the step of action/action.yml that uses a script, in bash, with the environment that its inputs make."""
    [found] = [each for each in ACTION["runs"]["steps"] if script in each.get("run", "")]
    assert set(inputs) <= set(found["env"])
    return subprocess.run(
        ["bash", "-e", "-c", found["run"]],
        cwd=folder,
        env={**job, **dict.fromkeys(found["env"], ""), **inputs},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def comment(folder: Path, job: dict[str, str], token: str = "write") -> "subprocess.CompletedProcess[str]":
    return step(folder, "comment.py", job, SIMEVAL_NAME="simeval", GITHUB_TOKEN=token)


def test_two_runs_leave_one_comment_a_summary_and_the_outputs(
    tmp_path: Path, job: dict[str, str], github: FakeGitHub
) -> None:
    inputs = {"SIMEVAL_SUITE": "suite.yaml", "SIMEVAL_ARGUMENTS": "--seed\n1\n"}
    github.comments += [{"id": number + 1, "body": "said by somebody"} for number in range(150)]

    good = step(tmp_path, "run.py", job, **inputs, SIMEVAL_APP="shop:good")
    first = comment(tmp_path, job)
    bad = step(tmp_path, "run.py", job, **inputs, SIMEVAL_APP="shop:bad")
    second = comment(tmp_path, job)

    ours = [each["body"] for each in github.comments if "simeval" in each["body"]]
    told = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert [good.returncode, first.returncode, bad.returncode, second.returncode] == [0, 0, 1, 0], good.stderr
    assert [each.splitlines()[:2] for each in ours] == [["<!-- simeval:simeval -->", "## simeval: ❌ FAIL"]]
    assert (tmp_path / "summary.md").read_text().count("## simeval:") == 2
    assert told["outcome"] == "fail"
    assert (tmp_path / told["report"]).is_file()


def test_a_run_held_against_a_baseline_takes_it_and_its_margin(tmp_path: Path, job: dict[str, str]) -> None:
    inputs = {"SIMEVAL_SUITE": "suite.yaml", "SIMEVAL_APP": "shop:good"}
    step(tmp_path, "run.py", job, **inputs)
    (tmp_path / "simeval-reports" / "report.json").rename(tmp_path / "main.json")

    done = step(tmp_path, "run.py", job, **inputs, SIMEVAL_BASELINE="main.json", SIMEVAL_MARGIN="0.3")

    found = json.loads((tmp_path / "simeval-reports" / "report.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert (found["baseline"]["margin"], found["baseline"]["met"]) == (0.3, True)


def test_the_comment_of_200_scenarios_stays_under_the_limit_and_says_what_was_cut(
    tmp_path: Path, job: dict[str, str], github: FakeGitHub
) -> None:
    scenarios = [rated(*[1.0] * 30, title=f"Scenario {number} {'long ' * 30}") for number in range(200)]
    (tmp_path / "simeval-reports").mkdir()
    (tmp_path / "simeval-reports" / "report.md").write_text(SuiteResult((*scenarios,), RUN).to_markdown())

    done = comment(tmp_path, job)

    [written] = github.comments
    assert done.stdout.startswith("comment: https://shop/7#new")
    assert len(written["body"]) <= LONGEST
    assert "200 scenarios fail" in written["body"]
    assert f"`simeval show {RUN.run_id}` shows it." in written["body"]


def test_a_text_that_is_too_long_is_cut_at_a_line_which_is_said(
    tmp_path: Path, job: dict[str, str], github: FakeGitHub
) -> None:
    (tmp_path / "simeval-reports").mkdir()
    (tmp_path / "simeval-reports" / "report.md").write_text("a line\n" * 20_000)

    comment(tmp_path, job)

    [written] = github.comments
    assert len(written["body"]) <= LONGEST
    assert written["body"].endswith(
        "a line\n\n(The rest is cut: the summary of the job and the HTML report have all of it.)"
    )


def test_a_token_that_may_only_read_is_a_notice_and_no_failure(
    tmp_path: Path, job: dict[str, str], github: FakeGitHub
) -> None:
    (tmp_path / "simeval-reports").mkdir()
    (tmp_path / "simeval-reports" / "report.md").write_text("## simeval")

    done = comment(tmp_path, job, token="read")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("::notice title=simeval::no comment: GitHub answered 403 (the token may not write")
    assert github.comments == []


@pytest.mark.parametrize("event", [{}, {"push": {}}])
def test_without_a_pull_request_nothing_is_asked_of_github(
    tmp_path: Path, job: dict[str, str], github: FakeGitHub, event: dict[str, Any]
) -> None:
    (tmp_path / "event.json").write_text(json.dumps(event))

    done = comment(tmp_path, job)

    assert done.returncode == 0
    assert done.stdout.startswith("no comment: this job is about no pull request")
    assert github.asked == []


def test_a_suite_that_cannot_be_used_ends_with_its_status_and_without_outputs(
    tmp_path: Path, job: dict[str, str]
) -> None:
    done = step(tmp_path, "run.py", job, SIMEVAL_SUITE="none.yaml", SIMEVAL_APP="shop:good")

    assert done.returncode == 2
    assert (tmp_path / "output").read_text() == ""
