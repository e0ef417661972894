"""Exact inference on a proportion from independent yes-or-no trials.

Reference: C. J. Clopper and E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated
in the case of the binomial", Biometrika 26.
"""

from itertools import pairwise
from math import ceil, isclose, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, betaincinv

_SEARCHED = (300, 3_000)  # sample sizes looked through one block after another, because most answers are small


def p_at_least(successes: int, n: int, p0: float) -> float:
    """Give P(Bin(n, p0) >= successes): the p-value of "the rate is above p0".

    Hypothesis: the rate is at most p0. With n = 0 the p-value is 1.
    """
    return 1.0 if successes <= 0 else float(bdtrc(successes - 1, n, p0))


def p_at_most(successes: int, n: int, p0: float) -> float:
    """Give P(Bin(n, p0) <= successes): the p-value of "the rate is below p0".

    Hypothesis: the rate is at least p0. With n = 0 the p-value is 1.
    """
    return 1.0 if successes >= n else float(bdtr(successes, n, p0))


def clopper_pearson(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Give the exact interval of the rate with `alpha` on each side; [0, 1] where n = 0.

    The lower bound is above p0 exactly when `p_at_least(successes, n, p0)` is below alpha, and so on the
    other side: interval and tests never disagree.
    """
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, alpha))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - alpha))
    return low, high


def minimum_n(p0: float, alpha: float) -> int:
    """Give the smallest n at which n successes of n prove a rate above p0: p0**n <= alpha.

    `p0` lies strictly between 0 and 1.
    """
    exact = log(alpha) / log(p0)
    nearest = round(exact)
    return max(1, nearest if isclose(exact, nearest, rel_tol=1e-12) else ceil(exact))


def n_for_power(p0: float, p1: float, *, alpha: float, power: float, n_limit: int = 20_000) -> int | None:
    """Give the first n at which a true rate of p1 proves "above p0" with probability `power`.

    None where p1 <= p0 or no n up to `n_limit` is enough. The power of an exact test is a saw-tooth in n;
    this is the start of the first tooth that reaches `power`.
    """
    if p1 <= p0:
        return None
    for first, last in pairwise([1, *(limit for limit in _SEARCHED if limit < n_limit), n_limit + 1]):
        found = _first_n_for_power(np.arange(first, last), p0, p1, alpha, power)
        if found is not None:
            return found
    return None


def _first_n_for_power(n: NDArray[np.int64], p0: float, p1: float, alpha: float, power: float) -> int | None:
    low, high = np.zeros_like(n), n + 1  # the smallest k with P(Bin(n, p0) >= k) <= alpha lies in (low, high]
    while np.any(high - low > 1):
        middle = (low + high) // 2
        proves = bdtrc(np.maximum(middle - 1, 0), n, p0) <= alpha
        high = np.where(proves & (high - low > 1), middle, high)
        low = np.where(~proves & (high - low > 1), middle, low)
    reached = np.where(high <= n, bdtrc(np.maximum(high - 1, 0), n, p1), 0.0) >= power
    return int(n[reached][0]) if reached.any() else None
