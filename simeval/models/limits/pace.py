"""How many calls a second one model is asked, learnt from what it refuses; pure state, told the time.

    free ──too many refused──► settling ──an answer──► level ──few refused──► climbing ──too many refused──► settling
      ▲                                                  │
      └──────── refusals that go on at the lower pace ───┘

1. free: there is no pace; each refused call waits for its own Retry-After.
2. settling: more than 3% are refused, and calls go on at 95% of what was accepted. Where those are refused too, one is
   tried at a time, at ever longer intervals; after four such a Retry-After is for all calls.
3. level: one was answered, and the pace is 95% of what was accepted a second since the last cut, pauses included.
4. climbing: the pace grows, slowly up to what was accepted and ever faster beyond, until 2% are refused: a cut.
   The climb takes twice as long each time, up to 8 s; where the model takes far more than before, 2 s again.
5. Where two cuts in a row come before the climb is done, refusals do not come from the pace (a busy provider refuses
   at random): it is lifted, and twice the share that was refused is borne from then on.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Literal

Kind = Literal["free", "settling", "level", "climbing"]

FIRST_PACE = 16.0  # calls a second at the least, at the first cut: little has been answered by then
BORNE = 0.03  # share of refusals that is borne where there is no pace
TOLERATED: dict[Kind, tuple[int, float]] = {"free": (5, 0.0), "level": (4, 0.1), "climbing": (1, 0.02)}
BELOW = 0.95  # of what was accepted: the pace after a cut
DEEPEST: dict[Kind, float] = {"level": 0.5, "climbing": 0.75}  # of the pace that was cut, unless there was silence
FIRST_CLIMB, SHORT_CLIMB, LONG_CLIMB = 0.5, 2.0, 8.0  # seconds from there to what was accepted
RISEN = 1.5  # times what was accepted: it is no longer the limit
MARKED = 1.2  # growth of the pace after which what is accepted is measured anew
MEASURED_SECONDS, MEASURED_CALLS = 1.0, 50  # the least to measure by, whichever is shorter
ENOUGH, A_FEW = 50, 25  # calls that tell a share; calls of which none was refused
UNCHANGED = 0.7  # of the pace was accepted: it was not much too high
SILENT = 4  # refusals in a row while one call is tried at a time
LONGEST_DELAY = 30.0  # seconds between two of those
LATE_SECONDS = 0.05  # how far the pace may fall behind, by the event loop's delays, and catch up
REMEMBERED = 100  # calls of a phase; older ones count half


@dataclass(slots=True, eq=False)
class Phase:
    """A time in which calls are started in one way, and what became of them; `since` names the measure they are of."""

    kind: Kind
    since: float
    calls: float = 0.0
    refused: float = 0.0
    under_way: int = 0

    def add(self, other: "Phase") -> None:
        """Count another phase's calls too."""
        self.calls += other.calls
        self.refused += other.refused


