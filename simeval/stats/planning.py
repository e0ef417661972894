"""How many trials a proof takes: exact sizes of fixed and sequential samples, before the first is paid for.

Rates, levels and powers are shares between 0 and 1. Reference: M. R. Chernick and C. Y. Liu (2002), "The saw-toothed
behavior of power versus sample size and software solutions", The American Statistician 56.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import scipy

from simeval.stats import binomial
from simeval.stats.betting import p_values
from simeval.stats.optimal import optimal_design
from simeval.stats.sequential import RHO, Design, StopRule, design

LARGEST_N = 10_000
_MORE = 10  # sizes that are tried for an optimal design of enough power
_EXACT_UP_TO = 400  # trials; the size of a larger sequential sample is found to about one per cent


@dataclass(frozen=True, slots=True)
class FixedTest:
    """A test of a fixed sample: the fewest successes that pass, the chance of a pass at p0 and at p1."""

    critical_successes: int
    size: float
    power: float


@dataclass(frozen=True, slots=True)
class FixedSample:
    """The sizes of a fixed sample: the first that is enough, and the first from which on every size is."""

    first: int
    safe: int


def fixed_test(n: int, p0: float, p1: float, *, alpha: float) -> FixedTest:
    """Return the exact test of "the rate is above p0" on n trials, and its power at the rate p1."""
    critical = int(binomial.critical_successes(n, p0, alpha))
    if critical > n:
        return FixedTest(critical, 0.0, 0.0)
    return FixedTest(critical, binomial.p_at_least(critical, n, p0), float(binomial.power(n, p0, p1, alpha=alpha)))


@lru_cache(maxsize=1_024)  # most requirements of a suite ask alike
def fixed_sample(p0: float, p1: float, *, alpha: float, power: float) -> FixedSample | None:
    """Return the sizes of a fixed sample that prove "above p0" with this chance at a true rate of p1.

    The power of an exact test is a saw-tooth: one more trial may lower it, until one more miss is allowed. So `first`
    is the cheap end of a tooth; a run that may lose a trial or two wants `safe`. None if p1 <= p0 or more than 10,000
    trials are needed.
    """
    first = binomial.n_for_power(p0, p1, alpha=alpha, power=power, n_limit=LARGEST_N)
    if first is None:
        return None
    sizes = np.arange(first, 4 * first + 400)
    short = np.flatnonzero(binomial.power(sizes, p0, p1, alpha=alpha) < power)
    return FixedSample(first, int(sizes[short[-1]]) + 1 if short.size else first)


def cheap_sizes(p0: float, *, alpha: float, count: int) -> list[tuple[int, int]]:
    """Return (n, misses) for 0, 1, ... misses: the smallest n that still proves "above p0" with so many."""
    found: list[tuple[int, int]] = []
    n = binomial.minimum_n(p0, alpha)
    for misses in range(count):
        while binomial.at_most(misses, n, 1 - p0) > alpha * (1 + 1e-12):
            n += 1
        found.append((n, misses))
    return found


def sequential_sample(
    p0: float,
    p1: float,
    *,
    alpha: float,
    power: float,
    rho: float = RHO,
    stop: StopRule = "gate",
    min_trials: int = 1,
) -> Design | None:
    """Return the smallest sequential design that proves "above p0" with this chance at a true rate of p1.

    Sizes beyond some hundreds are found to about one per cent. None if `fixed_sample` is None.
    """
    fixed = binomial.n_for_power(p0, p1, alpha=alpha, power=power, n_limit=LARGEST_N)
    if fixed is None:
        return None

    make = partial(design, p0, alpha=alpha, rho=rho, stop=stop, min_trials=min_trials)

    def enough(n_max: int) -> bool:
        return make(n_max).characteristics(p1).prob_pass >= power

    if fixed <= _EXACT_UP_TO:
        n_max = max(1, fixed - 2)
        while not enough(n_max):
            n_max += 1
    else:  # the saw-tooth is fine there
        low, n_max = fixed - 2, 2 * fixed
        while n_max - low > fixed // 100:
            middle = (low + n_max) // 2
            low, n_max = (low, middle) if enough(middle) else (middle, n_max)
    return make(n_max)


def optimal_sample(p0: float, p1: float, *, alpha: float, power: float, min_trials: int = 1) -> Design | None:
    """Return the optimal design that proves "above p0" with this chance at a true rate of p1.

    Its size is that of the spending design, or a few trials more. None if `fixed_sample` is None.
    """
    spending = sequential_sample(p0, p1, alpha=alpha, power=power, min_trials=min_trials)
    if spending is None:
        return None
    for n_max in range(spending.n_max, spending.n_max + _MORE):
        found = optimal_design(p0, n_max, alpha=alpha, min_trials=min_trials)
        if found.characteristics(p1).prob_pass >= power:
            return found
    return spending


def suite_power(power: float, requirements: int) -> float:
    """Return the power each of so many independent requirements needs, for all to pass with the chance `power`."""
    return float(power ** (1 / requirements))


def mcnemar_power(n: int, new_only: float, old_only: float, *, alpha: float) -> float:
    """Return the chance that n matched pairs prove "the new version is better" by the exact McNemar test.

    `new_only` and `old_only` are the shares of pairs in which one version alone is good. The test looks at the pairs
    that differ: D ~ Bin(n, new_only + old_only).
    """
    differing = new_only + old_only
    if differing <= 0:
        return 0.0
    pairs = np.arange(n + 1)
    chance = scipy.special.bdtr(pairs, n, differing) - np.where(
        pairs > 0, scipy.special.bdtr(np.maximum(pairs - 1, 0), n, differing), 0.0
    )
    needed = binomial.critical_successes(pairs, 0.5, alpha)
    proves = np.where(needed <= pairs, scipy.special.bdtrc(np.maximum(needed - 1, 0), pairs, new_only / differing), 0.0)
    return float(chance @ proves)


def mean_power(
    pilot: Sequence[float],
    bar: float,
    *,
    bounds: tuple[float, float],
    n_max: int,
    alpha: float,
    n_draws: int = 400,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the chance that a bet proves "the mean is above `bar`" within n_max values, and the values it takes.

    Scores are drawn from `pilot`, a sample of the app's scores: thirty or more. A simulation, so the chance has a
    standard error of up to 0.5 / sqrt(n_draws).
    """
    random = np.random.default_rng(seed)
    taken = np.empty(n_draws)
    won = np.zeros(n_draws, dtype=bool)
    for draw in range(n_draws):
        values = random.choice(np.asarray(pilot, dtype=float), n_max)
        above, _ = p_values(values.tolist(), bar, bounds=bounds, alpha=alpha, n_max=n_max)
        proven = np.flatnonzero(above <= alpha)
        won[draw] = proven.size > 0
        taken[draw] = proven[0] + 1 if proven.size else n_max
    return float(won.mean()), float(taken.mean())
