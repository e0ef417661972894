"""The database of runs: a journal that any number of processes may write and read at once."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import URL, Connection, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError

from simeval.core.logs import log
from simeval.core.run_records import ReplyRecord
from simeval.errors import DefinitionError, SimevalError, StoreError
from simeval.store.backends.base import Backend, Batch, driver_connection, problem_of
from simeval.store.backends.sqlite import SqliteFile
from simeval.store.schema import REPLIES, VERSION, bring_up_to_date, require_known, version_of
from simeval.store.text_encoding import as_written

if TYPE_CHECKING:
    from simeval.store.journal import Entry
    from simeval.store.lifecycle import RunAttempt

T = TypeVar("T")

RECONNECT_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 1.0  # between attempts to reconnect
WAY_OUT = "see that it can be reached and has room, then resume the run"
MIGRATING = 5_140_917_303  # the number of the lock under which a server's tables are made


class Database:
    """Keeps runs in an SQLite file or on a PostgreSQL server.

    `where` is a path, `sqlite:///PATH` or `postgresql://...`. Raises DefinitionError if it cannot be opened. One
    connection serves all threads in turn. A lost connection is made again, and its work repeated, for
    `reconnect_seconds`; then, or on an error that waiting does not fix, it raises StoreError.
    """

    def __init__(self, where: str | Path, *, reconnect_seconds: float = RECONNECT_SECONDS) -> None:
        self._backend = _backend_of(where)
        self._reconnect_seconds = reconnect_seconds
        self._lock, self._closing = Lock(), Event()
        self._attempts: dict[str, RunAttempt] = {}
        self._connection: Connection | None = None
        self._lost_since: float | None = None  # of all callers that wait for it together
        try:
            self._connection = self._backend.connect()
            self._prepare(self._connection)
        except self._backend.errors as error:
            self._disconnect()
            raise DefinitionError(
                "store",
                found=f"{self._backend.name} cannot be opened ({problem_of(error, self._backend)})",
                do="check the address, that it can be written, and that it is a database of simeval's own",
            ) from None
        except SimevalError:
            self._disconnect()
            raise

    @property
    def name(self) -> str:
        """Where the runs are kept, without a password."""
        return self._backend.name

    @property
    def owners(self) -> frozenset[str]:
        """The attempts that were begun here."""
        return frozenset(attempt.owner for attempt in self._attempts.values())

    def append(self, run_id: str, entries: "Sequence[Entry]") -> None:
        """Keep a batch of one run's entries, all or none. They are safe when this returns. Raises StoreError."""
        from simeval.store import lifecycle  # the results of runs, which one that only reads does without

        now = datetime.now(UTC)
        attempt = lifecycle.attempt_of(entries, now, self._attempts.get(run_id))
        if attempt is not None:
            self._attempts[run_id] = attempt
        work = partial(
            lifecycle.keep, backend=self._backend, run_id=run_id, entries=entries, attempt=attempt, now=now.isoformat()
        )
        self._do(work, begin=self._backend.begin_write, durable=lifecycle.is_end(entries))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Do work that only reads, and perhaps again on a new connection. It sees one state of the store."""
        return self._do(work, begin=self._backend.begin_read)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do work that changes the store in one transaction, and perhaps again on a new connection."""
        return self._do(work, begin=self._backend.begin_write)

    def put(self, rows: Batch) -> None:
        """Insert rows, or update those whose key is there, all or none. Raises StoreError."""
        self.write(lambda connection: self._backend.write(connection, rows))

    def reply(self, key: str) -> ReplyRecord | None:
        """Return the reply that is kept under a key."""
        query = select(REPLIES).where(REPLIES.c.key == key)
        row = self.read(lambda connection: connection.execute(query).mappings().one_or_none())
        if row is None:
            return None
        found = as_written(row)
        return ReplyRecord(**{name: found[name] for name in ReplyRecord.__dataclass_fields__})

    def close(self) -> None:
        """Let go of the runs that have not ended, and of the connection. Nobody waits for a new one any more."""
        self._closing.set()
        with self._lock:
            if self._connection is not None and self._attempts:
                from simeval.store.lifecycle import release  # it is loaded: runs were begun

                with suppress(SQLAlchemyError, StoreError, *self._backend.errors):
                    work = partial(release, attempts=self._attempts)
                    self._transact(self._connection, work, self._backend.begin_write)
            self._disconnect()

    def _prepare(self, connection: Connection) -> None:
        version = version_of(connection)
        require_known(version)
        if version < VERSION:
            self._transact(connection, self._migrate, self._backend.begin_write)

    def _migrate(self, connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATING})
        bring_up_to_date(connection)

    def _do(self, work: Callable[[Connection], T], *, begin: str, durable: bool = False) -> T:
        pause = 0.05
        with self._lock:
            while True:
                try:
                    done = self._attempt(work, begin, durable=durable)
                    self._lost_since = None
                    return done
                except self._backend.errors as error:
                    self._disconnect()
                    problem = problem_of(error, self._backend)
                    now = monotonic()
                    waited = 0.0 if self._lost_since is None else now - self._lost_since
                    if not self._backend.is_lost(error) or waited > self._reconnect_seconds:
                        raise StoreError(self.name, problem=problem, do=WAY_OUT) from None
                if self._lost_since is None:
                    self._lost_since = now
                    log.warning("the store does not answer; it is tried again", store=self.name, problem=problem)
                if self._closing.wait(pause):
                    raise StoreError(self.name, problem=problem, do=WAY_OUT)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _attempt(self, work: Callable[[Connection], T], begin: str, *, durable: bool) -> T:
        if self._connection is None:
            self._connection = self._backend.connect()
        if not durable:
            return self._transact(self._connection, work, begin)
        with self._backend.durable(self._connection):
            done = self._transact(self._connection, work, begin)
        self._backend.shrink(self._connection)
        return done

    def _transact(self, connection: Connection, work: Callable[[Connection], T], begin: str) -> T:
        driver = driver_connection(connection)
        driver.execute(begin)
        try:
            done = work(connection)
            driver.execute("COMMIT")
        except BaseException:
            with suppress(*self._backend.errors):
                driver.execute("ROLLBACK")
            raise
        self._backend.check()
        return done

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError, *self._backend.errors):
                connection.close()


