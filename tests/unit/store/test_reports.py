"""What a report reads of a store: the result without its conversations, and these a few at a time."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from simeval.core.trial import Estimate, Score, TrialResult
from simeval.results.encoding import encode_document
from simeval.results.html.page import write_report
from simeval.results.reading import read_document
from simeval.store.database import Database
from simeval.store.opening import open_database
from simeval.store.reports import StoredSource, metric_course, show_between
from simeval.store.run_summaries import RunSummary
from simeval.store.runs import Runs
from tests.support.records import NOON

OLDER = Path(__file__).parents[2] / "data" / "stores" / "version_3.db"
KILLED, FINISHED, STOPPED = "20261122-035728-657e64", "20261122-035729-e5be20", "20261122-035729-9ef90b"
EXPERIMENT, UNFINISHED = "20261122-035729-1cf4a1", "20261122-035730-f0d360"


def values_of(trial: TrialResult) -> list[float | None]:
    """Return the numbers that a trial was given; None where there is none."""
    return [each.value if isinstance(each, Score) else None for each in trial.results]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_database(str(shutil.copy(OLDER, tmp_path / "runs.db")), must_exist=True)
    yield found
    found.close()


@pytest.mark.parametrize("run_id", [KILLED, FINISHED, STOPPED, EXPERIMENT, UNFINISHED])
def test_every_run_of_an_older_store_has_a_report(database: Database, tmp_path: Path, run_id: str) -> None:
    write_report(tmp_path / "report.html", StoredSource(database, run_id))

    assert run_id in (tmp_path / "report.html").read_text("utf-8")


def test_the_head_of_a_run_is_its_result_without_conversations(database: Database) -> None:
    runs = Runs(database)
    document = encode_document(runs.document(FINISHED))
    for scenario in document["scenarios"]:
        del scenario["conversations"]

    assert StoredSource(database, FINISHED).document == read_document(document)


def test_trials_are_read_as_they_were_kept(database: Database) -> None:
    document = encode_document(Runs(database).document(FINISHED))
    source = StoredSource(database, FINISHED)

    found = list(source.read(1, [2, 0]))
    outlines = source.outlines(1)

    said = [[turn["content"] for turn in document["scenarios"][1]["conversations"][index]["turns"]] for index in (0, 2)]
    assert [[message.content for message in each.conversation.messages] for each in found] == said
    assert [each.trial.index for each in outlines] == list(range(document["scenarios"][1]["trials"]))
    assert list(map(values_of, found)) == [values_of(outlines[index]) for index in (0, 2)]


def test_a_run_that_was_killed_says_so_and_has_what_was_held(database: Database) -> None:
    source = StoredSource(database, KILLED)

    assert source.document.stopped == "it was interrupted: nothing is concluded yet"
    assert source.outlines(0)


@pytest.mark.parametrize(
    ("ends", "said"),
    [((0.5, 0.9), "0.75 [0.5 to 0.9], n = 8"), ((None, None), "0.75, n = 8"), ((0.5, None), "0.75 [0.5 to –], n = 8")],
)
def test_a_figure_has_the_ends_that_are_known(ends: tuple[float | None, float | None], said: str) -> None:
    assert show_between(0.75, *ends, 8, is_share=False) == said


def test_a_run_without_a_figure_leaves_a_gap_in_the_course_of_a_metric() -> None:
    none, found = Estimate(value=None, n=0), Estimate(value=0.5, n=8)
    runs = [experiment(metrics) for metrics in ({}, {"size": none}, {"size": found}, {"size": found})]

    said, picture = metric_course(runs, "size", lambda run: run.run_id)

    assert said == "0.5, n = 8"
    assert str(picture).count("'circle'") == 2


def experiment(metrics: Mapping[str, Estimate]) -> RunSummary:
    return RunSummary(
        run_id="run-1",
        started=NOON,
        status="finished",
        outcome=None,
        app="app",
        scenarios=0,
        trials=8,
        calls=0,
        cost_usd=None,
        seconds=1,
        version="1",
        metrics=metrics,
    )
