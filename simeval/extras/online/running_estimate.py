"""Estimates that are kept up as scores come in, without keeping the scores."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log

from simeval.engine.flow import InOrder
from simeval.stats.evalues import mixture
from simeval.stats.monitor import DropDetector

Bounds = tuple[float, float]
UNIT: Bounds = (0.0, 1.0)
Numbers = Mapping[str, float | bool]  # by the path of each in a scorer's result
NO_NUMBERS: Numbers = {}
MOST_METRICS = 200  # of one scorer: names made from people's texts would have no end

_HALVINGS = 40  # of the range searched for a bound


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningEstimate:
    """The present estimate of one metric.

    `mean` (of booleans, the share that are true) is over `n` values; `missing` more have none, because the scorer
    failed, or gave no usable number there. `interval` is valid at every moment: for a mean that does not change, all
    intervals of one metric together contain it with probability at least 1 - 2 * significance level, whatever the
    missing values would have been. None if the values have no known bounds. `recent` is the mean of the last values
    alone; `alarmed` whether the metric is watched and has been proven to have dropped.
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

    `bounds` are those of the values, if known; booleans need none. A value that is NaN or outside its bounds is
    missing. A `detector` of values scaled to [0, 1] counts a missing one as 1: it proves a drop of the present ones.
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
        """Add the next value, None if it is missing; return whether this raised the detector's first alarm."""
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
        """Return the present estimate; the interval has the level on each side."""
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


@dataclass(slots=True, kw_only=True)
class ScorerMetrics:
    """The metrics of one scorer. Conversations count in the order of submission, whatever order their scores come in.

    `new_tally` gives the name of the metric at a path, and its tally; `level` is that of estimates.
    """

    new_tally: Callable[[str], tuple[str, MetricTally]]
    warn: Callable[[str, str], None]
    level: float
    tallies: dict[str, MetricTally] = field(default_factory=dict)  # by the metric's name
    _names: dict[str, str] = field(default_factory=dict, init=False)  # of metrics, by their path
    _order: InOrder[Numbers] = field(default_factory=InOrder, init=False)
    _counted: int = field(default=0, init=False)

    def __contains__(self, path: str) -> bool:
        return path in self._names

    def push(self, number: int, numbers: Numbers) -> tuple[int, list[str]]:
        """Take the conversation with this number; give how many could be counted, and the metrics that have dropped."""
        released = self._order.push(number, numbers)
        return len(released), [metric for each in released for metric in self._count(each)]

    def settle(self) -> None:
        """Count the scores that still wait for earlier ones, which will not come."""
        waiting = self._order.waiting
        for number in sorted(waiting):
            self._count(waiting[number])
        self._order = InOrder()

    def estimate(self, metric: str) -> RunningEstimate:
        """Return the present estimate of a metric."""
        return self.tallies[metric].estimate(self.level)

    def estimates(self) -> Mapping[str, RunningEstimate]:
        """Return the present estimate of each metric, by its name."""
        return {metric: self.estimate(metric) for metric in sorted(self.tallies)}

    def add(self, path: str) -> None:
        """Begin to sum up the metric at a path, which all conversations that were counted have not."""
        if len(self._names) >= MOST_METRICS:
            self.warn("metrics", f"it gave more than {MOST_METRICS} metrics; further ones are left out")
            return
        name, tally = self.new_tally(path)
        tally.missing = self._counted
        self._names[path], self.tallies[name] = name, tally

    def _count(self, numbers: Numbers) -> list[str]:
        for path in numbers:
            if path not in self._names:
                self.add(path)
        self._counted += 1
        return [name for path, name in self._names.items() if self.tallies[name].add(numbers.get(path))]


def _proven_above(total: float, n: int, alpha: float) -> float:
    """Return the largest p0 with an e-value of "the mean is above p0" of 1/alpha or more; 0 if there is none.

    `total` is the sum of n values in [0, 1]. For booleans this is the lower end of `evalues.anytime_interval`. For
    values between, each factor (q/p0)^x ((1-q)/(1-p0))^(1-x) of the mixture is at most its linear interpolation between
    x = 0 and x = 1, which does not rise on average if the mean is at most p0; so the bound is valid for them too.
    """
    inside, outside = 0.0, total / n if n else 0.0
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if not 0 < middle < 1:
            break
        proven = float(mixture(total, n - total, middle)) >= -log(alpha)
        inside, outside = (middle, outside) if proven else (inside, middle)
    return inside