def _backend_of(where: str | Path) -> Backend:
    """Return the backend that an address names. Raises DefinitionError if it names none."""
    if isinstance(where, Path) or "://" not in where:
        return _file(Path(where))
    url = _parsed(where)
    kind = url.drivername.split("+")[0]
    if kind in ("postgresql", "postgres"):
        from simeval.store.backends.postgres import PostgresServer  # its dialect, which a file does without

        return PostgresServer(url)
    if kind == "sqlite" and url.database not in (None, "", ":memory:"):
        return _file(Path(str(url.database)))
    raise DefinitionError("store", found=f"found a {kind} URL", do="give a path, sqlite:///PATH or postgresql://...")


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (SQLAlchemyError, ValueError):  # their message may hold the password
        scheme = url.partition("://")[0]
        raise DefinitionError(
            "store",
            found=f"the {scheme} URL cannot be read",
            do=f"write {scheme}://USER:PASSWORD@HOST:PORT/DATABASE, with % escapes for special characters",
        ) from None


def _file(path: Path) -> SqliteFile:
    try:
        return SqliteFile(path)
    except OSError as error:
        raise DefinitionError(
            "store",
            found=f"the folder of {str(path)!r} cannot be made ({error.strerror})",
            do="check the path of the store (--store PATH; --store none keeps nothing)",
        ) from error


def as_open(found: object, where: str) -> Database:
    """Return a database that is open. Raises DefinitionError for anything else, such as its address."""
    do = "give an open database: simeval.store.open_database(PATH)"
    if not isinstance(found, Database):
        raise DefinitionError(where, found=f"found {found!r:.80}", do=do)
    return found
