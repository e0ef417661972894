"""Screenshots of reports; `make pictures` keeps them for the documentation."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.browsers import opened
from tests.support.command_line import ROOT

MOST_BYTES = 200_000
WIDE, NARROW = {"width": 1180, "height": 860}, {"width": 390, "height": 844}
# of each: the report, its address, what it waits for, and how the browser is
SHOWN: Mapping[str, tuple[str, str, str, dict[str, Any]]] = {
    "report": ("demo", "", "svg.region", {}),
    "report-way": ("demo", "#scenario=6", "a.talk", {"color_scheme": "dark"}),
    "report-conversation": ("demo", "#scenario_of_trial=6&trial=18", "dialog .turn", {}),
    "report-narrow": ("demo", "#scenario=6", "a.talk", {"viewport": NARROW}),
    "report-compared": ("compared", "", "button.jump", {}),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kept = os.environ.get("SIMEVAL_PICTURES")
    return ROOT / kept if kept else tmp_path


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_made_small_and_shown_in_the_documentation(
    browser: Browser, runs: Path, folder: Path, name: str
) -> None:
    report, address, awaited, options = SHOWN[name]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.png"

    with opened(browser, runs / f"{report}.html", address, **{"viewport": WIDE, **options}) as found:
        found.page.wait_for_selector(awaited)
        if "scenario=" in address:
            found.page.locator("section.scenario").evaluate("node => node.scrollIntoView()")
        path.write_bytes(found.page.screenshot(animations="disabled"))

    assert 10_000 < path.stat().st_size < MOST_BYTES
    assert f"pictures/{name}.png" in (ROOT / "docs/guides/reports.md").read_text("utf-8")
