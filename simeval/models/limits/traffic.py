"""When the next call to a model may start, learnt from how the calls before it ended; pure state, told the time.

    start ──► Ticket ──► end: answered   the window grows, the pace climbs
                              refused    (429) both are cut, where more are refused than are borne
                              timed_out  the window is cut
                              failed     (5xx, connection) nothing: fewer calls would not help
                              abandoned  nothing

1. There is no pace at first: a few refusals among many answers are borne, each call waiting for its own Retry-After.
2. Where more are refused, the pace becomes what was accepted in the last second. From then on every refusal cuts it.
3. Between refusals it climbs to where it was refused, rests there, and goes on beyond.
4. Refusals that go on through several cuts, among answers, come at any pace: it is lifted, and so many are borne.
5. While nothing is answered calls are tried one by one, ever more seldom. Where most of the last calls were refused,
   a Retry-After is for all calls: it is the account that is at its limit.

One cut an episode: calls started before the last cut neither cut again nor make the window grow.
docs/guides/running.md says what each part is worth, benchmarks/faults/limits_simulated.py measures it.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from math import inf
from typing import Literal

from simeval.models.limits.pace import SMOOTH, Pace, Tokens, Window

Outcome = Literal["answered", "refused", "timed_out", "failed", "abandoned"]

REMEMBERED = 4096  # starts, among which is counted what was accepted lately
MEASURED_SECONDS = 1.0  # over which that is counted; 2 s used 2 points less of windows of a second
ENOUGH = 20  # calls to measure a rate by, where a second has fewer
HEADROOM = 1.5  # times pace x latency: latencies vary, and the window is not to throttle below the pace
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 30.0  # while nothing is answered; doubled each time

LATEST, IN_THE_LONG_RUN = 1 / 50, 1 / 1000  # weights of one call in the share that is refused
ANSWERED_BEFORE = 15  # calls taken for answered at first; without them a few early refusals are a large share
BORNE, MOST_BORNE = 0.2, 0.45  # shares of refusals; with 0.1, random refusals of 10% left 4% of the use in one seed
BORNE_TIMES_BASE = 3  # how many times the base refusal rate are borne; without it 62 points are lost in one cell
AT_ITS_LIMIT = 0.5  # share of refusals from which on a Retry-After is for all calls
PATIENCE, MOST_EARLY_SHARE = 4, 0.3  # early cuts in a row, and the share refused meanwhile, that lift the pace


@dataclass(slots=True, eq=False)
class Ticket:
    """A call under way: its number, when it was started, after how many cuts, and the tokens it was charged."""

    number: int
    started: float
    cuts: int
    charged: float
    refused: bool = False


@dataclass(slots=True)
class Refusals:
    """How large a share of the last calls was refused, and how large a share is refused at any pace (a busy provider).

    `base_refusal_rate` is 0 until refusals have outlasted several cuts of the pace.
    """

    share: float = 0.0
    base_refusal_rate: float = 0.0
    _calls: int = 0
    _mistakes: int = 0

    def count(self, *, refused: bool) -> None:
        """Count a call."""
        self._calls += 1
        self.share += max(LATEST, 1 / (ANSWERED_BEFORE + self._calls)) * (refused - self.share)
        if self.base_refusal_rate:
            self.base_refusal_rate += IN_THE_LONG_RUN * (refused - self.base_refusal_rate)

    def concern_the_pace(self, *, is_limited: bool) -> bool:
        """Return whether more are refused than are borne: none is, by a pace that is not known to be innocent."""
        if is_limited and not self.base_refusal_rate:
            return True
        if self.share < min(MOST_BORNE, max(BORNE, BORNE_TIMES_BASE * self.base_refusal_rate)):
            return False
        if self.base_refusal_rate:  # that was a mistake, less easily made again
            self.base_refusal_rate = 0.0
            self._mistakes += 1
        return True

    def outlast(self, early_cuts: int) -> bool:
        """Return whether refusals have gone on through so many cuts that the pace is not their cause; note that."""
        outlasting = early_cuts >= PATIENCE * (1 + self._mistakes) and self.share < MOST_EARLY_SHARE
        if outlasting:
            self.base_refusal_rate = self.share
        return outlasting


@dataclass(slots=True)
class Traffic:
    """Says when the next call may start. Times never go back from one call of a method to the next."""

    window: Window
    pace: Pace = field(default_factory=Pace)
    tokens: Tokens | None = None
    in_flight: int = field(default=0, init=False)
    _starts: int = field(default=0, init=False)
    _cuts: int = field(default=0, init=False)
    _starts_since_cut: int = field(default=0, init=False)  # those that are under way
    _answers_since_cut: int = field(default=0, init=False)
    _unanswered_cuts: int = field(default=0, init=False)  # in a row, with no answer between them
    _latency: float | None = field(default=None, init=False)  # of answered calls; None before the first
    _paused_until: float = field(default=-inf, init=False)
    _started: deque[Ticket] = field(default_factory=lambda: deque(maxlen=REMEMBERED), init=False)
    _refusals: Refusals = field(default_factory=Refusals, init=False)

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start: 0 for now, inf for not before a call has ended."""
        if self.in_flight >= int(self.window.size) or (self._unanswered_cuts > 1 and self._starts_since_cut):
            return inf
        held = self.tokens.wait(now) if self.tokens else 0.0
        return max(self._paused_until - now, self.pace.wait(now), held, 0.0)

    def start(self, now: float) -> Ticket:
        """Start a call; it must be ended."""
        self._starts += 1
        ticket = Ticket(self._starts, now, self._cuts, self.tokens.charge() if self.tokens else 0.0)
        self._started.append(ticket)
        self.in_flight += 1
        self._starts_since_cut += 1
        self.window.started(now, self.in_flight)
        self.pace.started(now)
        return ticket

    def end(
        self, ticket: Ticket, now: float, outcome: Outcome, *, retry_after: float | None = None, tokens: int = 0
    ) -> bool:
        """End a call in the way it did; return whether the limits were cut for it."""
        fresh = ticket.cuts == self._cuts
        self.in_flight -= 1
        self._starts_since_cut -= fresh
        if self.tokens and outcome != "abandoned":
            self.tokens.correct(ticket.charged, tokens)
        if outcome == "answered":
            self._answered(ticket, now, fresh=fresh)
        elif outcome == "refused":
            return self._refused(ticket, now, retry_after or 0.0, fresh=fresh)
        elif outcome == "timed_out" and fresh:
            self._cut(needed=1.0)
            return True
        return False

    def describe(self) -> dict[str, float]:
        """Return the limits as they are, for a log."""
        pace = round(self.pace.rate, 2)
        return {"calls_at_once": int(self.window.size), "calls_a_second": pace, "in_flight": self.in_flight}

    def _answered(self, ticket: Ticket, now: float, *, fresh: bool) -> None:
        self._refusals.count(refused=False)
        latency = now - ticket.started
        known = latency if self._latency is None else self._latency
        self._latency = known + SMOOTH * (latency - known)
        if fresh:
            self._answers_since_cut += 1
            self._unanswered_cuts = 0
            self.window.answered(now, self._needed())

    def _refused(self, ticket: Ticket, now: float, retry_after: float, *, fresh: bool) -> bool:
        ticket.refused = True
        self._refusals.count(refused=True)
        if self._refusals.share >= AT_ITS_LIMIT:
            self._pause(now + retry_after)
        if not fresh or self._latency is None:
            return False
        if not self._refusals.concern_the_pace(is_limited=self.pace.is_limited):
            return False
        self._unanswered_cuts = 0 if self._answers_since_cut else self._unanswered_cuts + 1
        if self._unanswered_cuts:
            self._pause_for_an_answer(now)
        else:
            self._measure(ticket, now)
        self._cut(self._needed())
        if self._refusals.outlast(self.pace.early_cuts):
            self.pace.lift()
            self.window.forget()
        return True

    def _pause_for_an_answer(self, now: float) -> None:
        """Pause, longer each time, while cut follows cut with no answer between them."""
        pauses = self._unanswered_cuts - 2
        if pauses >= 0:
            self._pause(now + min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**pauses))
        if pauses == 1:  # it was far too fast: a budget of many seconds is spent
            self.pace.halve()

    def _pause(self, until: float) -> None:
        self._paused_until = max(self._paused_until, until)

    def _measure(self, refused: Ticket, now: float) -> None:
        """Set the pace to what was accepted before a call that was refused, and wait for what was ahead of it."""
        seconds = max(MEASURED_SECONDS, ENOUGH / self.pace.rate)
        earlier = dropwhile(lambda ticket: ticket.number >= refused.number, reversed(self._started))
        recent = takewhile(lambda ticket: ticket.started > refused.started - seconds, earlier)
        accepted = [ticket.started for ticket in recent if not ticket.refused]
        self.pace.limit(len(accepted) / seconds)
        if accepted:
            self.pace.hold(min(now + seconds, accepted[-1] + len(accepted) / self.pace.rate))

    def _needed(self) -> float:
        """Return the calls under way that the pace needs (Little's law); 1 where there is no pace."""
        return 1.0 + HEADROOM * self.pace.rate * (self._latency or 0.0) if self.pace.is_limited else 1.0

    def _cut(self, needed: float) -> None:
        self.window.cut(needed)
        self._cuts += 1
        self._answers_since_cut = self._starts_since_cut = 0
