"""Success of tasks that are tried several times: all of k trials, or at least one.

References: S. Yao et al. (2024), "tau-bench: a benchmark for tool-agent-user interaction in real-world domains"
(pass^k); M. Chen et al. (2021), "Evaluating large language models trained on code" (pass@k).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, nan, sqrt

import numpy as np
import scipy

from simeval.stats.mean import lower_bound, upper_bound


@dataclass(frozen=True, slots=True)
class RepeatedSuccess:
    """The chance that k trials of a task succeed, averaged over tasks."""

    value: float  # NaN without tasks
    low: float
    high: float
    standard_error: float  # over tasks; NaN with fewer than two
    k: int
    n_tasks: int


def pass_hat_k(successes: Sequence[int], trials: Sequence[int], k: int, *, alpha: float) -> RepeatedSuccess:
    """Return pass^k, the chance that k trials of a task all succeed: the mean of C(c, k) / C(n, k) over tasks.

    Hypothesis: none is tested. `successes` and `trials` hold c and n of each task. The estimate is unbiased for
    independent trials of a task. The interval takes each task as one cluster, `alpha` on each side: mean -+ t *
    standard error with G - 1 degrees of freedom for G tasks, cut to [0, 1]. It is asymptotic in the number of tasks and
    holds for tasks like these, drawn at random; near 0 or 1, or with fewer than about 30 tasks, it is too narrow. If
    all tasks have the same value their spread is uninformative and the bounds are Gaffke's. With fewer than two tasks
    the interval is [0, 1]. ValueError for a task with fewer than k trials.
    """
    _check(successes, trials, k)
    return _over_tasks([comb(c, k) / comb(n, k) for c, n in zip(successes, trials, strict=True)], k, alpha)


def pass_at_k(successes: Sequence[int], trials: Sequence[int], k: int, *, alpha: float) -> RepeatedSuccess:
    """Return pass@k, the chance that at least one of k trials succeeds: the mean of 1 - C(n - c, k) / C(n, k).

    Hypothesis: none is tested. Arguments, interval, its limits and errors as `pass_hat_k`.
    """
    _check(successes, trials, k)
    return _over_tasks([1 - comb(n - c, k) / comb(n, k) for c, n in zip(successes, trials, strict=True)], k, alpha)


def _check(successes: Sequence[int], trials: Sequence[int], k: int) -> None:
    if len(successes) != len(trials):
        raise ValueError(f"There are {len(successes)} successes and {len(trials)} trials; give one of each per task.")
    if k < 1:
        raise ValueError(f"k is {k!r}; give 1 or more trials.")
    for c, n in zip(successes, trials, strict=True):
        if not 0 <= c <= n:
            raise ValueError(f"A task has {c!r} successes of {n!r} trials; give a count from 0 to its trials.")
        if n < k:
            raise ValueError(f"A task has {n!r} trials, too few for k = {k!r}; run more trials or lower k.")


def _over_tasks(values: list[float], k: int, alpha: float) -> RepeatedSuccess:
    groups = len(values)
    value = sum(values) / groups if groups else nan
    if groups < 2:
        return RepeatedSuccess(value, 0.0, 1.0, standard_error=nan, k=k, n_tasks=groups)
    if min(values) == max(values):
        low, high = lower_bound(values, alpha, low=0.0), upper_bound(values, alpha, high=1.0)
        return RepeatedSuccess(value, low, high, standard_error=0.0, k=k, n_tasks=groups)
    error = float(np.std(values, ddof=1)) / sqrt(groups)
    margin = -float(scipy.special.stdtrit(groups - 1, alpha)) * error
    return RepeatedSuccess(value, max(0.0, value - margin), min(1.0, value + margin), error, k=k, n_tasks=groups)
