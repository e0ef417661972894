"""Preference between versions judged side by side: two versions in both orders, and a ranking of several.

References: R. A. Bradley and M. E. Terry (1952), "Rank analysis of incomplete block designs", Biometrika 39;
L. R. Ford (1957), "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64
(when a ranking exists); D. R. Hunter (2004), "MM algorithms for generalized Bradley-Terry models", Annals of
Statistics 32.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import p_at_least
from simeval.stats.mean import lower_bound, upper_bound
from simeval.stats.multiple import holm

_SCORES = {"A": 0.0, "tie": 0.5, "B": 1.0}
_TOLERANCE = 1e-10  # the iteration ends at this largest relative gap between wins and expected wins
_MOST_ITERATIONS = 100_000


@dataclass(frozen=True, slots=True)
class Preferences:
    """How often B was preferred to A, the proof of it, and how far the order of showing swayed the judge.

    A share is None if it would divide by 0. `wins`, `losses` and `ties` count pairs from B's side; `win_rate` is the
    mean score of B with its interval `low` to `high`; `p_b_better` and `p_a_better` come from the sign test.
    `consistent` is the share of pairs with the same answer in both orders, `flipped` that of pairs with A in one and B
    in the other. `first_ab` of `decided_ab` answers with A shown first that were no tie named A, `first_ba` of
    `decided_ba` with B shown first named B; `prefers_first` is their share taken together, 1/2 without position bias.
    """

    n: int
    wins: int
    losses: int
    ties: int
    win_rate: float | None
    low: float
    high: float
    p_b_better: float
    p_a_better: float
    consistent: float | None
    flipped: float | None
    first_ab: int
    decided_ab: int
    first_ba: int
    decided_ba: int

    @property
    def prefers_first_ab(self) -> float | None:
        """The share of the decided answers that name A, where A was shown first."""
        return _share(self.first_ab, self.decided_ab)

    @property
    def prefers_first_ba(self) -> float | None:
        """The share of the decided answers that name B, where B was shown first."""
        return _share(self.first_ba, self.decided_ba)

    @property
    def prefers_first(self) -> float | None:
        """The share of all decided answers that name the version shown first."""
        return _share(self.first_ab + self.first_ba, self.decided_ab + self.decided_ba)


@dataclass(frozen=True, slots=True)
class StrengthDifference:
    """The difference in log strength of version `one` over version `other`, and its Holm-corrected p-value."""

    one: int
    other: int
    difference: float
    p_two_sided: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Log strengths of k versions with their intervals, the comparison of each pair, and draws without a ranking."""

    log_strengths: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    comparisons: tuple[StrengthDifference, ...]
    n_draws: int
    draws_without_ranking: int


def preferences(both_orders: Sequence[tuple[str, str]], *, alpha: float = 0.05) -> Preferences:
    """Return the preference for B over A from pairs that were each judged in both orders.

    Hypothesis: B is preferred at most (for "B better") or at least (for "A better") as often as A, ties aside.
    `both_orders` holds, for each of n independent pairs, the answer with A shown first, then the answer with B
    shown first; an answer is the version "A" or "B", never the position, or "tie". A pair's score is the mean
    of its two answers (B 1, tie 1/2, A 0): above 1/2 it is a win of B, below a loss.

    The sign test on the pairs that are no tie is exact. The interval of the win rate, `alpha` on each side,
    is Gaffke's (not proven, see `simeval.stats.mean`) and can contradict the sign test, which asks about
    another quantity. Without pairs: p-values 1, interval [0, 1].
    """
    for pair in both_orders:
        if len(pair) != 2 or not set(pair) <= _SCORES.keys():
            raise ValueError(f"the answers of a pair are {pair!r}: give two, each of them 'A', 'B' or 'tie'")
    n = len(both_orders)
    scores = [(_SCORES[with_a_first] + _SCORES[with_b_first]) / 2 for with_a_first, with_b_first in both_orders]
    wins, losses = sum(score > 0.5 for score in scores), sum(score < 0.5 for score in scores)
    with_a_first, with_b_first = [pair[0] for pair in both_orders], [pair[1] for pair in both_orders]
    return Preferences(
        n=n,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        win_rate=_share(sum(scores), n),
        low=lower_bound(scores, alpha, low=0.0),
        high=upper_bound(scores, alpha, high=1.0),
        p_b_better=p_at_least(wins, wins + losses, 0.5),
        p_a_better=p_at_least(losses, wins + losses, 0.5),
        consistent=_share(sum(one == other for one, other in both_orders), n),
        flipped=_share(sum({*pair} == {"A", "B"} for pair in both_orders), n),
        first_ab=with_a_first.count("A"),
        decided_ab=n - with_a_first.count("tie"),
        first_ba=with_b_first.count("B"),
        decided_ba=n - with_b_first.count("tie"),
    )


