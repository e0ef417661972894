"""Reports in a real browser say what the result says, ask for nothing, and are moved about in."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsers import as_shown, bound, opened, verdicts_of
from tests.support.command_line import simeval

CASES = """\
scenarios:
  - title: Answers yes
    given: A guest
    when: They ask
    script: [{user: "Is {number} right?"}]
    cases: [{number: one, even: false}, {number: two, even: true}, {number: three, even: false}]
    sample_size: 30
    then: {scorer: {type: contains, texts: ["Yes"]}, evaluator: {type: proportion, min_proportion: 0.9}}
"""
KINDS = ("demo", "before", "stopped")


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_says_what_the_json_result_says(browser: Browser, runs: Path, kind: str) -> None:
    verdicts = verdicts_of(json.loads((runs / f"{kind}.json").read_text("utf-8")))

    with opened(browser, runs / f"{kind}.html") as found:
        said = found.verdicts()

    assert verdicts
    assert said == as_shown(verdicts)


@pytest.mark.parametrize("kind", [*KINDS, "compared"])
def test_a_report_asks_for_nothing_and_has_no_error(browser: Browser, runs: Path, kind: str) -> None:
    with opened(browser, runs / f"{kind}.html") as found:
        found.page.wait_for_selector("[data-verdict]")

        assert not found.errors
        assert not found.requests


@pytest.mark.parametrize("kind", [*KINDS, "compared"])
def test_every_verdict_can_be_read_without_scripts(browser: Browser, runs: Path, kind: str) -> None:
    document = json.loads((runs / f"{kind}.json").read_text("utf-8"))
    marks = [each["finding"] for each in document.get("changes", ())] or [
        each["outcome"].upper() for each in verdicts_of(document)
    ]

    with opened(browser, runs / f"{kind}.html", java_script_enabled=False) as found:
        cells = found.page.locator("noscript tbody tr td:nth-child(3)").all_inner_texts()

    assert sorted(cells) == sorted(marks)


def test_filters_choose_by_outcome_scenario_and_text_and_stand_in_the_address(browser: Browser, runs: Path) -> None:
    with opened(browser, runs / "demo.html") as found:
        page, cards = found.page, found.page.locator("section.scenario")
        page.get_by_role("button", name="Pass").first.click()
        passing, after_outcome = cards.count(), page.url
        found.go("#scenario=1")
        expect(cards).to_have_count(1)
        title = cards.locator("h2").inner_text()
        page.locator("#search").press_sequentially("waiting time is about")
        page.get_by_label("Scenario").select_option("")
        expect(cards).to_have_count(1)

        assert (passing, after_outcome.endswith("#outcome=pass")) == (4, True)
        assert title == "Bot gives the status of an order"
        assert cards.locator("h2").inner_text() == "Bot hands over to a person"
        assert page.locator("#search").input_value() == "waiting time is about"


def test_what_is_not_proven_stands_at_the_top_and_leads_to_its_scenario(browser: Browser, runs: Path) -> None:
    verdicts = verdicts_of(json.loads((runs / "demo.json").read_text("utf-8")))

    with opened(browser, runs / "demo.html") as found:
        page, open_ones = found.page, found.page.locator(".glance li")
        signs = open_ones.locator(".sign").evaluate_all("found => found.map(node => node.ariaLabel.toLowerCase())")
        open_ones.get_by_role("link").nth(1).click()
        expect(page.locator("section.scenario")).to_have_count(1)

        assert sorted(signs) == sorted(each["outcome"] for each in verdicts if not each["passed"])
        assert page.locator("section.scenario h2").inner_text() == "Bot understands an informal question about an order"


def test_a_dot_of_the_picture_opens_its_conversation_and_its_link_opens_it_again(browser: Browser, runs: Path) -> None:
    with opened(browser, runs / "demo.html", "#outcome=fail") as found:
        dot = found.page.locator("circle[data-trial='1']").first
        dot.dispatch_event("click")
        found.page.wait_for_selector("dialog .turn")
        said, link = found.page.locator("dialog .what").all_inner_texts(), found.page.url
    with opened(browser, Path(runs / "demo.html"), f"#{link.split('#')[1]}") as again:
        again.page.wait_for_selector("dialog .turn")

        assert said
        assert again.page.locator("dialog .what").all_inner_texts() == said


def test_the_dots_of_the_picture_are_reached_by_the_keyboard_and_open_their_conversations(
    browser: Browser, runs: Path
) -> None:
    with opened(browser, runs / "demo.html", "#scenario=6") as found:
        page = found.page
        folded = page.locator("section.scenario details:not([open]) > summary", has_text="misses")  # of what passed
        if folded.count():
            folded.first.click()
        page.locator("svg.region").first.wait_for()
        reached = page.locator("svg.region [tabindex='0']")
        reached.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowRight"):
            page.keyboard.press(key)
        named = page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog .turn")

        assert reached.count() == 1
        assert named == "conversation 1: met"
        assert page.locator("#drawer-title").inner_text().startswith("Conversation 1 ")


def test_a_conversation_is_read_by_the_keyboard_alone(browser: Browser, runs: Path) -> None:
    with opened(browser, runs / "demo.html", "#scenario=6") as found:
        page = found.page
        page.wait_for_selector("a.talk")
        page.locator("a.talk").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog .turn")
        first = page.locator("#drawer-title").inner_text()
        page.keyboard.press("j")
        expect(page.locator("#drawer-title")).not_to_have_text(first)
        page.keyboard.press("k")
        expect(page.locator("#drawer-title")).to_have_text(first)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        page.keyboard.press("/")

        assert page.evaluate("document.activeElement.id") == "search"
        assert "trial" not in page.url


def test_a_comparison_shows_both_conversations_of_a_pair(browser: Browser, runs: Path) -> None:
    with opened(browser, runs / "compared.html") as found:
        found.page.locator("button.jump.worse").first.click()
        found.page.wait_for_selector("dialog .pair .turn")
        before, now = found.page.locator("dialog .pair > section").all()

        assert "I cannot help with that." in now.inner_text()
        assert "I cannot help with that." not in before.inner_text()


def test_a_comparison_says_what_the_json_result_says(browser: Browser, runs: Path) -> None:
    document = json.loads((runs / "compared.json").read_text("utf-8"))

    with opened(browser, runs / "compared.html") as found:
        data = [each.evaluate("node => ({...node.dataset})") for each in found.requirements().all()]

    said = sorted((each["verdict"], int(each["n"]), bound(each["estimate"])) for each in data)
    assert said == sorted((each["finding"], each["pairs"], bound(each["difference"])) for each in document["changes"])


def test_what_stopped_a_run_stands_first(browser: Browser, runs: Path) -> None:
    stopped = json.loads((runs / "stopped.json").read_text("utf-8"))["stopped"]

    with opened(browser, runs / "stopped.html") as found:
        assert found.page.locator("header .stopped").inner_text() == f"The run ended early: {stopped}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_narrow_screen(browser: Browser, runs: Path, scheme: Any) -> None:
    narrow = {"width": 360, "height": 740}
    with opened(browser, runs / "demo.html", viewport=narrow, color_scheme=scheme) as found:
        found.page.wait_for_selector("a.talk")

        assert found.page.evaluate("document.documentElement.scrollWidth") <= narrow["width"]


def test_what_was_measured_stands_with_the_level_of_its_intervals(browser: Browser, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (tmp_path / "chat.jsonl").write_text(f"{json.dumps({'messages': turns})}\n" * 3, encoding="utf-8")
    arguments = ("--scorers", "valid_json", "--store", "none", "--html", "report.html")
    simeval(tmp_path, "score", "chat.jsonl", *arguments)

    with opened(browser, tmp_path / "report.html") as found:
        expect(found.page.get_by_role("columnheader", name="90% interval", exact=True)).to_be_visible()


def test_the_rows_of_a_table_of_cases_are_listed_the_worst_first(browser: Browser, tmp_path: Path) -> None:
    desk = "def handle(message):\n    return 'Yes.' if 'two' in message else 'No.'\n"
    (tmp_path / "desk.py").write_text(desk, "utf-8")
    (tmp_path / "suite.yaml").write_text(CASES, "utf-8")
    simeval(tmp_path, "run", "suite.yaml", "--app", "desk:handle", "--seed", "7", "--html", "report.html", "-q")

    with opened(browser, tmp_path / "report.html") as found:
        found.go("#scenario=0")
        found.page.get_by_text("3 cases").click()
        rows = found.page.locator("table.cases tbody tr").all_inner_texts()

    assert [row.split() for row in rows][2][-2:] == ["two", "yes"]
    assert {row.split()[-2] for row in rows[:2]} == {"one", "three"}
