"""`standard: people`: a run judges, people label the trials that are dealt, and `agree` gives the verdict."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simeval.analysis.judge_agreement import agreement, people_labels
from simeval.analysis.label_queue import LabelItem, LabelQueue, label_items, until_look
from simeval.analysis.labels import labels_of, skipped_in
from simeval.analysis.people_standard import people_verdicts
from simeval.analysis.saved_run import read_suite
from simeval.extras.viewer.label_page import LabelPages
from simeval.stats.people import Labelled
from simeval.store.database import Database
from simeval.store.feedback import FeedbackBook
from simeval.store.runs import Runs
from tests.support.command_line import simeval

SUITE = """
app: shop:app
sample_size: 80
scenarios:
  - title: Bot tracks orders
    given: A customer
    when: The customer asks what the bot can do
    then:
      expected_behavior: Bot tracks orders, starts returns
      evaluator: {type: success_rate, min_proportion: 0.8, standard: people, labels: 30}
"""
APP = """
from itertools import count

numbers = count()

async def app(message, state):
    number = state.setdefault("number", next(numbers))
    return ("No idea." if number % {every} == 0 else "I track orders and start returns."), state
"""
IsGood = Callable[[LabelItem], bool | None]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eighty trials in the store, of which the judge fails one in sixteen."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "shop.py").write_text(APP.format(every=16))
    run = simeval(folder, "run", "suite.yaml", "--seed", "1", "--concurrency", "1", "--json", "run.json", "-q")
    assert run.returncode == 1, run.stderr
    return folder


@pytest.fixture
def folder(evaluated: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be labelled."""
    return Path(shutil.copytree(evaluated, tmp_path / "evaluated"))


def labelled(folder: Path, is_good: IsGood, *, most: int | None = None) -> tuple[Any, int]:
    """Label the trials that are dealt as a person would; return the report, and how many came."""
    database = Database(str(folder / ".simeval" / "simeval.db"))
    try:
        runs, book = Runs(database), FeedbackBook(database)
        run_id = runs.find("last")
        document = read_suite(runs.document(run_id), "run")
        items, count = label_items(document, {}, label=None, size=5), 0
        while count != most:
            given = book.of_run(run_id)
            wanted = until_look(items, document, people_labels(document, labels_of(given), skipped_in(given)))
            queue = LabelQueue(wanted, book, rater="ann", given=given)
            if queue.current is None:
                break
            while (item := queue.current) is not None and count != most:
                said = is_good(item)
                queue.skip("cannot tell") if said is None else queue.label(said)
                count += 1
        given = book.of_run(run_id)
        return agreement(document, labels_of(given), skipped=skipped_in(given)), count
    finally:
        database.close()


def reads(item: LabelItem) -> bool:
    """Return whether the app told what it can do."""
    return "I track orders" in " ".join(str(each.content) for each in item.conversation.messages)


def said(output: str) -> str:
    """Return a text of the command line without its line breaks."""
    return " ".join(output.split())


def test_the_judge_alone_concludes_nothing(folder: Path) -> None:
    verdict = json.loads((folder / "run.json").read_text())["scenarios"][0]["expectations"][0]["verdicts"][0]

    assert verdict["outcome"] == "inconclusive"
    assert verdict["reason"] == "unlabelled"
    assert verdict["n"] == 80
    assert verdict["by_people"] == {"labels": 30, "share": 0.8, "looks": 1}
    assert "label 30 of its conversations" in verdict["explanation"]


def test_labels_of_the_dealt_trials_prove_what_people_would_find(folder: Path) -> None:
    report, count = labelled(folder, reads)
    found = report.people[0]

    assert count == found.wanted == found.dealt.total == 30
    assert (found.judged, found.outcome) == (80, "pass")
    assert found.good == Labelled(found.dealt.good, 0)  # the judge is right
    assert found.p_value <= 0.05
    assert found.interval[0] > 0.8
    assert str(found).startswith("PASS  Bot tracks orders: ")
    assert simeval(folder, "people", "agree", "last").returncode == 0


@pytest.fixture
def looked_at(tmp_path: Path) -> Path:
    """A run like that of `folder`, of which up to sixty labels are tested three times."""
    (tmp_path / "suite.yaml").write_text(SUITE.replace("labels: 30", "labels: 60, looks: 3"))
    (tmp_path / "shop.py").write_text(APP.format(every=16))
    assert simeval(tmp_path, "run", "suite.yaml", "--seed", "1", "--concurrency", "1", "-q").returncode == 1
    return tmp_path


def test_labelling_ends_at_the_first_look_that_proves_a_side(looked_at: Path) -> None:
    report, count = labelled(looked_at, reads)
    found = report.people[0]

    assert (count, found.outcome, found.wanted) == (45, "pass", 60)
    assert found.dealt.total == found.given == 45
    assert "at most 60 of them are labelled, 45 up to this look" in said(str(found))
    assert simeval(looked_at, "people", "agree", "last").returncode == 0


