"""Inference on a proportion that holds at every moment, without a limit on the number of trials.

An e-value is the wealth of a gambler who bets against a hypothesis at fair odds: if the hypothesis holds, it ever
reaches 1/alpha with probability alpha at most (J. Ville 1939, Étude critique de la notion de collectif). So one may
look after each trial, stop at will and go on later. The price is power: with a known largest n an exact sequential
design proves more.

The bet here is spread evenly over all rates above the bar (H. Robbins 1970, "Statistical methods related to the law of
the iterated logarithm", Annals of Mathematical Statistics 41). With s successes and f failures

    E(p0) = 1/(1 - p0) * integral over q from p0 to 1 of (q/p0)^s ((1 - q)/(1 - p0))^f
          = integral over u from 0 to 1 of u^f (u + (1 - u)/p0)^s.

The second form shows that E falls as p0 rises, so the rates that are not rejected are an interval.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from simeval.core.arrays import Floats

_HALVINGS = 50  # of the range searched for a bound
_SMALLEST_TAIL = 1e-250  # a smaller tail of the beta distribution is summed as a series, lest it underflow


def mixture(successes: ArrayLike, failures: ArrayLike, p0: float) -> Floats:
    """Return the natural logarithm of the e-value of "the rate is above p0", spread evenly over (p0, 1).

    Hypothesis: the rate is at most p0; more generally, each trial's chance of success given all before it is
    at most p0. Proven for every n and at every moment. `successes` and `failures` are counts, or arrays of
    counts such as a path over time; the answer has their common shape and is 0 without trials. Its error is
    below 1e-8 for up to a million trials. For "the rate is below p0" swap the counts and give 1 - p0.
    """
    _check_rate(p0)
    hits, misses = np.broadcast_arrays(_counted(successes), _counted(failures))
    return _log_mixture(hits, misses, np.full(hits.shape, p0))


def likelihood_ratio(successes: ArrayLike, failures: ArrayLike, p0: float, p1: float) -> Floats:
    """Return the natural logarithm of the likelihood ratio of the rate p1 to the rate p0.

    Hypothesis: the rate is at most p0 if p1 is above p0, at least p0 if p1 is below. It is an e-value as `mixture` is,
    with the whole bet on p1: stronger if the rate is near p1, weak elsewhere. Shapes as in `mixture`.
    """
    _check_rate(p0)
    _check_rate(p1)
    gain, loss = np.log(p1 / p0), np.log1p(-p1) - np.log1p(-p0)
    return np.asarray(_counted(successes) * gain + _counted(failures) * loss)


def running_p_values(log_e_values: ArrayLike) -> Floats:
    """Return the anytime p-values of a path of e-values: 1 / (the largest so far), at most 1.

    Hypothesis: that of the e-values. `log_e_values` holds their natural logarithms in the order of the trials;
    the answer has its length and never rises. Proven: if the hypothesis holds, the path ever falls to alpha
    with probability alpha at most.
    """
    return np.exp(-np.maximum.accumulate(np.maximum(log_e_values, 0.0)))


def anytime_p_values(outcomes: ArrayLike, p0: float) -> tuple[Floats, Floats]:
    """Return the anytime p-values, after each trial, of "the rate is above p0" and of "the rate is below p0".

    Hypotheses: the rate is at most p0; the rate is at least p0. `outcomes` holds True or False (1 or 0) in the
    order of the trials; both answers have its length. Proven at every stopping time. They come from
    `mixture`, so they keep the best evidence seen so far.
    """
    successes, failures = _counts_so_far(outcomes)
    above, below = mixture(successes, failures, p0), mixture(failures, successes, 1 - p0)
    return running_p_values(above), running_p_values(below)


def anytime_interval(successes: int, failures: int, alpha: float) -> tuple[float, float]:
    """Return the interval of the rate that holds at every moment, `alpha` on each side; [0, 1] without trials.

    Hypothesis rejected by the lower bound: the rate is at most p0, for every p0 up to it. The bound is the largest p0
    with `mixture` at 1/alpha or more, the upper one its mirror image, so the interval contains the observed rate.
    Proven: all intervals of one run hold the rate together with probability at least 1 - 2 alpha. It is about 1.5 times
    as wide as Clopper and Pearson's at n = 30, twice as wide at n = 1000.
    """
    _check_level(alpha)
    low, high = _interval(_counted([successes]), _counted([failures]), alpha)
    return float(low[0]), float(high[0])


def anytime_interval_path(outcomes: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Return, after each trial, the lower and upper ends of the intersection of all intervals so far.

    The hypotheses are those of `anytime_p_values`, and the two never disagree: the lower end has reached p0 exactly
    when "above p0" has been proven at `alpha`, and so on the other side. The intersection never widens and is proven as
    `anytime_interval` is. It may leave out the observed rate, and the ends may even cross, if the rate changed during
    the run.
    """
    _check_level(alpha)
    low, high = _interval(*_counts_so_far(outcomes), alpha)
    return np.maximum.accumulate(low), np.minimum.accumulate(high)


