"""Approximate intervals of a proportion: for drawing and comparison only, never beside a verdict.

They are shorter than the exact interval of Clopper and Pearson because they cover the true rate less often than their
nominal level, and they can contradict the exact test. The smallest one-sided coverage of the lower bound, nominally
0.95, over rates from 0.5 to 0.9999 (computed just below each bound, not simulated; a test repeats it):

    n      Clopper-Pearson   Wilson   Jeffreys
    10     0.950             0.909    0.846
    30     0.950             0.925    0.851
    100    0.950             0.931    0.853
    300    0.950             0.932    0.853

References: E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference", Journal of the
American Statistical Association 22; L. D. Brown, T. T. Cai and A. DasGupta (2001), "Interval estimation for a binomial
proportion", Statistical Science 16.
"""

from math import sqrt

import scipy


def wilson(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Return the score interval of a rate with `alpha` on each side; [0, 1] where n = 0.

    It holds the rates that the normal score test does not reject: asymptotic, see the table above. Always
    contains the estimate; exactly 0 below no success and exactly 1 above no failure.
    """
    if n == 0:
        return 0.0, 1.0
    z = -float(scipy.special.ndtri(alpha))
    centre = (successes + z**2 / 2) / (n + z**2)
    half = z * sqrt(successes * (n - successes) / n + z**2 / 4) / (n + z**2)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def jeffreys(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Return the central interval of the rate's posterior, `alpha` on each side; [0, 1] where n = 0.

    The prior is Beta(1/2, 1/2). Asymptotic as a confidence interval, see the table above. The ends are the
    quantiles everywhere, so with no success the lower end is above 0, and with no failure the upper below 1.
    """
    if n == 0:
        return 0.0, 1.0
    shape = successes + 0.5, n - successes + 0.5
    return float(scipy.special.betaincinv(*shape, alpha)), float(scipy.special.betaincinv(*shape, 1 - alpha))
