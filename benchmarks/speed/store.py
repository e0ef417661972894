"""The store against its bounds: CPU a record, bytes a conversation, seconds to load a large run.

    python -m benchmarks.speed.store [--postgres URL]

A record is a conversation of six messages of 180 characters, or the judgement of one, with one or two scores. The
bounds are JSON lines appended to a file, and one row of an SQLite table for each conversation or judgement. The
server's own CPU is not counted. CPU is user and system time of this process, the least of three rounds at full
speed. The runs that
this writes to URL are deleted at the end.
"""

import argparse
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time, sleep

from simeval.core.conversation import Conversation, Message
from simeval.core.run_records import Start
from simeval.core.trial import Score, Trial, TrialConversation, TrialResult
from simeval.results.suite import RunRecord, SuiteResult
from simeval.store.database import Database
from simeval.store.journal import Entry, Journal, JsonLinesJournal, encode_entry
from simeval.store.runs import Runs

SLOW = 200  # conversations under way at once
SCENARIOS, TRIALS = 20, 10_000  # trials are dealt round the scenarios
BATCH_AT_FULL_SPEED, BATCHES_A_SECOND, RECORDS_A_SECOND, PACED_SECONDS = 100, 50, 1_000, 10
ROUNDS = 3
TEXT = "I would like to know what your main functions are, and how I could use them for my work. " * 2
STYLE = {"proficiency": "Writes clearly, with a few small mistakes.", "tone": "Polite."}
RUN = RunRecord(
    run_id="",
    seed=7,
    judge_model="judge",
    user_model="user",
    app="app",
    started=datetime.now(UTC),
    scenarios=tuple((f"Scenario {position}", TRIALS // SCENARIOS, ("works",)) for position in range(SCENARIOS)),
)
FORM = "{:34} {:>16} {:>16} {:>14} {:>14} {:>10}"


class PlainTable:
    """A journal that is one table of JSON texts."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("CREATE TABLE IF NOT EXISTS entries (run_id TEXT, entry TEXT)")

    def append(self, run_id: str, entries: Sequence[Entry]) -> None:
        rows = [(run_id, json.dumps(found)) for entry in entries for found in encode_entry(entry)]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO entries VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def main() -> None:
    """Measure every journal and print its row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL database")
    options = parser.parse_args()
    print(FORM.format("journal", "full: µs/record", "20 each: µs/rec.", "% of a core", "bytes/conv.", "load s"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        report("JSON lines", lambda: JsonLinesJournal(path / "bound.jsonl"), lambda: _size(path / "bound.jsonl"))
        report("sqlite3, one table of JSON", lambda: PlainTable(path / "bound.db"), lambda: _size(path / "bound.db"))
        report("store: SQLite", lambda: Database(path / "store.db"), lambda: _size(path / "store.db"))
        without, with_places = (_room(path / f"{slow}.db", are_slow=slow) for slow in (False, True))
        share = with_places / without
        print(f"SQLite, {SLOW} slow conversations: {with_places:.0f} bytes each, {share:.2f} of quick ones")
    if options.postgres:
        url: str = options.postgres
        report("store: PostgreSQL", lambda: Database(url), lambda: _size_on_server(url))


def report(name: str, opening: Callable[[], Journal], size: Callable[[], int]) -> None:
    """Measure one journal and print its row."""
    opening().close()
    before = size()
    rounds = [_fill(opening, f"{name} {number}") for number in range(ROUNDS)]
    grown = (size() - before) / (ROUNDS * TRIALS)
    load = _load(opening, f"{name} 0")
    paced = _paced(opening, f"{name} paced")
    share = paced * RECORDS_A_SECOND / 1e4
    _delete(opening, name)
    cells = (f"{min(rounds):.1f}", f"{paced:.1f}", f"{share:.2f}", f"{grown:.0f}")
    print(FORM.format(name, *cells, "-" if load is None else f"{load:.2f}"), flush=True)


def _room(path: Path, *, are_slow: bool) -> float:
    """Return the bytes of a conversation in a run that has ended; of slow ones places to go on at were kept."""
    database, run = Database(path), replace(RUN, run_id="run")
    helds = [_held(number) for number in range(SLOW)]
    starts = [Start(held.trial, held.conversation.messages[:4], "{}") for held in helds]
    database.append("run", [run, *(starts if are_slow else ())])
    for held in helds:
        database.append("run", [Start(held.trial), held, _judged(held)])
    database.append("run", [SuiteResult((), run)])
    database.close()
    return _size(path) / SLOW


def records(run_id: str) -> Iterator[Entry]:
    """Return the entries of a run in the order in which they come: conversations, their judgements a little later."""
    yield replace(RUN, run_id=run_id)
    held = [_held(number) for number in range(TRIALS)]
    for number, one in enumerate(held):
        yield one
        if number >= SCENARIOS:
            yield _judged(held[number - SCENARIOS])
    yield from map(_judged, held[-SCENARIOS:])


def _fill(opening: Callable[[], Journal], run_id: str) -> float:
    """Return the microseconds of CPU a record at full speed."""
    journal, entries = opening(), list(records(run_id))
    started = process_time()
    for batch in _batches(entries, BATCH_AT_FULL_SPEED):
        journal.append(run_id, batch)
    spent = process_time() - started
    journal.close()
    return 1e6 * spent / len(entries)


def _paced(opening: Callable[[], Journal], run_id: str) -> float:
    """Return the microseconds of CPU a record at a thousand a second, in fifty batches."""
    journal, entries = opening(), list(records(run_id))[: RECORDS_A_SECOND * PACED_SECONDS]
    spent, started = 0.0, perf_counter()
    for number, batch in enumerate(_batches(entries, RECORDS_A_SECOND // BATCHES_A_SECOND)):
        sleep(max(0.0, started + number / BATCHES_A_SECOND - perf_counter()))
        before = process_time()
        journal.append(run_id, batch)
        spent += process_time() - before
    journal.close()
    return 1e6 * spent / len(entries)


def _load(opening: Callable[[], Journal], run_id: str) -> float | None:
    """Return the seconds to load a run, of which everything must be there."""
    journal = opening()
    if not isinstance(journal, Database):
        journal.close()
        return None
    started = perf_counter()
    past = Runs(journal).load(run_id)
    taken = perf_counter() - started
    journal.close()
    assert len(past.held) == len(past.scores) == TRIALS
    return taken


def _delete(opening: Callable[[], Journal], name: str) -> None:
    journal = opening()
    if isinstance(journal, Database):
        for number in (*range(ROUNDS), "paced"):
            Runs(journal).delete(f"{name} {number}")
    journal.close()


def _held(number: int) -> TrialConversation:
    messages = tuple(
        Message(
            role="assistant" if place % 2 else "user",
            content=TEXT,
            started=datetime.now(UTC),
            seconds=0.1 + number / 7e4,
        )
        for place in range(6)
    )
    trial = Trial(number % SCENARIOS, number // SCENARIOS, 2**62 + number)
    return TrialConversation(trial, Conversation(messages=messages, writing_style=STYLE))


def _judged(held: TrialConversation) -> TrialResult:
    score = Score(value=8.0, reasoning=TEXT[:100])
    results = (score,) * (1 + held.trial.index % 2)
    return TrialResult(trial=held.trial, conversation=held.conversation, results=results)


def _batches(entries: Sequence[Entry], size: int) -> Iterator[Sequence[Entry]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))


def _size(path: Path) -> int:
    return path.stat().st_size


def _size_on_server(url: str) -> int:
    database = Database(url)
    query = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = {}"
    schema = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
    try:
        return int(database.read(lambda connection: connection.exec_driver_sql(query.format(schema)).scalar_one()))
    finally:
        database.close()


if __name__ == "__main__":
    main()
