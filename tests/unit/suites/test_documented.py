"""What the pages about suites, worlds and scripts show can be read."""

import re
from pathlib import Path

import pytest
import yaml

from simeval.scorers.base import Scorer
from simeval.suites.definitions import read_scorer
from simeval.suites.files import load_suite

DOCS = Path(__file__).resolve().parents[3] / "docs"
[SUITES] = DOCS.rglob("suites.md")
TEXT = SUITES.read_text(encoding="utf-8")
[WORLDS] = DOCS.rglob("agents-and-worlds.md")
FILES = re.findall(r"^```yaml\n(.*?)^```", f"{TEXT}\n{WORLDS.read_text(encoding='utf-8')}", re.MULTILINE | re.DOTALL)
SCORERS = re.findall(r"`(\{type: [a-z][\w]*,.*?\})`", TEXT)


@pytest.mark.parametrize("code", FILES)
def test_the_suites_of_the_page_are_suites(code: str, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(code, encoding="utf-8")

    assert len(load_suite(str(tmp_path))) >= 1


@pytest.mark.parametrize("code", SCORERS)
def test_the_scorers_of_the_page_are_scorers(code: str) -> None:
    assert isinstance(read_scorer(yaml.safe_load(code)), Scorer)
