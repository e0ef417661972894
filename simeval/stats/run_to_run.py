"""How runs of one unchanged app differ: by more than chance, and how often they would pass.

Of R runs the outcomes vary although nothing changed. That may be chance, which a plan foretells from the rates, or the
rates themselves vary from run to run: a bad day of a model, a load, a version behind an address.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 999
_AT_ONCE = 2_000_000  # numbers that are permuted together
_TIE = 1e-9

Points = Sequence[tuple[int, int]]  # trials, and a number of misses


def differ_p_value(misses: NDArray[np.integer] | Sequence[Sequence[int]], *, seed: int = 0) -> float:
    """Return the p-value of "all runs have the same rates": small if the runs differ by more than chance.

    Hypothesis: for each column, the runs are exchangeable. `misses` has a row for each run and a column for each trial
    that all runs have (of all scenarios, in order): how many requirements it missed. A column must be there whatever
    its values are. The statistic is the sum over runs of (misses - mean)^2; the values of each column are permuted over
    the runs, so that neither different rates of trials nor requirements that go together disturb it. Monte Carlo with a
    fixed seed; the p-value counts the data as one more permutation, and is valid for any number of them. It is 1 for
    fewer than two runs, and without a difference. ValueError if `misses` is not a table.
    """
    table = np.asarray(misses, dtype=np.int64)
    if table.ndim != 2:
        raise ValueError(f"the misses have {table.ndim} dimensions: give a row per run, a column per trial")
    table = table[:, table.min(axis=0, initial=2**31) < table.max(axis=0, initial=-1)]
    if table.shape[0] < 2 or not table.size:
        return 1.0
    seen = _spread(table.sum(axis=1))
    random = np.random.default_rng(seed)
    larger, left = 1, PERMUTATIONS
    while left:
        count = min(left, max(1, _AT_ONCE // table.size))
        dealt = random.permuted(np.broadcast_to(table, (count, *table.shape)), axis=1)
        larger += int((_spread(dealt.sum(axis=2)) >= seen - _TIE).sum())
        left -= count
    return larger / (PERMUTATIONS + 1)


def _spread(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(((totals - totals.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))


def chances_of_ends(
    rates: NDArray[np.float64] | Sequence[float],
    n_max: int,
    *,
    pass_at: Points,
    fail_at: Points = (),
    end_at: Points = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chances that a test passes, and that it fails, for each of these true rates.

    It walks through up to `n_max` trials. With n trials it passes at a point (n, misses) of `pass_at` with at most so
    many misses; it fails at one of `fail_at`, and ends open at one of `end_at`, with at least so many.
    """
    good = np.asarray(rates, dtype=np.float64)[:, None]
    points = [dict(each) for each in (pass_at, fail_at, end_at)]
    running = np.zeros((good.size, max((misses for each in points for misses in each.values()), default=0) + 2))
    running[:, 0] = 1.0
    passed, failed = np.zeros(good.size), np.zeros(good.size)
    for n in range(1, n_max + 1):
        missed = running * (1 - good)
        running *= good
        running[:, 1:] += missed[:, :-1]
        running[:, -1] += missed[:, -1]  # the last column stands for so many misses or more
        most, fails, ends = (each.get(n) for each in points)
        if most is not None:
            passed += running[:, : most + 1].sum(axis=1)
            running[:, : most + 1] = 0.0
        if fails is not None:
            failed += running[:, fails:].sum(axis=1)
            running[:, fails:] = 0.0
        if ends is not None:
            running[:, ends:] = 0.0
    return passed, failed
