"""Opening a store by its address."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from simeval.core.run_records import Journal, ResumableRun
from simeval.errors import DefinitionError

if TYPE_CHECKING:
    from simeval.results.rows import Row
    from simeval.store.database import Database


def open_journal(where: str | Path, *, must_exist: bool = False) -> Journal:
    """Open a file of JSON lines (*.jsonl), or a database: another path, or a URL. Raises DefinitionError.

    Where it `is_there`, no database is made.
    """
    if not str(where).strip():
        raise DefinitionError("store", found="found an empty name", do="name a file or a URL, or none")
    if "://" not in str(where) and Path(where).suffix == ".jsonl":
        from simeval.store.journal import (
            JsonLinesJournal,  # the results of runs, which one that only reads does without
        )

        return JsonLinesJournal(Path(where))
    return open_database(where, must_exist=must_exist)


def as_database(journal: Journal | None, what: str) -> "Database":
    """Return a journal that is a database. Raises DefinitionError for another, naming `what` needs one."""
    from simeval.store.database import Database

    if not isinstance(journal, Database):
        raise DefinitionError(
            what, found="this needs a database", do="name one with --store: an SQLite file, or a PostgreSQL URL"
        )
    return journal


def rows_at(where: "str | Path | Journal | None", run_id: str) -> "Iterator[Row]":
    """Return the rows of a run, from a database that is open already or at this address. Raises DefinitionError."""
    from simeval.store.stored_rows import stored_rows

    if not isinstance(where, (str, Path)):
        yield from stored_rows(as_database(where, "rows"), run_id)
        return
    with closing(open_database(where, must_exist=True)) as database:
        yield from stored_rows(database, run_id)


def load_run(database: "Database", name: str) -> ResumableRun:
    """Return a stored run, by its id, its id's beginning, or "last". Raises DefinitionError."""
    from simeval.store.runs import Runs

    runs = Runs(database)
    return runs.load(runs.find(name))


def open_database(where: str | Path, *, must_exist: bool = False) -> "Database":
    """Open a database, by a path or a URL. Raises DefinitionError, with `must_exist` also for a missing file."""
    if must_exist and "://" not in str(where) and not Path(where).is_file():
        do = "name the store of a run with --store"
        if str(where).lower() == "none":
            raise DefinitionError("store", found="none is kept", do=do)
        raise DefinitionError("store", found=f"there is no {str(where)!r}", do=f"run a suite first, or {do}")
    if "://" not in str(where) and Path(where).suffix == ".jsonl":
        do = "name a database with --store, such as runs.db, to read runs back"
        raise DefinitionError("store", found=f"{str(where)!r} is written only (JSON lines)", do=do)
    from simeval.store.database import Database  # SQLAlchemy takes a while to load

    return Database(where)
