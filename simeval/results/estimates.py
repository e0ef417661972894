"""Estimates over the examples of a dataset, whose repetitions are not independent of one another."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simeval.core.trial import Estimate

ALPHA = 0.025  # error on each side of the intervals
ROUNDING = 1e-12  # of a standard error that is none


def estimate_share(values: Sequence[float], repetitions: int = 1) -> Estimate:
    """Estimate a share from the 1s and 0s of each answer, those to one example side by side; NaN where there is none.

    The interval, for 2.5% error on each side, is Clopper and Pearson's, exact; with repetitions Korn and Graubard's,
    for which examples are clusters. `n` counts the examples that have a value.
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
        interval = clopper_pearson(int(good.sum()), n, ALPHA)
        return Estimate(value=share, n=n, interval=interval, method="Clopper-Pearson")
    if n < 2:
        return Estimate(value=share, n=n)
    found = korn_graubard(good, sizes, alpha=ALPHA)
    return Estimate(value=share, n=n, interval=(found.low, found.high), method="Korn-Graubard, approximate")


def estimate_repeated(values: Sequence[float], repetitions: int) -> Mapping[str, Estimate]:
    """Estimate pass^k and pass@k, the chances that all and that at least one of k repetitions are good, by their names.

    `values` are those of `estimate_share`; k is `repetitions`, and an example that lacks one is left out. The interval,
    for 2.5% error on each side, takes examples as clusters. Empty without repetitions.
    """
    from simeval.stats.repeated import pass_at_k, pass_hat_k

    table = np.asarray(values, dtype=float).reshape(-1, repetitions)
    whole = table[~np.isnan(table).any(axis=1)]
    if repetitions == 1 or not len(whole):
        return {}
    good, times = whole.sum(axis=1).astype(int).tolist(), [repetitions] * len(whole)
    found = {
        f"pass{sign}{repetitions}": chance(good, times, repetitions, alpha=ALPHA)
        for sign, chance in (("^", pass_hat_k), ("@", pass_at_k))
    }
    return {
        name: Estimate(
            value=each.value, n=each.n_tasks, interval=(each.low, each.high), method="Student's t, by example"
        )
        for name, each in found.items()
    }


def estimate_mean(values: Sequence[float], repetitions: int = 1) -> Estimate:
    """Estimate a mean over examples, each the mean of its answers; NaN where an answer has no value.

    The interval, for 2.5% error on each side, is Student's, which is approximate unless the values are normal or
    many. `n` counts the examples that have a value; of fewer than two, or equal ones, there is no interval.
    """
    table = np.asarray(values, dtype=float).reshape(-1, repetitions)
    known = ~np.isnan(table)
    sizes = known.sum(axis=1)
    means = np.nansum(table, axis=1)[sizes > 0] / sizes[sizes > 0]
    n = int(means.size)
    if not n:
        return Estimate(value=None, n=0)
    interval = student_interval(means, ALPHA)
    method = "Student's t" if repetitions == 1 else "Student's t, by example"
    return Estimate(value=float(means.mean()), n=n, interval=interval, method=method if interval else "")


def student_interval(values: Sequence[float] | NDArray[np.float64], alpha: float) -> tuple[float, float] | None:
    """Return Student's interval of a mean, `alpha` on each side; None of fewer than two values, or equal ones.

    Values that are all the same say nothing of how others would spread.
    """
    from scipy.special import stdtrit

    found = np.asarray(values, dtype=float)
    n = len(found)
    error = float(found.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    if error < ROUNDING:
        return None
    mean, half = float(found.mean()), float(stdtrit(n - 1, 1 - alpha)) * error
    return mean - half, mean + half
