"""Distribution-free inference on a quantile through order statistics; ties are allowed.

Reference: H. A. David and H. N. Nagaraja (2003), Order Statistics, 3rd ed., section 7.1.
"""

from collections.abc import Sequence
from math import ceil, floor

import numpy as np
from scipy.special import bdtr, bdtrc


def interval_ranks(n: int, quantile: float, alpha: float) -> tuple[int, int]:
    """Give the ranks (from 1) of the order statistics that bound the quantile, `alpha` on each side.

    Rank 0 stands for "unbounded below" and n + 1 for "unbounded above".
    """
    if n == 0:
        return 0, 1
    k = np.arange(n + 1)
    lower = int(np.sum(bdtr(k, n, quantile) <= alpha))
    tail = np.concatenate([[1.0], bdtrc(k[:-1], n, quantile)])  # P(Bin >= k) for k = 0..n
    upper = int(np.argmax(tail <= alpha)) if np.any(tail <= alpha) else n + 1
    return lower, upper


def sample_quantile(values: Sequence[float], quantile: float, *, upper: bool) -> float:
    """Give the quantile of a sample as an order statistic, so that its interval holds it.

    `upper` gives the largest m with P(X >= m) >= 1 - quantile, else the smallest with P(X <= m) >= quantile;
    for a median, the middle of the two.
    """
    ranked, place = sorted(values), len(values) * quantile
    low, high = ranked[max(0, ceil(place) - 1)], ranked[min(len(ranked) - 1, floor(place))]
    if quantile == 0.5 and low != high:
        return (low + high) / 2
    return high if upper else low


def order_interval(
    values: Sequence[float], quantile: float, alpha: float, *, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Give the interval of the quantile, `alpha` on each side, edges of the support where unbounded.

    `values` holds n numbers in any order; `bounds` the support, infinite where it has no edge.
    """
    ranked = [bounds[0], *sorted(values), bounds[1]]
    lower, upper = interval_ranks(len(values), quantile, alpha)
    return ranked[lower], ranked[upper]