def test_labelling_ends_when_no_later_look_can_prove_a_side(looked_at: Path) -> None:
    report, count = labelled(looked_at, lambda item: None if item.index else reads(item))

    assert count < 60
    assert report.people[0].why == "no number of labels up to the last look can decide it any more"


def test_people_who_find_it_bad_prove_the_opposite_of_the_judge(folder: Path) -> None:
    report, _ = labelled(folder, lambda item: item.index % 3 == 0)
    agreed = simeval(folder, "people", "agree", "last", "--json", "agreed.json")

    assert report.people[0].outcome == "fail"
    assert agreed.returncode == 1
    assert json.loads((folder / "agreed.json").read_text())["people"][0]["outcome"] == "fail"


def test_it_stays_open_until_all_dealt_trials_have_a_label(folder: Path) -> None:
    report, _ = labelled(folder, reads, most=12)

    assert report.people[0].outcome == "inconclusive"
    assert report.people[0].why == "18 labels are missing: `simeval people label` goes on"


def test_trials_that_nobody_can_tell_count_against_both_sides(folder: Path) -> None:
    report, _ = labelled(folder, lambda item: None if item.index % 2 else reads(item))

    assert report.people[0].outcome == "inconclusive"
    assert report.people[0].given == 30
    assert report.people[0].p_value > 0.05
    assert report.people[0].p_value_fail > 0.05
    assert report.people[0].why == ""  # all labels are given: no look comes


def test_a_scenario_without_a_conversation_that_counts_leaves_the_others_their_labels(folder: Path) -> None:
    found = json.loads((folder / "run.json").read_text())
    lost = json.loads(json.dumps(found["scenarios"][0])) | {"title": "App fails"}
    lost["expectations"][0]["verdicts"][0]["chart"] |= {"met": [], "excluded": list(range(80))}
    document = read_suite(found | {"scenarios": [lost, *found["scenarios"]]}, "run")

    dealt = label_items(document, {}, label=None, size=5)
    verdicts = people_verdicts(document, {})

    assert {item.scenario for item in dealt} == {"Bot tracks orders"}
    assert [each.why.partition(":")[0] for each in verdicts] == [
        "none of its conversations counts",
        "30 labels are missing",
    ]


def test_the_plan_says_how_many_labels_it_takes(folder: Path) -> None:
    planned = simeval(folder, "people", "label", "last", "--plan")

    assert planned.returncode == 0, planned.stderr
    assert "of 80 good; people label 30" in planned.stdout
    assert "30 labels prove it with a chance of" in said(planned.stdout)
    assert "AUC 0.93" in planned.stdout
    assert "of the labels: 30 are as exact as" in said(planned.stdout)


def test_the_plan_counts_labels_by_now_and_learns_from_them_what_the_judge_is_worth(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.replace("labels: 30", "labels: 60"))
    (tmp_path / "shop.py").write_text(APP.format(every=4))
    assert simeval(tmp_path, "run", "suite.yaml", "--seed", "1", "-q").returncode == 1
    labelled(tmp_path, reads, most=45)

    planned = said(simeval(tmp_path, "people", "label", "last", "--plan").stdout)

    assert "45 have a label, 15 more are needed: " in planned
    assert "by these labels it is right in" in planned


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("labels: 30", "labels: 10"), "labels: found 10; give 14 or more"),
        (("labels: 30", "labels: 13, looks: 3"), "labels: found 13; give 14 or more"),
        (("labels: 30", "labels: 30, looks: 11"), "looks: found 11; give at most 10"),
        (
            ("sample_size: 80", "sample_size: 80\nsignificance_level: 0.0005"),
            "significance_level: found 0.0005; use a level above 0.0005",
        ),
        (
            ("success_rate, min_proportion: 0.8", "mean, at_least: 5, bounds: [1, 10]"),
            "standard: found 'people'; use it with a requirement on a share",
        ),
    ],
)
def test_a_standard_that_nothing_can_be_proven_by_is_refused(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.replace(*change))
    (tmp_path / "shop.py").write_text(APP.format(every=16))

    run = simeval(tmp_path, "run", "suite.yaml", "-q")

    assert run.returncode == 2
    assert told in " ".join(run.stderr.split())


def test_a_plan_of_the_suite_promises_nothing_for_what_people_decide(folder: Path) -> None:
    planned = simeval(folder, "plan", "suite.yaml")

    assert planned.returncode == 0, planned.stderr
    assert "30 labels of people prove" in " ".join(planned.stdout.split())
    assert "80 trials" in planned.stdout


def test_labelling_in_the_browser_ends_at_the_same_look(looked_at: Path) -> None:
    database = Database(str(looked_at / ".simeval" / "simeval.db"))
    try:
        pages, path = LabelPages(database), f"label/{Runs(database).find('last')}/queue.json"
        state = json.loads(pages.answer(path, {"by": "ann"}).text)
        while item := state["item"]:
            is_good = "I track orders" in json.dumps(item)
            given = {"do": "label", "value": is_good, "scenario": item["scenario"], "index": item["index"]}
            state = json.loads(pages.change(path, {"asked": {"by": "ann"}, **given}).text)
    finally:
        database.close()

    assert (state["labelled"], state["left"]) == (45, 0)
