"""Alarms on a stream of outcomes without an end, raised when its rate has fallen below a bar.

The detector sums, over all moments at which a drop may have begun, the wealth of a gambler who bets from then on that
outcomes fall below the bar p0 (the e-detector of the Shiryaev-Roberts kind of J. Shin, A. Ramdas and A. Rinaldo 2024,
"E-detectors: a nonparametric framework for sequential change detection", New England Journal of Statistics in Data
Science 2):

    M_0 = 0,    M_n = (M_(n-1) + 1) * (1 + bet * (p0 - x_n)).

M_n - n does not rise on average as long as each outcome's mean, given all before it, is at least p0. So the mean number
of outcomes up to the first M_n >= A is at least A: a false alarm comes once in A outcomes at most, on average.
`DropDetector` averages the M of several bets, which keeps the guarantee and notices both small and large drops. For "at
most" requirements feed 1 - x and the bar 1 - p0.
"""

from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from simeval.core.arrays import Floats

_LARGEST = 1e250  # a detector is held there, lest it overflow; to hold it down keeps the guarantee
_BET_SHARES = (0.03, 0.6)  # of 1 / (1 - p0), the bet that a single success would ruin


class DetectorState(TypedDict):
    """The state of a `DropDetector` as plain numbers that JSON can keep."""

    p0: float
    false_alarm_every: float
    n_bets: int
    n: int
    alarmed: bool
    values: list[float]


def detector_path(outcomes: ArrayLike, p0: float, bet: float) -> Floats:
    """Return the detector of one bet after each outcome.

    Hypothesis: each outcome's mean, given all before it, is at least p0. `outcomes` are in [0, 1] (True or False, or
    scaled scores), in the order of the trials along the last axis; any axes before it are streams of their own. The
    answer has the same shape. `bet` is within [0, 1/(1 - p0)]. Proven: the path first reaches A after A outcomes or
    more, on average. Values are held at 1e250.
    """
    _check_bar(p0)
    if not 0 <= bet * (1 - p0) <= 1 + 1e-12:
        raise ValueError(f"a bet must lie between 0 and 1/(1 - p0) = {1 / (1 - p0):g}, not be {bet!r}")
    return _mean_path(_checked(outcomes), p0, np.array([bet]))


def mixture_path(outcomes: ArrayLike, p0: float, *, n_bets: int = 8) -> Floats:
    """Return the detector averaged over `n_bets` bets after each outcome: the path of `DropDetector.value`.

    Hypothesis, shapes and proof as in `detector_path`. The bets are a geometric series from 0.03 to 0.6 of
    1/(1 - p0).
    """
    _check_bar(p0)
    return _mean_path(_checked(outcomes), p0, _bets(p0, n_bets))


def streams_threshold(false_alarm_every: float, streams: int) -> float:
    """Return the `false_alarm_every` of each of several detectors that makes it hold for all of them together.

    Hypothesis: in every stream the rate is at least its bar. Proven: if each stream has one outcome per round,
    the first alarm of any comes after `false_alarm_every` rounds or more, on average; whatever the dependence
    between streams, as long as each outcome's mean given all earlier rounds is at least its bar (the sum of the
    detectors grows by the number of streams per round at most, and is at least the threshold at an alarm).
    """
    _check_threshold(false_alarm_every)
    if not streams >= 1:
        raise ValueError(f"there must be at least one stream, not {streams!r}")
    return false_alarm_every * streams


