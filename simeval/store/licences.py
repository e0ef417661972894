"""Judges' licences in a database, under a key of all they are valid for."""

import json
from collections.abc import Callable

from sqlalchemy import Connection, select, update

from simeval.core.licences import JudgeLicence
from simeval.store.database import Database
from simeval.store.rows import row
from simeval.store.schema import LICENCES


def keep_licence(database: Database, licence: JudgeLicence) -> None:
    """Store the licence of a judge; an earlier test of the same key is replaced. Raises StoreError."""
    record = json.dumps(licence.encoded())  # plain ASCII, which holds every text
    database.put({LICENCES: [row(LICENCES, key=licence.key, tested=licence.tested.isoformat(), record=record)]})


def change_licence(database: Database, key: str, change: Callable[[JudgeLicence], JudgeLicence]) -> None:
    """Replace the licence under a key, if there is one, by the changed one. Raises StoreError."""
    is_it = LICENCES.c.key == key

    def write(connection: Connection) -> None:
        found = connection.execute(select(LICENCES.c.record).where(is_it)).scalar()
        if found is not None:
            record = json.dumps(change(JudgeLicence.of(json.loads(found))).encoded())
            connection.execute(update(LICENCES).where(is_it).values(record=record))

    database.write(write)


def licence_under(database: Database, key: str) -> JudgeLicence | None:
    """Return the licence under a key; None if the judge was never tested so. Raises StoreError."""
    query = select(LICENCES.c.record).where(LICENCES.c.key == key)
    found = database.read(lambda connection: connection.execute(query).scalar())
    return None if found is None else JudgeLicence.of(json.loads(found))
