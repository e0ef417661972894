"""What a screen shows: signs in every encoding, endless words, and streams that nobody reads."""

import os
import subprocess
from pathlib import Path

import pytest

from simeval.analysis.agreement_report import Disagreement, indent, show_disagreements
from simeval.core.terminal import SIGNS, Terminal, render_table, shortened
from tests.support.command_line import command, simeval

APP = """
def good(message):
    return "I track orders."

def bad(message):
    return "No idea."
"""
SUITE = """
sample_size: 8
scenarios:
  - title: The bot says what it does
    given: A new user
    when: The user asks what the bot can do
    then:
      - scorer: {type: contains, texts: [orders]}
        evaluator: {type: proportion, min_proportion: 0.5}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_pass_a_fail_and_a_bar_read_as_such_in_every_encoding(folder: Path, encoding: str) -> None:
    options = ["run", "suite.yaml", "--app"]
    passed = simeval(folder, *options, "app:good", PYTHONIOENCODING=encoding)
    failed = simeval(folder, *options, "app:bad", PYTHONIOENCODING=encoding)

    assert "  + contains" in passed.stdout
    assert "  x contains" in failed.stdout
    assert "\\u" not in passed.stdout + passed.stderr + failed.stdout + failed.stderr


def test_other_commands_write_the_same_signs(folder: Path) -> None:
    simeval(folder, "run", "suite.yaml", "--app", "app:good")
    told = [simeval(folder, *each, PYTHONIOENCODING="ascii") for each in (["doctor"], ["show", "last"], ["runs"])]

    assert "+ " in told[0].stdout
    assert "  + contains" in told[1].stdout
    assert not any("\\u" in each.stdout + each.stderr for each in told)


def test_no_sign_in_ascii_means_another_one() -> None:
    meanings = ["✓", "✗", "●", "≥", "≤", "→", "…", "·", "×"]

    assert Terminal(draws=False).finished(["≥ 6, ≤ 7"]) == ">= 6, <= 7"
    assert len({SIGNS[each] for each in meanings}) == len(meanings)
    assert all(sign.isascii() for sign in SIGNS.values())


@pytest.mark.parametrize("text", ["x" * 1_000_000, "中" * 500_000, "a " * 500_000])
def test_a_text_without_end_is_cut_before_it_is_wrapped_and_says_how_much_is_left_out(text: str) -> None:
    lines = [*Terminal(width=80).wrap(text), *render_table(["a", "b"], [[text, text]], widths=[40, 40]).splitlines()]

    assert len(lines) < 10_000
    assert any("more characters)" in line.replace("\n", " ") for line in lines)


def test_a_long_text_of_ordinary_words_is_not_cut() -> None:
    text = "a few words that are said. " * 1_000

    assert shortened(text) == text


def in_a_shell(folder: Path, rest: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run simeval with its streams as a shell sets them."""
    script = f'exec "$@" {rest}' if "|" not in rest else f'"$@" {rest}; exit ${{PIPESTATUS[0]}}'
    shell = ["bash", "-c", script, "bash", *command(*arguments)]
    root = {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        shell, cwd=folder, env={**os.environ, **root}, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.parametrize(
    ("streams", "app", "status", "outcome"),
    [
        (">&-", "good", 0, "pass"),
        ("2>&-", "bad", 1, "fail"),
        (">&- 2>&-", "good", 0, "pass"),
        ("| head -1", "good", 0, "pass"),
        ("2>&1 | head -1", "bad", 1, "fail"),
    ],
)
def test_a_run_whose_streams_are_closed_goes_on_and_keeps_its_status(
    folder: Path, streams: str, app: str, status: int, outcome: str
) -> None:
    done = in_a_shell(folder, streams, "run", "suite.yaml", "--app", f"app:{app}")
    runs = simeval(folder, "runs")

    assert done.returncode == status
    assert "broke" not in done.stderr
    assert "Error" not in done.stderr
    assert outcome in runs.stdout.lower()


def test_what_agree_and_label_end_with_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = [
        Disagreement(
            scenario="A scenario with a long title of several words",
            index=3,
            expectation="The bot says what it does in plain words",
            rater="somebody",
            passes=True,
            score=3.0,
            reasoning="The answer names neither orders nor returns, and asks the user to wait. " * 4,
        )
    ]

    assert max(map(len, show_disagreements(found).splitlines())) <= 80
    assert max(map(len, indent("for tentative conclusions only, as was said before. " * 5, 2).splitlines())) <= 80
