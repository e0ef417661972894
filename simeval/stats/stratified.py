"""Compare a judge with people on a sample that has more of the judge's failures than a random one.

References: D. G. Horvitz and D. J. Thompson (1952), "A generalization of sampling without replacement from a finite
universe", Journal of the American Statistical Association 47; R. A. Fisher (1932), Statistical Methods for Research
Workers, section 21.1 (the product of independent p-values).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, nan

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats

_STEPS = 41  # of each of two levels, along which the worst chances are looked for

# of the chances that people pass a conversation the judge passes, that they pass one it fails, and that the judge
# passes
_Rate = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Conversations with the same result from a judge: how many, how many are labelled, and passed by people.

    Those labelled are a random subset.
    """

    size: int
    labelled: int
    passed: int


@dataclass(frozen=True, slots=True)
class StratifiedShare:
    """A share of all conversations with its bounds."""

    value: float  # NaN if a stratum has no labels, or nothing counts
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StratifiedRates:
    """The rates for all conversations, as in `Confusion`; `rate` is the share that people would pass."""

    sensitivity: StratifiedShare
    specificity: StratifiedShare
    accuracy: StratifiedShare
    rate: StratifiedShare


def stratified_rates(passed: Stratum, failed: Stratum, *, alpha: float) -> StratifiedRates:
    """Return the rates of a judge by labels of some that it passes and some that it fails, `alpha` on each side.

    Hypothesis: none is tested. Estimates are Horvitz and Thompson's: a label counts for as many conversations as its
    stratum has for each. A bound is the worst rate under any three chances (that people pass a conversation the judge
    passes, that they pass one it fails, and that the judge passes) which Fisher's product of their one-sided binomial
    p-values does not reject, each on the side that counts. For independent conversations these tests are exact and
    independent, so the bound holds at any number of labels, and errs on the wide side. The worst chances are looked for
    on a grid of levels.
    """
    strata = passed, failed
    return StratifiedRates(
        sensitivity=_share(_sensitivity, strata, alpha, [(1, -1, 1)]),
        specificity=_share(_specificity, strata, alpha, [(1, -1, -1)]),
        accuracy=_share(_accuracy, strata, alpha, [(1, -1, 1), (1, -1, -1)]),
        rate=_share(_people_pass, strata, alpha, [(1, 1, 1), (1, 1, -1)]),
    )


def _sensitivity(p1: Floats, p0: Floats, w: Floats) -> Floats:
    return _ratio(w * p1, (1 - w) * p0)


def _specificity(p1: Floats, p0: Floats, w: Floats) -> Floats:
    return _ratio((1 - w) * (1 - p0), w * (1 - p1))


def _accuracy(p1: Floats, p0: Floats, w: Floats) -> Floats:
    return w * p1 + (1 - w) * (1 - p0)


def _people_pass(p1: Floats, p0: Floats, w: Floats) -> Floats:
    return w * p1 + (1 - w) * p0


def _ratio(met: Floats, missed: Floats) -> Floats:
    """Return met / (met + missed); NaN if both are 0."""
    whole = met + missed
    return np.divide(met, whole, out=np.full_like(whole, np.nan), where=whole > 0)


def _share(
    rate: _Rate, strata: tuple[Stratum, Stratum], alpha: float, rises: Sequence[tuple[int, int, int]]
) -> StratifiedShare:
    """Return a rate that rises (1) or falls (-1) with each chance; with the last either way where two are given."""
    observed = [each.passed / each.labelled if each.labelled else 0.0 if not each.size else nan for each in strata]
    size = sum(each.size for each in strata)
    chances = [np.array([each]) for each in (*observed, strata[0].size / size if size else nan)]
    lows = [_worst(rate, strata, alpha, signs, 1, is_sole=len(rises) == 1) for signs in rises]
    highs = [_worst(rate, strata, alpha, signs, -1, is_sole=len(rises) == 1) for signs in rises]
    return StratifiedShare(float(rate(*chances)[0]), min(lows), max(highs))


def _worst(
    rate: _Rate, strata: tuple[Stratum, Stratum], alpha: float, signs: tuple[int, int, int], side: int, *, is_sole: bool
) -> float:
    """Return the least rate (side 1), or the greatest (-1), under the chances that are not rejected.

    Unless these `signs` are the only ones, chances under which the rate moves the other way are left to others.
    """
    first, second, third = _levels(alpha)
    up = [side * sign > 0 for sign in signs]
    p1 = _end(strata[0].passed, strata[0].labelled, first, lower=up[0])
    p0 = _end(strata[1].passed, strata[1].labelled, second, lower=up[1])
    w = _end(strata[0].size, strata[0].size + strata[1].size, third, lower=up[2])
    found = rate(p1, p0, w)
    if not is_sole:
        slope = rate(p1, p0, np.ones_like(w)) - rate(p1, p0, np.zeros_like(w))
        found = np.where(slope * signs[2] >= 0, found, np.nan)
    known = found[~np.isnan(found)]
    if not known.size:
        return 1.0 if side == 1 else 0.0
    return float(known.min() if side == 1 else known.max())


def _levels(alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return levels of three p-values whose product is the least that Fisher's test does not reject."""
    parts = np.linspace(0, 1, _STEPS)
    first, second = (each.ravel() for each in np.meshgrid(parts, parts))
    inside = first + second <= 1 + 1e-9
    first, second = first[inside], second[inside]
    least = exp(-float(scipy.special.chdtri(6, alpha)) / 2)
    return least**first, least**second, least ** np.clip(1 - first - second, 0, 1)


def _end(successes: int, n: int, level: Floats, *, lower: bool) -> Floats:
    """Return the chances that give a one-sided binomial p-value of `level`."""
    if lower:
        return scipy.special.betaincinv(successes, n - successes + 1, level) if successes else np.zeros_like(level)
    return scipy.special.betaincinv(successes + 1, n - successes, 1 - level) if successes < n else np.ones_like(level)


def weighted_kappa(human: NDArray[np.float64], judge: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return Cohen's kappa of passes (1) and failures (0), each pair counted by its weight; NaN where undefined."""
    passed = float(np.average(human, weights=weights)), float(np.average(judge, weights=weights))
    chance = passed[0] * (1 - passed[1]) + passed[1] * (1 - passed[0])
    return float(1 - np.average(human != judge, weights=weights) / chance) if chance > 0 else nan


def weighted_alpha(human: NDArray[np.float64], judge: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return Krippendorff's alpha of passes (1) and failures (0), each pair counted by its weight; NaN where undefined.

    With equal weights it is `krippendorff_alpha`.
    """
    values = np.concatenate([human, judge])
    passed = float(np.average(values, weights=np.tile(weights, 2)))
    chance = 2 * passed * (1 - passed) * values.size / max(values.size - 1, 1)
    return float(1 - np.average(human != judge, weights=weights) / chance) if chance > 0 else nan