@dataclass(slots=True)
class Pace:
    """How many calls may be started a second: `rate`, inf for as many as there are."""

    rate: float = field(default=inf, init=False)
    phase: Phase = field(default_factory=lambda: Phase("free", -inf), init=False)
    _borne: float = field(default=BORNE, init=False)
    _ceiling: float = field(default=inf, init=False)  # what was accepted a second
    _least: float = field(default=FIRST_PACE, init=False)
    _climb: float = field(default=FIRST_CLIMB, init=False)
    _climbed: float = field(default=0.0, init=False)  # seconds in which the pace held calls back
    _next: float = field(default=-inf, init=False)
    _delay: float = field(default=0.0, init=False)
    _is_measured: bool = field(default=False, init=False)  # the pace, and not bounded by the one before
    _tries: int = field(default=0, init=False)  # of single calls, refused
    _accepted: int = field(default=0, init=False)  # calls since the measure began, without those refused
    _mark: tuple[float, int, float] = field(default=(-inf, 0, inf), init=False)  # when, of which, at which rate
    _before: Phase = field(default_factory=lambda: Phase("free", -inf), init=False)  # the one that was cut last
    _doubted: Phase = field(default_factory=lambda: Phase("free", -inf), init=False)  # all that were cut early
    _early_cuts: int = field(default=0, init=False)  # in a row

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start: 0 for now, inf for not before a call has ended."""
        if self.phase.kind == "settling" and self.phase.refused and self.phase.under_way:
            return inf
        return max(0.0, self._next - now)

    def start(self, now: float) -> Phase:
        """Start a call; it must be ended."""
        if self.phase.since == -inf:
            self._begin("free", now)
        phase = self.phase
        if phase.calls >= REMEMBERED:
            phase.calls, phase.refused = phase.calls / 2, phase.refused / 2
        phase.calls += 1
        phase.under_way += 1
        self._accepted += 1
        if self.rate < inf:
            self._bring_on(now)
        return phase

    def end(self, phase: Phase, now: float, *, refused: bool, answered: bool, retry_after: float = 0.0) -> bool:
        """End a call; return whether the pace was cut for it."""
        phase.under_way -= 1
        if refused:
            phase.refused += 1
            self._accepted -= phase.since == self.phase.since
        if phase is not self.phase:
            return False
        if phase.kind == "settling":
            if answered:
                self._settle(now)
            elif refused and not phase.under_way:
                self._try_later(now, retry_after)
            return False
        if refused:
            some, share = TOLERATED[phase.kind]
            too_many = phase.refused > some + (share or self._borne) * phase.calls
        else:
            too_many = phase.kind == "level" and self._judge_level(now)
        if too_many:
            self._cut(now)
        return too_many

    def _bring_on(self, now: float) -> None:
        gap, late = 1.0 / self.rate, now - self._next
        self._next = now + gap if late > max(LATE_SECONDS, gap) else self._next + gap
        if late > gap or self.phase.kind != "climbing":
            return
        self._climbed += gap
        self.rate = self._ceiling * self._level()
        if self.rate > MARKED * self._mark[2]:
            self._mark = now, self._accepted, self.rate

    def _level(self) -> float:
        """Return the pace of a climb as a multiple of what was accepted."""
        return 1.0 + (1.0 - BELOW) * ((self._climbed / self._climb) ** 3 - 1.0)

    def _judge_level(self, now: float) -> bool:
        """Climb where few are refused at this pace; return whether half as many are refused as before, or more."""
        phase, before = self.phase, self._before
        half = before.refused / (before.calls + 10) / 2
        if phase.calls >= ENOUGH and phase.refused >= 3 and phase.refused > half * phase.calls:
            return True
        is_clean = not phase.refused and (phase.calls >= A_FEW or now - phase.since > MEASURED_SECONDS)
        if is_clean or phase.calls >= 2 * ENOUGH:
            self.phase, self._climbed = Phase("climbing", phase.since), 0.0
        return False

    def _cut(self, now: float) -> None:
        """Go back to what was accepted; or lift the pace where that was done before, and refusals went on."""
        phase, accepted = self.phase, self._measure(now)
        is_early = phase.kind == "level" or (phase.kind == "climbing" and self._climbed < self._climb)
        is_in_vain = is_early and self._is_measured and accepted >= UNCHANGED * self.rate
        self._early_cuts = self._early_cuts + 1 if is_in_vain else 0
        if self._early_cuts < 2:
            self._doubted = Phase("free", now)
        self._doubted.add(phase)
        if self._early_cuts >= 2 and self._doubted.calls >= ENOUGH:
            self._lift(now)
            return
        if phase.kind != "level":
            self._before, self._climb = phase, self._next_climb()
        self._least = DEEPEST.get(phase.kind, 1.0) * min(self.rate, self._least if self.rate == inf else inf)
        self.rate = BELOW * max(accepted, self._least)
        self.phase, self._tries, self._delay, self._next = Phase("settling", phase.since), 0, 1.0 / self.rate, now

    def _next_climb(self) -> float:
        if self.rate == inf:
            return FIRST_CLIMB
        return SHORT_CLIMB if self._level() > RISEN else min(LONG_CLIMB, max(SHORT_CLIMB, 2 * self._climb))

    def _lift(self, now: float) -> None:
        self._borne = max(BORNE, 2 * self._doubted.refused / self._doubted.calls + 0.02)
        self._least = max(FIRST_PACE, self.rate / 2)
        self.rate, self._early_cuts, self._next = inf, 0, -inf
        self._begin("free", now)

    def _try_later(self, now: float, retry_after: float) -> None:
        self._tries += 1
        is_silent = self._tries > SILENT
        self._next = now + (max(self._delay, retry_after) if is_silent else self._delay)
        self._delay = min(LONGEST_DELAY, 2 * self._delay)

    def _settle(self, now: float) -> None:
        """Take what was accepted for the pace, and measure anew."""
        least = self._least if self._tries <= SILENT else 0.0
        accepted = self._measure(now)
        self._ceiling, self._is_measured = max(accepted, least), accepted >= least
        self.rate = BELOW * self._ceiling
        self._begin("level", now)

    def _measure(self, now: float) -> float:
        """Return how many calls a second were accepted, since the measure began or the pace has grown."""
        shortest = min(MEASURED_SECONDS, MEASURED_CALLS / self.rate) if self.rate < inf else MEASURED_SECONDS
        starts = (self.phase.since, 0), self._mark[:2]
        return max((self._accepted - before) / max(shortest, now - since) for since, before in starts)

    def _begin(self, kind: Kind, now: float) -> None:
        self.phase, self._accepted, self._mark = Phase(kind, now), 0, (now, 0, self.rate)
