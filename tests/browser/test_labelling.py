"""Labels in the browser: sixty by the keyboard alone, blind, kept one by one; and what follows from them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.support.browsers import Opened, require_chromium, visited
from tests.support.command_line import SUITE, simeval
from tests.support.viewers import Viewer, viewing

APP = """
from itertools import count

numbers = count()

async def app(message, state):
    number = state.setdefault("number", next(numbers))
    return ("No idea." if number % 4 == 0 else "I track orders and start returns."), state
"""
SAMPLE = 60
KINDS = ("document", "fetch", "xhr")  # of requests whose answers may hold data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a run of eighty trials, of which a quarter is bad."""
    require_chromium()
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "shop.py").write_text(APP)
    run = ("run", "suite.yaml", "--app", "shop:app", "--seed", "1", "--samples", "80", "--no-early-stopping", "-q")
    assert simeval(folder, *run, "--concurrency", "1", "--json", "result.json").returncode == 1
    return folder


@pytest.fixture
def viewer(made: Path, tmp_path: Path) -> Iterator[Viewer]:
    """A viewer of a store of its own."""
    (tmp_path / "runs.db").write_bytes((made / ".simeval" / "simeval.db").read_bytes())
    (tmp_path / "result.json").write_bytes((made / "result.json").read_bytes())
    with viewing(tmp_path, "--store", "runs.db") as found:
        yield found


def document(made: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / "result.json").read_text("utf-8"))
    return found


def queue_of(viewer: Viewer, made: Path, **choices: object) -> str:
    """Return the address of a queue."""
    chosen = "&".join(f"{name}={value}" for name, value in choices.items())
    return f"{viewer.address}label/{document(made)['run_id']}/#{chosen}"


def label(page: Page, labels: int, *, first: int = 0) -> None:
    """Say of so many trials whether the bot told what it can do, as a person reads it, but for every tenth."""
    for number in range(first, first + labels):
        page.wait_for_selector(f"[data-labelled='{number}']")
        is_good = "I track orders" in page.locator(".labelled .sheet").inner_text()
        page.keyboard.press("y" if is_good != (number % 10 == 9) else "n")


def judged_words(made: Path) -> list[str]:
    """Return what the judge said of the trials of the run, and the words by which scores are named."""
    scores = [each["scores"] for scenario in document(made)["scenarios"] for each in scenario["conversations"]]
    reasons = {one["reasoning"] for each in scores for one in each.values()}
    return [*filter(None, reasons), '"score', '"reasoning', '"met"', '"states"', '"verdict', '"kappa', "inclusion"]


def texts(responses: list[Response]) -> str:
    """Return all that was answered, without what runs in the pages."""
    found = [each.text() for each in responses if each.request.resource_type in KINDS]
    return "\n".join(re.sub(r"<(script|style)>.*?</\1>", "", each, flags=re.DOTALL) for each in found)


def test_sixty_labels_are_given_by_keys_alone_and_no_answer_before_the_end_says_what_the_judge_did(
    browser: Browser, viewer: Viewer, made: Path, tmp_path: Path
) -> None:
    start = queue_of(viewer, made).rstrip("#")
    with visited(browser, start) as found:
        page = found.page
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("ann")
        page.keyboard.press("Enter")
        label(page, SAMPLE - 1)
        page.wait_for_selector(f"[data-labelled='{SAMPLE - 1}']")
        before = texts([*found.responses])
        label(page, 1, first=SAMPLE - 1)
        page.wait_for_selector("[data-done]")
        entry = page.locator("[data-entry]").evaluate("node => ({...node.dataset})")
        said = page.locator("main").inner_text()
    agreed = simeval(tmp_path, "agree", document(made)["run_id"], "--store", "runs.db", "--json", "agreed.json")
    report = json.loads((tmp_path / "agreed.json").read_text("utf-8"))
    [wanted] = report["entries"]

    assert before.count('"item"') == SAMPLE
    assert [each for each in judged_words(made) if each in before] == []
    assert "60 of 80 conversations are labelled" in agreed.stdout
    assert report["raters"] == ["ann"]
    assert float(entry["kappa"]) == pytest.approx(wanted["kappa"]["estimate"])
    assert float(entry["sensitivity"]) == pytest.approx(wanted["confusion"]["sensitivity"]["value"])
    assert float(entry["specificity"]) == pytest.approx(wanted["confusion"]["specificity"]["value"])
    assert float(entry["corrected"]) == pytest.approx(wanted["rate"]["estimate"])
    assert "People and the judge disagree on 6" in said
    assert not found.errors
    assert all(each.startswith(viewer.address) for each in found.requests)


