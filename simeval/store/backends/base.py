"""The database interface of a store, and the parts both kinds share."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.exc import DBAPIError

Row = tuple[Any, ...]

Batch = Mapping[Table, Sequence[Row]]


READABLE_LINES = 1  # of a database's message


class Backend(Protocol):
    """One database: how to connect to it and write, and the meaning of its errors.

    `name` is its name in texts, without its password; `errors` are those that its connections raise.
    """

    name: str
    errors: tuple[type[Exception], ...]
    begin_write: str
    begin_read: str

    def connect(self) -> Connection:
        """Open a connection that begins no transaction by itself. Raises one of `errors`."""

    def write(self, connection: Connection, batch: Batch) -> None:
        """Insert rows, or update those whose key is there."""

    def shrink(self, connection: Connection) -> None:
        """Free the room of deleted rows, if that is possible now; outside of a transaction."""

    def durable(self, connection: Connection) -> AbstractContextManager[None]:
        """Write within this so that a power cut loses nothing; entered outside of a transaction."""

    def is_lost(self, error: Exception) -> bool:
        """Return whether the work may succeed when it is done again, on a new connection."""

    def check(self) -> None:
        """Raise StoreError if written data are gone."""

    def clean(self, text: str) -> str:
        """Return a text without the password."""


def driver_error(error: Exception) -> BaseException:
    """Return the driver's own error."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def problem_of(error: Exception, backend: Backend) -> str:
    """Return a database's error in a line."""
    lines = [line.strip() for line in str(driver_error(error)).splitlines() if line.strip()]
    said = backend.clean(" ".join(lines[:READABLE_LINES])) or type(error).__name__
    return f"{said}{_why_no_file()}" if "unable to open" in said else said


def _why_no_file() -> str:
    """Return why no file at all can be opened, which SQLite leaves out; empty if one can."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return f": {error.strerror}"
    return ""


def driver_connection(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.driver_connection


def upsert(insert: Any, table: Table, dialect: Dialect) -> str:
    """Write as SQL that rows are inserted, or updated where their key is there."""
    keys = [column.name for column in table.primary_key]
    others = {column.name: insert.excluded[column.name] for column in table.columns if column.name not in keys}
    return str(insert.on_conflict_do_update(index_elements=keys, set_=others).compile(dialect=dialect))


def names_of(table: Table) -> Sequence[str]:
    """Return the names of a table's columns."""
    return [column.name for column in table.columns]
