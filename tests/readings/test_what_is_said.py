"""What a screen and a viewer say of a run is what it came to."""

import json
from pathlib import Path

import pytest

from simeval.results.html.charts import Past, as_svg, trend_chart
from tests.support.command_line import SHOP, SUITE, simeval


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def test_of_two_versions_that_never_succeed_the_headline_says_that_and_not_that_it_passes(folder: Path) -> None:
    options = ("--app", "shop:bad", "--samples", "60", "--no-early-stopping", "--seed", "5")
    simeval(folder, "run", "suite.yaml", *options)
    done = simeval(
        folder, "run", "suite.yaml", *options, "--against", "last", "--json", "now.json", "--html", "now.html"
    )

    headline = " ".join(done.stdout.split("\n\n")[0].split())
    found = json.loads((folder / "now.json").read_text())
    [verdict] = found["scenarios"][0]["expectations"][0]["verdicts"]
    assert headline == f"PASS the scenario is not worse than {verdict['against']} (met: 0% -> 0%)"
    assert "0% -> 0%" in verdict["said"]
    assert verdict["shares"] == [0, 0]
    assert "not worse than" in (folder / "now.html").read_text()


def test_more_trials_are_taken_by_another_seed_where_the_suite_sets_one(folder: Path) -> None:
    (folder / "suite.yaml").write_text(f"settings: {{seed: 7}}\n{SUITE}")

    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "20")

    [command] = [line for line in done.stdout.splitlines() if "--samples" in line]
    assert "--seed 8" in command


def test_more_trials_are_taken_by_a_fresh_seed_where_none_is_set(folder: Path) -> None:
    done = simeval(folder, "run", "suite.yaml", "--app", "shop:good", "--samples", "20")

    [command] = [line for line in done.stdout.splitlines() if "--samples" in line]
    assert "--seed" not in command


def test_a_requirement_that_was_never_measured_is_not_drawn() -> None:
    never = Past(outcome="error", estimate=None, interval=(0.0, 0.259), said="not measured", address="")
    open_ = Past(outcome="inconclusive", estimate=None, interval=(0.0, 1.0), said="not measured", address="")
    seen = Past(outcome="pass", estimate=0.9, interval=(0.8, 1.0), said="90%", address="")

    assert [as_svg(trend_chart([each], None)).count('class="seen"') for each in (never, open_, seen)] == [0, 0, 1]
    assert [as_svg(trend_chart([each], None)).count('class="range"') for each in (never, open_, seen)] == [0, 0, 1]
    assert [as_svg(trend_chart([each], {"value": 0.9})).count('class="bar"') for each in (never, open_, seen)] == [
        0,
        0,
        1,
    ]
