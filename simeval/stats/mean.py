"""Inference on the mean of a bounded score by Gaffke's bound.

With D uniform on the simplex, the p-value of "the mean is above m" is P(D0 lo + sum Di xi <= m). On 0/1
data it is the exact binomial test. It is not proven in general; no counterexample is known (N. Gaffke
2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable"; E. Learned-Miller and P. Thomas 2020, "A new confidence interval for the mean of a bounded
random variable").
"""

from collections.abc import Sequence

import numpy as np

_LOG_STEP = 0.04
_LOG_TIMES = np.arange(-40.0, 30.0, _LOG_STEP)
_HALVINGS = 40  # of the range in which a bound is sought


def p_above(values: Sequence[float], mean: float, *, low: float) -> float:
    """Return the p-value of "the mean is above `mean`" for values that are at least `low`.

    Hypothesis: the mean is at most `mean`. 1 where there are no values. The probability is computed by
    inverting the characteristic function of a sum of exponentials (J. P. Imhof 1961, Biometrika 48).
    """
    points, counts = np.unique(np.array([low, *values], dtype=float), return_counts=True)
    gaps = points - mean
    if gaps.max() <= 0:
        return 1.0
    if gaps.min() >= 0:
        return 0.0
    scaled = gaps / np.abs(gaps).max()
    times = np.exp(_LOG_TIMES)[:, None] * scaled
    angle = np.arctan(times) @ counts
    log_size = 0.5 * np.log1p(times**2) @ counts
    integral = np.sum(np.sin(angle) * np.exp(-log_size)) * _LOG_STEP
    return float(np.clip(0.5 - integral / np.pi, 0.0, 1.0))


def p_below(values: Sequence[float], mean: float, *, high: float) -> float:
    """Return the p-value of "the mean is below `mean`" for values that are at most `high`."""
    return p_above([-value for value in values], -mean, low=-high)


def lower_bound(values: Sequence[float], alpha: float, *, low: float) -> float:
    """Return the largest m for which "the mean is above m" is proven at `alpha`; `low` without values."""
    if not values:
        return low
    inside, outside = low, max(values)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p_above(values, middle, low=low) <= alpha else (inside, middle)
    return inside


def upper_bound(values: Sequence[float], alpha: float, *, high: float) -> float:
    """Return the smallest m for which "the mean is below m" is proven at `alpha`; `high` without values."""
    return -lower_bound([-value for value in values], alpha, low=-high)
