"""`simeval completion`: what shells complete."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from simeval.cli.completion import PROGRAM, VARIABLE
from simeval.cli.main import main
from tests.support.command_line import simeval


def completed(*words: str) -> list[str]:
    """Return what may stand in place of the last of the words that follow the name of the program."""
    asked = {
        VARIABLE: "bash_complete",
        "COMP_WORDS": " ".join([PROGRAM, *words]),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(main, [], prog_name=PROGRAM, env=asked).stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["do"], ["plain,doctor"]),
        (["run", "s.yaml", "--disp"], ["plain,--display"]),
        (["run", "s.yaml", "--display", "pl"], ["plain,plain"]),
        (["run", "s"], ["file,s"]),
        (["run", "s.yaml", "--json", "r"], ["file,r"]),
        (["completion", "z"], ["plain,zsh"]),
        (["nothing", "--help"], ["plain,--help-all", "plain,--help"]),
    ],
)
def test_commands_options_values_and_files_are_completed(words: list[str], found: list[str]) -> None:
    assert completed(*words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_asks_the_program(shell: str, tmp_path: Path) -> None:
    done = simeval(tmp_path, "completion", shell)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in done.stdout


def test_bash_takes_its_script(tmp_path: Path) -> None:
    bash = shutil.which("bash") or "bash"
    (tmp_path / "simeval.sh").write_text(simeval(tmp_path, "completion", "bash").stdout)

    done = subprocess.run(
        [bash, "-c", ". ./simeval.sh && complete -p simeval"],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "_simeval_completion simeval" in done.stdout
