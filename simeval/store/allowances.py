"""What may still be asked of a model by all workers together: a row for each model and account, that all take from."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from simeval.models.limits.buckets import Bucket, Buckets
from simeval.store.database import Database
from simeval.store.schema import ALLOWANCES

_NOW = func.extract("epoch", func.clock_timestamp())


@dataclass(frozen=True, slots=True)
class AllowanceBook:
    """The allowances that a database of a PostgreSQL server has."""

    database: Database

    def announce(
        self, accounts: Collection[str], *, requests_per_minute: float | None, tokens_per_minute: float | None
    ) -> None:
        """Say what may be asked of these from now on; without limits, anything."""

        def work(connection: Connection) -> None:
            connection.execute(delete(ALLOWANCES).where(ALLOWANCES.c.model.in_(accounts)))
            if rows and not (requests_per_minute is None and tokens_per_minute is None):
                limits = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
                new = ALLOWANCES.insert().values(updated=_NOW)
                connection.execute(new, [{**each, **limits, "requests": 1.0, "tokens": 1.0} for each in rows])

        rows = [{"model": account} for account in sorted(accounts)]
        self.database.write(work)

    def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float] | None:
        """Take up to so many calls; give how many are granted and, where none is, after how many seconds to ask again.

        None where there is no limit. Each is charged `tokens_each`; earlier calls used `correction` more than that.
        """
        query = select(*ALLOWANCES.c, _NOW.label("now")).where(ALLOWANCES.c.model == account).with_for_update()

        def work(connection: Connection) -> tuple[int, float] | None:
            row = connection.execute(query).mappings().one_or_none()
            if row is None:
                return None
            seconds = max(0.0, float(row["now"]) - row["updated"])
            there = Buckets(
                Bucket(row["requests_per_minute"], row["requests"]), Bucket(row["tokens_per_minute"], row["tokens"])
            )
            granted, wait, left = there.take(wanted, tokens_each=tokens_each, correction=correction, after=seconds)
            values = {"updated": float(row["now"]), "requests": left.requests.level, "tokens": left.tokens.level}
            connection.execute(update(ALLOWANCES).where(ALLOWANCES.c.model == account).values(values))
            return granted, wait

        return self.database.write(work)
