"""A store that is there, opened for a command."""

from collections.abc import Callable
from functools import partial

from simeval.cli.output import status_of
from simeval.store.database import Database
from simeval.store.opening import open_database


def with_store(store: str, work: Callable[[Database], None]) -> int:
    """Do something with a store that is there; give the exit status."""
    return status_of(partial(_with, store, work))


def _with(store: str, work: Callable[[Database], None]) -> None:
    database = open_database(store, must_exist=True)
    try:
        work(database)
    finally:
        database.close()