def bradley_terry(wins: ArrayLike) -> list[float]:
    """Return the log strengths of k versions, centred on 0, from a k x k matrix of wins.

    The model gives i odds of exp(strength i - strength j) to beat j. `wins[i][j]` counts how often i beat j; a tie
    counts half for both, which the caller adds beforehand. The diagonal is 0. The estimate is that of maximum
    likelihood, by Hunter's MM algorithm until wins and expected wins agree to 1e-10.

    It is finite only if every version can be reached from every other along wins (Ford 1957); else ValueError, for
    example if a version never lost.
    """
    matrix = _win_matrix(wins, 2)
    if not _has_ranking(matrix[None])[0]:
        raise ValueError(
            "some versions never lost to the others, or were never compared with them, so no finite strengths "
            "fit: compare them more often, or leave them out"
        )
    return [float(strength) for strength in _fit(matrix[None])[0]]


def bradley_terry_intervals(
    wins_by_seed: ArrayLike, *, alpha: float = 0.05, n_draws: int = 1_999, seed: int = 0
) -> Ranking:
    """Return the ranking of k versions with intervals, `alpha` on each side, and all pairs compared.

    Hypothesis of each comparison: the two versions are equally strong. `wins_by_seed` is k x k x seeds: how
    often i beat j on each seed, a tie half for both. Seeds are drawn with replacement, `n_draws` times, with
    the random `seed`; intervals are percentiles of the draws, p-values twice the share of draws beyond 0,
    Holm-corrected over the k (k - 1) / 2 pairs. No p-value is below 2 / (n_draws + 1) before the correction.

    Asymptotic in the number of seeds: coverage is not proven, and poor below some 30 seeds. A draw whose
    strengths are not finite counts as the worst case on both sides, so many of them widen the intervals to
    infinity. ValueError with fewer than two seeds, or where all seeds together have no ranking.
    """
    wins = _win_matrix(wins_by_seed, 3)
    n_seeds = wins.shape[2]
    if n_seeds < 2 or n_draws < 1:
        raise ValueError(f"found {n_seeds} seeds and {n_draws!r} draws: give at least 2 seeds and 1 draw")
    strengths = bradley_terry(wins.sum(axis=2))
    counts = np.random.default_rng(seed).multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=n_draws)
    drawn = np.moveaxis(wins @ counts.T, 2, 0)
    ranked = _has_ranking(drawn)
    fitted = _fit(drawn[ranked])
    missing = n_draws - len(fitted)
    nowhere = np.full((missing, len(wins)), np.inf)
    low = np.quantile(np.concatenate([fitted, -nowhere]), alpha, axis=0, method="lower")
    high = np.quantile(np.concatenate([fitted, nowhere]), 1 - alpha, axis=0, method="higher")
    return Ranking(
        tuple(strengths),
        tuple(low.tolist()),
        tuple(high.tolist()),
        _compared(strengths, fitted, missing),
        n_draws,
        missing,
    )


def _compared(strengths: Sequence[float], fitted: Floats, missing: int) -> tuple[StrengthDifference, ...]:
    pairs = list(combinations(range(len(strengths)), 2))
    p_values = []
    for one, other in pairs:
        gaps = fitted[:, one] - fitted[:, other]
        beyond = 1 + missing + min(int(np.sum(gaps <= 0)), int(np.sum(gaps >= 0)))
        p_values.append(min(1.0, 2 * beyond / (1 + missing + len(fitted))))
    return tuple(
        StrengthDifference(one, other, strengths[one] - strengths[other], p)
        for (one, other), p in zip(pairs, holm(p_values), strict=True)
    )


def _win_matrix(wins: ArrayLike, dimensions: int) -> Floats:
    matrix = np.asarray(wins, dtype=float)
    if matrix.ndim != dimensions or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ValueError(
            f"the wins have the shape {matrix.shape}: give a row and a column for each of 2 or more versions"
        )
    if not (np.isfinite(matrix) & (matrix >= 0)).all() or np.diagonal(matrix).any():
        raise ValueError("wins are finite counts of 0 or more, and no version is compared with itself")
    return matrix


def _has_ranking(wins: Floats) -> NDArray[np.bool_]:
    """Return, for each of draws x k x k, whether every version is reached from every other along wins."""
    k = wins.shape[1]
    reached = (wins > 0) | np.eye(k, dtype=bool)
    for _ in range(k.bit_length()):
        reached = (reached.astype(float) @ reached.astype(float)) > 0
    return np.asarray(reached.all(axis=(1, 2)))


def _fit(wins: Floats) -> Floats:
    """Return draws x k centred log strengths of draws x k x k wins; each draw has a ranking."""
    strengths = np.zeros(wins.shape[:2])
    open_draws = np.arange(len(wins))
    total, played = wins.sum(axis=2), wins + np.swapaxes(wins, 1, 2)
    for _ in range(_MOST_ITERATIONS):
        if not open_draws.size:
            return strengths
        current = np.exp(strengths[open_draws])
        pull = np.sum(played[open_draws] / (current[:, :, None] + current[:, None, :]), axis=2)
        step = np.log(total[open_draws] / pull) - strengths[open_draws]
        moved = strengths[open_draws] + step
        strengths[open_draws] = moved - moved.mean(axis=1, keepdims=True)
        open_draws = open_draws[np.abs(step).max(axis=1) > _TOLERANCE]
    raise ValueError(
        f"the strengths did not settle within {_MOST_ITERATIONS:,} steps, because some versions almost never lose "
        "to the others: compare them more often, or leave them out"
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
