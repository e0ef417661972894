"""Estimates over the examples of a dataset, whose repetitions are not independent of one another."""

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from simeval.core.direction import UNIT, Bounds
from simeval.core.settings import ALPHA
from simeval.core.trial import Estimate

FEW = 30  # examples, below this Student's interval is called rough: benchmarks/statistics/intervals measures it
ROUNDING = 1e-12  # of a standard error that is none


def estimate_share(values: Sequence[float], repetitions: int = 1, *, alpha: float = ALPHA) -> Estimate:
    """Estimate a share from the 1s and 0s of each answer, those to one example side by side; NaN for a missing one.

    The interval, for an error of `alpha` on each side, is Clopper and Pearson's, exact; with repetitions Korn and
    Graubard's, with examples as clusters. `n` counts the examples that have a value.
    """
    from simeval.stats.binomial import clopper_pearson
    from simeval.stats.clusters import korn_graubard

    table = np.asarray(values, dtype=float).reshape(-1, repetitions)
    known = ~np.isnan(table)
    sizes = known.sum(axis=1)
    good, sizes = np.nansum(table, axis=1)[sizes > 0], sizes[sizes > 0]
    if not sizes.size:
        return Estimate(value=None, n=0)
    share, n = float(good.sum() / sizes.sum()), int(sizes.size)
    if repetitions == 1:
        interval = clopper_pearson(int(good.sum()), n, alpha)
        return Estimate(value=share, n=n, interval=interval, method="Clopper-Pearson")
    if n < 2:
        return Estimate(value=share, n=n)
    found = korn_graubard(good, sizes, alpha=alpha)
    return Estimate(value=share, n=n, interval=(found.low, found.high), method="Korn-Graubard, approximate")


def estimate_repeated(values: Sequence[float], repetitions: int, *, alpha: float = ALPHA) -> Mapping[str, Estimate]:
    """Estimate pass^k and pass@k, the shares of examples of whose k repetitions all, and at least one, are good.

    `values` are those of `estimate_share`; k is `repetitions`, and an example that lacks one is left out. An example is
    a yes or a no, so that the interval is Clopper and Pearson's. Empty without repetitions.
    """
    table = np.asarray(values, dtype=float).reshape(-1, repetitions)
    whole = table[~np.isnan(table).any(axis=1)]
    if repetitions == 1 or not len(whole):
        return {}
    return {
        f"pass^{repetitions}": estimate_share(whole.all(axis=1), alpha=alpha),
        f"pass@{repetitions}": estimate_share(whole.any(axis=1), alpha=alpha),
    }


def estimate_mean(
    values: Sequence[float], repetitions: int = 1, *, bounds: Bounds | None = None, alpha: float = ALPHA
) -> Estimate:
    """Estimate a mean over examples, each the mean of its answers; NaN for an answer without a value.

    The interval, for an error of `alpha` on each side, never reaches beyond the `bounds` of the values. If both are
    finite it is Gaffke's, as `MeanEvaluator` has it; values from 0 to 1 without bounds are taken to have those.
    Otherwise it is Student's, which is approximate unless the values are normal or many; fewer than two values, or
    equal ones, have none. `n` counts the examples that have a value.
    """
    table = np.asarray(values, dtype=float).reshape(-1, repetitions)
    known = ~np.isnan(table)
    sizes = known.sum(axis=1)
    means = np.nansum(table, axis=1)[sizes > 0] / sizes[sizes > 0]
    n = int(means.size)
    if not n:
        return Estimate(value=None, n=0)
    interval, method = _mean_interval(means, bounds, alpha)
    by_example = ", by example" if method and repetitions > 1 else ""
    return Estimate(value=float(means.mean()), n=n, interval=interval, method=method + by_example)


def _mean_interval(
    means: NDArray[np.float64], bounds: Bounds | None, alpha: float
) -> tuple[tuple[float, float] | None, str]:
    """Return the interval of a mean, and how it was found."""
    from simeval.stats.mean import lower_bound, upper_bound

    low, high = bounds if bounds is not None and _within(means, bounds) else (-inf, inf)
    seen = bounds is None and _within(means, UNIT)
    if seen:
        low, high = UNIT
    if -inf < low and high < inf:
        found = means.tolist()
        interval = lower_bound(found, alpha, low=low), upper_bound(found, alpha, high=high)
        return interval, f"Gaffke, {low:g} to {high:g}{' as seen' if seen else ''}"
    student = student_interval(means, alpha)
    if student is None:
        return None, ""
    few = f", rough: few examples (under {FEW})" if len(means) < FEW else ""
    return (max(student[0], low), min(student[1], high)), f"Student's t{few}"


def _within(values: NDArray[np.float64], bounds: Bounds) -> bool:
    return bool((values >= bounds[0]).all() and (values <= bounds[1]).all())


def student_interval(values: Sequence[float] | NDArray[np.float64], alpha: float) -> tuple[float, float] | None:
    """Return Student's interval of a mean, `alpha` on each side; None of fewer than two values, or equal ones.

    Equal values carry no information about the spread of others.
    """
    from scipy.special import stdtrit

    found = np.asarray(values, dtype=float)
    n = len(found)
    error = float(found.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    if error < ROUNDING:
        return None
    mean, half = float(found.mean()), float(stdtrit(n - 1, 1 - alpha)) * error
    return mean - half, mean + half
