"""`make` where the Python at hand cannot be used, and the tests that `make test-fast` picks."""

import subprocess
from pathlib import Path

from tests.support.changed import unit_tests_of

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


def test_a_module_has_the_unit_tests_of_its_package_and_a_helper_those_that_import_it() -> None:
    assert unit_tests_of(["simeval/stats/optimal.py", "simeval/errors.py"]) == [
        "tests/unit/stats",
        "tests/unit/test_errors.py",
    ]
    assert unit_tests_of(["simeval/engine/users/state.py", "simeval/engine/run.py"]) == ["tests/unit/engine"]
    assert unit_tests_of(["simeval/results/html/report.js"]) == ["tests/unit/results/html"]
    assert unit_tests_of(["tests/support/endings.py"]) == [
        "tests/unit/stats/test_min_trials.py",
        "tests/unit/stats/test_optimal.py",
    ]
    assert unit_tests_of(["README.md", "simeval/__init__.py", "tests/unit/stats/test_deleted.py"]) == []
