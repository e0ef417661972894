"""Inference on the mean of a bounded score that holds at every moment, by betting against a mean.

A gambler starts with 1 and, before each value, bets a part of the wealth that it exceeds the mean m. With values and
means scaled to [0, 1] the wealth is K(m) = product of (1 + bet * (value - m)). If the mean is at most m, it ever
reaches 1/alpha with probability alpha at most (J. Ville 1939); the values need not be independent, only each one's mean
given all before it must be at most m. The bets follow the predictable plug-in of I. Waudby-Smith and A. Ramdas (2024),
"Estimating means of bounded random variables by betting", Journal of the Royal Statistical Society B 86, tuned to a
number of values `n_max`:

    bet = min(sqrt(2 log(1/alpha) / (variance so far * n_max)), truncation / m).

Before its truncation a bet does not depend on m, so each factor, and with it K(m), falls as m rises: the means that are
not rejected are an interval, whose ends are found by bisection. Everything here holds whatever `n_max`, `alpha` and
`truncation` the bets are tuned to; these decide the power alone.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simeval.core.arrays import Floats
from simeval.stats.evalues import running_p_values

TRUNCATION = 0.75  # of the wealth: the most that one value can lose

_HALVINGS = 50  # of the range searched for a bound
_LARGEST_LOG = 700.0  # larger e-values are given as exp(700), about 1e304


def bounded_mean_evalue(values: ArrayLike, mean: float, bet: float, *, bounds: tuple[float, float]) -> float:
    """Return the e-value of one bet held fixed: the product of 1 + bet * (value - mean), scaled to [0, 1].

    Hypothesis: the mean is at most `mean` for a positive bet, at least `mean` for a negative one. `values` and `mean`
    are in the units of `bounds`, the ends of the scale; `bet` applies to the scaled ones and must be within [-1/(1 -
    m), 1/m] for the scaled mean m, so that no value can lose more than everything. Proven, at every moment. 1 without
    values; at most 1e304.
    """
    scale = _Scale(*bounds)
    scaled_mean = scale.mean(mean)
    if not (bet * scaled_mean <= 1 + 1e-12 and bet * (scaled_mean - 1) <= 1 + 1e-12):
        raise ValueError(f"a bet of {bet!r} on a scaled mean of {scaled_mean!r} can lose more than everything")
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(1 + bet * (scale.values(values) - scaled_mean), 0.0))
    return float(np.exp(min(float(np.sum(logs)), _LARGEST_LOG)))


def betting_path(
    values: ArrayLike,
    mean: float,
    *,
    bounds: tuple[float, float],
    alpha: float,
    n_max: int,
    truncation: float = TRUNCATION,
) -> Floats:
    """Return the e-values of "the mean is above `mean`" after each value.

    Hypothesis: the mean is at most `mean`. `values` come in the order of the trials and, like `mean`, in the
    units of `bounds`, the ends of the scale; the answer has their length. Proven at every stopping time, also
    beyond `n_max`. E-values are at most 1e304.
    """
    plan = _Plan(_Scale(*bounds), alpha, n_max, truncation)
    return np.exp(np.minimum(plan.log_path(plan.scale.values(values), mean), _LARGEST_LOG))


def p_values(
    values: ArrayLike,
    mean: float,
    *,
    bounds: tuple[float, float],
    alpha: float,
    n_max: int,
    truncation: float = TRUNCATION,
) -> tuple[Floats, Floats]:
    """Return the anytime p-values, after each value, of "the mean is above" and of "the mean is below" `mean`.

    Hypotheses: the mean is at most `mean`; the mean is at least `mean`. Both answers have the length of
    `values` and never rise. Proven at every stopping time. The second bets on the mirrored scale.
    """
    plan = _Plan(_Scale(*bounds), alpha, n_max, truncation)
    mirrored = _Plan(plan.scale.mirrored(), alpha, n_max, truncation)
    above = plan.log_path(plan.scale.values(values), mean)
    below = mirrored.log_path(plan.scale.mirrored_values(values), -mean)
    return running_p_values(above), running_p_values(below)


def lower_bound(
    values: ArrayLike,
    alpha: float,
    *,
    bounds: tuple[float, float],
    n_max: int,
    truncation: float = TRUNCATION,
) -> float:
    """Return the largest m such that "the mean is above m" was proven at `alpha`, now or at any time before.

    The hypothesis for each m: the mean is at most m. In the units of `bounds`; the lower end of the scale if nothing is
    proven or there are no values. Proven: with probability at least 1 - alpha, no bound at any moment exceeds the mean.
    It has reached a bar inside the scale exactly when `p_values` with the same settings has fallen to alpha. It may
    exceed the mean of the values if they fell late.
    """
    plan = _Plan(_Scale(*bounds), alpha, n_max, truncation)
    return plan.lower_bound(plan.scale.values(values))


def upper_bound(
    values: ArrayLike,
    alpha: float,
    *,
    bounds: tuple[float, float],
    n_max: int,
    truncation: float = TRUNCATION,
) -> float:
    """Return the smallest m such that "the mean is below m" was proven at `alpha`: `lower_bound` mirrored."""
    scale = _Scale(*bounds)
    return -_Plan(scale.mirrored(), alpha, n_max, truncation).lower_bound(scale.mirrored_values(values))


@dataclass(slots=True, eq=False)
class Betting:
    """The bet on "the mean is above `mean`", fed one value at a time.

    Hypothesis: the mean is at most `mean`. After each `push` everything equals the last of `betting_path` and
    `p_values`, so a run may stop as soon as `p_value` has fallen to alpha. For "the mean is below" negate
    values, mean and bounds.

    mean, bounds, alpha, n_max, truncation: as in `betting_path`, not to be changed afterwards.
    n: the number of values so far.
    """

    mean: float
    bounds: tuple[float, float] = field(kw_only=True)
    alpha: float = field(kw_only=True)
    n_max: int = field(kw_only=True)
    truncation: float = field(default=TRUNCATION, kw_only=True)
    n: int = field(default=0, init=False)
    _plan: "_Plan" = field(init=False, repr=False)
    _sum: float = field(default=0.0, init=False, repr=False)
    _squares: float = field(default=0.0, init=False, repr=False)
    _log_e: float = field(default=0.0, init=False, repr=False)
    _largest_log_e: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._plan = _Plan(_Scale(*self.bounds), self.alpha, self.n_max, self.truncation)
        self._plan.scale.mean(self.mean)

    @property
    def e_value(self) -> float:
        """Return the e-value now, at most 1e304; 1 before the first value."""
        return float(np.exp(min(self._log_e, _LARGEST_LOG)))

    @property
    def p_value(self) -> float:
        """Return the anytime p-value: 1 / (the largest e-value so far), at most 1."""
        return float(np.exp(-self._largest_log_e))

    def push(self, value: float) -> float:
        """Add the next value and return the e-value; ValueError if it is outside the scale."""
        scaled = self._plan.scale.values([value])
        bets = self._plan.bets(np.array([self._squares]), np.array([self.n + 1]))
        self._log_e += float(self._plan.log_factors(scaled, bets, self.mean)[0])
        self._largest_log_e = max(self._largest_log_e, self._log_e)
        self.n += 1
        self._sum += float(scaled[0])
        self._squares += (float(scaled[0]) - (0.5 + self._sum) / (self.n + 1)) ** 2
        return self.e_value


@dataclass(frozen=True, slots=True)
class _Scale:
    """The ends of a scale, and values scaled to [0, 1]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"bounds must be two finite numbers, the lower first, not {(self.low, self.high)!r}")

    def mirrored(self) -> "_Scale":
        return _Scale(-self.high, -self.low)

    def mean(self, mean: float) -> float:
        if not self.low <= mean <= self.high:
            raise ValueError(f"a mean of {mean!r} is outside the scale from {self.low!r} to {self.high!r}")
        return (mean - self.low) / (self.high - self.low)

    def values(self, values: ArrayLike) -> Floats:
        return (self._checked(values) - self.low) / (self.high - self.low)

    def mirrored_values(self, values: ArrayLike) -> Floats:
        return (self.high - self._checked(values)) / (self.high - self.low)

    def _checked(self, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=float)
        if array.ndim != 1:
            raise ValueError(f"values must be one list of numbers, not an array of {array.ndim} dimensions")
        outside = array[~((array >= self.low) & (array <= self.high))]
        if outside.size:
            raise ValueError(f"a value of {outside[0]!s} is outside the scale from {self.low!r} to {self.high!r}")
        return array


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to bet on a scale: the settings of the predictable plug-in."""

    scale: _Scale
    alpha: float
    n_max: int
    truncation: float

    def __post_init__(self) -> None:
        if not (0 < self.alpha < 1 and 0 < self.truncation < 1):
            raise ValueError(
                f"alpha and truncation must lie strictly between 0 and 1, not be {self.alpha!r} and {self.truncation!r}"
            )
        if not self.n_max >= 1:
            raise ValueError(f"n_max must be at least 1, not {self.n_max!r}: the number of values to tune the bets to")

    def bets(self, squares: Floats, ranks: NDArray[np.int64]) -> Floats:
        """Return the bets on the values of these ranks (from 1); `squares` holds only those before."""
        variances = (0.25 + squares) / ranks
        return np.asarray(np.sqrt(-2 * np.log(self.alpha) / (variances * self.n_max)))

    def log_factors(self, scaled: Floats, bets: Floats, mean: float) -> Floats:
        scaled_mean = self.scale.mean(mean)
        most = self.truncation / scaled_mean if scaled_mean > 0 else np.inf
        return np.asarray(np.log1p(np.minimum(bets, most) * (scaled - scaled_mean)))

    def log_path(self, scaled: Floats, mean: float) -> Floats:
        return np.cumsum(self.log_factors(scaled, self._all_bets(scaled), mean))

    def lower_bound(self, scaled: Floats) -> float:
        if not scaled.size:
            return self.scale.low
        bets, wanted = self._all_bets(scaled), -np.log(self.alpha)
        inside, outside = self.scale.low, self.scale.high
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            proven = np.cumsum(self.log_factors(scaled, bets, middle)).max() >= wanted
            inside, outside = (middle, outside) if proven else (inside, middle)
        return inside

    def _all_bets(self, scaled: Floats) -> Floats:
        ranks = np.arange(1, len(scaled) + 1)
        centres = (0.5 + np.cumsum(scaled)) / (ranks + 1)
        squares = np.cumsum((scaled - centres) ** 2)
        return self.bets(np.concatenate([[0.0], squares])[:-1], ranks)
