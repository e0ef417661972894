"""Screenshots of reports and of the viewer; `make pictures` keeps them for the documentation."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browsers import opened, require_chromium, visited
from tests.support.command_line import ROOT, simeval
from tests.support.viewers import viewing

MOST_BYTES = 200_000
WORSE = """
from scenarios.support_bot import handle as good
from simeval import AppResponse


def handle(message, state):
    found = good(message, state)
    return AppResponse("One moment please.", state) if "person" in message and len(message) % 4 == 0 else found
"""
WIDE, NARROW = {"width": 1180, "height": 860}, {"width": 390, "height": 844}
# of each: the report, its address, what it waits for, and how the browser is
SHOWN: Mapping[str, tuple[str, str, str, dict[str, Any]]] = {
    "report": ("demo", "", "a.talk", {}),
    "report-way": ("demo", "#scenario=6", "a.talk", {"color_scheme": "dark"}),
    "report-conversation": ("demo", "#scenario_of_trial=6&trial=18", "dialog .turn", {}),
    "report-narrow": ("demo", "#scenario=6", "a.talk", {"viewport": NARROW}),
    "report-compared": ("compared", "", "button.jump", {}),
}

COURSE = ("good", "good", "worse", "worse", "good", "worse", "good", "good")  # apps of runs, one after the other
SAMPLE = 30  # conversations to label, where there are so many
LABELLED = f"#by=ann&label=connects,+states+the+wait&sample={SAMPLE}"
# of each picture of the viewer: the page, what it waits for, and how the browser is
VIEWED: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "viewer": ("", "svg.trend", {}),
    "viewer-dark": ("", "svg.trend", {"color_scheme": "dark", "viewport": NARROW}),
    "viewer-labels": (f"label/{{run}}/{LABELLED}", ".labelled .turn", {}),
    "viewer-labelled": (f"label/{{run}}/{LABELLED}", "[data-done] .judged", {}),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of several runs of a suite, of an app that got worse and was mended."""
    require_chromium()
    found = tmp_path_factory.mktemp("course")
    (found / "worse.py").write_text(WORSE, encoding="utf-8")
    apps = {"good": "scenarios.support_bot:handle", "worse": "worse:handle"}
    suite = (ROOT / "scenarios" / "support.yaml").as_posix()
    for seed, app in enumerate(COURSE):
        done = simeval(found, "run", suite, "--app", apps[app], "--seed", str(seed), "-q", "--json", "last.json")
        assert (found / "last.json").exists(), done.stderr
    return found


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
            folded = found.page.locator("section.scenario details:not([open]) > summary", has_text="misses")
            for way in folded.all()[::-1]:  # of what passed it is folded; one that is open is no longer found
                way.click()
        path.write_bytes(found.page.screenshot(animations="disabled"))

    assert 10_000 < path.stat().st_size < MOST_BYTES
    assert f"pictures/{name}.png" in (ROOT / "docs/guides/reports.md").read_text("utf-8")


@pytest.mark.parametrize("name", VIEWED)
def test_a_picture_of_the_viewer_is_made_small_and_shown_in_the_documentation(
    browser: Browser, course: Path, folder: Path, name: str
) -> None:
    place, awaited, options = VIEWED[name]
    result = json.loads((course / "last.json").read_text("utf-8"))
    run = result["run_id"]
    [trials] = [each["trials"] for each in result["scenarios"] if each["title"] == "Bot hands over to a person"]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.png"

    with viewing(course) as viewer, visited(browser, viewer.address, **{"viewport": WIDE, **options}) as found:
        found.page.goto(f"{viewer.address}{place.format(run=run)}")
        if name == "viewer-labelled":
            label_all(found.page, min(SAMPLE, trials))
        found.page.wait_for_selector(awaited)
        path.write_bytes(found.page.screenshot(animations="disabled"))

    assert 10_000 < path.stat().st_size < MOST_BYTES
    assert f"pictures/{name}.png" in (ROOT / "docs/guides/viewer.md").read_text("utf-8")


def label_all(page: Page, trials: int) -> None:
    """Label so many trials as a person does who is content with less than the judge in one of ten."""
    for number in range(trials):
        page.wait_for_selector(f"[data-labelled='{number}']")
        is_good = "waiting time" in page.locator(".labelled .sheet").inner_text() and number % 10 != 9
        page.keyboard.press("y" if is_good else "n")
