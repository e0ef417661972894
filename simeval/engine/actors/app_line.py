"""The line before an app: how often it is asked, and the handling of attempts that did not reach it.

turn ──► limits and pace ──► ask ──┬──► it answered, or failed                         data about the app
▲                  ├──► later, or not reached ──► wait ──┐
│                  │                                     │
└──────────────────┼─────────────────────────────────────┘
└──► still so, or a key is refused                  the trial is missing
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TypeVar

import anyio
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from simeval.core.logs import warn_all
from simeval.core.retrying import Attempts, WaitAsAsked
from simeval.core.terminal import counted_of
from simeval.core.waits import Waits, in_words
from simeval.errors import AppError, AppNotAsked, AppUnusable
from simeval.models.limits.traffic import Budget, Gate, Outcome, Ticket, Traffic

T = TypeVar("T")

AT_ONCE_AT_A_URL = 10  # turns: servers are made for users who read and write, not for a test that does not
MOST_TRIES = 24  # of one turn that is refused while others are answered
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0  # before another try, if the app gives no time
AT_THE_END_SECONDS = 0.1  # after an outage: one more try
TOLD_SECONDS = 5.0  # without one answer, while the app refuses


def gate_of(most: int, requests_per_minute: int | None = None) -> Gate:
    """Return the gate of an app that takes at most so many turns at once, and so many a minute."""
    requests = Budget(requests_per_minute / 60) if requests_per_minute else None
    return Gate(Traffic(most, requests, at_first=most))


@dataclass(slots=True)
class AppLine:
    """Asks one app turn by turn, no more at once and no faster than it takes; `name` is the app's.

    A turn that is refused with "later", or that does not reach an app which was reached before, is tried again: after
    the time the app names, else at random up to a bound that doubles. The pace is learnt as for models (Traffic). The
    turn is given up after MOST_TRIES; an app that has refused every turn for `outage_seconds` ends the run.
    """

    name: str
    gate: Gate
    outage_seconds: float
    waits: Waits = field(default_factory=Waits, repr=False)
    refusals: int = field(default=0, init=False)
    _last_refusal: str = field(default="", init=False)
    _was_reached: bool = field(default=False, init=False)
    _refusing_since: float | None = field(default=None, init=False)
    _is_told: bool = field(default=False, init=False)
    _policy: Retrying = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._policy = Retrying(
            stop=stop_after_attempt(MOST_TRIES),
            wait=WaitAsAsked(wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS)),
            retry=retry_if_exception(self._can_pass),
        )

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work of a turn when it is its time, and again if the app could not be asked.

        Raises the errors of the work, AppNotAsked only if trying again is no use, and AppUnusable.
        """
        attempts: Attempts | None = None
        while True:
            ticket = await self.gate.enter(self._wait)
            outcome: Outcome = "abandoned"
            try:
                made = await work()
                outcome = "answered"
                return made
            except AppNotAsked as error:
                outcome = "refused" if error.outcome == "later" else "failed"
                refused = error
            except AppError:
                outcome = "answered"
                raise
            finally:
                self._end(ticket, outcome)
            attempts = attempts or Attempts(self._policy)
            wait = attempts.wait_after(refused, is_unlucky=refused.retry_after is not None)
            if wait is None:
                refused.tries = attempts.made
                raise refused
            seconds = self._until_next(refused, wait)
            self.refusals += 1
            self._last_refusal = refused.problem
            with self.waits.during("refused", self.name, seconds=seconds):
                await anyio.sleep(seconds)

    def _wait(self, now: float) -> float:
        """Return the seconds until the next turn may be put to the app: not after the end of its outage."""
        seconds = self.gate.traffic.wait(now)
        if self._refusing_since is None or seconds == inf:
            return seconds
        return min(seconds, max(0.0, self._refusing_since + self.outage_seconds - now))

    def _end(self, ticket: Ticket, outcome: Outcome) -> None:
        """Take in how a turn ended, and let the next one in."""
        self.gate.traffic.end(ticket, monotonic(), outcome)
        self.gate.changed()
        if outcome == "answered":
            self._was_reached, self._refusing_since = True, None

    def _can_pass(self, error: BaseException) -> bool:
        """Return whether a turn that could not be asked may be worth another try."""
        assert isinstance(error, AppNotAsked)
        return error.outcome == "later" or (error.outcome == "network" and self._was_reached)

    def _until_next(self, error: AppNotAsked, seconds: float) -> float:
        """Return the seconds until a turn is tried again, within the outage. Raises AppUnusable."""
        now = monotonic()
        self._refusing_since = now if self._refusing_since is None else self._refusing_since
        if not self._is_told and now - self._refusing_since > TOLD_SECONDS:
            self._is_told = True
            most = in_words(self.outage_seconds)
            warn_all(f"{self.name} refuses every message ({error.problem}); waiting for it, {most} at most (--outage)")
        refused_for = now - self._refusing_since
        if refused_for > self.outage_seconds or seconds > self.outage_seconds:
            raise AppUnusable(self.name, error.problem, refused_for)
        return min(seconds, self.outage_seconds - refused_for + AT_THE_END_SECONDS)

    @property
    def said(self) -> str:
        """Report how often the app was asked again, and how fast in the end; empty if it never was."""
        if not self.refusals:
            return ""
        rate = self.gate.traffic.pace.rate
        pace = "" if rate == inf else f", in the end {rate:.3g} times a second"
        times = counted_of(self.refusals, "time")
        return f"{self.name} could not be asked {times} and was asked again{pace}; last: {self._last_refusal}"
