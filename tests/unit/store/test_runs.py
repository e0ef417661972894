"""The runs of a database: found, listed, read back, deleted."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from socket import gethostname
from subprocess import PIPE, Popen
from time import monotonic

import psutil
import pytest

from simeval.analysis.saved_run import read_suite, requirements_of
from simeval.core.run_records import Heartbeat, Usage
from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_document
from simeval.results.suite import encode_suite
from simeval.store.database import Database
from simeval.store.owners import is_alive, new_owner
from simeval.store.run_summaries import ScenarioProgress
from simeval.store.runs import Runs
from tests.support.records import NOON, RUN
from tests.support.stores import APP_FAILED, MODEL_FAILED, begun, ended, held, judged, rows, run_sql, whole_run

HOUR = timedelta(hours=1)


def test_the_document_is_the_machine_readable_result(database: Database) -> None:
    odd = "Odd \0 \ud83d"
    run = begun(titles=[odd, "B"], usage=RUN.usage, seconds=1.5, notes=("a note",), definition={"title": odd})
    entries, suite = whole_run(run)
    database.append("run-1", [*entries, held(4), judged(4), suite])

    document = encode_document(Runs(database).document("run-1"))

    assert document == json.loads(json.dumps(encode_suite(suite.results, run, version=__version__)))
    assert list(document) == list(encode_suite(suite.results, run, version=__version__))
    assert Runs(database).load("run-1").definition == run.definition
    assert len(requirements_of(read_suite(document, "the store"))) == 4


def test_the_report_is_what_was_printed(database: Database) -> None:
    entries, suite = whole_run(begun())
    database.append("run-1", [*entries, suite])

    assert Runs(database).report("run-1") == str(suite)


@pytest.mark.parametrize("read", [Runs.document, Runs.report])
def test_a_run_that_has_not_ended_has_no_result(where: str, read: Callable[[Runs, str], object]) -> None:
    first = Database(where)
    first.append("run-1", [begun()])
    second = Database(where)

    with pytest.raises(DefinitionError, match=r"being run by process \d+ on .*wait for its end"):
        read(Runs(second), "run-1")
    first.close()
    with pytest.raises(DefinitionError, match=r"interrupted.*--resume run-1"):
        read(Runs(second), "run-1")
    second.close()


def test_a_stopped_run_has_a_result_until_it_is_resumed(database: Database) -> None:
    run = begun(titles=["A"], stopped="the budget was spent")
    database.append("run-1", [run, held(0), judged(0), ended(run, [[judged(0)]])])
    stopped = encode_document(Runs(database).document("run-1"))

    database.append("run-1", [replace(run, stopped="")])

    assert stopped["stopped"] == "the budget was spent"
    assert Runs(database).recent()[0].status == "running"
    assert rows(database, "SELECT count(*) FROM verdicts") == [(0,)]
    with pytest.raises(DefinitionError, match="run-1"):
        Runs(database).document("run-1")


def test_of_a_run_that_has_ended_the_trials_are_counted_that_were_concluded_on(database: Database) -> None:
    run = begun("run-1", titles=["A"])

    database.append("run-1", [run, held(0), judged(0), held(1), judged(1)])
    assert Runs(database).recent()[0].trials == 2

    database.append("run-1", [ended(run, [[judged(0)]])])
    assert Runs(database).recent()[0].trials == 1


def test_runs_are_listed_with_what_became_of_them(where: str) -> None:
    database, other = Database(where), Database(where)
    for number, stopped in enumerate(("", "the budget was spent")):
        run = begun(f"run-{number}", stopped=stopped, started=NOON + number * HOUR)
        entries, suite = whole_run(run)
        heartbeat = Heartbeat(seconds=2.5, usage={"judge": Usage(calls=7, cost_usd=0.5), "user": Usage(calls=1)})
        database.append(run.run_id, [*entries, heartbeat, suite])
    other.append("run-2", [begun("run-2"), held(0), held(1, failure=APP_FAILED), held(2, failure=MODEL_FAILED)])
    other.close()
    database.append("run-3", [begun("run-3")])

    runs = Runs(database).recent(limit=10)
    database.close()

    assert [run.run_id for run in runs] == ["run-3", "run-2", "run-1", "run-0"]
    assert [run.status for run in runs] == ["running", "interrupted", "stopped", "finished"]
    assert [run.trials for run in runs] == [0, 2, 6, 6]
    assert (runs[3].outcome, runs[3].calls, runs[3].cost_usd, runs[3].seconds) == ("inconclusive", 8, 0.5, 2.5)
    assert (runs[3].scenarios, runs[3].started, runs[3].app) == (2, NOON, "app:handle")
    assert (runs[0].outcome, runs[0].calls, runs[0].cost_usd, runs[0].seconds) == (None, 0, None, 0.0)


def test_a_run_is_found_by_how_its_id_begins(database: Database) -> None:
    for run_id in ("2025-aa", "2025-ab", "2026-b", "2025-a"):
        database.append(run_id, [begun(run_id)])
    runs = Runs(database)

    assert [runs.find(name) for name in ("2026", "2025-ab", "2025-a")] == ["2026-b", "2025-ab", "2025-a"]
    with pytest.raises(DefinitionError, match="begins the ids of 3 runs: 2025-a, 2025-ab, 2025-aa"):
        runs.find("2025")
    with pytest.raises(DefinitionError, match="no run '2026-c'; give one of 2026-b"):
        runs.find("2026-c")
    with pytest.raises(DefinitionError, match="no run '%'"):
        runs.find("%")


def test_the_last_run_is_the_one_started_or_resumed_last(database: Database) -> None:
    runs = Runs(database)
    with pytest.raises(DefinitionError, match="no run yet"):
        runs.find("last")
    for run_id in ("run-1", "run-2", "run-1"):
        database.append(run_id, [begun(run_id)])

    assert runs.find("last") == "run-1"


def test_a_deleted_run_leaves_nothing_and_others_stay(database: Database) -> None:
    for run_id in ("run-1", "run-2"):
        entries, suite = whole_run(begun(run_id))
        database.append(run_id, [*entries, suite])
    runs = Runs(database)
    kept = encode_document(runs.document("run-2"))

    runs.delete("run-1")

    assert [run.run_id for run in runs.recent()] == ["run-2"]
    assert encode_document(runs.document("run-2")) == kept
    for table in ("attempts", "scenarios", "trials", "messages", "judgements", "scores", "verdicts"):
        assert rows(database, f"SELECT DISTINCT run_id FROM {table}") == [("run-2",)]
    with pytest.raises(DefinitionError, match="no run 'run-1'"):
        runs.delete("run-1")


def test_a_run_that_a_process_is_at_is_not_deleted(where: str) -> None:
    first, second = Database(where), Database(where)
    first.append("run-1", [begun()])

    with pytest.raises(DefinitionError, match="being run by process"):
        Runs(second).delete("run-1")
    first.close()
    Runs(second).delete("run-1")

    assert Runs(second).recent() == []
    second.close()


@pytest.mark.parametrize(
    ("owner", "age", "expected"),
    [
        (new_owner(), HOUR, gethostname()),
        (f"{gethostname()}:4194305:1:ff", timedelta(), ""),  # larger than any process's number
        (f"{gethostname()}:{new_owner().split(':')[1]}:1:ff", timedelta(), ""),  # began at another time
        (f"{gethostname()}:4711::ff", timedelta(seconds=50), "process 4711"),  # when it began was not told
        (f"{gethostname()}:4711::ff", timedelta(seconds=70), ""),
        ("elsewhere:4711:1:ff", timedelta(seconds=50), "process 4711 on elsewhere"),
        ("elsewhere:4711:1:ff", timedelta(seconds=70), ""),
        ("", timedelta(), ""),
    ],
    ids=[
        "this process",
        "no such process",
        "another with its number",
        "heard of lately",
        "silent",
        "heard of lately, elsewhere",
        "silent, elsewhere",
        "nobody",
    ],
)
def test_a_run_is_owned_while_its_process_lives(database: Database, owner: str, age: timedelta, expected: str) -> None:
    database.append("run-1", [begun()])
    heartbeat = (datetime.now(UTC) - age).isoformat()
    run_sql(database, f"UPDATE runs SET owner = '{owner}', heartbeat = '{heartbeat}'")

    past = Runs(database).load("run-1")

    assert expected in past.owner
    assert bool(past.owner) == bool(expected)


def test_a_process_that_was_killed_is_gone_even_before_its_parent_knows() -> None:
    program = "from simeval.store.owners import new_owner; print(new_owner(), flush=True); input()"
    now, deadline = datetime.now(UTC), monotonic() + 30.0
    with Popen([sys.executable, "-c", program], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        owner = process.stdout.readline().strip()
        lived = is_alive(owner, heartbeat=now, now=now)
        process.kill()
        while is_alive(owner, heartbeat=now, now=now) and monotonic() < deadline:
            pass

        assert lived
        assert not is_alive(owner, heartbeat=now, now=now)
        assert process.returncode is None


@pytest.mark.parametrize(("setting", "value"), [("LINUX", False), ("PROCFS_PATH", "/nowhere")])
def test_a_process_lives_also_where_the_system_tells_its_beginning_otherwise_or_not(
    setting: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, setting, value)
    now = datetime.now(UTC)

    assert is_alive(new_owner(), heartbeat=now, now=now)


def test_what_a_database_has_open_itself_can_be_resumed_on_it(database: Database) -> None:
    database.append("run-1", [begun(), held(0)])

    past = Runs(database).load("run-1")
    database.append("run-1", [begun(), held(1)])

    assert past.owner == ""
    assert len(rows(database, "SELECT * FROM attempts")) == 2


def test_progress_counts_what_is_finished_and_what_is_judged(database: Database) -> None:
    broken = judged(1, ratings=(8.0, MODEL_FAILED))
    failed = [held(3, failure=APP_FAILED), held(4, failure=MODEL_FAILED)]
    database.append("run-1", [begun(), held(0), judged(0), held(1), broken, held(2), *failed])

    assert Runs(database).progress_of("run-1") == [
        ScenarioProgress(title="A", sample_size=5, finished=4, judged=2),
        ScenarioProgress(title="B", sample_size=5, finished=0, judged=0),
    ]
    with pytest.raises(DefinitionError, match="no run 'run-2'"):
        Runs(database).progress_of("run-2")


def test_a_text_is_found_whatever_its_case_and_wherever_it_stands(database: Database) -> None:
    shouted = held(0, said=("Where is it?", "In the HAUPTSTRASSE"))
    database.append("run-1", [begun(), shouted, held(1, said=("hi", "hello")), judged(1)])

    runs = Runs(database)

    assert runs.found("run-1", "hauptstraße") == {0: [0]}
    assert runs.found("run-1", "RATED 7.5") == {0: [1]}
    assert runs.found("run-1", "bye") == {}
