"""When the next call to a model may start: by its pace, calls in progress, and fixed limits; pure state.

docs/guides/rate-limits.md explains how the pace is learnt, benchmarks/faults/limits_simulated.py measures it.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Literal

from simeval.models.limits.pace import LATE_SECONDS, Pace, Start

Outcome = Literal["answered", "refused", "timed_out", "failed", "abandoned"]

FIRST_AT_ONCE = 16  # calls; one more with each answer
EXPECTED_TOKENS = 500.0  # of a call, before one has been seen
SMOOTH = 0.1  # weight of one call in their running mean


@dataclass(slots=True)
class Budget:
    """So much a second, of which `saved` seconds' worth may be spent late; a call may start if nothing is owed."""

    per_second: float
    saved: float = LATE_SECONDS
    level: float = field(default=0.0, init=False)
    _counted: float = field(default=inf, init=False)

    def wait(self, now: float) -> float:
        """Return the seconds until nothing is owed."""
        passed, self._counted = max(0.0, now - self._counted), now
        self.level = min(self.saved * self.per_second, self.level + passed * self.per_second)
        return max(0.0, -self.level / self.per_second)


@dataclass(slots=True, eq=False)
class Ticket:
    """A call under way: how the pace started it, and the tokens it was charged."""

    start: Start
    tokens: float


@dataclass(slots=True)
class Traffic:
    """Computes when the next call may start. Times never go back from one call of a method to the next.

    `most` is how many calls may be in progress, `at_first` how many before the first answer; `requests` and `tokens`
    are fixed limits. A call is charged the mean of tokens when it starts, and its real use when it has ended.
    """

    most: int
    requests: Budget | None = None
    tokens: Budget | None = None
    at_first: int = FIRST_AT_ONCE
    pace: Pace = field(default_factory=Pace)
    in_flight: int = field(default=0, init=False)
    _answers: int = field(default=0, init=False)
    _mean_tokens: float = field(default=EXPECTED_TOKENS, init=False)

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start: 0 for now, inf for not before a call has ended."""
        if self.in_flight >= min(self.most, self.at_first + self._answers):
            return inf
        seconds = self.pace.wait(now)
        if self.requests is not None:
            seconds = max(seconds, self.requests.wait(now))
        if self.tokens is not None:
            seconds = max(seconds, self.tokens.wait(now))
        return seconds

    def start(self, now: float) -> Ticket:
        """Start a call; it must be ended."""
        self.in_flight += 1
        if self.requests is not None:
            self.requests.level -= 1
        if self.tokens is not None:
            self.tokens.level -= self._mean_tokens
        return Ticket(self.pace.start(now), self._mean_tokens)

    def end(
        self, ticket: Ticket, now: float, outcome: Outcome, *, retry_after: float | None = None, tokens: int = 0
    ) -> bool:
        """End a call in the way it did; return whether the pace was cut for it. A time-out is a refusal."""
        self.in_flight -= 1
        answered = outcome == "answered"
        self._answers += answered
        if self.tokens is not None and outcome != "abandoned":
            self.tokens.level += ticket.tokens - tokens
            if tokens:
                self._mean_tokens += SMOOTH * (tokens - self._mean_tokens)
        refused = outcome in {"refused", "timed_out"}
        return self.pace.end(ticket.start, now, refused=refused, answered=answered, retry_after=retry_after or 0.0)

    def describe(self) -> dict[str, float]:
        """Return the limits as they are, for a log."""
        return {"calls_a_second": round(self.pace.rate, 2), "in_flight": self.in_flight}
