"""To add a scorer or an evaluator takes its module and one line in the list of what its package has."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simeval

PACKAGE = Path(simeval.__file__).parent
SCORER = '''"""Emphasis: how much of an answer is shouted."""

from dataclasses import dataclass
from typing import Any

from simeval.scorers.base import ColumnScorer


@dataclass(kw_only=True, eq=False)
class LoudnessScorer(ColumnScorer):
    """The share of an answer's letters that are capitals, of words with at least `shortest` letters."""

    shortest: int = 2

    def score(self, output: Any) -> float:
        """Return the share."""
        letters = "".join(word for word in str(output).split() if len(word) >= self.shortest)
        return sum(letter.isupper() for letter in letters) / max(len(letters), 1)
'''
EVALUATOR = '''"""Never: no trial may be good."""

from dataclasses import dataclass

from simeval.evaluators.scores import ProportionEvaluator


@dataclass(frozen=True)
class AlmostNeverEvaluator(ProportionEvaluator):
    """Requires a score above the threshold in few conversations."""

    max_proportion: float | None = 0.2

    def describe(self) -> str:
        return f"almost never {super().describe()}"
'''
SUITE = """
settings: {seed: 1, concurrency: 4}
scenarios:
  - title: It does not shout
    given: A customer
    when: They ask for help
    sample_size: 30
    max_turns: 1
    then:
      scorer: {type: loudness, shortest: 3}
      evaluator: {type: almost_never, threshold: 0.5}
"""
APP = "def handle(message, state):\n    return 'We are glad to help you.'\n"


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the package to which a scorer and an evaluator were added."""
    copy = tmp_path / "simeval"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "scorers" / "text" / "emphasis.py").write_text(SCORER, encoding="utf-8")
    (copy / "evaluators" / "never.py").write_text(EVALUATOR, encoding="utf-8")
    for package, line in (
        ("scorers", "from .text.emphasis import LoudnessScorer as LoudnessScorer\n"),
        ("evaluators", "from .never import AlmostNeverEvaluator as AlmostNeverEvaluator\n"),
    ):
        with (copy / package / "__init__.pyi").open("a", encoding="utf-8") as face:
            face.write(line)
    return tmp_path


def test_a_new_scorer_and_a_new_evaluator_touch_two_files_each(extended: Path) -> None:
    assert touched(extended / "simeval", PACKAGE) == {
        "scorers/text/emphasis.py",
        "scorers/__init__.pyi",
        "evaluators/never.py",
        "evaluators/__init__.pyi",
    }


def test_a_suite_uses_what_was_added_by_its_name(extended: Path) -> None:
    (extended / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (extended / "shop.py").write_text(APP, encoding="utf-8")

    done = simeval_in(extended, "run", "suite.yaml", "--app", "shop:handle")
    unknown = simeval_in(extended, "score", "suite.yaml", "--scorers", "lodness")

    assert done.returncode == 0, done.stderr
    assert "loudness" in done.stdout
    assert "did you mean 'loudness'?" in unknown.stderr


def touched(changed: Path, original: Path) -> set[str]:
    files = {each.relative_to(changed).as_posix() for each in changed.rglob("*") if each.is_file()}
    same = {name for name in files if (original / name).is_file() and filecmp.cmp(changed / name, original / name)}
    return {name for name in files - same if "__pycache__" not in name}


def simeval_in(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "simeval.cli", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
