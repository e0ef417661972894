"""The tables of a store, and how an older store is brought up to date.

runs ─┬─ attempts      one for each start of the run
      ├─ rubrics
      ├─ controls
      └─ scenarios ─┬─ verdicts
                    ├─ starts
                    ├─ cuts ─── set_aside
                    └─ trials ─┬─ messages
                               ├─ judgements ─── scores
                               └─ feedback
datasets ─┬─ examples ─── feedback
          └─ dataset_tags
Replies and licences belong to no run.

Titles, labels, numbers and times (ISO 8601) are columns of their own; structured values are JSON in a text. No database
holds every text: one that cannot be held is made readable in its column, and is exact in `exact`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    update,
)

from simeval.errors import DefinitionError

METADATA = MetaData()


def _texts(names: str, *, key: bool = False) -> list[Column[Any]]:
    return [Column(name, Text, primary_key=key) for name in names.split()]


def _whole(names: str, *, key: bool = False) -> list[Column[Any]]:
    return [Column(name, Integer, primary_key=key, autoincrement=False) for name in names.split()]


def _numbers(names: str) -> list[Column[Any]]:
    return [Column(name, Double) for name in names.split()]


def _trial() -> list[Column[Any]]:
    """Return the key of a trial.

    Trials of one index are dealt round the scenarios, so that in this order they are written side by side; that takes
    half the time of the other order (27 against 56 µs a record).
    """
    return [*_texts("run_id", key=True), *_whole("trial scenario", key=True)]


def _table(name: str, *columns: Column[Any]) -> Table:
    """Describe a table, the columns of its key first; on SQLite its rows are kept in their order."""
    return Table(name, METADATA, *columns, sqlite_with_rowid=False)


VERSIONS = Table("schema_version", METADATA, Column("version", Integer, nullable=False))
RUNS = _table(
    "runs",
    *_texts("run_id", key=True),
    *_texts("status outcome stopped app judge_model user_model"),
    *_texts("seed"),  # may have more digits than a number of a database
    *_texts("started resumed heartbeat owner definition result report exact"),
)
ATTEMPTS = _table(
    "attempts",
    *_texts("run_id owner", key=True),
    *_texts("host"),
    *_whole("process"),
    *_texts("started"),
    *_numbers("seconds"),
    *_whole("calls prompt_tokens completion_tokens"),
    *_numbers("cost_usd"),
    *_texts("usage"),
)
SCENARIOS = _table(
    "scenarios",
    *_texts("run_id", key=True),
    *_whole("scenario", key=True),
    *_texts("title labels"),
    *_whole("sample_size trials"),
    *_texts("outcome result exact"),
)
TRIALS = _table(
    "trials",
    *_trial(),
    Column("seed", BigInteger),
    *_texts("ended writing_style stage error cause exact example"),
)
MESSAGES = _table(
    "messages",
    *_trial(),
    *_whole("position", key=True),
    *_texts("role content tool_calls started"),
    *_numbers("seconds"),
    *_texts("exact metadata"),
)
JUDGEMENTS = _table("judgements", *_trial(), *_texts("judged"), *_whole("scores failures"))
SCORES = _table(
    "scores",
    *_trial(),
    *_whole("expectation", key=True),
    *_numbers("value"),
    *_texts("reasoning details stage error cause exact"),
)
VERDICTS = _table(
    "verdicts",
    *_texts("run_id", key=True),
    *_whole("scenario expectation position", key=True),
    *_texts("label evaluator outcome"),
    *_numbers("p_value p_value_fail estimate interval_low interval_high"),
    *_whole("n missing"),
    *_texts("method reason explanation result exact"),
)
STARTS = _table("starts", *_trial(), *_texts("said state exact"))
CUTS = _table("cuts", *_texts("run_id", key=True), *_whole("scenario trial", key=True), *_whole("set_aside"))
SET_ASIDE = _table(
    "set_aside",
    *_trial(),
    *_whole("attempt", key=True),
    Column("seed", BigInteger),
    *_texts("conversation scores exact"),
)
RUBRICS = _table(
    "rubrics", *_texts("run_id key", key=True), *_texts("model expected_behavior levels exact near_misses")
)
CONTROLS = _table(
    "controls",
    *_texts("run_id key", key=True),
    *_texts("judge control expected_behavior"),
    *_numbers("score"),
    *_texts("reasoning exact"),
)
LICENCES = _table("licences", *_texts("key", key=True), *_texts("tested record"))
REPLIES = _table(
    "replies",
    *_texts("key", key=True),
    *_texts("model role text"),
    *_whole("prompt_tokens completion_tokens"),
    *_texts("created exact"),
)
DATASETS = _table(
    "datasets",
    *_texts("dataset version", key=True),
    *_texts("kind"),
    *_whole("size recorded"),
    *_texts("columns saved exact"),
)
DATASET_TAGS = _table("dataset_tags", *_texts("dataset tag", key=True), *_texts("version"))
EXAMPLES = _table(
    "examples",
    *_texts("dataset version", key=True),
    *_whole("position", key=True),
    *_texts("key example_id split tags inputs outputs metadata conversation exact"),
)
Index("examples_by_key", EXAMPLES.c.dataset, EXAMPLES.c.key)
FEEDBACK = _table(
    "feedback",
    *_texts("feedback_id", key=True),
    *_texts("run_id"),
    *_whole("trial scenario"),
    *_texts("dataset example key"),
    *_numbers("score"),
    *_texts("comment source created exact labeller"),
    *_numbers("inclusion"),
)
Index("feedback_by_run", FEEDBACK.c.run_id)
Index("feedback_by_dataset", FEEDBACK.c.dataset)


def _executing(*statements: str) -> Callable[[Connection], None]:
    """Return the migration that these statements are."""

    def migrate(connection: Connection) -> None:
        for each in statements:
            connection.exec_driver_sql(each)

    return migrate


def _add_metadata(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE messages ADD COLUMN metadata TEXT")
    older = [DATASETS, EXAMPLES, FEEDBACK]  # which had other columns, and were never written
    METADATA.drop_all(connection, tables=older, checkfirst=False)
    METADATA.create_all(connection, tables=[*older, DATASET_TAGS], checkfirst=False)


def _add_starts(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE sittings RENAME TO attempts")
    connection.exec_driver_sql("ALTER TABLE runs RENAME COLUMN pulse TO heartbeat")
    METADATA.create_all(connection, tables=[STARTS, CUTS, SET_ASIDE], checkfirst=False)


def _add_labellers(connection: Connection) -> None:
    if "labeller" in {column["name"] for column in inspect(connection).get_columns(FEEDBACK.name)}:
        return  # an earlier step has just made the table, as it is now
    connection.exec_driver_sql("ALTER TABLE feedback ADD COLUMN labeller TEXT")
    connection.exec_driver_sql("ALTER TABLE feedback ADD COLUMN inclusion DOUBLE PRECISION")


MIGRATIONS: Sequence[Callable[[Connection], None]] = (  # from version 1 to 2, and so on
    partial(METADATA.create_all, tables=[DATASETS, EXAMPLES, FEEDBACK], checkfirst=False),
    _add_metadata,
    _add_starts,
    partial(METADATA.create_all, tables=[CONTROLS], checkfirst=False),
    _executing(),  # which once added the tables of a queue
    _add_labellers,
    _executing("ALTER TABLE trials ADD COLUMN example TEXT"),
    _executing("DROP TABLE IF EXISTS assignments", "DROP TABLE IF EXISTS allowances"),
    partial(METADATA.create_all, tables=[LICENCES]),
    _executing("ALTER TABLE rubrics ADD COLUMN near_misses TEXT"),
)
VERSION = 1 + len(MIGRATIONS)


def version_of(connection: Connection) -> int:
    """Return the version of the schema; 0 without one."""
    if not inspect(connection).has_table(VERSIONS.name):
        return 0
    return connection.execute(select(VERSIONS.c.version)).scalar() or 0


def bring_up_to_date(connection: Connection) -> None:
    """Create the tables, or migrate those of an older version; the caller's transaction keeps others out.

    Raises DefinitionError if the store was made by a newer version, or is another program's.
    """
    version = version_of(connection)
    require_known(version)
    if version == 0:
        others = inspect(connection).get_table_names()
        if connection.dialect.name != "sqlite":  # a server may be shared, where no name is taken
            others = [name for name in others if name in METADATA.tables]
        if others:
            raise DefinitionError(
                "store", found="it holds tables of another program", do="name a database of its own for simeval"
            )
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(VERSIONS.insert(), {"version": VERSION})
        return
    for migrate in MIGRATIONS[version - 1 :]:
        migrate(connection)
    connection.execute(update(VERSIONS).values(version=VERSION))


def require_known(version: int) -> None:
    """Raise DefinitionError for a schema that is newer than this program."""
    if version > VERSION:
        raise DefinitionError(
            "store",
            found=f"it was made by a newer version of simeval (its schema is {version}, this one knows {VERSION})",
            do="upgrade simeval, or name another store",
        )
