"""Markdown on the command line: a file, the summary of a GitHub job, and the changes since a baseline."""

from pathlib import Path

import pytest

from tests.support.command_line import SHOP, SUITE, simeval


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def test_a_run_writes_markdown_and_adds_it_to_the_summary_of_the_job(folder: Path) -> None:
    summary = folder / "summary.md"
    summary.write_text("said before\n")

    done = simeval(
        folder,
        *("run", "suite.yaml", "--app", "shop:good", "--seed", "1", "--markdown", "report.md"),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    written = (folder / "report.md").read_text()

    assert done.returncode == 0, done.stderr
    assert written.startswith("## simeval: ✅ PASS")
    assert summary.read_text() == f"said before\n{written}\n"


def test_a_summary_that_cannot_be_written_spoils_no_run(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", GITHUB_STEP_SUMMARY=str(folder / "no" / "way"))

    assert done.returncode == 0
    assert "the summary of this job cannot be written (GITHUB_STEP_SUMMARY: No such file or directory)" in done.stderr


def test_a_run_and_what_is_shown_of_it_say_what_changed_since_the_baseline(folder: Path) -> None:
    options = ("--seed", "1", "--no-early-stopping")
    first = simeval(folder, "run", "suite.yaml", "--app", "shop:good", *options, "--json", "before.json")

    second = simeval(
        folder, "run", "suite.yaml", "--app", "shop:bad", *options, "--baseline", "last", "--markdown", "now.md"
    )
    shown = simeval(folder, "show", "last", "--baseline", "before.json", "--markdown", "shown.md")
    compared = simeval(folder, "compare", "before.json", "last", "--markdown", "-")

    assert [first.returncode, second.returncode, shown.returncode, compared.returncode] == [0, 1, 0, 1], second.stderr
    assert "**Changes**: WORSE: the requirement is worse" in (folder / "now.md").read_text()
    assert "**Changes**: WORSE: the requirement is worse" in (folder / "shown.md").read_text()
    assert "## simeval compare: ❌ WORSE" in compared.stdout
    assert "I track orders and start returns." in compared.stdout


def test_a_baseline_that_is_not_there_is_said_before_a_call_is_paid_for(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--baseline", "main.json")

    assert done.returncode == 2
    assert "baseline 'main.json'" in done.stderr
    assert not (folder / ".simeval").exists()
