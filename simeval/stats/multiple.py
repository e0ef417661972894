"""Corrections for several tests at once: family-wise error, false discoveries, and e-values.

A suite that passes only if every criterion passes needs none of them (an intersection-union test). They are
for the joint claim "these of the list pass". Holm's and Benjamini and Hochberg's corrections are for p-values
of samples whose sizes were fixed beforehand. After early stopping they must not be used: a run that stopped
on reaching its level of 0.05 cannot produce a p-value of 0.00125, so corrected afterwards it never passes
(40 criteria, 20 of them good: the power of Holm on stopped p-values is 0.000). Early stopping takes
`joint_level`, decided before the first sample.

References: S. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6; Y. Benjamini and Y. Hochberg (1995), "Controlling the false discovery rate", Journal of the Royal
Statistical Society B 57; R. Wang and A. Ramdas (2022), "False discovery rate control with e-values", ibid. 84.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_TIE = 1e-12  # relative distance below which an e-value counts as equal to its threshold


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given, that control the chance of any false rejection.

    Hypothesis: that of each p-value. Rejecting those with an adjusted p-value of at most alpha makes one or
    more false rejections with a probability of at most alpha, whatever the dependence (proven). For p-values
    of fixed samples only, never after early stopping. No p-values give an empty list.
    """
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_given_order(raised, order)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given, that control the share of false rejections.

    Hypothesis: that of each p-value. Among those with an adjusted p-value of at most alpha the expected share
    of false rejections is at most alpha (proven for independent or positively dependent p-values). For
    p-values of fixed samples only, never after early stopping. No p-values give an empty list.
    """
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _in_given_order(np.minimum.accumulate(raised[::-1])[::-1], order)


def e_benjamini_hochberg(e_values: Sequence[float], alpha: float) -> list[int]:
    """Return the indices, ascending, of the e-values whose hypotheses are rejected.

    Hypothesis: that of each e-value, whose expectation under it is at most 1. Rejects the k largest for the greatest k
    such that the k-th largest is at least m / (alpha k), m the number of e-values. The expected share of false
    rejections is at most alpha whatever the dependence and whenever each was stopped (proven). Infinite e-values are
    allowed. No e-values give an empty list.
    """
    _check_level(alpha)
    e = np.asarray(e_values, dtype=float)
    if np.isnan(e).any() or (e < 0).any():
        raise ValueError(f"e-values are 0 or more, found {list(e_values)!r}: leave out tests without one")
    order = np.argsort(-e, kind="stable")
    thresholds = len(e) / (alpha * np.arange(1, len(e) + 1))
    reached = np.flatnonzero(e[order] >= thresholds * (1 - _TIE))
    n_rejected = int(reached[-1]) + 1 if reached.size else 0
    return sorted(int(index) for index in order[:n_rejected])


def joint_level(alpha: float, m: int) -> float:
    """Return the level, alpha / m, at which each of m tests is run so that they hold jointly (Bonferroni).

    Hypothesis: that of each test. The chance of any false rejection is at most alpha, whatever the dependence and with
    early stopping too (proven). The level must be decided before sampling, since the boundaries of early stopping are
    built from it, and m is the number of tests planned, not the number that looked promising.
    """
    _check_level(alpha)
    if m < 1:
        raise ValueError(f"a level was to be shared by {m!r} tests: give the number of tests planned, 1 or more")
    return alpha / m


def _check_level(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError(f"the level is {alpha!r}: give a number between 0 and 1")


def _probabilities(p_values: Sequence[float]) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=float)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values lie between 0 and 1, found {list(p_values)!r}: leave out tests without one")
    return p


def _in_given_order(ranked: NDArray[np.float64], order: NDArray[np.intp]) -> list[float]:
    adjusted = np.empty_like(ranked)
    adjusted[order] = np.minimum(ranked, 1.0)
    return [float(value) for value in adjusted]
