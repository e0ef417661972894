"""The viewer in a real browser: what it says is what commands say, it moves, compares, and asks this machine alone."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from simeval.errors import DefinitionError, StoreError
from simeval.store.opening import open_database
from simeval.store.runs import Runs
from tests.support.browsers import as_shown, bound, opened, verdicts_of, visited
from tests.support.command_line import PATIENCE_SECONDS, SUITE, Started, simeval, started
from tests.support.reported import HOSTILE
from tests.support.viewers import HELD, served_files, viewing

KINDS = ("demo", "before", "stopped")


def document(runs: Path, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((runs / f"{kind}.json").read_text("utf-8"))
    return found


def test_the_list_has_every_run_and_the_course_of_each_requirement(browser: Browser, runs: Path) -> None:
    listed = json.loads(simeval(runs, "runs", "--json", "-").stdout)["runs"]
    newest = document(runs, "stopped")

    with viewing(runs) as viewer, visited(browser, viewer.address) as found:
        shown = found.page.locator("tr[data-run]").evaluate_all("rows => rows.map(row => row.dataset.run)")
        badges = found.page.locator("tr[data-run] .badge").all_inner_texts()
        more = found.page.get_by_role("button", name="more").first
        more.click()
        rows = found.page.locator("tr[data-outcome]").evaluate_all("rows => rows.map(row => row.dataset.outcome)")
        points = found.page.locator("tr[data-outcome]").first.locator("svg.trend a")
        points.last.focus()
        found.page.keyboard.press("Enter")
        found.page.wait_for_url("**/run/**")

        assert shown == [each["run_id"] for each in listed]
        assert [each.lower() for each in badges] == [each["outcome"] for each in listed]
        assert sorted(rows) == sorted(each["outcome"] for each in verdicts_of(newest))
        assert newest["run_id"] in found.page.url
        assert not found.errors
        assert all(each.startswith(viewer.address) for each in found.requests)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_run_says_what_the_json_result_says(browser: Browser, runs: Path, kind: str) -> None:
    wanted = document(runs, kind)

    with viewing(runs, wanted["run_id"]) as viewer, visited(browser, viewer.address) as found:
        assert found.verdicts() == as_shown(verdicts_of(wanted))
        assert not found.errors
        assert all(viewer.token in each for each in found.requests)


@pytest.mark.parametrize("is_served", [True, False], ids=["viewer", "file"])
def test_an_open_scenario_draws_its_intervals_and_shows_the_rubrics_it_was_judged_by(
    browser: Browser, runs: Path, is_served: bool
) -> None:
    wanted = document(runs, "before")
    [scenario] = [each for each in wanted["scenarios"] if each["title"] == "Bot hands over to a person"]
    at = f"#scenario={wanted['scenarios'].index(scenario)}"
    [(key, said)] = [(each["rubric"]["key"], each["verdicts"][0]["said"]) for each in scenario["expectations"]]
    with closing(open_database(str(runs / ".simeval" / "simeval.db"), must_exist=True)) as database:
        levels = Runs(database).rubrics(wanted["run_id"])[key]

    with ExitStack() as stack:
        if is_served:
            viewer = stack.enter_context(viewing(runs, wanted["run_id"]))
            found = stack.enter_context(visited(browser, f"{viewer.address}{at}"))
        else:
            found = stack.enter_context(opened(browser, runs / "before.html", at))
        page = found.page
        page.locator(".requirement summary", has_text="How sure is this?").click()

        expect(page.locator(f'.requirement svg.interval[aria-label="{said}"]')).to_be_visible()
        expect(page.locator("ol.levels li")).to_have_text([f"{level} {text}" for level, text in levels.items()])


def test_conversations_are_asked_for_as_they_are_looked_at(browser: Browser, runs: Path) -> None:
    wanted = document(runs, "before")
    [scenario] = [each for each in wanted["scenarios"] if each["title"] == "Bot hands over to a person"]
    place, trial = wanted["scenarios"].index(scenario), scenario["conversations"][38]

    with viewing(runs, wanted["run_id"]) as viewer, visited(browser, f"{viewer.address}#scenario=0") as found:
        before = [each for each in found.requests if f"/{place}-" in each]
        found.go(f"#scenario=0&scenario_of_trial={place}&trial=38")
        found.page.wait_for_selector("dialog .turn")
        said = found.page.locator("dialog .what").all_inner_texts()
        asked = [each.rsplit("/", 1)[1] for each in found.requests if f"/{place}-" in each]

        assert not before
        assert sorted(asked) == [f"{place}-1.json", f"{place}-calls-38.json"]
        assert said == [each["content"].strip() for each in trial["turns"]]


def test_a_text_is_found_in_conversations_that_were_not_looked_at(browser: Browser, runs: Path) -> None:
    wanted = document(runs, "before")

    with viewing(runs, wanted["run_id"]) as viewer, visited(browser, viewer.address) as found:
        found.page.locator("#search").fill("waiting time is about")
        cards = found.page.locator("section.scenario")
        expect(cards).to_have_count(1)

        assert cards.locator("h2").inner_text() == "Bot hands over to a person"
        assert [each for each in found.requests if each.endswith("/find/waiting%20time%20is%20about")]
        assert not [each for each in found.requests if re.search(r"/\d+-1\.json$", each)]  # beyond what is shown


def test_two_runs_are_chosen_and_compared(browser: Browser, runs: Path) -> None:
    before, now, compared = (document(runs, each) for each in ("before", "now", "compared"))

    with viewing(runs) as viewer, visited(browser, viewer.address) as found:
        for each in (now, before):
            found.page.get_by_label(f"Compare {each['run_id']}").check()
        found.page.get_by_role("link", name="Compare the two chosen runs").click()
        found.page.wait_for_selector("[data-verdict]")
        data = [each.evaluate("node => ({...node.dataset})") for each in found.requirements().all()]

    said = sorted((each["verdict"], int(each["n"]), bound(each["estimate"])) for each in data)
    assert said == sorted((each["finding"], each["pairs"], bound(each["difference"])) for each in compared["changes"])


@pytest.fixture
def held(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(HELD)
    return tmp_path


@contextmanager
def under_way(held: Path, *reports: str) -> Iterator[Started]:
    """Start a run of which three trials are over, and hold it up; it is killed when this is left."""
    run = ("run", "suite.yaml", "--app", "shop:app", "--seed", "1", "--concurrency", "4", "--display", "none")
    process = started(held, *run, *reports, lines=0)
    try:
        wait_for_trials(held, 3, process)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_run_under_way_moves_until_it_has_ended(browser: Browser, held: Path) -> None:
    with (
        under_way(held, "--json", "result.json") as process,
        viewing(held, "last") as viewer,
        visited(browser, viewer.address) as found,
    ):
        page = found.page
        expect(page.locator("h1")).to_have_text("This run has not ended")
        expect(page.locator("header .badge")).to_have_text("UNDER WAY")
        expect(page.locator("progress")).to_have_attribute("value", "3")
        page.evaluate("window.here = 'still'")
        (held / "go").touch()
        process.wait(timeout=PATIENCE_SECONDS)
        expect(page.locator("h1")).to_have_text("The scenario passes", timeout=20_000)
        expect(page).to_have_title(re.compile("^PASS"))

        assert page.evaluate("window.here") == "still"
        assert found.verdicts() == as_shown(verdicts_of(json.loads((held / "result.json").read_text())))
        assert not found.errors


def test_a_run_that_was_killed_is_shown_as_it_stands(browser: Browser, held: Path) -> None:
    with under_way(held):
        pass

    with viewing(held, "last") as viewer, visited(browser, viewer.address) as found:
        said = found.page.locator("header .stopped").inner_text()
        found.page.wait_for_selector("a.talk")
        marks = found.page.locator("header .badge, section.scenario .badge").all_inner_texts()
        found.page.locator("a.talk").first.click()
        found.page.wait_for_selector("dialog .turn")
        found.page.goto(viewer.address.split("run/")[0])
        badge = found.page.locator("tr[data-run] .badge").inner_text()

        assert marks == ["INTERRUPTED", "Interrupted"]
        assert "was interrupted" in said
        assert badge == "Interrupted"
        assert not found.errors


def wait_for_trials(folder: Path, number: int, process: Started) -> None:
    """Wait until so many trials of the run of a process are in its store."""
    store, kept, deadline = folder / ".simeval" / "simeval.db", 0, monotonic() + PATIENCE_SECONDS
    while kept < number:
        assert process.poll() is None
        assert monotonic() < deadline, f"{kept} of {number} trials are in the store"
        sleep(0.05)
        with suppress(DefinitionError, StoreError), closing(open_database(str(store), must_exist=True)) as database:
            kept = max((run.trials for run in Runs(database).recent()), default=0)


def test_what_a_hostile_app_says_is_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    hostile = json.dumps(HOSTILE)
    suite = SUITE.replace("The bot says what it does", hostile)
    (tmp_path / "suite.yaml").write_text(f"title: {hostile}\n{suite}")
    (tmp_path / "shop.py").write_text(f"def app(message, state):\n    return {HOSTILE!r}, state\n")
    simeval(tmp_path, "run", "suite.yaml", "--app", "shop:app", "-q", "--seed", "1")

    with viewing(tmp_path) as viewer, visited(browser, viewer.address) as found:
        page = found.page
        heading = page.locator(".suite h2").inner_text()
        page.locator("tr[data-run] a").first.click()
        page.wait_for_selector("a.talk")
        page.locator("a.talk").first.click()
        page.wait_for_selector("dialog .turn")
        said = page.locator("dialog .turn.assistant .what").first.inner_text()
        run = page.url.split("/run/")[1].split("/")[0]
        page.goto(f"{viewer.address}label/{run}/#by=ann&sample=3")
        page.wait_for_selector(".labelled .turn")

        assert heading == HOSTILE
        assert said == HOSTILE
        assert "owned" not in page.title()
        assert page.locator("img").count() == 0
        assert not found.errors
        assert all(each.startswith(viewer.address) for each in found.requests)


def test_a_bundle_is_the_same_pages_on_any_server_of_files(browser: Browser, runs: Path, tmp_path: Path) -> None:
    wanted = document(runs, "demo")
    written = simeval(runs, "view", "--bundle", str(tmp_path / "pages"))

    with served_files(tmp_path / "pages") as address, visited(browser, address) as found:
        listed = found.page.locator("tr[data-run]").count()
        labelled = found.page.get_by_role("link", name="label").count()
        found.page.get_by_role("link", name=wanted["run_id"], exact=True).first.click()
        found.page.wait_for_selector("[data-verdict]")
        verdicts = found.verdicts()
        found.page.locator("a.talk").first.click()
        found.page.wait_for_selector("dialog .turn")

        assert written.returncode == 0, written.stderr
        assert (listed, labelled) == (4, 0)
        assert verdicts == as_shown(verdicts_of(wanted))
        assert not found.errors
        assert all(each.startswith(address) for each in found.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_narrow_screen(browser: Browser, runs: Path, scheme: Any) -> None:
    narrow = {"width": 360, "height": 740}
    run = document(runs, "demo")["run_id"]

    with viewing(runs) as viewer, visited(browser, viewer.address, viewport=narrow, color_scheme=scheme) as found:
        wide = {}
        for place in ("", f"run/{run}/", f"label/{run}/", f"label/{run}/#by=ann&label=starts+the+return"):
            found.page.goto(f"{viewer.address}{place}")
            found.page.wait_for_selector("main > :nth-child(2)")
            wide[place] = found.page.evaluate("document.documentElement.scrollWidth")

        assert all(each <= narrow["width"] for each in wide.values()), wide
