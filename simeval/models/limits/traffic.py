"""When the next call to a model may start: by its pace, calls in progress, and fixed limits; pure state.

docs/guides/rate-limits.md explains how the pace is learnt, benchmarks/faults/limits_simulated.py measures it.

1. At first there is no pace: a refused call waits for its own Retry-After.
2. Too many refused: a cut. The ceiling is the rate of accepted calls a second, and the pace 85% of that.
3. From there it climbs by the cubic curve of TCP (RFC 9438): ever slower up to the ceiling, ever
   faster beyond, until two calls of a dozen are refused: the next cut, and a climb of twice the time.
4. If every call is refused after a cut, a budget is used up: one call is tried at a time, at ever longer intervals.
   The ceiling is then the rate of accepted calls a second since the last such pause, this one included.
5. If refusals go on below the ceiling, at half the share of those above it or more, after another cut too, they do
   not come from the pace (a busy provider refuses at random): it is lifted, and twice that share is borne from then on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Literal, Protocol

import anyio

from simeval.models.protocol.model import Completion, Request, SharedModel, Wrapped

BORNE, BORNE_CALLS = 0.03, 5  # refused without a pace: that share, and some
TOLD_SECONDS, TOLD_CALLS = 1.0, 50  # in which they are more than chance
RECENT = 0.05  # weight of a call in the share that was refused of late
TOO_MANY, HEAVY = 1.5 * RECENT, 0.4  # of late: two calls of a dozen; ten in a row
BELOW = 0.85  # of the ceiling: the pace after a cut
DEEPEST = 0.5  # of the pace that was cut
SHORTEST, LONGEST = (12, 0.5), (300, 4.0)  # calls, or seconds, of a climb to the ceiling; the more
MEASURED_FROM = 0.3  # of a climb; the accepted rate is measured from there to the next cut
RISEN = 1.25  # times the ceiling before: more is taken than was known, and the next climb is short
TRIES, PAUSE = 4, 3  # refused one by one: before a Retry-After is for all; that make a pause
LONGEST_DELAY = 30.0  # seconds between two of those
ALIKE_REFUSED, ALIKE_CALLS = 3, 20  # below the ceiling: enough to compare
LATE_SECONDS = 0.05  # how far the pace may fall behind, by the event loop's delays, and catch up
REMEMBERED = 200  # calls of a share; older ones count half

Outcome = Literal["answered", "refused", "timed_out", "failed", "abandoned"]

FIRST_AT_ONCE = 16  # calls; one more with each answer
EXPECTED_TOKENS = 500.0  # of a call, before one has been seen
SMOOTH = 0.1  # weight of one call in their running mean

NAP_SECONDS = 0.005  # at the least: waking costs 100 µs of CPU, and the pace catches up

MOST_AT_ONCE = 64
SHORTEST_NAP_SECONDS = 0.005


@dataclass(slots=True)
class Share:
    """How many of the calls that were started were refused: answers take longer, and are counted on."""

    calls: float = 0.0
    refused: float = 0.0

    def start(self) -> None:
        """Count a call."""
        if self.calls >= REMEMBERED:
            self.calls, self.refused = self.calls / 2, self.refused / 2
        self.calls += 1

    def value(self) -> float:
        """Return the share, 0 for no calls."""
        return self.refused / max(1.0, self.calls)


@dataclass(slots=True, eq=False)
class Spell:
    """The time from one cut to the next, and the results of the calls started in it."""

    since: float
    calls: int = 0
    under_way: int = 0
    refused: int = 0
    answered: int = 0
    recent: float = 0.0  # share that was refused of late, as if all had been answered before

    def add(self, refused: bool) -> None:
        """Count a call that was refused or answered."""
        self.refused += refused
        self.answered += not refused
        self.recent += RECENT * (refused - self.recent)

    def recent_share(self) -> float:
        """Return the share that was refused of late, of these calls alone; answers take longer, and are counted on."""
        return self.recent / (1.0 - (1.0 - RECENT) ** self.calls)


@dataclass(slots=True, eq=False)
class Start:
    """How a call was started: in which spell, at which pace, and the calls it is counted with."""

    spell: Spell
    rate: float
    share: Share


@dataclass(slots=True)
class Pace:
    """How many calls may be started a second: `rate`, inf for as many as there are."""

    rate: float = field(default=inf, init=False)
    _ceiling: float = field(default=inf, init=False)  # calls a second that were accepted
    _climb: float = field(default=0.0, init=False)  # seconds from a cut to the ceiling
    _climbed: float = field(default=0.0, init=False)  # seconds since the cut during which the pace held calls back
    _next: float = field(default=-inf, init=False)
    _delay: float = field(default=0.0, init=False)
    _tries: int = field(default=0, init=False)  # of single calls, refused
    _spell: Spell = field(default_factory=lambda: Spell(-inf), init=False)
    _accepted: int = field(default=0, init=False)  # all calls, without those that ended unanswered
    _mark: tuple[float, int] = field(default=(-inf, 0), init=False)  # when, and how many had been accepted
    _paused: tuple[float, int] = field(default=(-inf, 0), init=False)  # the end of the last pause
    _borne: float = field(default=BORNE, init=False)
    _above: Share = field(default_factory=Share, init=False)  # of the calls started above the ceiling, or without one
    _below: Share = field(default_factory=Share, init=False)
    _is_doubted: bool = field(default=False, init=False)  # the ceiling: refusals below it have led to a cut

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start: 0 for now, inf for not before a call has ended."""
        if self.rate == inf:
            return 0.0
        return inf if self._is_trying() and self._spell.under_way else max(0.0, self._next - now)

    def start(self, now: float) -> Start:
        """Start a call; it must be ended."""
        spell = self._spell
        if spell.since == -inf:
            spell.since, self._mark, self._paused = now, (now, 0), (now, 0)
        spell.calls += 1
        spell.under_way += 1
        self._accepted += 1
        start = Start(spell, self.rate, self._below if self.rate < self._ceiling else self._above)
        start.share.start()
        if self.rate < inf:
            self._bring_on(now)
        return start

    def end(self, start: Start, now: float, *, refused: bool, answered: bool, retry_after: float = 0.0) -> bool:
        """End a call; return whether the pace was cut for it."""
        spell = start.spell
        spell.under_way -= 1
        self._accepted -= not answered
        if not (refused or answered):
            return False
        spell.add(refused)
        start.share.refused += refused
        if spell is not self._spell:
            return False
        if self._is_trying():
            if not spell.under_way:
                self._try_later(now, retry_after)
            return False
        if answered and spell.answered == 1 and self._tries >= PAUSE:
            self._go_on(now)
        return refused and (self._judge_free(now) if self.rate == inf else self._judge(start, now))

    def _is_trying(self) -> bool:
        return self.rate < inf and self._spell.refused > 0 == self._spell.answered

    def _bring_on(self, now: float) -> None:
        gap, late = 1.0 / self.rate, now - self._next
        self._next = now + gap if late > max(LATE_SECONDS, gap) else self._next + gap
        if late > gap or not self._spell.answered:
            return
        self._climbed += gap
        part = self._climbed / self._climb
        self.rate = self._ceiling * (1.0 + (1.0 - BELOW) * (part - 1.0) ** 3)
        if part <= MEASURED_FROM:
            self._mark = now, self._accepted

    def _judge_free(self, now: float) -> bool:
        spell = self._spell
        is_told = now - spell.since >= TOLD_SECONDS and spell.refused + spell.answered >= TOLD_CALLS
        if spell.refused <= BORNE_CALLS + self._borne * spell.calls or not (is_told or spell.recent >= HEAVY):
            return False
        self._cut(now, self._measure(now, TOLD_SECONDS))
        return True

    def _judge(self, start: Start, now: float) -> bool:
        """Cut the pace if too many are refused, or lift it if it is not the reason; return whether it was cut."""
        spell, below = self._spell, self._below
        is_below = start.rate < self._ceiling
        if is_below and self._is_doubted and spell.recent < HEAVY:
            if below.refused < ALIKE_REFUSED or below.calls < ALIKE_CALLS:
                return False
            if self._above.value() / 2 < below.value() < HEAVY:
                self._lift(now)
                return False
        elif spell.recent <= TOO_MANY + (0.0 if is_below else below.value()):
            return False
        accepted = start.rate * max(DEEPEST, 1.0 - spell.recent_share())
        if is_below:
            self._below, self._is_doubted = Share(), True
        else:
            accepted = min(accepted, self._measure(now, LATE_SECONDS))
            has_risen = accepted > RISEN * self._ceiling and not self._is_doubted
            self._climb = 0.0 if has_risen else 2 * self._climb
            self._is_doubted &= below.calls < ALIKE_CALLS
        self._cut(now, accepted)
        return True

    def _measure(self, now: float, shortest: float) -> float:
        """Return how many calls a second were accepted since the mark."""
        since, before = self._mark
        return max(1, self._accepted - before) / max(shortest, now - since)

    def _cut(self, now: float, accepted: float) -> None:
        shortest, longest = (max(calls / accepted, seconds) for calls, seconds in (SHORTEST, LONGEST))
        self._climb = min(max(self._climb, shortest), longest)
        self._hold(accepted, now)
        self._spell, self._tries, self._delay, self._next = Spell(now), 0, 2.0 / self.rate, now

    def _hold(self, accepted: float, now: float) -> None:
        self._ceiling, self.rate, self._climbed, self._mark = accepted, BELOW * accepted, 0.0, (now, self._accepted)

    def _try_later(self, now: float, retry_after: float) -> None:
        self._tries += 1
        self._next = now + (max(self._delay, retry_after) if self._tries > TRIES else self._delay)
        self._delay = min(LONGEST_DELAY, 2 * self._delay)

    def _go_on(self, now: float) -> None:
        """Continue after a pause, which shows the accepted rate over a long time."""
        since, before = self._paused
        seconds = max(TOLD_SECONDS, now - self._delay / 4 - since)  # it ended somewhere in the last delay
        accepted = min(self._ceiling, max(1, self._accepted - before) / seconds)
        self._paused = now, self._accepted
        self._climb = max(SHORTEST[0] / accepted, SHORTEST[1], seconds / 2)
        self._hold(accepted, now)
        self._next = now + 1.0 / self.rate
        self._above, self._below = Share(), Share()

    def _lift(self, now: float) -> None:
        calls, refused = self._above.calls + self._below.calls, self._above.refused + self._below.refused
        self._borne = min(HEAVY, max(BORNE, 2 * refused / calls + 0.02))
        self.rate, self._ceiling, self._climb, self._next = inf, inf, 0.0, -inf
        self._spell, self._mark, self._is_doubted = Spell(now), (now, self._accepted), False
        self._above, self._below = Share(), Share()


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


