"""`simeval select`: the best of several apps."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import SHOP, SUITE, simeval


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def test_the_best_is_found_and_shown_with_who_was_dropped(folder: Path) -> None:
    done = simeval(folder, "select", "suite.yaml", "--app", "shop:good", "--app", "shop:bad", "--json", "best.json")
    found = json.loads((folder / "best.json").read_text())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "the best is shop:good" in done.stdout
    assert "dropped: outdone by shop:good" in done.stdout
    assert (found["best"], [each["left"] for each in found["candidates"]]) == ("shop:good", [True, False])
    assert found["conversations"] < 2 * found["rounds_at_most"]


def test_one_app_alone_is_refused(folder: Path) -> None:
    done = simeval(folder, "select", "suite.yaml", "--app", "shop:good")

    assert done.returncode == 2, done.stdout + done.stderr
    assert "give two or more apps" in done.stderr
