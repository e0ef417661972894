"""PostgreSQL: a server, reached through psycopg."""

import json
from contextlib import AbstractContextManager, nullcontext

from sqlalchemy import URL, Connection, NullPool, Table, bindparam, cast, create_engine, func, literal_column, select
from sqlalchemy.dialects.postgresql import JSON, insert
from sqlalchemy.exc import DBAPIError

from simeval.errors import DefinitionError
from simeval.store.backends.base import Batch, driver_connection, driver_error, names_of, upsert

MASK = "***"
CONNECTING_SECONDS = 10
UNANSWERED_MILLISECONDS = 30_000  # after which a server that is silent is taken for gone
ROWS = "rows"
# a server's codes when it goes down or comes up, is full just now, or needs a transaction to be repeated
_PASSING = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01")


class PostgresServer:
    """A store on a server.

    A table's rows are sent as one JSON text: that takes half the client's time of a parameter each (24 against 62 µs
    a record).
    """

    begin_write, begin_read = "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, url: URL) -> None:
        """Raise DefinitionError where psycopg is not installed."""
        try:
            import psycopg
        except ImportError as error:
            raise DefinitionError(
                "store",
                found="PostgreSQL needs psycopg, which is not installed",
                do="install it: pip install 'psycopg[binary]'",
            ) from error
        self.errors: tuple[type[Exception], ...] = (DBAPIError, psycopg.Error)
        self._passing = (psycopg.OperationalError, psycopg.InterfaceError)
        passwords = (url.password, url.query.get("password"))
        self._secrets = [str(each) for each in passwords if each]
        shown = {name: value for name, value in url.query.items() if name in ("host", "port")}
        self.name = url.set(drivername="postgresql", query=shown).render_as_string(hide_password=True)
        defaults = {"connect_timeout": CONNECTING_SECONDS, "tcp_user_timeout": UNANSWERED_MILLISECONDS}
        self._engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={name: value for name, value in defaults.items() if name not in url.query},
            hide_parameters=True,
        )
        self._upserts: dict[Table, str] = {}

    def connect(self) -> Connection:
        return self._engine.connect()

    def write(self, connection: Connection, batch: Batch) -> None:
        driver = driver_connection(connection)
        with driver.pipeline(), driver.cursor() as cursor:
            for table, rows in batch.items():
                if rows:
                    width = len(table.primary_key)
                    last = {row[:width]: row for row in rows}  # one statement may meet a key once only
                    sent = json.dumps(list(last.values()), ensure_ascii=False, allow_nan=False)
                    cursor.execute(self._upsert(table), {ROWS: sent})

    def shrink(self, connection: Connection) -> None:
        """Leave that to the server."""

    def durable(self, connection: Connection) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()  # every commit is, unless the server is set otherwise

    def is_lost(self, error: Exception) -> bool:
        found = driver_error(error)
        state = getattr(found, "sqlstate", None)
        return isinstance(found, self._passing) and (state is None or state.startswith(_PASSING))

    def check(self) -> None:
        """Leave that to the server."""

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def _upsert(self, table: Table) -> str:
        if table not in self._upserts:
            row = func.json_array_elements(cast(bindparam(ROWS), JSON)).column_valued("row")
            columns = [
                cast(row.op("->>")(literal_column(str(place))), column.type)
                for place, column in enumerate(table.columns)
            ]
            rows = insert(table).from_select(names_of(table), select(*columns))
            self._upserts[table] = upsert(rows, table, self._engine.dialect)
        return self._upserts[table]
