"""When the next call to a model may start, learnt from how the calls before it ended; pure state, told the time.

    start ──► Ticket ──► end: answered   the window grows, the pace climbs
                              refused    (429) both are cut, the pace to what was accepted, once there was an answer
                              timed_out  the window is cut
                              failed     (5xx, connection) nothing: fewer calls would not help
                              abandoned  nothing

One cut an episode: calls started before the last cut neither cut again nor make the window grow. A Retry-After holds
back every call and has no part in when the next cut may be.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from math import inf, sqrt
from typing import Literal

from simeval.models.limits.pace import FIRST_WINDOW, SMOOTH, Pace, Tokens, Window

Outcome = Literal["answered", "refused", "timed_out", "failed", "abandoned"]

REMEMBERED = 4096  # starts, among which is counted what was accepted lately
HEADROOM = 1.5  # times pace x latency: latencies vary, and the window is not to throttle below the pace
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 30.0  # while everything is refused; doubled each time

ENOUGH = 20  # calls to measure a rate by, where a second has fewer
LEAN = 5  # calls by which a measurement over a short time leans on the pace there is
SHORTEST_SECONDS = 1e-3
MOSTLY = 0.8
SLOWEST = 0.2  # calls a second; a model that takes fewer is waited for by pauses
DEEPEST_CUT = 0.25  # of the pace, at once: what was measured may have been a pause
SAME_TROUBLE_SECONDS, SAME_TROUBLE_CALLS = 1.0, 100  # refusals no further apart belong together

SHORT_SECONDS, FOLLOWERS = 1.0, 8  # a first refusal so early is doubted until so many calls after it have ended
LATEST, IN_THE_LONG_RUN = 1 / 50, 1 / 1000  # weights of one call in the share that is refused
ISOLATED, MOST_TOLERATED = 0.2, 0.45  # shares; where refusals come at any pace, more of them concern it again
MOST_EARLY_SHARE = 0.3
PATIENCE = 4  # cuts in a row that have not ended the refusals, before the pace is no more held to be their cause


@dataclass(slots=True, eq=False)
class Ticket:
    """A call under way: its number, when it was started, after how many cuts, and the tokens it was charged."""

    number: int
    started: float
    cuts: int
    charged: float
    refused: bool = False


@dataclass(slots=True)
class Trouble:
    """Refusals that follow each other closely: what was accepted since it began tells what the model takes."""

    began: float
    held: float = -inf  # until when
    paused: float = 0.0

    def goes_on(self, started: float, rate: float) -> bool:
        """Return whether a call that was started then, and refused, belongs to it."""
        return started - self.held < max(SAME_TROUBLE_SECONDS, SAME_TROUBLE_CALLS / rate, self.held - self.began)

    def hold(self, started: float, pause: float) -> None:
        """Note a refused call that was started then, and the pause that follows."""
        self.held = started + pause
        self.paused += pause


@dataclass(slots=True)
class Doubt:
    """Whether the first refusal, after a short time, tells anything of the pace.

    If it does, the calls that were started next, before it was known, are refused too.
    """

    first: Ticket
    answered: int = 0
    refused: int = 0

    def ends(self, ticket: Ticket, outcome: Outcome) -> bool:
        """Take in how a call ended; whether enough have."""
        if ticket.cuts == self.first.cuts and ticket.number > self.first.number:
            self.refused += outcome == "refused"
            self.answered += outcome == "answered"
        return self.refused + self.answered >= FOLLOWERS

    @property
    def is_justified(self) -> bool:
        """Whether most of them were answered."""
        return self.answered >= MOSTLY * FOLLOWERS


@dataclass(slots=True)
class Refusals:
    """How large a share of calls is refused, and how much of that no pace would end (a busy provider's 429)."""

    share: float = 0.0
    whatever_the_pace: float = 0.0
    _patience: int = PATIENCE

    def count(self, *, refused: bool) -> None:
        """Count a call."""
        self.share += LATEST * (refused - self.share)
        if self.whatever_the_pace:
            self.whatever_the_pace += IN_THE_LONG_RUN * (refused - self.whatever_the_pace)

    def concern_the_pace(self) -> bool:
        """Return whether there are more refusals than those that come at any pace."""
        if self.whatever_the_pace and self.share < min(MOST_TOLERATED, max(ISOLATED, 3 * self.whatever_the_pace)):
            return False
        if self.whatever_the_pace:  # that was a mistake, less easily made again
            self.whatever_the_pace = 0.0
            self._patience += PATIENCE
        return True

    def are_isolated(self) -> None:
        """Note that they come at any pace."""
        self.whatever_the_pace = self.share

    def outlast(self, early: int) -> bool:
        """Return whether isolated refusals have gone on through so many cuts in a row."""
        return early >= self._patience and self.share < MOST_EARLY_SHARE


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
    _in_vain: int = field(default=0, init=False)  # cuts in a row with no answer between them
    _latency: float | None = field(default=None, init=False)  # of answered calls; None before the first
    _paused_until: float = field(default=-inf, init=False)
    _started: deque[Ticket] = field(default_factory=lambda: deque(maxlen=REMEMBERED), init=False)
    _trouble: Trouble = field(default_factory=lambda: Trouble(-inf), init=False)
    _last_cut: tuple[float, float] = field(default=(-inf, 0.0), init=False)  # start of the refused call, and the pause
    _refusals: Refusals = field(default_factory=Refusals, init=False)
    _doubt: Doubt | None = field(default=None, init=False)

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start: 0 for now, inf for not before a call has ended."""
        if self.in_flight >= int(self.window.size) or (self._in_vain > 1 and self._starts_since_cut):
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
        """End a call in the way it did; give whether the limits were cut for it."""
        fresh = ticket.cuts == self._cuts
        self.in_flight -= 1
        self._starts_since_cut -= fresh
        if self.tokens and outcome != "abandoned":
            self.tokens.correct(ticket.charged, tokens)
        pause = self._pause(now, retry_after or 0.0)
        self._settle_doubt(ticket, outcome)
        if outcome == "answered":
            self._answered(ticket, now, fresh=fresh)
        elif outcome == "refused":
            return self._refused(ticket, now, pause, fresh=fresh)
        elif outcome == "timed_out" and fresh:
            self._cut(needed=1.0)
            return True
        return False

    def describe(self) -> dict[str, float]:
        """Return the limits as they are, for a log."""
        pace = round(self.pace.rate, 2)
        return {"calls_at_once": int(self.window.size), "calls_a_second": pace, "in_flight": self.in_flight}

    def _pause(self, now: float, seconds: float) -> float:
        """Start nothing for so many seconds; give how many of them are new."""
        already = max(self._paused_until, now)
        self._paused_until = max(self._paused_until, now + seconds)
        return max(0.0, self._paused_until - already)

    def _answered(self, ticket: Ticket, now: float, *, fresh: bool) -> None:
        self._refusals.count(refused=False)
        latency = now - ticket.started
        known = latency if self._latency is None else self._latency
        self._latency = known + SMOOTH * (latency - known)
        if fresh:
            self._answers_since_cut += 1
            self._in_vain = 0
            self.window.answered(now, self._needed())

    def _refused(self, ticket: Ticket, now: float, pause: float, *, fresh: bool) -> bool:
        ticket.refused = True
        self._refusals.count(refused=True)
        if not fresh or self._latency is None or not self._refusals.concern_the_pace():
            return False
        self._in_vain = 0 if self._answers_since_cut else self._in_vain + 1
        if self._in_vain > 1:
            pause += self._pause(now, min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self._in_vain - 2)))
        anew = not self._trouble.goes_on(ticket.started, self.pace.rate)
        if anew:
            self._trouble = Trouble(ticket.started)
        if self.pace.ceiling == inf and ticket.started - self._started[0].started < SHORT_SECONDS:
            self._doubt = Doubt(ticket)
        if not self._in_vain:
            self._measure(ticket, now, pause, anew=anew)
        self._trouble.hold(ticket.started, pause)
        self._last_cut = ticket.started, pause
        self._cut(self._needed())
        if self._refusals.outlast(self.pace.early):
            self._lift()
        return True

    def _settle_doubt(self, ticket: Ticket, outcome: Outcome) -> None:
        if self._doubt is not None and self._doubt.ends(ticket, outcome):
            if self._doubt.is_justified:
                self._lift()
            self._doubt = None

    def _lift(self) -> None:
        """Go on as if nothing had been refused: the pace is not the cause."""
        self._refusals.are_isolated()
        self.pace.lift()
        self.window.forget()

    def _measure(self, refused: Ticket, now: float, pause: float, *, anew: bool) -> None:
        """Set the pace by what was accepted before a call that was refused, and by what is owed for that."""
        rate = self.pace.rate
        seconds = max(1.0, min(ENOUGH / rate, refused.started - self._started[0].started))
        latest = self._accepted(refused, refused.started - seconds)
        accepted = len(latest) / seconds
        if not anew:
            accepted = min(accepted, self._since_trouble_began(refused))
        elif self.pace.early and self._last_cut[1] > 0:
            accepted = min(accepted, self._since_last_cut(refused))
        least = FIRST_WINDOW if rate == inf else max(SLOWEST, DEEPEST_CUT * rate)
        self.pace.limit(min(max(accepted, least), rate), pause=pause)
        if latest:
            paid = min(now + seconds, latest[-1].started + len(latest) / self.pace.rate)
            self._trouble.paused += max(0.0, paid - max(now, self._paused_until))
            self.pace.hold(paid)

    def _since_trouble_began(self, refused: Ticket) -> float:
        """Return the calls a second that were accepted meanwhile; pauses count where they were most of the time."""
        seconds = refused.started - self._trouble.began
        if self._trouble.paused < MOSTLY * seconds:
            seconds -= self._trouble.paused
        count = len(self._accepted(refused, self._trouble.began))
        return (count + LEAN) / max(seconds + LEAN / self.pace.rate, SHORTEST_SECONDS)

    def _since_last_cut(self, refused: Ticket) -> float:
        """Return the calls a second that were accepted since then, between the means with and without the pause.

        For a bucket has been filled in the pause, and a window of time has passed unused.
        """
        last, pause = self._last_cut
        seconds = refused.started - last
        busy = max(seconds - pause, (1 - MOSTLY) * seconds)
        return len(self._accepted(refused, last)) / sqrt(seconds * busy)

    def _accepted(self, before: Ticket, since: float) -> list[Ticket]:
        """Return the calls started after a time and before a call that were not refused so far, the latest first."""
        earlier = dropwhile(lambda ticket: ticket.number >= before.number, reversed(self._started))
        recent = takewhile(lambda ticket: ticket.started > since, earlier)
        return [ticket for ticket in recent if not ticket.refused]

    def _needed(self) -> float:
        """Return the calls under way that the pace needs (Little's law); 1 where there is no pace."""
        return 1.0 + HEADROOM * self.pace.rate * (self._latency or 0.0) if self.pace.ceiling < inf else 1.0

    def _cut(self, needed: float) -> None:
        self.window.cut(needed)
        self._cuts += 1
        self._answers_since_cut = self._starts_since_cut = 0
