"""`make` where the Python at hand cannot be used."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLD = """#!/bin/sh
exec python3 -c 'import sys; sys.version_info = (3, 10, 4); exec(sys.argv[1])' "$2"
"""


def make(target: Path, python: Path) -> "subprocess.CompletedProcess[str]":
    command = ["make", "-C", str(ROOT), f"VENV={target.parent}", f"PYTHON={python}", str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_wrong_python_is_told_in_a_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    old = tmp_path / "python3.10"
    old.write_text(OLD)
    old.chmod(0o755)

    done = make(tmp_path / "venv" / ".demo", old)

    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"simeval needs Python 3.11 to 3.14, and {old} is 3.10: name one, as in make PYTHON=python3.12 ..."
    )
    assert not (tmp_path / "venv").exists()