@dataclass(slots=True)
class Gate:
    """Lets the next caller in when the traffic allows it; `changed` must be called when a call has ended."""

    traffic: Traffic
    _line: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True), init=False, repr=False)
    _changed: anyio.Event | None = field(default=None, init=False, repr=False)

    def at_once(self, wait: Callable[[float], float]) -> Ticket | None:
        """Start a call if it need not wait; otherwise return None. `wait` is as for `enter`."""
        now = monotonic()
        return None if self._line.locked() or wait(now) > 0 else self.traffic.start(now)

    async def enter(self, wait: Callable[[float], float]) -> Ticket:
        """Wait in line until a call may start, and start it.

        `wait` returns the seconds to wait at a time of the monotonic clock, inf until something has changed.
        """
        async with self._line:
            while (seconds := wait(now := monotonic())) > 0:
                self._changed = anyio.Event()
                with anyio.move_on_after(None if seconds == inf else max(seconds, NAP_SECONDS)):
                    await self._changed.wait()
            return self.traffic.start(now)

    def changed(self) -> None:
        """Wake the first caller in line."""
        if self._changed is not None:
            self._changed.set()


class Allowances(Protocol):
    """Grants allowances for calls, for all processes together."""

    async def take(self, account: str, wanted: int, *, tokens_each: float, correction: float) -> tuple[int, float]:
        """Take up to so many; return how many are granted and, if none is, after how many seconds to ask again.

        Each is charged `tokens_each`; `correction` is the use of earlier calls above their charge.
        """


