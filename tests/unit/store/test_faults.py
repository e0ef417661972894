"""What a store does when processes are killed, others write at the same time, and databases fail."""

import logging
import os
import sqlite3
from itertools import count
from pathlib import Path
from threading import Thread

import pytest

from simeval.core.logs import event_of
from simeval.core.run_records import Heartbeat, ReplyRecord, Start
from simeval.errors import StoreError
from simeval.store import database as store_database
from simeval.store.backends import sqlite
from simeval.store.database import Database
from simeval.store.runs import Runs
from tests.support.log_events import logged
from tests.support.postgres import PostgresHandle
from tests.support.stores import begun, ended, held, judged, rows, run_sql, whole_run, writers

DEADLINE_SECONDS = 60.0
MISSED = "the store does not answer; it is tried again"


def test_processes_that_open_and_write_one_new_store_at_once_lose_nothing(where: str) -> None:
    with writers(where, [50] * 4) as processes:
        said = [list(process.heard()) for process in processes]

    database = Database(where)
    runs = Runs(database)
    assert said == [list(range(50))] * 4
    for number in range(4):
        past = runs.load(f"run-{number}")
        assert past.held == {(0, index): held(index) for index in range(50)}
        assert set(past.scores) == set(past.held)
    database.close()


def test_what_was_acknowledged_before_a_kill_is_there(where: str) -> None:
    acknowledged = {}
    with writers(where, [10**6] * 5) as processes:
        for number, process in enumerate(processes):
            heard = process.heard()
            seen = [next(heard) for _ in range(1 + 7 * number)]
            process.kill()
            acknowledged[f"run-{number}"] = [*seen, *heard]

        database = Database(where)
        runs = Runs(database)
        for run_id, indices in acknowledged.items():
            past = runs.load(run_id)
            assert past.owner == ""
            assert {(0, index) for index in indices} <= set(past.scores)
            assert set(past.scores) == set(past.held)  # a batch is there as a whole or not at all
            assert all(past.held[0, index] == held(index) for index in indices)
        assert {run.status for run in runs.recent()} == {"interrupted"}
    database.close()


def test_a_store_is_read_while_another_process_writes_it(where: str) -> None:
    database = Database(where)
    runs, counts = Runs(database), [0]
    with writers(where, [150]) as (process,):
        heard = process.heard()
        for index in heard:
            past = runs.load("run-0")
            assert set(past.scores) == set(past.held)
            assert len(past.held) > index
            counts.append(len(past.held))

    assert counts == sorted(counts)
    assert len(counts) == 1 + 150
    assert any(0 < count < 150 for count in counts)
    database.close()


def test_a_run_that_was_taken_over_is_not_written_any_more(where: str) -> None:
    database = Database(where)
    run = begun()
    _, suite = whole_run(run)
    database.append("run-1", [run])
    run_sql(database, "UPDATE runs SET owner = 'elsewhere:4711:1:ff'")

    with pytest.raises(StoreError, match="run run-1 was taken over by process 4711 on elsewhere"):
        database.append("run-1", [held(0), Heartbeat(seconds=1.0)])
    with pytest.raises(StoreError, match="taken over"):
        database.append("run-1", [suite])
    run_sql(database, "DELETE FROM runs")
    with pytest.raises(StoreError, match="run run-1 was deleted"):
        database.append("run-1", [Heartbeat(seconds=1.0)])

    assert rows(database, "SELECT * FROM trials") == []
    database.close()


def test_a_run_that_a_process_is_at_is_not_begun_again(where: str) -> None:
    first, second = Database(where), Database(where)
    first.append("run-1", [begun()])

    with pytest.raises(StoreError, match="run run-1 is being run by process"):
        second.append("run-1", [begun()])
    first.append("run-1", [Heartbeat(seconds=1.0)])

    first.close()
    second.close()


def test_a_connection_that_was_ended_is_made_again(
    postgres_server: PostgresHandle, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(postgres_server.fresh())
    database.append("run-1", [begun(), held(0)])
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'test'"
    )

    with caplog.at_level(logging.WARNING):
        database.append("run-1", [held(1), Heartbeat(seconds=1.0)])

    assert [event_of(record) for record in caplog.records] == [MISSED]
    assert set(Runs(database).load("run-1").held) == {(0, 0), (0, 1)}
    database.close()


def test_a_server_that_was_killed_is_waited_for(postgres_server: PostgresHandle) -> None:
    database = Database(postgres_server.fresh())
    database.append("run-1", [begun()])
    writing = Thread(target=_append_each, args=(database, 40))
    postgres_server.stop(kill=True)
    try:
        with logged(MISSED) as missed:
            writing.start()
            was_missed = missed.wait(DEADLINE_SECONDS)
    finally:
        postgres_server.start()
    writing.join(timeout=DEADLINE_SECONDS)

    assert was_missed
    assert set(Runs(database).load("run-1").held) == {(0, index) for index in range(40)}
    database.close()


