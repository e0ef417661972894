"""Rows: the store is killed, locked or full, and the clock jumps."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from time import sleep

from benchmarks.faults.campaign.campaign import Campaign, Row, ending
from benchmarks.faults.campaign.cases import Report

AWAY_SECONDS = 3.0
PATIENCE_SECONDS = 4.0
LOCKED_SECONDS = 5.0
LARGEST_FILE = 400_000  # bytes, of which a whole run's log takes three times as many


def postgres_restarted(campaign: Campaign) -> Report:
    """Let the database crash under a run and come back."""
    server, url = campaign.own_server()
    case = campaign.case(store=url)
    attempt = case.start()
    case.begun(attempt, scores=100)
    server.stop(kill=True)
    try:
        sleep(AWAY_SECONDS)
    finally:
        server.start()
    status = attempt.wait()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


def postgres_gone(campaign: Campaign) -> Report:
    """Let the database crash under a run and not come back in time."""
    server, url = campaign.own_server()
    case = campaign.case(store=url)
    attempt = case.start(reconnect_seconds=PATIENCE_SECONDS)
    case.begun(attempt, scores=100)
    server.stop(kill=True)
    try:
        status = attempt.wait(PATIENCE_SECONDS + 30)
    finally:
        server.start()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


def locked(campaign: Campaign) -> Report:
    """Let another process hold the file."""
    case = campaign.case()
    attempt = case.start()
    case.begun(attempt, scores=50)
    with closing(sqlite3.connect(case.folder / case.store, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN EXCLUSIVE")
        sleep(LOCKED_SECONDS)
        other.execute("ROLLBACK")
    status = attempt.wait()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


def disk_full(campaign: Campaign) -> Report:
    """Let no file grow beyond a size, while there is a report of an earlier run; resume without that."""
    case = campaign.case()
    report = case.folder / "earlier.json"
    report.write_text("{}", encoding="utf-8")
    attempt = case.start(largest_file=LARGEST_FILE, json_to=report.name)
    status = attempt.wait()
    found = campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)
    try:
        json.loads(report.read_text(encoding="utf-8"))
    except ValueError:
        return replace(found, problem="the report is neither the earlier one nor a whole one")
    return found


def moved(campaign: Campaign) -> Report:
    """Move the file in the middle of a run, and back before it is resumed."""
    case = campaign.case()
    attempt = case.start()
    case.begun(attempt, scores=100)
    store, elsewhere = case.folder / case.store, case.folder / "elsewhere.db"
    store.rename(elsewhere)
    status = attempt.wait()
    elsewhere.rename(store)
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


def clock_jumps(campaign: Campaign) -> Report:
    """Let the time of day jump a day ahead and back under a run that is killed, and resumed."""
    case = campaign.case()
    first = case.start(clock_jumps=True)
    case.begun(first, scores=100)
    first.kill()
    attempt = case.start(resume=case.notes.run_id, clock_jumps=True)
    status = attempt.wait()
    return campaign.resumed(case, attempt, ended=ending(status), seconds=attempt.seconds)


ROWS: Mapping[str, tuple[str, Row]] = {
    "postgres-restarted": (f"PostgreSQL crashes, is back after {AWAY_SECONDS:g} s", postgres_restarted),
    "postgres-gone": (f"PostgreSQL crashes, is not back within {PATIENCE_SECONDS:g} s", postgres_gone),
    "locked": (f"the SQLite file is locked for {LOCKED_SECONDS:g} s", locked),
    "disk-full": ("the disk is full", disk_full),
    "moved": ("the SQLite file is moved, and back before the run is resumed", moved),
    "clock": ("the clock jumps by a day, ahead and back", clock_jumps),
}
