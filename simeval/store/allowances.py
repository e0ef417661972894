"""What may still be asked of a model by all workers together: one row for each model and account, that all take from.

Two buckets that fill up by the second and hold one second's worth: requests, of which each call takes one, and tokens,
of which a call is let in while there are any, is charged what calls use on average, and then what it used.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from simeval.store.database import Database
from simeval.store.schema import ALLOWANCES

_NOW = func.extract("epoch", func.clock_timestamp())


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many there are a minute, None for any number, and how many there are now."""

    per_minute: float | None
    level: float

    def after(self, seconds: float) -> "Bucket":
        """Return it as it is so much later."""
        if self.per_minute is None:
            return Bucket(None, inf)
        per_second = self.per_minute / 60
        return Bucket(self.per_minute, min(max(1.0, per_second), self.level + seconds * per_second))

    def taken(self, count: float) -> "Bucket":
        """Return it with so many less."""
        return Bucket(self.per_minute, self.level - count)

    def seconds_until(self, level: float) -> float:
        """Return how long it takes until it has so many."""
        return 0.0 if self.per_minute is None else max(0.0, (level - self.level) * 60 / self.per_minute)


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

    def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many calls; give how many are granted and, where none is, after how many seconds to ask again.

        Each is charged `tokens_each`; `correction` is by how much earlier calls used more.
        """
        query = select(*ALLOWANCES.c, _NOW.label("now")).where(ALLOWANCES.c.model == account).with_for_update()

        def work(connection: Connection) -> tuple[int, float]:
            row = connection.execute(query).mappings().one_or_none()
            if row is None:
                return wanted, 0.0
            seconds = max(0.0, float(row["now"]) - row["updated"])
            requests = Bucket(row["requests_per_minute"], row["requests"]).after(seconds)
            tokens = Bucket(row["tokens_per_minute"], row["tokens"] - correction).after(seconds)
            granted = _granted(requests, tokens, wanted, tokens_each)
            values: dict[str, Any] = {"updated": float(row["now"])}
            for name, bucket, used in (("requests", requests, granted), ("tokens", tokens, granted * tokens_each)):
                values[name] = row[name] if bucket.per_minute is None else bucket.taken(used).level
            connection.execute(update(ALLOWANCES).where(ALLOWANCES.c.model == account).values(values))
            return granted, 0.0 if granted else max(requests.seconds_until(1.0), tokens.seconds_until(1.0))

        return self.database.write(work)


def _granted(requests: Bucket, tokens: Bucket, wanted: int, tokens_each: float) -> int:
    """Return how many calls are let in."""
    by_requests = wanted if requests.level == inf else floor(requests.level)
    by_tokens = wanted if tokens.level == inf else ceil(max(0.0, tokens.level) / tokens_each)
    return max(0, min(wanted, by_requests, by_tokens))
