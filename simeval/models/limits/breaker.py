"""A circuit breaker: a model that fails every call is left alone for a while; pure state, with the time as argument.

closed ──every call fails──► open ──a call succeeds──► closed
                             a probe after 0.1, 0.2, 0.4 ... 30 seconds
"""

from dataclasses import dataclass, field
from math import inf

from simeval.errors import ModelErrorKind

FAILURES = 4  # since the last answer, at the least, of two different requests: one alone may fail by itself
TOLD_SECONDS = 2.0  # without an answer: from then on an outage is announced
TOLD_REFUSED_SECONDS = 5.0  # the same, where every call is refused
REFUSED_SECONDS = 30.0  # at most, without an answer where calls are refused: that is the pace's business first
FIRST_PROBE_SECONDS, LONGEST_PROBE_SECONDS = 0.1, 30.0
OUTAGE_KINDS: frozenset[ModelErrorKind] = frozenset({"connection", "timeout", "server", "rate_limit"})


@dataclass(slots=True)
class Breaker:
    """Opens when a model that has answered before fails every call, and lets single calls probe it from then on.

    It records failures only once the model has answered; failures of other kinds than OUTAGE_KINDS are answers. If
    calls are refused it opens after `refused_seconds` without an answer.
    """

    refused_seconds: float = REFUSED_SECONDS
    _last_answer: float = field(default=-inf, init=False)
    _failures: int = field(default=0, init=False)
    _refusals: int = field(default=0, init=False)
    _requests: set[int] = field(default_factory=set, init=False)
    _opened: float | None = field(default=None, init=False)
    _told: bool = field(default=False, init=False)
    _delay: float = field(default=FIRST_PROBE_SECONDS, init=False)
    _next_probe: float = field(default=inf, init=False)

    @property
    def is_open(self) -> bool:
        """Whether only probes may be made."""
        return self._opened is not None

    def seconds(self, now: float) -> float:
        """Return how long no call has been answered."""
        return now - self._last_answer

    def outage(self, now: float) -> float:
        """Return how long it has been open."""
        return now - self._opened if self._opened is not None else 0.0

    def patience(self, now: float) -> float:
        """Return the seconds until it opens because every call is refused; inf if they are not."""
        if self._refusals < FAILURES:
            return inf
        return max(0.0, self.refused_seconds - self.seconds(now))

    def open(self, now: float) -> None:
        """Leave the model alone from now on, but for probes."""
        self._opened, self._delay = now, FIRST_PROBE_SECONDS
        self._next_probe = now + self._delay

    def wait(self, now: float) -> float:
        """Return the seconds until a call may start: 0 for now, inf for not before the probe has ended."""
        return max(0.0, self._next_probe - now) if self.is_open else 0.0

    def probe(self) -> None:
        """Note that a probe starts."""
        self._next_probe = inf

    def answered(self, now: float) -> bool:
        """Record an answer to any call; return whether it ends an outage that was announced."""
        ends = self._told
        self._last_answer = now
        self.reset()
        return ends

    def failed(self, kind: ModelErrorKind, now: float, request: int) -> None:
        """Record a failure that is no probe's, with the identity of its request; open if it is one too many."""
        if kind == "rate_limit":
            self._refusals += 1
        else:
            self._failures += 1
            self._requests.add(request)
        if self.is_open:
            return
        if not self.patience(now) or (self._failures >= FAILURES and len(self._requests) > 1):
            self.open(now)

    def probed(self, now: float, *, failed: bool) -> None:
        """Note the end of a probe that was not answered: it failed, or was abandoned."""
        if failed:
            self._delay = min(LONGEST_PROBE_SECONDS, 2 * self._delay)
        self._next_probe = now + self._delay

    def is_to_tell(self, now: float) -> bool:
        """Return whether to announce an outage now: once, when it has lasted."""
        is_refusing = self._refusals >= FAILURES and self.seconds(now) >= TOLD_REFUSED_SECONDS
        if self._told or not (is_refusing or (self.is_open and self.seconds(now) >= TOLD_SECONDS)):
            return False
        self._told = True
        return True

    def reset(self) -> None:
        """Begin again, after an answer or for a caller that tries again after giving up."""
        self._opened, self._told = None, False
        self._failures = self._refusals = 0
        self._requests.clear()
