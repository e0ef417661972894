"""Exact inference on a proportion from independent yes-or-no trials.

Reference: C. J. Clopper and E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated
in the case of the binomial", Biometrika 26.
"""

from functools import lru_cache
from itertools import pairwise
from math import ceil, isclose, lgamma, log, sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from simeval.core.arrays import Floats

_Counts = int | NDArray[np.int64]

_TABLED = 1_023  # trials: the tails of more come from scipy.special, which takes longer to load than such a table
_GRAIN = 64  # sizes of tables, so that neighbours share one
_SEARCHED = (300, 3_000)  # sample sizes looked through one block after another, because most answers are small
_TIE = 1e-12  # how far above its limit rounding may put a chance that equals it


def at_most(successes: _Counts, n: _Counts, p: float) -> Floats:
    """Return P(Bin(n, p) <= successes), also of arrays; `successes` lie from -1 to n."""
    return _tail(successes, n, p, is_upper=False)


def more_than(successes: _Counts, n: _Counts, p: float) -> Floats:
    """Return P(Bin(n, p) > successes), also of arrays; `successes` lie from -1 to n."""
    return _tail(successes, n, p, is_upper=True)


def _tail(successes: _Counts, n: _Counts, p: float, *, is_upper: bool) -> Floats:
    largest = int(np.max(n))
    if largest > _TABLED:
        tail = scipy.special.bdtrc if is_upper else scipy.special.bdtr  # the latter is NaN below 0 successes
        return np.where(np.less(successes, 0), float(is_upper), tail(np.maximum(successes, 0), n, p))
    table = _tails(p, largest + _GRAIN - largest % _GRAIN - 1, is_upper)
    return np.asarray(table[n, np.asarray(successes) + 1])


@lru_cache(maxsize=8)
def _tails(p: float, n_max: int, is_upper: bool) -> Floats:
    """Return the table [n, k + 1] of one of the two tails: trial n + 1 is good or not, and nothing is subtracted."""
    found = np.empty((n_max + 1, n_max + 2))
    found[:, 0], found[0, 1:] = is_upper, not is_upper
    for n in range(n_max):
        found[n + 1, 1:] = (1 - p) * found[n, 1:] + p * found[n, :-1]
    return found


@lru_cache(maxsize=8)
def log_factorials(n_max: int) -> Floats:
    """Return the logarithms of 0!, 1!, ... n_max!."""
    return np.array([lgamma(n + 1) for n in range(n_max + 1)])


def p_at_least(successes: int, n: int, p0: float) -> float:
    """Return P(Bin(n, p0) >= successes): the p-value of "the rate is above p0".

    Hypothesis: the rate is at most p0. With n = 0 the p-value is 1.
    """
    return 1.0 if successes <= 0 else float(scipy.special.bdtrc(successes - 1, n, p0))


def p_at_most(successes: int, n: int, p0: float) -> float:
    """Return P(Bin(n, p0) <= successes): the p-value of "the rate is below p0".

    Hypothesis: the rate is at least p0. With n = 0 the p-value is 1.
    """
    return 1.0 if successes >= n else float(scipy.special.bdtr(successes, n, p0))


def clopper_pearson(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Return the exact interval of the rate with `alpha` on each side; [0, 1] where n = 0.

    The lower bound is above p0 exactly when `p_at_least(successes, n, p0)` is below alpha, and so on the
    other side: interval and tests never disagree.
    """
    low = 0.0 if successes == 0 else float(scipy.special.betaincinv(successes, n - successes + 1, alpha))
    high = 1.0 if successes == n else float(scipy.special.betaincinv(successes + 1, n - successes, 1 - alpha))
    return low, high


def minimum_n(p0: float, alpha: float) -> int:
    """Return the smallest n such that n successes of n prove a rate above p0: p0**n <= alpha.

    `p0` is strictly between 0 and 1.
    """
    exact = log(alpha) / log(p0)
    nearest = round(exact)
    return max(1, nearest if isclose(exact, nearest, rel_tol=1e-12) else ceil(exact))


def most_misses(n: int, p0: float, alpha: float) -> int:
    """Return the most failures in n trials that still prove a rate above p0 at alpha; -1 if even 0 do not."""
    return int(np.searchsorted(at_most(np.arange(n + 1), n, 1 - p0), alpha * (1 + _TIE), side="right")) - 1


def n_for_power(p0: float, p1: float, *, alpha: float, power: float, n_limit: int = 20_000) -> int | None:
    """Return the first n such that a true rate of p1 proves "above p0" with probability `power`.

    None if p1 <= p0 or no n up to `n_limit` is enough. The power of an exact test is a saw-tooth in n; this is the
    start of the first tooth that reaches `power`.
    """
    if p1 <= p0:
        return None
    for first, last in pairwise([1, *(limit for limit in _SEARCHED if limit < n_limit), n_limit + 1]):
        found = _first_n_for_power(np.arange(first, last), p0, p1, alpha, power)
        if found is not None:
            return found
    return None


def about_n_for_power(p0: float, p1: float, *, alpha: float, power: float) -> int | None:
    """Return about how many trials a true rate of p1 needs, by the normal approximation to the exact test.

    None where p1 <= p0. For explanations and starting points only; a few per cent from `n_for_power` where
    that is some hundred, less beyond.
    """
    if p1 <= p0:
        return None
    spread = float(scipy.special.ndtri(1 - alpha)) * sqrt(p0 * (1 - p0)) + float(scipy.special.ndtri(power)) * sqrt(
        p1 * (1 - p1)
    )
    return max(minimum_n(p0, alpha), ceil((spread / (p1 - p0)) ** 2))


def critical_successes(n: ArrayLike, p0: float, alpha: float) -> NDArray[np.int64]:
    """Return, for each sample size, the fewest successes that prove a rate above p0; n + 1 if no number does."""
    size = np.asarray(n, dtype=np.int64)
    low, high = np.zeros_like(size), size + 1  # the answer is in (low, high]
    while np.any(high - low > 1):
        middle = (low + high) // 2
        proves = more_than(np.maximum(middle - 1, 0), size, p0) <= alpha * (1 + _TIE)
        high = np.where(proves & (high - low > 1), middle, high)
        low = np.where(~proves & (high - low > 1), middle, low)
    return high


def power(n: ArrayLike, p0: float, p1: float, *, alpha: float) -> NDArray[np.float64]:
    """Return, for each sample size, the chance that a true rate of p1 proves "above p0"."""
    size = np.asarray(n, dtype=np.int64)
    needed = critical_successes(size, p0, alpha)
    return np.where(needed <= size, more_than(np.maximum(needed - 1, 0), size, p1), 0.0)


def _first_n_for_power(n: NDArray[np.int64], p0: float, p1: float, alpha: float, wanted: float) -> int | None:
    reached = power(n, p0, p1, alpha=alpha) >= wanted
    return int(n[reached][0]) if reached.any() else None
