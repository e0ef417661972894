"""`simeval worker`, in processes of its own: they are killed, told to stop, and do what one process does."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simeval.store.database import Database
from tests.support.command_line import ASKED, PATIENCE_SECONDS, SUITE, simeval, started, wait_for
from tests.support.postgres import PostgresHandle

APP = f"""
import sys, anyio
from pathlib import Path

async def good(message):
    if Path("stall").exists():
        print({ASKED!r}, file=sys.stderr, flush=True)
        while Path("stall").exists():
            await anyio.sleep(0.01)
    return "I track orders and start returns."
"""
COMMON = ("suite.yaml", "--app", "app:good", "--seed", "3", "--no-early-stopping")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


@pytest.fixture
def store(postgres_server: PostgresHandle) -> str:
    where = postgres_server.fresh()
    Database(where).close()
    return where


@contextmanager
def worker(folder: Path, store: str, *more: str, lines: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """Start a worker, and wait until its app was asked so often; it is killed in the end."""
    process = started(folder, "worker", *COMMON, "--store", store, *more, lines=lines)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def conduct(folder: Path, store: str, *more: str) -> "subprocess.Popen[str]":
    return started(
        folder, "run", *COMMON, "--store", store, "--executor", "workers", "--json", "run.json", *more, lines=0
    )


def scenarios(folder: Path, name: str) -> Any:
    found = json.loads((folder / name).read_text())["scenarios"]
    return [{key: each[key] for key in ("title", "outcome", "trials", "expectations")} for each in found]


def test_two_workers_come_to_what_one_process_comes_to(folder: Path, store: str) -> None:
    alone = simeval(folder, "run", *COMMON, "--store", "none", "--json", "alone.json")

    with worker(folder, store), worker(folder, store):
        together = conduct(folder, store)
        together.communicate(timeout=PATIENCE_SECONDS)

    assert together.returncode == alone.returncode == 0
    assert scenarios(folder, "run.json") == scenarios(folder, "alone.json")


def test_of_a_worker_that_is_killed_the_trials_under_way_are_missing(folder: Path, store: str) -> None:
    (folder / "stall").touch()
    run = conduct(folder, store)

    with worker(folder, store, "--concurrency", "2", "--lease", "4", lines=2) as struck:
        struck.send_signal(signal.SIGKILL)
        struck.wait()
    (folder / "stall").unlink()
    with worker(folder, store):
        said, _ = run.communicate(timeout=PATIENCE_SECONDS)

    [found] = json.loads((folder / "run.json").read_text())["scenarios"]
    assert [each["error"] for each in found["errors"]] == ["the worker was lost in this trial"] * 2
    assert found["trials"] == 30
    assert "2 x run: the worker was lost in this trial" in said


def test_a_worker_that_is_told_to_stop_finishes_what_is_under_way(folder: Path, store: str) -> None:
    (folder / "stall").touch()
    run = conduct(folder, store)

    with worker(folder, store, "--concurrency", "2", lines=2) as told:
        told.send_signal(signal.SIGINT)
        wait_for("no more trials are started", told)
        (folder / "stall").unlink()
        assert told.wait(timeout=PATIENCE_SECONDS) == 0
    with worker(folder, store):
        run.communicate(timeout=PATIENCE_SECONDS)

    assert json.loads((folder / "run.json").read_text())["scenarios"][0]["errors"] == []


def test_a_run_whose_process_is_killed_is_resumed(folder: Path, store: str) -> None:
    (folder / "stall").touch()
    run = conduct(folder, store, "--concurrency", "6")

    with worker(folder, store, lines=6):
        run.send_signal(signal.SIGKILL)
        run.communicate()
        (folder / "stall").unlink()
        resumed = conduct(folder, store, "--resume", "last")
        resumed.communicate(timeout=PATIENCE_SECONDS)

    assert resumed.returncode in (0, 1)
    assert scenarios(folder, "run.json")[0]["trials"] == 30


def test_workers_need_a_server(folder: Path) -> None:
    done = simeval(folder, "worker", *COMMON, "--store", "runs.db")

    assert done.returncode == 2
    assert done.stderr == (
        "simeval: store: workers cannot share a file; name a PostgreSQL server, which all of them can reach "
        "(--store postgresql://...).\n"
    )
