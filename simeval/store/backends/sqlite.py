"""SQLite: a file, with a write-ahead log so that it is read while it is written."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from time import monotonic, sleep

from sqlalchemy import URL, BindParameter, Connection, NullPool, Table, bindparam, create_engine
from sqlalchemy.dialects.sqlite import dialect, insert
from sqlalchemy.exc import DBAPIError

from simeval.core.drafts import privately
from simeval.errors import StoreError
from simeval.store.backends.base import Batch, Row, driver_connection, driver_error, names_of, upsert

BUSY_SECONDS = 30.0  # how long another process may hold the file while it is opened
MOST_ROWS = 64  # in one statement; a power of two
PATIENCE_MILLISECONDS = 3_000  # how long it may hold it before that is reported
LOG_PAGES = 4_000  # written into the file at once: 16 MB; more of them share a page, so that a record costs less
CACHE_KIB = 16_000


class SqliteFile:
    """A store in a file, which is created if it is missing."""

    errors: tuple[type[Exception], ...] = (DBAPIError, sqlite3.Error)
    begin_write, begin_read = "BEGIN IMMEDIATE", "BEGIN"

    def __init__(self, path: Path) -> None:
        """Make the folder. Raises OSError if that fails."""
        self.name, self._path = str(path), path.absolute()  # an app may change the folder
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(privately(str(path), os.O_CREAT | os.O_RDWR))
        self._engine = create_engine(
            URL.create("sqlite", database=str(self._path)),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
            hide_parameters=True,
        )
        self._file: tuple[int, int] | None = None

    def connect(self) -> Connection:
        connection = self._engine.connect()
        try:
            mode = _write_ahead(connection)
            limits = {
                "cache_size": -CACHE_KIB,
                "wal_autocheckpoint": LOG_PAGES,
                "busy_timeout": PATIENCE_MILLISECONDS,
            }
            pragmas = [f"{name} = {value}" for name, value in limits.items()]
            for pragma in (*pragmas, *(["synchronous = NORMAL"] if mode == "wal" else [])):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        self._file = self._identity()
        return connection

    def write(self, connection: Connection, batch: Batch) -> None:
        driver: sqlite3.Connection = driver_connection(connection)
        for table, rows in batch.items():
            for some in _in_powers_of_two(rows):
                driver.execute(_upsert_of(table, len(some)), tuple(chain.from_iterable(some)))

    def shrink(self, connection: Connection) -> None:
        with suppress(sqlite3.Error):  # another process may be writing
            driver_connection(connection).executescript("PRAGMA incremental_vacuum")  # `execute` would free one page

    @contextmanager
    def durable(self, connection: Connection) -> Iterator[None]:
        usual = connection.exec_driver_sql("PRAGMA synchronous").scalar()
        connection.exec_driver_sql("PRAGMA synchronous = FULL")
        try:
            yield
        finally:
            connection.exec_driver_sql(f"PRAGMA synchronous = {usual}")

    def is_lost(self, error: Exception) -> bool:
        return "locked" in str(driver_error(error))

    def check(self) -> None:
        if self._identity() != self._file:  # SQLite would go on with the file that nobody can find any more
            problem = "the file was deleted or replaced"
            raise StoreError(self.name, problem=problem, do="leave it where it is while a run is going on")

    def clean(self, text: str) -> str:
        return text

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116  (a third of the time of Path.stat)
        except OSError:
            return None
        return found.st_dev, found.st_ino


@cache
def _upsert_of(table: Table, rows: int) -> str:
    """Return the statement for so many rows; SQLAlchemy writes it for one, which takes it a millisecond."""
    one = _upsert_of_one(table)
    row = f"({', '.join('?' * len(table.columns))})"
    return one.replace(f"VALUES {row}", f"VALUES {', '.join([row] * rows)}")


@cache
def _upsert_of_one(table: Table) -> str:
    values: dict[str, BindParameter[object]] = {name: bindparam(name) for name in names_of(table)}
    return upsert(insert(table).values(values), table, dialect())


def _in_powers_of_two(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Return rows in parts, so that few statements are needed for any number of them.

    A statement for many rows lets go of Python's lock once, and not for every row; beside a busy event loop each time
    costs up to 5 ms until it is had again.
    """
    start, size = 0, MOST_ROWS
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        yield rows[start : start + size]
        start += size


def _write_ahead(connection: Connection) -> str:
    """Turn the write-ahead log on, if the file system supports it; another process may be doing so, too."""
    deadline = monotonic() + BUSY_SECONDS
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")  # it is waited for here
    while True:
        try:
            connection.exec_driver_sql("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file; an older one stays as it is
            return str(connection.exec_driver_sql("PRAGMA journal_mode = WAL").scalar())
        except DBAPIError as error:
            if "locked" not in str(error.orig) or monotonic() > deadline:
                raise
        sleep(0.01)  # SQLite does not wait here by itself
