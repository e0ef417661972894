"""Inference on turns, which are alike within a conversation: each conversation is one cluster.

Only `conversation_share` is fit for a verdict; the rest describes. References: R. L. Anderson and T. A. Bancroft
(1952), Statistical Theory in Research, chapter 22 (unbalanced one-way analysis of variance); W. G. Cochran
(1977), Sampling Techniques, 3rd ed., section 11.8 (ratio of cluster totals); E. L. Korn and B. I. Graubard
(1998), "Confidence intervals for proportions with small expected number of positive counts estimated from survey
data", Survey Methodology 24; L. Kish (1965), Survey Sampling (design effect).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Numbers
from simeval.stats.mean import lower_bound, p_above, p_below, upper_bound

"""One number for each cluster, or for each item where stated."""


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """A one-way analysis of variance."""

    between: float  # mean square between clusters; NaN with fewer than two
    within: float  # mean square within clusters; NaN where no cluster holds two items
    n0: float  # the size of a cluster, averaged so that it fits unequal sizes


@dataclass(frozen=True, slots=True)
class Correlation:
    """How alike the items of a cluster are."""

    icc: float  # 1: all alike, 0: no more than chance; negative where less; NaN where undefined
    n0: float  # the size of a cluster, averaged so that it fits unequal sizes
    design_effect: float  # variance of the overall mean over that of independent items


@dataclass(frozen=True, slots=True)
class ClusterRatio:
    """The share of all turns, with the standard error that clusters give it."""

    ratio: float  # turns that are good, of all turns: a long conversation counts for more
    mean_share: float  # mean over conversations of their share of good turns: each counts the same
    standard_error: float
    independent_standard_error: float  # if turns were independent
    df: int
    t: float | None  # None where no p0 is given
    p_pass: float | None


@dataclass(frozen=True, slots=True)
class ClusterInterval:
    """An approximate interval of the share of all turns."""

    ratio: float
    low: float
    high: float
    effective_n: float  # independent turns with the same information
    n_clusters: int


@dataclass(frozen=True, slots=True)
class ConversationShare:
    """The test of the mean over conversations of their share of good turns."""

    mean_share: float
    p_pass: float  # p-value of "the mean share is above p0"
    p_fail: float  # p-value of "the mean share is below p0"
    lower_bound: float
    upper_bound: float


def mean_squares(values: Numbers, clusters: Sequence[str | int] | NDArray[np.generic]) -> MeanSquares:
    """Return the one-way analysis of variance of values in clusters, of equal size or not.

    Hypothesis: none is tested. `values` and `clusters` hold one entry for each item. NaN where undefined.
    """
    sums, squares, sizes = _totals(values, clusters)
    return _mean_squares(sums, squares, sizes)


def icc(values: Numbers, clusters: Sequence[str | int] | NDArray[np.generic]) -> Correlation:
    """Return the intraclass correlation of values in clusters, by analysis of variance.

    Hypothesis: none is tested. `values` and `clusters` hold one entry for each item. The estimate is not floored
    at 0. NaN with fewer than two clusters, where no cluster holds two items, or where all values are equal.
    """
    return _correlation(*_totals(values, clusters))


def anova_icc(good: Numbers, sizes: Numbers) -> Correlation:
    """Return the intraclass correlation of good turns within conversations, by analysis of variance.

    Hypothesis: none is tested. `good` and `sizes` hold for each conversation how many turns are good and how many
    there are. As `icc` of the turns written as 0 and 1. ValueError for a conversation without turns.
    """
    counts, turns = _counts(good, sizes)
    return _correlation(counts, counts, turns)


def design_effect(good: Numbers, sizes: Numbers) -> float:
    """Return the variance of the share of all turns, over what it would be if turns were independent.

    Hypothesis: none is tested. n turns in clusters carry as much information as n / design effect independent ones. NaN
    with fewer than two conversations, or if all turns are good or none is.
    """
    return anova_icc(good, sizes).design_effect


def cluster_ratio(good: Numbers, sizes: Numbers, *, p0: float | None = None) -> ClusterRatio:
    """Return the share of all turns with its linearised standard error, and its t-test against `p0`.

    Hypothesis: the share is at most p0. Descriptive, never a gate: asymptotic in the number of conversations G (t with
    G - 1 degrees of freedom, variance with G / (G - 1)), and a nominal 5 % was measured as 11 to 29 % at p0 = .9 with
    10 to 100 conversations of correlation .5. `t` and `p_pass` are NaN if the standard error is 0: no variation seen is
    no proof. The standard error is NaN with fewer than two conversations.
    """
    counts, turns = _counts(good, sizes)
    n, groups = float(turns.sum()), turns.size
    ratio = float(counts.sum()) / n if n else nan
    error = sqrt(_variance(counts, turns)) if groups > 1 else nan
    t = None if p0 is None else (ratio - p0) / error if error > 0 else nan
    return ClusterRatio(
        ratio=ratio,
        mean_share=float(np.mean(counts / turns)) if groups else nan,
        standard_error=error,
        independent_standard_error=sqrt(ratio * (1 - ratio) / n) if n else nan,
        df=max(groups - 1, 0),
        t=t,
        p_pass=None if t is None else float(scipy.special.stdtr(groups - 1, -t)),
    )


def korn_graubard(good: Numbers, sizes: Numbers, *, alpha: float) -> ClusterInterval:
    """Return Korn and Graubard's interval of the share of all turns, `alpha` on each side.

    Hypothesis: none is tested; descriptive, not for gates. Clopper and Pearson's interval with the effective sample
    size p(1 - p) / variance * (t[n - 1] / t[G - 1])^2 for n turns in G conversations, never more than n. Approximate:
    needs 50 or more conversations, and even there errs on 8 % instead of 5 % where turns have a correlation of .5.

    If all conversations have the same share, as when all turns are good or none is, the variance is 0 and
    uninformative: the effective size is then the number of conversations, as if each were one turn. That is
    conservative; for shares of 0 and 1 other programs have rules of their own, or none. With fewer than two
    conversations the interval is [0, 1].
    """
    counts, turns = _counts(good, sizes)
    n, groups = float(turns.sum()), turns.size
    ratio = float(counts.sum()) / n if n else nan
    if groups < 2:
        return ClusterInterval(ratio, 0.0, 1.0, effective_n=float(groups), n_clusters=groups)
    effective = _effective_n(counts, turns, alpha)
    low = 0.0 if ratio == 0 else float(scipy.special.betaincinv(effective * ratio, effective * (1 - ratio) + 1, alpha))
    high = (
        1.0
        if ratio == 1
        else float(scipy.special.betaincinv(effective * ratio + 1, effective * (1 - ratio), 1 - alpha))
    )
    return ClusterInterval(ratio, low, high, effective_n=effective, n_clusters=groups)


def conversation_share(good: Numbers, sizes: Numbers, *, p0: float, alpha: float) -> ConversationShare:
    """Return the test of "on average more than `p0` of a conversation's turns are good", and its bounds.

    Hypothesis: the mean over conversations of the share of good turns is at most p0. Each conversation is reduced
    to its share in [0, 1], then Gaffke's bound: valid at any number of independent conversations however alike
    their turns are, as far as is known (a conjecture without counterexample, see `simeval.stats.mean`). The
    bounds have `alpha` on each side. Without conversations the p-values are 1 and the bounds [0, 1].
    """
    counts, turns = _counts(good, sizes)
    shares = (counts / turns).tolist()
    return ConversationShare(
        mean_share=sum(shares) / len(shares) if shares else nan,
        p_pass=p_above(shares, p0, low=0.0),
        p_fail=p_below(shares, p0, high=1.0),
        lower_bound=lower_bound(shares, alpha, low=0.0),
        upper_bound=upper_bound(shares, alpha, high=1.0),
    )


def _counts(good: Numbers, sizes: Numbers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    counts, turns = np.asarray(good, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if counts.ndim != 1 or counts.shape != turns.shape:
        raise ValueError(f"The counts have shapes {counts.shape} and {turns.shape}; give two lists of equal length.")
    if not np.all(turns > 0):
        raise ValueError("A conversation has no turns, so no share of good ones; leave it out.")
    if not np.all((counts >= 0) & (counts <= turns)):
        raise ValueError(
            "A conversation has more good turns than turns, or fewer than 0; give counts from 0 to its size."
        )
    return counts, turns


def _totals(
    values: Numbers, clusters: Sequence[str | int] | NDArray[np.generic]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    numbers, names = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if numbers.ndim != 1 or numbers.shape != names.shape:
        raise ValueError(f"Values have shape {numbers.shape}, clusters {names.shape}; give two lists of equal length.")
    if not np.isfinite(numbers).all():
        raise ValueError("A value is missing or infinite; leave it out together with its cluster's name.")
    # about the first value, so that equal values give exact zeros and large ones lose no digits
    centred = numbers - numbers[:1]
    places = np.unique(names, return_inverse=True)[1]
    weights = (centred, centred**2, np.ones_like(centred))
    sums, squares, sizes = (np.bincount(places, weights=each).astype(np.float64) for each in weights)
    return sums, squares, sizes


def _mean_squares(sums: NDArray[np.float64], squares: NDArray[np.float64], sizes: NDArray[np.float64]) -> MeanSquares:
    n, groups = float(sizes.sum()), sizes.size
    if groups < 2:
        return MeanSquares(nan, nan if n <= groups else _within(sums, squares, sizes), nan)
    between = float(np.sum(sizes * (sums / sizes - sums.sum() / n) ** 2)) / (groups - 1)
    within = _within(sums, squares, sizes) if n > groups else nan
    return MeanSquares(between, within, n0=(n - float(np.sum(sizes**2)) / n) / (groups - 1))


def _within(sums: NDArray[np.float64], squares: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    return max(0.0, float(np.sum(squares - sums**2 / sizes))) / (float(sizes.sum()) - sizes.size)


def _variance(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    # times n, so that equal shares of whole counts leave an exact 0
    residuals = (sums * sizes.sum() - sizes * sums.sum()) / sizes.sum()
    return float(np.sum(residuals**2)) / float(sizes.sum()) ** 2 * sizes.size / (sizes.size - 1)


def _correlation(sums: NDArray[np.float64], squares: NDArray[np.float64], sizes: NDArray[np.float64]) -> Correlation:
    found = _mean_squares(sums, squares, sizes)
    total = found.between + (found.n0 - 1) * found.within
    n = float(sizes.sum())
    independent = (float(squares.sum()) / n - (float(sums.sum()) / n) ** 2) / n if n else nan
    return Correlation(
        icc=(found.between - found.within) / total if total > 0 else nan,
        n0=found.n0,
        design_effect=_variance(sums, sizes) / independent if sizes.size > 1 and independent > 0 else nan,
    )


def _effective_n(counts: NDArray[np.float64], turns: NDArray[np.float64], alpha: float) -> float:
    n, variance = float(turns.sum()), _variance(counts, turns)
    if variance == 0:
        return float(turns.size)
    ratio = float(counts.sum()) / n
    correction = float(scipy.special.stdtrit(n - 1, alpha)) / float(scipy.special.stdtrit(turns.size - 1, alpha))
    return min(n, ratio * (1 - ratio) / variance * correction**2)
