"""How fast one model may be asked: calls under way, calls a second, tokens a second; pure state, told the time.

A window of calls under way cannot hold 50 calls a second at 50 ms alone: two at once give 40, three give 60. A pace
alone does not see a model that answers ever more slowly. So there are both.
"""

from dataclasses import dataclass, field
from math import exp, inf

FIRST_WINDOW = 16  # calls; 50 are reached after two rounds
SHORTEST_ROUND_SECONDS = 0.1  # or a fast model that takes 50 a second is sent 64 more before it refuses the first
CUT = 0.7  # of the window at a time-out or a refusal

DEPTH = 0.03  # how far below its ceiling the pace starts anew
FIRST_CLIMB_SECONDS = 4.0  # from there to a ceiling that was met once
CLIMB_SECONDS = 10.0  # to one that was confirmed
DEEPEST_CUT = 0.25  # of the pace, at once: what was measured may have been a time of few calls
SLOWEST = 0.2  # calls a second; a model that takes fewer is waited for by pauses
SAME_CEILING = 0.1  # relative difference of two measurements of one ceiling
RISEN = 1.1  # times the ceiling without a refusal: it is no longer there
RISE = 0.1  # growth a second from then on; with 0.05 a sixth less is used of endpoints whose first measure was too low
LATE_SECONDS = 0.05  # how far the pace may fall behind, by the event loop's delays, and catch up

EXPECTED_TOKENS = 500.0  # of a call, before one has been seen
SMOOTH = 0.1  # weight of one call in a running mean


@dataclass(slots=True)
class Window:
    """How many calls may be under way at once, `most` at the most.

    It doubles a round until it is first cut, then grows by one a round (additive increase), and only by rounds in
    which all of it was used.
    """

    most: int
    size: float = FIRST_WINDOW
    _grew: float = field(default=inf, init=False)
    _answers: int = field(default=0, init=False)
    _was_full: bool = field(default=False, init=False)
    _was_cut: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.size = min(self.size, self.most)

    def started(self, now: float, in_flight: int) -> None:
        """Note how many calls are under way now that one more is."""
        self._grew = min(self._grew, now)
        self._was_full = self._was_full or in_flight >= int(self.size)

    def answered(self, now: float, needed: float) -> None:
        """Count an answer; at the end of a round grow, fast where the pace needs more (`needed`) than there is."""
        self._answers += 1
        fast = not self._was_cut or self.size < needed
        if self._answers < int(self.size) or (fast and now - self._grew < SHORTEST_ROUND_SECONDS):
            return
        if self._was_full:
            self.size = min(self.most, self.size * 2 if fast else self.size + 1)
        self._answers, self._was_full, self._grew = 0, False, now

    def cut(self, needed: float) -> None:
        """Shrink, but not below what the pace needs."""
        self.size = max(1.0, self.size * CUT, min(self.size, needed))
        self._answers, self._was_full, self._was_cut = 0, False, True

    def forget(self) -> None:
        """Grow as fast as at the start."""
        self._was_cut = False


@dataclass(slots=True)
class Pace:
    """How many calls may be started a second: `most`, and what the model's own ceiling allows once it is known.

    From a little below the ceiling the pace climbs to it, rests about it and goes on beyond, along a cubic of the
    time in which it held calls back (the shape of TCP's CUBIC, RFC 9438). `early_cuts` counts the cuts in a row that
    came before it was there.
    """

    most: float = inf
    ceiling: float = field(default=inf, init=False)
    rate: float = field(init=False)
    early_cuts: int = field(default=0, init=False)
    _is_confirmed: bool = field(default=False, init=False)
    _climb: float = field(default=FIRST_CLIMB_SECONDS, init=False)
    _climbed: float = field(default=0.0, init=False)
    _next: float = field(default=-inf, init=False)

    def __post_init__(self) -> None:
        self.rate = self.most

    @property
    def is_limited(self) -> bool:
        """Whether a ceiling is known."""
        return self.ceiling < inf

    def wait(self, now: float) -> float:
        """Return the seconds until the next call may start."""
        return max(0.0, self._next - now)

    def started(self, now: float) -> None:
        """Note a start; where the pace held it back, that brings the pace on."""
        if self.rate == inf:
            return
        gap = 1.0 / self.rate
        if now - self._next > max(LATE_SECONDS, gap):
            self._next = now + gap
            return
        self._next += gap
        if self.is_limited:
            self._climbed += gap
            self.rate = min(self.most, self.ceiling * self._level())

    def limit(self, accepted: float) -> None:
        """Take `accepted` calls a second for the ceiling, within reason of the pace there was."""
        least = max(SLOWEST, DEEPEST_CUT * self.rate) if self.is_limited else FIRST_WINDOW
        accepted = min(max(accepted, least), self.rate)
        if self._climbed < self._climb and self.is_limited:
            self.early_cuts += 1
        else:
            is_the_same = abs(accepted - self.ceiling) <= SAME_CEILING * self.ceiling < inf
            self.early_cuts, self._is_confirmed = 0, is_the_same
            accepted = (accepted + self.ceiling) / 2 if is_the_same else accepted
        self._climb = CLIMB_SECONDS if self._is_confirmed else FIRST_CLIMB_SECONDS
        self._start_below(accepted)

    def halve(self) -> None:
        """Go on at half the pace, where there is one."""
        if self.is_limited:
            self._start_below(self.ceiling / 2)

    def hold(self, until: float) -> None:
        """Start nothing before a time."""
        self._next = max(self._next, until)

    def lift(self) -> None:
        """Forget the ceiling and what is owed."""
        self.ceiling, self.rate, self.early_cuts, self._is_confirmed = inf, self.most, 0, False
        self._next = -inf

    def _start_below(self, ceiling: float) -> None:
        self.ceiling, self._climbed = ceiling, 0.0
        self.rate = min(self.most, ceiling * self._level())

    def _level(self) -> float:
        """Return the pace as a multiple of the ceiling."""
        beyond = self._climbed / self._climb - 1.0
        level = 1.0 + DEPTH * beyond**3
        if level <= RISEN:
            return level
        seconds = self._climb * (beyond - ((RISEN - 1.0) / DEPTH) ** (1 / 3))
        return RISEN * exp(RISE * seconds)


@dataclass(slots=True)
class Tokens:
    """A bucket that holds a second's worth of tokens and admits a call while its level is above 0.

    A call is charged the running mean when it starts, and what it used when it has ended.
    """

    per_second: float
    mean: float = EXPECTED_TOKENS
    _level: float = field(default=0.0, init=False)
    _counted: float = field(default=-inf, init=False)

    def wait(self, now: float) -> float:
        """Return the seconds until the level is above 0."""
        self._level = min(self.per_second, self._level + (now - self._counted) * self.per_second)
        self._counted = now
        return 0.0 if self._level > 0 else (1.0 - self._level) / self.per_second

    def charge(self) -> float:
        """Take what a call uses on average, and give that."""
        self._level -= self.mean
        return self.mean

    def correct(self, charged: float, used: int) -> None:
        """Put what a call used in the place of what it was charged; 0 for one that was not answered."""
        self._level += charged - used
        if used:
            self.mean += SMOOTH * (used - self.mean)