def test_a_server_that_stays_away_ends_the_run(
    postgres_server: PostgresHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = count()
    monkeypatch.setattr(store_database, "monotonic", lambda: 10.0 * next(attempts))
    database = Database(postgres_server.fresh(), reconnect_seconds=30.0)
    database.append("run-1", [begun()])
    postgres_server.stop()
    try:
        with pytest.raises(StoreError, match=r"postgresql://test@/postgres.*connection"):
            database.append("run-1", [held(0)])
        database.close()
    finally:
        postgres_server.start()

    assert next(attempts) == 5  # at 0, 10, 20, 30 and 40 seconds


def test_closing_ends_the_wait_for_a_server(postgres_server: PostgresHandle) -> None:
    database = Database(postgres_server.fresh(), reconnect_seconds=3600.0)
    database.append("run-1", [begun()])
    failed: list[StoreError] = []
    writing = Thread(target=_append_failing, args=(database, failed), daemon=True)
    postgres_server.stop()
    try:
        with logged(MISSED) as missed:
            writing.start()
            was_missed = missed.wait(DEADLINE_SECONDS)
        database.close()
        writing.join(timeout=DEADLINE_SECONDS)
    finally:
        postgres_server.start()

    assert was_missed
    assert len(failed) == 1


def test_replies_that_two_write_in_different_orders_are_all_kept_without_a_deadlock(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Database(where), Database(where)
    replies = [ReplyRecord(key=f"key-{n}", model="m", role="user", text="hi") for n in range(50)]
    threads = [
        Thread(target=lambda d=database, r=order: [d.append("", r) for _ in range(10)])
        for database, order in ((first, replies), (second, replies[::-1]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=DEADLINE_SECONDS)

    assert rows(first, "SELECT count(*) FROM replies") == [(50,)]
    assert caplog.records == []
    first.close()
    second.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.mark.parametrize(
    ("pragma", "problem"),
    [
        ("max_page_count = 1", "database or disk is full"),
        ("query_only = ON", "attempt to write a readonly database"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_at_once(path: Path, pragma: str, problem: str) -> None:
    database = Database(path)
    database.append("run-1", [begun(), held(0)])
    run_sql(database, f"PRAGMA {pragma}")

    with pytest.raises(StoreError, match=problem) as raised:
        database.append("run-1", [held(index, said=("long " * 1000,)) for index in range(1, 50)])

    assert raised.value.path == str(path)
    assert raised.value.__cause__ is None
    assert set(Runs(database).load("run-1").held) == {(0, 0)}
    database.append("run-1", [held(1)])  # there is place again
    database.close()


def test_the_room_of_places_to_go_on_at_is_given_back_when_a_run_has_ended(path: Path) -> None:
    database, run = Database(path), begun()
    said = held(0, said=("long " * 1000,)).conversation.messages
    database.append("run-1", [run, *(Start(held(index).trial, said, "{}") for index in range(50))])
    database.append("run-1", [Start(held(index).trial) for index in range(50)])
    free = rows(database, "PRAGMA freelist_count")

    database.append("run-1", [held(0), judged(0), ended(run, [[judged(0)]])])

    assert free > [(50,)]
    assert rows(database, "PRAGMA freelist_count") == [(0,)]
    database.close()


def test_a_file_that_another_writes_is_waited_for_when_it_is_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # in a file without a write-ahead log yet
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.execute("COMMIT")

    monkeypatch.setattr(sqlite, "sleep", wait)
    database = Database(path)

    assert rows(database, "PRAGMA journal_mode") == [("wal",)]
    assert len(waits) == 3
    other.close()
    database.close()


def test_a_file_that_another_holds_too_long_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = Database(path, reconnect_seconds=0.1)
    run_sql(database, "PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="database is locked"):
        database.append("run-1", [begun()])

    assert [event_of(record) for record in caplog.records] == [MISSED]
    other.execute("ROLLBACK")
    other.close()
    database.close()


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be deleted there")
def test_a_file_that_was_deleted_is_told(path: Path) -> None:
    database = Database(path)
    database.append("run-1", [begun()])
    path.unlink()

    with pytest.raises(StoreError, match="deleted or replaced"):
        database.append("run-1", [held(0)])

    database.close()


def _append_failing(database: Database, failed: list[StoreError]) -> None:
    try:
        database.append("run-1", [held(0)])
    except StoreError as error:
        failed.append(error)


def _append_each(database: Database, count: int) -> None:
    for index in range(count):
        database.append("run-1", [held(index), judged(index)])