def test_a_label_is_taken_back_a_trial_skipped_and_a_page_that_is_left_goes_on(
    browser: Browser, viewer: Viewer, made: Path, tmp_path: Path
) -> None:
    with visited(browser, queue_of(viewer, made, by="ann", sample=5)) as found:
        page = found.page
        first = shown(found)
        page.keyboard.press("y")
        page.wait_for_selector("[data-labelled='1']")
        page.keyboard.press("u")
        page.wait_for_selector("[data-labelled='0']")
        again = shown(found)
        page.keyboard.press("s")
        page.keyboard.type("unclear")
        page.keyboard.press("Enter")
        expect(page.locator(".progress [role=status]")).to_have_text("0 labelled, 1 skipped, 4 to go")
        label(page, 2)
        page.wait_for_selector("[data-labelled='2']")
        page.reload()
        expect(page.locator(".progress [role=status]")).to_have_text("2 labelled, 1 skipped, 2 to go")
    simeval(tmp_path, "feedback", "last", "--store", "runs.db", "--export", "said.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]

    assert again == first
    assert [each.get("comment") for each in kept] == ["unclear", None, None]
    assert {(each["source"], each["labeller"], each["inclusion"]) for each in kept} == {("ann", "person", 5 / 80)}


def shown(found: Opened) -> str:
    """Return which trial is looked at."""
    found.page.wait_for_selector(".labelled")
    return str(found.page.locator(".labelled").get_attribute("data-index"))


def test_a_key_that_is_pressed_twice_labels_nothing_that_was_not_seen(
    browser: Browser, viewer: Viewer, made: Path
) -> None:
    with visited(browser, queue_of(viewer, made, by="ann", sample=5)) as one:
        shown(one)
        with visited(browser, one.page.url) as other:
            shown(other)
            other.page.keyboard.press("y")
            other.page.wait_for_selector("[data-labelled='1']")
        one.page.keyboard.press("n")
        one.page.wait_for_selector("[data-labelled='1']")

        assert "another trial is next by now" in one.page.locator("#said").inner_text()


def test_people_share_a_sample_with_an_overlap_and_are_held_against_each_other_without(
    browser: Browser, viewer: Viewer, made: Path
) -> None:
    with visited(browser, queue_of(viewer, made, by="ann", sample=6, overlap=1)) as ann:
        label(ann.page, 4)
        ann.page.wait_for_selector("[data-labelled='4']")
    with visited(browser, queue_of(viewer, made, by="bob", sample=6, overlap=1)) as bob:
        shown(bob)
        shared = bob.page.locator(".progress [role=status]").inner_text()
    with visited(browser, queue_of(viewer, made, by="bob", sample=6)) as alone:
        label(alone.page, 6)
        alone.page.wait_for_selector("[data-done]")
        alone.page.locator("details summary").last.click()

        assert shared == "0 labelled, 0 skipped, 2 to go"
        assert "against 2 people" in alone.page.locator("pre").last.inner_text()


def test_a_stratified_sample_is_drawn_blind_and_weighted_at_its_end(
    browser: Browser, viewer: Viewer, made: Path, tmp_path: Path
) -> None:
    with visited(browser, queue_of(viewer, made, by="ann", sample=20, stratified=1)) as found:
        label(found.page, 20)
        found.page.wait_for_selector("[data-done]")
        entry = found.page.locator("[data-entry]").evaluate("node => ({...node.dataset})")
        before = texts([each for each in found.responses if "result.json" not in each.url])
    agreed = simeval(tmp_path, "agree", "last", "--store", "runs.db", "--json", "agreed.json")
    [wanted] = json.loads((tmp_path / "agreed.json").read_text("utf-8"))["entries"]
    table = wanted["confusion"]

    assert [each for each in judged_words(made) if each in before] == []
    assert (table["true_pass"] + table["false_pass"], table["true_fail"] + table["false_fail"]) == (10, 10)
    assert wanted["stratified"] is True
    assert "weighted" in agreed.stdout
    assert float(entry["corrected"]) == pytest.approx(wanted["rate"]["estimate"])
    passed = wanted["rate"]["judge_rate"]
    assert wanted["rate"]["estimate"] == pytest.approx(
        passed * table["true_pass"] / 10 + (1 - passed) * table["false_fail"] / 10
    )
