"""`simeval mutate`: a suite tested by worse apps, its exit status, and its JSON."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import SHOP, SUITE, simeval


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(f"{SHOP}\n\ndef silent(answer):\n    return '...'\n")
    return tmp_path


def test_a_suite_that_notices_all_passes_and_its_json_has_each_mutant_and_requirement(folder: Path) -> None:
    chosen = ("--mutants", "refuses", "--mutant", "shop:silent", "--seed", "1", "--json", "report.json")
    done = simeval(folder, "mutate", "suite.yaml", "--app", "shop:good", *chosen)
    found = json.loads((folder / "report.json").read_text())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 mutants noticed" in done.stdout
    assert [(each["name"], each["status"]) for each in found["mutants"]] == [
        ("refuses", "noticed"),
        ("shop:silent", "noticed"),
    ]
    assert [each["noticed"] for each in found["requirements"]] == [["refuses", "shop:silent"]]
    assert not (folder / ".simeval").exists()


def test_a_suite_that_misses_one_does_not_pass(folder: Path) -> None:
    done = simeval(folder, "mutate", "suite.yaml", "--app", "shop:good", "--mutants", "delays", "--seed", "1")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "missed: delays" in done.stdout


def test_an_unknown_mutant_is_refused(folder: Path) -> None:
    done = simeval(folder, "mutate", "suite.yaml", "--app", "shop:good", "--mutants", "delay")

    assert done.returncode == 2, done.stdout + done.stderr
    assert "did you mean 'delays'" in done.stderr