@dataclass(slots=True)
class Allowed(Wrapped):
    """A model each of whose calls takes an allowance of its account."""

    model: SharedModel
    account: str
    allowances: Allowances
    _line: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True), init=False)
    _left: int = field(default=0, init=False)
    _waiting: int = field(default=0, init=False)
    _mean: float = field(default=EXPECTED_TOKENS, init=False)
    _each: float = field(default=EXPECTED_TOKENS, init=False)  # the charge of each one left
    _correction: float = field(default=0.0, init=False)

    @property
    def answers(self) -> int:
        """How many requests the model has answered here."""
        return self.model.answers

    async def complete(self, request: Request) -> Completion:
        """Wait for an allowance, then answer."""
        self._waiting += 1
        try:
            async with self._line:
                charged = await self._taken()
        finally:
            self._waiting -= 1
        used = 0
        try:
            completion = await self.model.complete(request)
            used = completion.prompt_tokens + completion.completion_tokens
        finally:
            self._correction += used - charged
            self._mean += SMOOTH * (used - self._mean) if used else 0.0
        return completion

    async def _taken(self) -> float:
        """Take one allowance, and some for the callers behind; return its charge."""
        while not self._left:
            correction, self._correction, self._each = self._correction, 0.0, self._mean
            wanted = min(self._waiting, MOST_AT_ONCE)
            self._left, seconds = await self.allowances.take(
                self.account, wanted, tokens_each=self._each, correction=correction
            )
            if not self._left:
                await anyio.sleep(max(seconds, SHORTEST_NAP_SECONDS))
        self._left -= 1
        return self._each
