"""Judges' licences in a database, under a key of all they are valid for."""

import json

from sqlalchemy import select

from simeval.core.licences import JudgeLicence
from simeval.store.database import Database
from simeval.store.rows import row
from simeval.store.schema import LICENCES


def keep_licence(database: Database, licence: JudgeLicence) -> None:
    """Store the licence of a judge; an earlier test of the same key is replaced. Raises StoreError."""
    record = json.dumps(licence.encoded())  # plain ASCII, which holds every text
    database.put({LICENCES: [row(LICENCES, key=licence.key, tested=licence.tested.isoformat(), record=record)]})


def licence_under(database: Database, key: str) -> JudgeLicence | None:
    """Return the licence under a key; None if the judge was never tested so. Raises StoreError."""
    query = select(LICENCES.c.record).where(LICENCES.c.key == key)
    found = database.read(lambda connection: connection.execute(query).scalar())
    return None if found is None else JudgeLicence.of(json.loads(found))
