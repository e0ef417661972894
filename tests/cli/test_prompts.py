"""`simeval prompts` and `--prompt`: prompts are listed, printed, saved, edited, and given back."""

from pathlib import Path

import pytest

from simeval.models.protocol.prompt_texts import prompt_names
from tests.support.command_line import SUITE, simeval

APP = ("--app", "offline/app")


def test_all_prompts_are_listed_with_their_versions_in_80_columns(tmp_path: Path) -> None:
    done = simeval(tmp_path, "prompts")

    lines = done.stdout.splitlines()
    listed = {line.split()[0] for line in lines if line.strip()}
    assert done.returncode == 0, done.stderr
    assert max(map(len, lines)) <= 80
    assert {*prompt_names(), "correctness", "criteria", "preference", "safety"} <= listed


def test_a_scorers_prompt_is_printed_with_how_to_replace_it(tmp_path: Path) -> None:
    done = simeval(tmp_path, "prompts", "correctness")

    assert "scorer: {type: correctness, system_prompt: ..., user_prompt: ...}" in done.stdout
    assert "You grade whether an answer of an AI assistant is correct" in done.stdout


def test_a_name_that_there_is_not_is_refused(tmp_path: Path) -> None:
    done = simeval(tmp_path, "prompts", "usr")

    assert done.returncode == 2
    assert "did you mean 'user'" in done.stderr


def test_a_printed_prompt_is_edited_and_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    printed = simeval(tmp_path, "prompts", "judge").stdout
    (tmp_path / "mine.md").write_text(printed.replace("# system\n", "# system\nBe strict.\n"), encoding="utf-8")

    done = simeval(
        tmp_path, "run", "suite.yaml", *APP, "--samples", "1", "--prompt", "judge=mine.md", "--store", "none"
    )

    assert done.returncode in (0, 1), done.stderr
    assert "prompts in place of simeval's: judge (" in done.stdout


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("judge", "--prompt: found 'judge'; write NAME=FILE"),
        ("judge=none.md", "prompt judge: none.md: it cannot be read"),
        ("juge=suite.yaml", "there is no prompt 'juge'; did you mean 'judge'"),
        ("judge=suite.yaml", "there is no part 'system'"),
    ],
)
def test_a_prompt_that_cannot_be_used_ends_with_status_2(tmp_path: Path, prompt: str, says: str) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")

    done = simeval(tmp_path, "run", "suite.yaml", *APP, "--prompt", prompt)

    assert done.returncode == 2
    assert says in done.stderr
