"""How much of the spread of scores is the judge's own, and how often it pays to ask it again.

References: P. E. Shrout and J. L. Fleiss (1979), "Intraclass correlations: uses in assessing rater reliability",
Psychological Bulletin 86 (case 1); W. G. Cochran (1977), Sampling Techniques, 3rd ed., section 10.6 (how many
elements to take from each unit at a given cost).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from simeval.stats.clusters import mean_squares


@dataclass(frozen=True, slots=True)
class JudgeVariance:
    """The variance of a single score, by source."""

    judge: float  # between repeats on one conversation; NaN where no conversation was judged twice
    conversation: float  # between conversations, 0 at least; NaN with fewer than two
    icc1: float  # the conversations' part of the whole; negative where repeats differ more than conversations do
    n_conversations: int
    n_scores: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many times a conversation is best judged at a given cost."""

    count: int
    saving: float  # of the cost at equal precision, against one judgement each: 0.07 is 7 % less


def judge_variance(
    scores: Sequence[Sequence[float | None]] | NDArray[np.generic],
) -> JudgeVariance:
    """Return the variance of the judge and of the conversations, from conversations judged several times.

    Hypothesis: none is tested. `scores` has a row for each conversation and a column for each repeat, None or NaN for a
    missing repeat; rows without a score are left out. One-way random analysis of variance, with the averaged size n0 if
    repeats are unequal: the estimates are unbiased before the floor at 0, and rough with few conversations (20 to 30,
    judged 3 times, are advisable). `icc1` is not floored. ValueError if `scores` is not a table.
    """
    table = np.array(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"The scores have {table.ndim} dimensions; give a row per conversation, a column per repeat.")
    known = ~np.isnan(table)
    rows = np.nonzero(known)[0]
    found = mean_squares(table[known], rows)
    difference = found.between - found.within
    total = found.between + (found.n0 - 1) * found.within
    return JudgeVariance(
        judge=found.within,
        conversation=nan if np.isnan(difference) else max(0.0, difference / found.n0),
        icc1=difference / total if total > 0 else nan,
        n_conversations=np.unique(rows).size,
        n_scores=rows.size,
    )


def optimal_repeats(variance_judge: float, variance_conversation: float, *, cost_ratio: float) -> float:
    """Return the number of repeats, not rounded, with the most precise mean for its cost.

    Hypothesis: none is tested. The minimum over r of (variance_conversation + variance_judge / r) * (cost_ratio + r):
    r* = sqrt(cost_ratio * variance_judge / variance_conversation). `cost_ratio` is the cost of holding a conversation
    over that of judging it once. Below 1 if one judgement is enough, 0 for a judge that never varies, infinite if
    conversations do not vary. It treats the variances as known. ValueError for a variance that is negative or NaN, or a
    cost ratio that is not positive.
    """
    for name, variance in (("judge", variance_judge), ("conversations", variance_conversation)):
        if not (isfinite(variance) and variance >= 0):
            raise ValueError(f"The variance of the {name} is {variance!r}; give a finite number of 0 or more.")
    if not (isfinite(cost_ratio) and cost_ratio > 0):
        raise ValueError(f"The cost ratio is {cost_ratio!r}; give the cost of a conversation over that of a judgement.")
    if variance_judge == 0:
        return 0.0
    return sqrt(cost_ratio * variance_judge / variance_conversation) if variance_conversation > 0 else inf


def repeats_worth_paying(
    variance_judge: float, variance_conversation: float, *, cost_ratio: float, limit: int = 10
) -> Repeats:
    """Return the whole number of repeats, from 1 to `limit`, with the most precise mean for its cost.

    Hypothesis: none is tested. Arguments and errors as `optimal_repeats`. The cost at a given precision falls up to r*
    and rises after it, so only its two neighbours are compared. Repeats change the quantity measured (the mean of r
    scores), so their number is part of the criterion.
    """
    best = min(optimal_repeats(variance_judge, variance_conversation, cost_ratio=cost_ratio), limit)
    candidates = sorted({min(max(floor(best) + step, 1), limit) for step in (0, 1)})

    def cost(repeats: int) -> float:
        return (variance_conversation + variance_judge / repeats) * (cost_ratio + repeats)

    count = min(candidates, key=cost)
    return Repeats(count, saving=1 - cost(count) / cost(1) if cost(1) > 0 else 0.0)
