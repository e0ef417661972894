"""Estimates that are kept up as scores come in, without keeping the scores."""

from collections import deque
from dataclasses import dataclass, field
from math import log

from simeval.stats.evalues import mixture
from simeval.stats.monitor import DropDetector

Bounds = tuple[float, float]
UNIT: Bounds = (0.0, 1.0)

_HALVINGS = 40  # of the range in which a bound is sought


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEstimate:
    """What is known of one metric by now.

    `mean` (of booleans, the share that are true) is over `n` values; `missing` more have none, because the scorer
    failed, or gave no usable number there. `interval` holds at every moment it is looked at: of a mean that does not
    change, all intervals of one metric together hold it with probability at least 1 - 2 * significance level, with
    whatever the missing values would have been. None where the values have no known bounds. `recent` is the mean of
    the last values alone; `alarmed` whether the metric is watched and has been proven to have dropped.
    """

    n: int
    missing: int
    mean: float | None
    interval: Bounds | None
    recent: float | None
    alarmed: bool = False


@dataclass(slots=True, eq=False)
class MetricTally:
    """Sums up one metric: how many values, their sum, the last few, and how many are missing.

    `bounds` are those of the values, where they are known; booleans need none. A value that is NaN or outside its
    bounds is missing. A `detector`, which is fed values scaled to [0, 1], takes a missing one for a 1: it proves a
    drop of those that are there.
    """

    window: int
    bounds: Bounds | None = None
    detector: DropDetector | None = None
    n: int = 0
    missing: int = 0
    _total: float = 0.0
    _only_flags: bool = True
    _last: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._last = deque(maxlen=self.window)

    def add(self, value: float | bool | None) -> bool:
        """Take the next value, None where it is missing; tell whether this raised the detector's first alarm."""
        if value is None or not self._is_usable(value):
            self.missing += 1
            scaled = 1.0
        else:
            self.n += 1
            self._total += value
            self._last.append(value)
            self._only_flags = self._only_flags and isinstance(value, bool)
            scaled = self._scaled(value)
        if self.detector is None or self.detector.alarmed:
            return False
        return self.detector.push(scaled)

    def estimate(self, significance_level: float) -> RunningEstimate:
        """Return what is known by now; the interval has the level on each side."""
        return RunningEstimate(
            n=self.n,
            missing=self.missing,
            mean=self._total / self.n if self.n else None,
            interval=self._interval(significance_level),
            recent=sum(self._last) / len(self._last) if self._last else None,
            alarmed=self.detector is not None and self.detector.alarmed,
        )

    def _is_usable(self, value: float) -> bool:
        low, high = self.bounds or (-float("inf"), float("inf"))
        return low <= value <= high and abs(value) != float("inf")

    def _scaled(self, value: float) -> float:
        low, high = self.bounds or UNIT
        return (value - low) / (high - low)

    def _interval(self, alpha: float) -> Bounds | None:
        if self.bounds is None and not (self.n and self._only_flags):
            return None
        low, high = self.bounds or UNIT
        most = self.n + self.missing
        total = min(max((self._total - self.n * low) / (high - low), 0.0), float(self.n))
        bottom, top = _proven_above(total, most, alpha), 1 - _proven_above(self.n - total, most, alpha)
        return low + bottom * (high - low), low + top * (high - low)


def _proven_above(total: float, n: int, alpha: float) -> float:
    """Return the largest p0 at which the e-value of "the mean is above p0" reaches 1/alpha; 0 where there is none.

    `total` is the sum of n values in [0, 1]. For booleans this is the lower end of `evalues.anytime_interval`. For
    values between, each factor (q/p0)^x ((1-q)/(1-p0))^(1-x) of the mixture is at most its linear interpolation
    between x = 0 and x = 1, which does not rise on average where the mean is at most p0; so it holds for them too.
    """
    inside, outside = 0.0, total / n if n else 0.0
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if not 0 < middle < 1:
            break
        proven = float(mixture(total, n - total, middle)) >= -log(alpha)
        inside, outside = (middle, outside) if proven else (inside, middle)
    return inside