def _interval(successes: Floats, failures: Floats, alpha: float) -> tuple[Floats, Floats]:
    return _lower(successes, failures, alpha), 1 - _lower(failures, successes, alpha)


def _lower(successes: Floats, failures: Floats, alpha: float) -> Floats:
    """Find the largest p0 with E(p0) >= 1/alpha, or 0; it is below the observed rate, where E <= 1."""
    inside = np.zeros_like(successes)
    outside = np.where(successes > 0, successes / np.maximum(successes + failures, 1), 0.5)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        proven = _log_mixture(successes, failures, middle) >= -np.log(alpha)
        inside, outside = np.where(proven, middle, inside), np.where(proven, outside, middle)
    return inside


def _log_mixture(successes: Floats, failures: Floats, p0: Floats) -> Floats:
    tail = scipy.special.betaincc(successes + 1, failures + 1, p0)
    log_tail = np.log(np.maximum(tail, _SMALLEST_TAIL)) + scipy.special.betaln(successes + 1, failures + 1)
    result = np.asarray(log_tail - np.log1p(-p0) - successes * np.log(p0) - failures * np.log1p(-p0))
    far = np.asarray(tail < _SMALLEST_TAIL)
    if far.any():
        result[far] = _log_series(successes[far], failures[far], p0[far])
    return result


def _log_series(successes: Floats, failures: Floats, p0: Floats) -> Floats:
    """Sum (f + 1) E = 1 + s/(f+2) o + s(s-1)/((f+2)(f+3)) o^2 + ..., where o are the odds (1 - p0)/p0.

    All terms are positive, and so far below p0 they fall at once: some 500 are enough at n = 1,000,000.
    """
    odds, term, total, k = (1 - p0) / p0, np.ones_like(p0), np.ones_like(p0), 0
    while np.any(term > total * 1e-17):
        term = term * (np.maximum(successes - k, 0) / (failures + 2 + k) * odds)
        total, k = total + term, k + 1
    return np.asarray(np.log(total) - np.log(failures + 1))


def _counts_so_far(outcomes: ArrayLike) -> tuple[Floats, Floats]:
    hits = np.asarray(outcomes, dtype=float)
    if hits.ndim != 1 or not np.all((hits == 0) | (hits == 1)):
        raise ValueError("outcomes must be one list of True or False (1 or 0): for scores, use a test of a mean")
    successes = np.cumsum(hits)
    return successes, np.arange(1, len(hits) + 1) - successes


def _counted(counts: ArrayLike) -> Floats:
    array = np.asarray(counts, dtype=float)
    if not np.all((array >= 0) & (array < np.inf)):
        raise ValueError(f"counts must be numbers of trials, 0 or more, not {counts!r}")
    return array


def _check_rate(rate: float) -> None:
    if not 0 < rate < 1:
        raise ValueError(f"a rate to bet on must lie strictly between 0 and 1, not be {rate!r}")


def _check_level(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, not be {alpha!r}: 0.05 is 5% on each side")
