"""The queue of trials that workers on other machines take from a store: claimed, leased, delivered, each once.

    offered ──claim──► leased ──deliver──► delivered ──exchange──► settled
       │                  └──── its time is up ──► lost ──exchange──► settled
       └──── withdrawn, and so is what is leased: its worker learns it by its next sign of life

A trial is claimed once. Each has a token, by which alone it is delivered: who comes late, or works for an attempt of
the run that is over, finds none. All times are the server's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from simeval.core.trial import Trial
from simeval.errors import DefinitionError
from simeval.store.database import Database
from simeval.store.schema import ASSIGNMENTS, RUNS
from simeval.store.text_encoding import as_written

STALE_SECONDS = 30.0  # after which nobody claims what a run has not offered anew: its process is gone
LOST = "-"  # in the place of a worker that is lost
_NOW = func.extract("epoch", func.clock_timestamp())


@dataclass(frozen=True, slots=True)
class Offer:
    """A trial that a run has for workers; `work` says what is to be done."""

    trial: Trial
    token: int
    work: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A trial that a worker has taken."""

    run_id: str
    token: int
    work: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """What has come of trials, by their tokens: what was delivered, which are lost, and how many wait for a worker."""

    delivered: Mapping[int, str]
    lost: frozenset[int]
    unclaimed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedRun:
    """A run that has trials for workers, with what they must agree on."""

    run_id: str
    app: str
    seed: int
    definition: str


@dataclass(slots=True)
class TrialQueue:
    """The queue in a database of a PostgreSQL server. Raises DefinitionError for another, and StoreError."""

    database: Database

    def __post_init__(self) -> None:
        if not self.database.name.startswith("postgresql:"):
            do = "name a PostgreSQL server, which all of them can reach (--store postgresql://...)"
            raise DefinitionError("store", found="workers cannot share a file", do=do)

    def exchange(
        self, run_id: str, *, offers: Sequence[Offer], withdrawn: Collection[int], settled: Collection[int]
    ) -> Exchanged:
        """Offer and withdraw trials of a run, and say what has come of others. Doing it again changes nothing.

        What was delivered or lost is said again until it is named among those that are `settled`.
        """

        def work(connection: Connection) -> Exchanged:
            if offers:
                rows = [_row(run_id, offer) for offer in offers]
                connection.execute(insert(ASSIGNMENTS).values(offered=_NOW).on_conflict_do_nothing(), rows)
            if withdrawn:
                connection.execute(delete(ASSIGNMENTS).where(of_run, ASSIGNMENTS.c.token.in_(withdrawn)))
            if settled:
                connection.execute(
                    update(ASSIGNMENTS).where(of_run, ASSIGNMENTS.c.token.in_(settled)).values(settled=1)
                )
            connection.execute(update(ASSIGNMENTS).where(of_run, *_IS_OPEN).values(offered=_NOW))
            over = ASSIGNMENTS.c.leased < _NOW
            connection.execute(update(ASSIGNMENTS).where(of_run, *_IS_LEASED, over).values(worker=LOST))
            return _found(connection, run_id)

        of_run = ASSIGNMENTS.c.run_id == run_id
        return self.database.write(work)

    def offered_runs(self) -> list[OfferedRun]:
        """Return the runs that have trials for workers."""
        fresh = ASSIGNMENTS.c.offered > _NOW - STALE_SECONDS
        ids = select(ASSIGNMENTS.c.run_id).where(*_IS_OPEN, fresh).distinct()
        columns = [RUNS.c[name] for name in ("run_id", "app", "seed", "definition", "exact")]
        query = select(*columns).where(RUNS.c.run_id.in_(ids)).order_by(RUNS.c.run_id)
        rows = self.database.read(lambda connection: connection.execute(query).mappings().all())
        found = [as_written(row) for row in rows]
        return [
            OfferedRun(run_id=each["run_id"], app=each["app"], seed=int(each["seed"]), definition=each["definition"])
            for each in found
        ]

    def claim(self, worker: str, runs: Collection[str], *, most: int, lease_seconds: float) -> list[Claim]:
        """Take trials of these runs, the first dealt first, that no other worker has."""
        fresh = ASSIGNMENTS.c.offered > _NOW - STALE_SECONDS
        chosen = (
            select(ASSIGNMENTS.c.token)
            .where(ASSIGNMENTS.c.run_id.in_(runs), *_IS_OPEN, fresh)
            .order_by(ASSIGNMENTS.c.trial, ASSIGNMENTS.c.scenario)
            .limit(most)
            .with_for_update(skip_locked=True)
            .cte("chosen")
        )
        taken = (
            update(ASSIGNMENTS)
            .where(ASSIGNMENTS.c.token == chosen.c.token)
            .values(worker=worker, leased=_NOW + lease_seconds)
            .returning(ASSIGNMENTS.c.run_id, ASSIGNMENTS.c.token, ASSIGNMENTS.c.work)
        )
        return self.database.write(lambda connection: [Claim(*row) for row in connection.execute(taken)])

    def renew(self, worker: str, *, lease_seconds: float) -> frozenset[int]:
        """Say that a worker is alive; return the tokens of the trials that it still has."""
        mine = (ASSIGNMENTS.c.worker == worker, *_IS_LEASED)
        renewed = update(ASSIGNMENTS).where(*mine).values(leased=_NOW + lease_seconds).returning(ASSIGNMENTS.c.token)
        return self.database.write(lambda connection: frozenset(connection.execute(renewed).scalars()))

    def deliver(self, worker: str, token: int, delivery: str) -> bool:
        """Hand in what came of a trial; it is refused where the worker does not have it any more."""
        mine = (ASSIGNMENTS.c.token == token, ASSIGNMENTS.c.worker == worker, *_IS_LEASED)
        done = update(ASSIGNMENTS).where(*mine).values(delivery=delivery)
        return self.database.write(lambda connection: connection.execute(done).rowcount > 0)

    def leave(self, worker: str) -> None:
        """Let go of all that a worker has under way."""
        mine = (ASSIGNMENTS.c.worker == worker, *_IS_LEASED)
        self.database.write(lambda connection: connection.execute(update(ASSIGNMENTS).where(*mine).values(leased=0.0)))


