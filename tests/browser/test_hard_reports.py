"""Reports of hostile apps, of failures of every kind, of experiments and of very many conversations."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from simeval.results.html.blocks import scenario_blocks
from simeval.results.html.heads import head_of
from simeval.results.html.page import write_page
from simeval.results.html.source import DocumentSource
from simeval.results.suite import SuiteResult, encode_suite
from tests.support.browsers import opened, require_chromium
from tests.support.command_line import simeval
from tests.support.golden import rows_of
from tests.support.records import RUN, rated
from tests.support.reported import HOSTILE, failing, hostile, many, tau_talk

TRIALS = 10
STORES = Path(__file__).parent.parent / "data" / "stores"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of an experiment that a store keeps, and its JSON result."""
    require_chromium()
    folder = tmp_path_factory.mktemp("measured")
    rows = [{"messages": [_said("user", f"q{n}"), _said("assistant", f"answer {n}" * (n % 7))]} for n in range(60)]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    scored = ("score", "log.jsonl", "--scorers", "response_length", "--median", "response_length=10")
    simeval(folder, *scored, "--json", "result.json")
    done = simeval(folder, "show", "last", "--html", "result.html")
    assert (folder / "result.html").exists(), done.stderr
    return folder


def test_the_report_of_an_experiment_draws_each_metric_over_those_before_it(browser: Browser, tmp_path: Path) -> None:
    for length in (10, 200):
        rows = [{"messages": [_said("user", f"q{n}"), _said("assistant", "a" * (length + n))]} for n in range(20)]
        (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        simeval(tmp_path, "score", "log.jsonl", "--scorers", "response_length")
    (tmp_path / "log.jsonl").rename(tmp_path / "another.jsonl")
    simeval(tmp_path, "score", "another.jsonl", "--scorers", "response_length")
    ids = [each["run_id"] for each in json.loads(simeval(tmp_path, "runs", "--json", "-").stdout)["runs"]]
    for run_id, name in ((ids[1], "second"), (ids[2], "first")):
        simeval(tmp_path, "show", run_id, "--html", f"{name}.html")

    with opened(browser, tmp_path / "second.html") as found:
        row = found.page.locator("section.cut", has_text="From experiment to experiment").locator("tbody tr").first
        titles = row.locator("svg.trend title").all_text_contents()
        assert "n = 20" in row.inner_text()
        assert ["210" in each for each in titles] == [False, True]
        assert not found.errors
        assert not found.requests
    with opened(browser, tmp_path / "first.html") as found:
        assert not found.page.get_by_text("From experiment to experiment").count()


def _said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def written(result: SuiteResult, folder: Path) -> Path:
    result.to_html(folder / "report.html")
    return folder / "report.html"


def test_what_a_hostile_app_says_is_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(hostile(), tmp_path), "#scenario_of_trial=0&trial=0") as found:
        found.page.wait_for_selector("dialog .turn")
        said = found.page.locator("dialog .turn.assistant .what").inner_text()

        assert said == HOSTILE
        assert "owned" not in found.page.title().replace(HOSTILE, "")
        assert found.page.locator("img").count() == 0
        assert not found.errors
        assert not found.requests


def test_what_a_hostile_app_says_is_text_without_scripts_too(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(hostile(), tmp_path), java_script_enabled=False) as found:
        assert HOSTILE in found.page.locator("noscript tbody").inner_text()
        assert found.page.locator("img").count() == 0


def test_failures_of_every_kind_are_grouped_by_their_reason(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(failing(), tmp_path), "#scenario=0") as found:
        found.page.wait_for_selector(".group")
        groups = found.page.locator(".group h3").all_inner_texts()

        assert not found.errors
        for reason in (
            "The app failed: app broke",
            "The judge could not tell",
            "Not met: it works",
            "did not do its part",
        ):
            assert any(reason in each for each in groups), reason


