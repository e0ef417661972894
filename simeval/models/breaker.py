"""A circuit breaker: a model that fails every call for a while is left alone; pure state, told the time.

closed ──every call fails for a while──► open ──a call succeeds──► closed
                                         a probe after 1, 2, 4 ... 30 seconds
"""

from dataclasses import dataclass, field
from math import inf

from simeval.errors import ModelErrorKind

FAILURES = 4  # since the last answer, at the least
SECONDS = 2.0  # since the last answer
REFUSED_SECONDS = 30.0  # the same where calls are refused: that is the pace's business first
FIRST_PROBE_SECONDS, LONGEST_PROBE_SECONDS = 1.0, 30.0
OUTAGE_KINDS: frozenset[ModelErrorKind] = frozenset({"connection", "timeout", "server", "rate_limit"})


@dataclass(slots=True)
class Breaker:
    """Opens when a model that has answered before fails every call, and lets single calls probe it from then on.

    Only the kinds of failure in OUTAGE_KINDS are to be counted as such; any other is an answer.
    """

    _answered: float | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _opened: float | None = field(default=None, init=False)
    _delay: float = field(default=FIRST_PROBE_SECONDS, init=False)
    _next_probe: float = field(default=inf, init=False)

    @property
    def is_open(self) -> bool:
        """Whether only probes may be made."""
        return self._opened is not None

    def seconds(self, now: float) -> float:
        """Give how long no call has been answered."""
        return now - self._answered if self._answered is not None else 0.0

    def outage(self, now: float) -> float:
        """Give how long it has been open."""
        return now - self._opened if self._opened is not None else 0.0

    def wait(self, now: float) -> float:
        """Give the seconds until a call may start: 0 for now, inf for not before the probe has ended."""
        return max(0.0, self._next_probe - now) if self.is_open else 0.0

    def probe(self) -> None:
        """Note that a probe starts."""
        self._next_probe = inf

    def answered(self, now: float) -> bool:
        """Note an answer, whoever's; give whether it closes the breaker."""
        closes, self._opened = self.is_open, None
        self._answered, self._failures = now, 0
        return closes

    def failed(self, kind: ModelErrorKind, now: float) -> bool:
        """Note a failure that is no probe's; give whether it opens the breaker."""
        self._failures += 1
        long = self.seconds(now) >= (REFUSED_SECONDS if kind == "rate_limit" else SECONDS)
        if self.is_open or self._failures < FAILURES or not long:
            return False
        self._opened, self._delay = now, FIRST_PROBE_SECONDS
        self._next_probe = now + self._delay
        return True

    def probed(self, now: float, *, failed: bool) -> None:
        """Note the end of a probe that was not answered: it failed, or was abandoned."""
        if failed:
            self._delay = min(LONGEST_PROBE_SECONDS, 2 * self._delay)
        self._next_probe = now + self._delay

    def reset(self) -> None:
        """Begin anew, for who tries again after giving up."""
        self._opened, self._failures = None, 0
