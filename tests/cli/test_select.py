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
    done = simeval(
        folder, "select", "suite.yaml", "--app", "shop:good", "--app", "shop:bad", "--seed", "1", "--json", "best.json"
    )
    found = json.loads((folder / "best.json").read_text())

    assert done.returncode == 0, done.stdout + done.stderr
    assert "the best is shop:good" in done.stdout
    assert "dropped: outdone by shop:good" in done.stdout
    assert (found["best"], [each["left"] for each in found["candidates"]]) == ("shop:good", [True, False])
    assert found["conversations"] < 2 * found["rounds_at_most"]


def test_one_app_alone_is_refused(folder: Path) -> None:
    done = simeval(folder, "select", "suite.yaml", "--app", "shop:good")

    assert done.returncode == 2, done.stdout + done.stderr
    assert "give --app twice or more, once for each app" in done.stderr


def test_what_is_lost_ends_it_with_why_and_the_status_of_a_run_that_could_not_be_completed(folder: Path) -> None:
    with (folder / "shop.py").open("a") as file:
        file.write("\n\ndef unmeasured(output):\n    raise ValueError('no connection')\n")
    judged = SUITE.index("      expected_behavior")
    scored = "      scorer: shop:unmeasured\n      evaluator: {type: proportion, min_proportion: 0.9}\n"
    (folder / "suite.yaml").write_text(SUITE[:judged] + scored)

    done = simeval(
        folder, "select", "suite.yaml", "--app", "shop:good", "--app", "shop:bad", "--seed", "1", "--json", "best.json"
    )
    found = json.loads((folder / "best.json").read_text())

    assert done.returncode == 3, done.stdout + done.stderr
    assert "cannot tell shop:good from shop:bad" in done.stdout
    assert "no connection" in found["unmeasured"]
    assert found["best"] is None


def test_the_run_of_a_selection_says_that_it_needed_no_more_trials(folder: Path) -> None:
    simeval(folder, "select", "suite.yaml", "--app", "shop:good", "--app", "shop:bad", "--seed", "1")

    done = simeval(folder, "show", "last")

    assert "2 scenarios without a verdict: the selection needed no more trials" in done.stdout
    assert "fail-fast" not in done.stdout