def test_a_report_names_what_it_cut_and_how_to_read_that(browser: Browser, tmp_path: Path) -> None:
    source, path = DocumentSource(SuiteResult((rated(*[9] * 30, 2),), RUN).document(), {}), tmp_path / "report.html"
    write_page(path, head_of(source.document), scenario_blocks(source, most_bytes=1))

    with opened(browser, path, "#scenario_of_trial=0&trial=20") as found:
        told = found.page.locator("dialog .empty").inner_text()
        cut = found.page.locator("main > p.small").nth(1).inner_text()

    assert "simeval show run-1 --trial 20" in told
    assert cut == "3 of 31 conversations shown, the worst of each requirement first."


def test_words_without_an_end_are_broken_on_a_narrow_screen(browser: Browser, tmp_path: Path) -> None:
    path = written(SuiteResult((rated(*[9] * 10, title="endless" * 40), rated(2, title="x" * 300)), RUN), tmp_path)

    with opened(browser, path, viewport={"width": 360, "height": 740}) as found:
        found.page.wait_for_selector(".scenario h2")

        assert found.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_an_experiment_says_what_the_json_result_says(browser: Browser, measured: Path) -> None:
    document = json.loads((measured / "result.json").read_text("utf-8"))
    [verdict] = [one for each in document["expectations"] for one in each["verdicts"]]

    with opened(browser, measured / "result.html") as found:
        data = found.requirements().first.evaluate("node => ({...node.dataset})")
        found.page.wait_for_selector("a.talk")

        assert (data["verdict"], int(data["n"])) == (verdict["outcome"], verdict["n"])
        assert [float(data["low"]), float(data["high"])] == pytest.approx(verdict["confidence_interval"])
        assert found.page.locator("table").first.inner_text().count("response_length")
        assert not found.errors


def test_values_that_are_no_numbers_stand_beside_the_answers_of_an_experiment(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    store.write_bytes((STORES / "version_3.db").read_bytes())
    simeval(tmp_path, "show", "last", "--store", store.name, "--html", "report.html")

    with opened(browser, tmp_path / "report.html") as found:
        found.page.wait_for_selector("a.talk")

        assert "true" in found.page.locator("a.talk").first.inner_text()
        assert not found.errors


@pytest.mark.parametrize("store", ["runs.db", "none"])
def test_the_report_that_score_writes_has_every_answer_with_what_was_measured(
    browser: Browser, tmp_path: Path, store: str
) -> None:
    rows = [{"messages": [_said("user", "q"), _said("assistant", "a" * (n + 1))]} for n in range(30)]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    scored = ("--scorers", "response_length,valid_json", "--median", "response_length=10")
    simeval(tmp_path, "score", "log.jsonl", *scored, "--store", store, "--html", "report.html")

    with opened(browser, tmp_path / "report.html", "#scenario_of_trial=0&trial=17") as found:
        found.page.wait_for_selector("dialog .turn")
        judged = found.page.locator("dialog .judged")

        assert found.page.locator("dialog .turn.assistant .what").inner_text() == "a" * 18
        assert judged.filter(has_text="response_length").locator(".score").first.inner_text() == "18"
        assert judged.filter(has_text="valid_json").count()
        assert not found.errors


def test_a_report_of_thousands_of_conversations_is_small_and_opens(browser: Browser, tmp_path: Path) -> None:
    tasks, talks = rows_of("tau_tasks"), [tau_talk(row) for row in rows_of("public_tau_airline")]
    result = many([each["id"] for each in tasks], talks, TRIALS)
    path = written(result, tmp_path)
    outcomes = [each["outcome"] for each in encode_suite(result.results, result.run, version="1")["scenarios"]]

    with opened(browser, path) as found:
        found.page.wait_for_selector("section.scenario")
        found.go(f"#scenario={outcomes.index('fail')}")
        found.page.wait_for_selector("a.talk")

        assert sum(each.trials for each in result) > len(tasks)
        assert path.stat().st_size < 15_000_000
        assert not found.errors


def test_what_attacks_leave_open_stands_beside_the_verdict(browser: Browser, tmp_path: Path) -> None:
    simeval(tmp_path, "attack", "scenarios.service_desk:handle", "--families", "jailbreak", "--html", "report.html")

    with opened(browser, tmp_path / "report.html", "#scenario=0") as found:
        said = found.requirements().first.get_by_text("attacks: at most 1%, with 95% confidence: 299 clean attempts")
        said.wait_for(state="visible")
