"""Distribution-free inference on a quantile through order statistics; ties are allowed.

Reference: H. A. David and H. N. Nagaraja (2003), Order Statistics, 3rd ed., section 7.1.
"""

from bisect import insort
from functools import lru_cache
from math import ceil, floor

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from simeval.stats.optimal import OptimalDesign
from simeval.stats.sequential import Design


@lru_cache(maxsize=1024)
def interval_ranks(n: int, quantile: float, alpha: float) -> tuple[int, int]:
    """Return the ranks (from 1) of the order statistics that bound the quantile, `alpha` on each side.

    Rank 0 means "unbounded below" and n + 1 "unbounded above".
    """
    if n == 0:
        return 0, 1
    k = np.arange(n + 1)
    lower = int(np.sum(scipy.special.bdtr(k, n, quantile) <= alpha))
    tail = np.concatenate([[1.0], scipy.special.bdtrc(k[:-1], n, quantile)])  # P(Bin >= k) for k = 0..n
    upper = int(np.argmax(tail <= alpha)) if np.any(tail <= alpha) else n + 1
    return lower, upper


def sample_quantile(values: ArrayLike, quantile: float, *, upper: bool, ranked: bool = False) -> float:
    """Return the quantile of a sample as an order statistic, so that its interval holds it.

    `upper` gives the largest m with P(X >= m) >= 1 - quantile, else the smallest with P(X <= m) >= quantile; for a
    median, the middle of the two. With `ranked` the values must be in ascending order already.
    """
    found = _ranked(values, ranked)
    place = len(found) * quantile
    low, high = float(found[max(0, ceil(place) - 1)]), float(found[min(len(found) - 1, floor(place))])
    if quantile == 0.5 and low != high:
        return (low + high) / 2
    return high if upper else low


def order_interval(
    values: ArrayLike, quantile: float, alpha: float, *, bounds: tuple[float, float], ranked: bool = False
) -> tuple[float, float]:
    """Return the interval of the quantile, `alpha` on each side, edges of the support where unbounded.

    `values` holds n numbers, in ascending order if `ranked`; `bounds` is the support, infinite if it has no edge.
    """
    found = _ranked(values, ranked)
    lower, upper = interval_ranks(len(found), quantile, alpha)
    return (
        bounds[0] if lower == 0 else float(found[lower - 1]),
        bounds[1] if upper > len(found) else float(found[upper - 1]),
    )


def _ranked(values: ArrayLike, ranked: bool) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=float)
    return found if ranked else np.sort(found)


def repeated_interval(
    values: ArrayLike,
    plan: Design,
    *,
    bounds: tuple[float, float],
    from_above: bool = False,
) -> tuple[float, float]:
    """Return an interval of the quantile that holds however a sequential run was stopped, `alpha` on each side.

    `values` are n <= plan.n_max numbers in the order of the trials; `plan` tests "P(X >= m) is above plan.p0",
    and the quantile is the (1 - p0)-quantile. The lower bound is the largest m whose own count of X < m has
    crossed the pass boundary so far, the upper bound the smallest whose count has crossed the fail boundary: the
    boundaries hold at every n, so the chance that a bound is on the wrong side is at most alpha (repeated
    confidence intervals, C. Jennison and B. W. Turnbull 1989, J. R. Statist. Soc. B 51). Where a design's stops bind,
    the count of a lower bound must not have come to an end without a pass before. `from_above` tests
    "P(X <= m) is above plan.p0" instead, of the p0-quantile.
    """
    if from_above:
        low, high = repeated_interval(-np.asarray(values, dtype=float), plan, bounds=(-bounds[1], -bounds[0]))
        return -high, -low
    low, high = bounds
    ends = plan.end_at if isinstance(plan, OptimalDesign) else np.full(plan.n_max + 1, plan.n_max + 1)
    highest = high  # of the m whose count has come to no end so far
    ranked: list[float] = []
    for n, value in enumerate(np.asarray(values, dtype=float).tolist(), start=1):
        insort(ranked, value)
        if 0 <= plan.pass_at[n] < n:
            low = max(low, min(highest, ranked[plan.pass_at[n]]))
        if 1 <= ends[n] <= n:
            highest = min(highest, ranked[ends[n] - 1])
        if 1 <= plan.fail_at[n] <= n:
            high = min(high, ranked[plan.fail_at[n] - 1])
    return low, high