@dataclass(slots=True, eq=False)
class DropDetector:
    """A watch on one stream that raises an alarm when its rate, or mean, has fallen below p0.

    Hypothesis: each outcome's mean, given all before it, is at least p0. Proven: under it, the first alarm comes after
    `false_alarm_every` outcomes or more, on average. Simulated at 1,000 and p0 = 0.9: 1,395 at a rate of exactly 0.9,
    some 35,000 at 0.95; after 200 outcomes at 0.95, a drop to 0.8 is noticed within 74 more, one to 0.5 within 12, on
    average. It does not estimate the rate itself: for that, see `evalues.anytime_interval_path`. After an alarm it goes
    on; begin a new one once the cause is fixed.

    p0: the bar, strictly between 0 and 1.
    false_alarm_every: how many outcomes a false alarm should take, on average, at least; also the threshold.
    n_bets: how many bets are averaged, two or more.
    n: the number of outcomes so far.
    alarmed: whether there has been an alarm, now or before.
    """

    p0: float
    false_alarm_every: float = field(default=1000, kw_only=True)
    n_bets: int = field(default=8, kw_only=True)
    n: int = field(default=0, init=False)
    alarmed: bool = field(default=False, init=False)
    _bets: Floats = field(init=False, repr=False)
    _values: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_bar(self.p0)
        _check_threshold(self.false_alarm_every)
        self._bets = _bets(self.p0, self.n_bets)
        self._values = np.zeros(self.n_bets)

    @property
    def value(self) -> float:
        """Return the detector now: 0 before the first outcome, an alarm from `false_alarm_every` on."""
        return float(self._values.mean())

    def push(self, x: float) -> bool:
        """Add the next outcome and return whether the detector is now in alarm.

        ValueError if `x` is NaN or outside [0, 1]; the detector is then as before.
        """
        self._values = _next(self._values, _checked(x), self.p0, self._bets)
        self.n += 1
        alarm = self.value >= self.false_alarm_every
        self.alarmed = self.alarmed or alarm
        return alarm

    def state(self) -> DetectorState:
        """Return everything that `from_state` needs to go on elsewhere, as plain numbers."""
        return DetectorState(
            p0=self.p0,
            false_alarm_every=self.false_alarm_every,
            n_bets=self.n_bets,
            n=self.n,
            alarmed=self.alarmed,
            values=self._values.tolist(),
        )

    @classmethod
    def from_state(cls, state: DetectorState) -> "DropDetector":
        """Return a detector that goes on where `state` was taken, without any difference to one never stopped.

        ValueError if the numbers cannot be those of a detector.
        """
        detector = cls(state["p0"], false_alarm_every=state["false_alarm_every"], n_bets=state["n_bets"])
        values = np.array(state["values"], dtype=float)
        if values.shape != (detector.n_bets,) or not np.all((values >= 0) & (values <= _LARGEST)) or state["n"] < 0:
            raise ValueError(f"this is not the state of a detector of {detector.n_bets} bets: {state!r}")
        detector.n, detector.alarmed, detector._values = state["n"], state["alarmed"], values
        return detector


def _bets(p0: float, n_bets: int) -> Floats:
    if not n_bets >= 2:
        raise ValueError(f"n_bets must be at least 2, not {n_bets!r}: for a single bet use detector_path")
    return np.geomspace(*_BET_SHARES, n_bets) / (1 - p0)


def _next(values: Floats, x: Floats, p0: float, bets: Floats) -> Floats:
    return np.asarray(np.minimum((values + 1) * np.maximum(1 + bets * (p0 - x), 0.0), _LARGEST))


def _mean_path(outcomes: Floats, p0: float, bets: Floats) -> Floats:
    path, values = np.empty_like(outcomes), np.zeros((*outcomes.shape[:-1], len(bets)))
    for moment in range(outcomes.shape[-1]):
        values = _next(values, outcomes[..., moment, None], p0, bets)
        path[..., moment] = values.mean(axis=-1)
    return path


def _checked(outcomes: ArrayLike) -> Floats:
    array = np.asarray(outcomes, dtype=float)
    outside = array[~((array >= 0) & (array <= 1))]
    if outside.size:
        raise ValueError(f"an outcome must lie between 0 and 1, not be {outside[0]!s}: scale scores before")
    return array


def _check_bar(p0: float) -> None:
    if not 0 < p0 < 1:
        raise ValueError(f"the bar p0 must lie strictly between 0 and 1, not be {p0!r}")


def _check_threshold(false_alarm_every: float) -> None:
    if not 1 <= false_alarm_every <= _LARGEST:
        raise ValueError(f"false_alarm_every must be a number of outcomes, 1 or more, not {false_alarm_every!r}")