def delivered(database: Database, run_id: str) -> list[tuple[str, str]]:
    """Return all that was delivered to a run, each with what was to be done."""
    query = select(ASSIGNMENTS.c.work, ASSIGNMENTS.c.delivery)
    query = query.where(ASSIGNMENTS.c.run_id == run_id, ASSIGNMENTS.c.delivery.is_not(None))
    return database.read(lambda connection: [(work, delivery) for work, delivery in connection.execute(query)])


def clear(database: Database, run_id: str) -> None:
    """Take back all that a run has offered."""
    database.write(lambda connection: connection.execute(delete(ASSIGNMENTS).where(ASSIGNMENTS.c.run_id == run_id)))


_IS_OPEN: Sequence[ColumnElement[bool]] = (ASSIGNMENTS.c.worker.is_(None), ASSIGNMENTS.c.settled == 0)
_IS_LEASED: Sequence[ColumnElement[bool]] = (
    ASSIGNMENTS.c.worker.is_not(None),
    ASSIGNMENTS.c.worker != LOST,
    ASSIGNMENTS.c.delivery.is_(None),
)


def _row(run_id: str, offer: Offer) -> dict[str, Any]:
    at = {"run_id": run_id, "trial": offer.trial.index, "scenario": offer.trial.scenario}
    return {**at, "token": offer.token, "work": offer.work, "settled": 0}


def _found(connection: Connection, run_id: str) -> Exchanged:
    columns = [ASSIGNMENTS.c[name] for name in ("token", "worker", "delivery")]
    came = ASSIGNMENTS.c.delivery.is_not(None) | (ASSIGNMENTS.c.worker == LOST)
    unsettled = (ASSIGNMENTS.c.run_id == run_id, ASSIGNMENTS.c.settled == 0)
    rows = list(connection.execute(select(*columns).where(*unsettled, came)))
    waiting = connection.execute(select(func.count()).where(*unsettled, ASSIGNMENTS.c.worker.is_(None))).scalar()
    return Exchanged(
        delivered={token: delivery for token, _, delivery in rows if delivery is not None},
        lost=frozenset(token for token, _, delivery in rows if delivery is None),
        unclaimed=waiting or 0,
    )
