"""Buckets of requests and tokens: what may be asked of a model a minute, as pure state with the time as argument.

They fill up by the second and hold one second's worth. Each call takes a request. It is let in while there are any
tokens, is charged the average use of calls, and later the difference to its own.
"""

from dataclasses import dataclass
from math import ceil, floor


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many there are a minute, None for any number, and how many there are now."""

    per_minute: float | None
    level: float

    def after(self, seconds: float) -> "Bucket":
        """Return it as it is so much later."""
        if self.per_minute is None:
            return self
        per_second = self.per_minute / 60
        return Bucket(self.per_minute, min(max(1.0, per_second), self.level + seconds * per_second))

    def taken(self, count: float) -> "Bucket":
        """Return it with so many less."""
        return self if self.per_minute is None else Bucket(self.per_minute, self.level - count)

    def seconds_until(self, level: float) -> float:
        """Return how long it takes until it has so many."""
        return 0.0 if self.per_minute is None else max(0.0, (level - self.level) * 60 / self.per_minute)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The requests and the tokens of one model."""

    requests: Bucket
    tokens: Bucket

    def take(self, wanted: int, *, tokens_each: float, correction: float, after: float) -> tuple[int, float, "Buckets"]:
        """Take up to so many calls, some seconds after they were last looked at.

        Returns how many are granted; if none is, after how many seconds to ask again; and the buckets afterwards.
        `correction` is by how much earlier calls used more tokens than they were charged.
        """
        requests, tokens = self.requests.after(after), self.tokens.taken(correction).after(after)
        granted = wanted
        if requests.per_minute is not None:
            granted = min(granted, floor(requests.level))
        if tokens.per_minute is not None:
            granted = min(granted, ceil(max(0.0, tokens.level) / tokens_each))
        wait = 0.0 if granted else max(requests.seconds_until(1.0), tokens.seconds_until(1.0))
        return granted, wait, Buckets(requests.taken(granted), tokens.taken(granted * tokens_each))
