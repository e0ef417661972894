"""Inference on the mean of a bounded score by Gaffke's bound.

With D uniform on the simplex, the p-value of "the mean is above m" is P(D0 lo + sum Di xi <= m). On 0/1
data it is the exact binomial test. It is not proven in general; no counterexample is known (N. Gaffke
2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable"; E. Learned-Miller and P. Thomas 2020, "A new confidence interval for the mean of a bounded
random variable").
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats

_LOG_STEP = 0.04
_LOG_TIMES = np.arange(-40.0, 30.0, _LOG_STEP)
_CLOSE = 1e-10  # of the range searched for a bound; results nearer than this are equal
_MOST_STEPS = 60
_MOST_POINTS = 200  # different values; of more, each is taken for the next lower point of a grid of so many


def p_above(values: Sequence[float], mean: float, *, low: float) -> float:
    """Return the p-value of "the mean is above `mean`" for values that are at least `low`.

    Hypothesis: the mean is at most `mean`. 1 without values. The probability is computed by inverting the
    characteristic function of a sum of exponentials (J. P. Imhof 1961, Biometrika 48).
    """
    points, counts = _points(values, low)
    return _p_above(points, counts, mean)


def _points(values: Sequence[float], low: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return the different values with `low`, and how often each is there.

    Many are put on a grid. Rounded down, they prove no more than they do, and a two-hundredth of their range less at
    most; the time it takes grows with the number of points.
    """
    found = np.array([low, *values], dtype=float)
    points, counts = np.unique(found, return_counts=True)
    if len(points) > _MOST_POINTS:
        step = (points[-1] - points[0]) / _MOST_POINTS
        found = points[0] + np.floor((found - points[0]) / step * (1 + 1e-12)) * step
        points, counts = np.unique(found, return_counts=True)
    return points, counts


def _p_above(points: Floats, counts: NDArray[np.int64], mean: float) -> float:
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
    """Return the largest m such that "the mean is above m" is proven at `alpha`; `low` without values."""
    if not values:
        return low
    points, counts = _points(values, low)
    inside, outside = low, max(values)
    below, above = -alpha, 1 - alpha  # by how much the p-value is over the level there
    close, last = _CLOSE * (outside - inside), 0
    for step in range(_MOST_STEPS):
        if outside - inside <= close:
            break
        share = 0.5 if step % 3 == 2 else below / (below - above)  # regula falsi (Illinois), halved now and then
        middle = inside + min(max(share, 1e-3), 1 - 1e-3) * (outside - inside)
        found = _p_above(points, counts, middle) - alpha
        if found <= 0:
            inside, below, above = middle, found, above / 2 if last < 0 else above
            last = -1
        else:
            outside, above, below = middle, found, below / 2 if last > 0 else below
            last = 1
    return inside


def upper_bound(values: Sequence[float], alpha: float, *, high: float) -> float:
    """Return the smallest m such that "the mean is below m" is proven at `alpha`; `high` without values."""
    return -lower_bound([-value for value in values], alpha, low=-high)
