"""Comparison of two versions tried on the same seeds: McNemar's test, sign flips, and "not worse by more than".

Differences are new - old throughout. References: Q. McNemar (1947), "Note on the sampling error of the
difference between correlated proportions or percentages", Psychometrika 12; R. A. Fisher (1935), The Design of
Experiments, section 21 (sign flips); B. Phipson and G. K. Smyth (2010), "Permutation p-values should never be
zero", Statistical Applications in Genetics and Molecular Biology 9; T. Tango (1998), "Equivalence test and
confidence interval for the difference in proportions for the paired-sample design", Statistics in Medicine 17;
H.-M. Hsueh, J.-P. Liu and J. J. Chen (2001), "Unconditional exact tests for equivalence or noninferiority for
paired binary endpoints", Biometrics 57.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import p_at_least, p_at_most
from simeval.stats.two_sample import TIE, MarginTest, binomial_weights, check_margin, standardised, supremum

_MOST_ENUMERATED = 16  # groups, with all sign flips enumerated
_BLOCK = 1_000  # random flips drawn at once, to bound the memory
_ROUNDING = 1e-10  # times the sum of the absolute differences: sums closer than that count as equal
_MOST_PAIRS = 1_000  # pairs, up to which the unconditional test is computed exactly: a fifth of a second
_HALVINGS = 60  # of the range searched for a bound


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The p-values of "new is better", "new is worse" and "they differ"; `exact` is False if flips were drawn."""

    p_new_better: float
    p_new_worse: float
    p_two_sided: float
    exact: bool


def mcnemar(new_only: int, old_only: int) -> PairedTest:
    """Return the p-values of McNemar's exact test of paired yes-or-no outcomes.

    Hypothesis: the new version succeeds at most (for "better") or at least (for "worse") as often as the old.
    `new_only` counts the pairs with success of the new version alone, `old_only` of the old alone; given their sum, and
    equal rates, `new_only` is Bin(sum, 1/2). Exact and conservative for independent pairs; the two-sided p-value is
    twice the smaller, at most 1. All are 1 without a discordant pair.
    """
    _check_counts(new_only=new_only, old_only=old_only)
    discordant = new_only + old_only
    better, worse = p_at_least(new_only, discordant, 0.5), p_at_most(new_only, discordant, 0.5)
    return _paired(better, worse, exact=True)


def sign_flip(
    differences: Sequence[float], *, clusters: Sequence[Hashable] | None = None, n_flips: int = 9_999, seed: int = 0
) -> PairedTest:
    """Return the p-values of the mean difference among all its sign flips.

    Hypothesis: exchanging the versions within a seed changes nothing, so that every difference is as likely as its
    negative. `differences` holds n finite numbers, new - old; `clusters` the n labels of their seeds: each seed is
    flipped as a whole (without it each difference is a seed of its own).

    Up to 16 seeds whose sum is not zero (the others change nothing) all flips are enumerated: exact and deterministic.
    Above, `n_flips` are drawn with `seed` and p = (1 + count) / (n_flips + 1), which keeps the level too (proven) but
    is not the enumerated value: `exact` is False. Flips whose sum equals the observed one but for rounding count as
    equal. As a test of "the mean difference is 0 or less" of differences that are not symmetric about 0 it is
    asymptotic. All are 1 without differences, or if all sums are zero.
    """
    values = np.asarray(differences, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("a difference is not a finite number: leave out or fill in the pairs with a missing side")
    if n_flips < 1:
        raise ValueError(f"{n_flips!r} sign flips were to be drawn: draw 1 or more")
    rounding = _ROUNDING * float(np.abs(values).sum())
    sums = values if clusters is None else _sums_by(clusters, values)
    sums = sums[np.abs(sums) > rounding]
    if len(sums) <= _MOST_ENUMERATED:
        flipped = _all_flips(sums)
        better, worse = _as_extreme(flipped, sums.sum(), rounding)
        return _paired(better / len(flipped), worse / len(flipped), exact=True)
    return _drawn(sums, rounding, n_flips, np.random.default_rng(seed))


def paired_not_worse(both: int, new_only: int, old_only: int, neither: int, *, margin: float) -> MarginTest:
    """Return the p-value of "the new rate is above the old rate less `margin`" from paired yes-or-no outcomes.

    Hypothesis: new rate - old rate <= -margin, with -1 < margin < 1. The counts are of pairs. A margin of 0 tests for a
    better version, a negative one for a version better by more than that; "worse by more than the margin" is the same
    test with the versions exchanged and the margin negated.

    Up to 1,000 pairs it is exact: the greatest probability, over the nuisance parameter (the share of pairs with
    success of the old version alone) at a difference of exactly -margin, of counts at least as extreme by Tango's score
    (Hsueh, Liu and Chen 2001). Counts that beat extreme ones, with as many or more `new_only` and as few or fewer
    `old_only`, count as extreme too, so that no smaller difference makes them likelier. Above that it is Tango's
    asymptotic score test. 1 without pairs. At a margin of 0 it is the unconditional counterpart of `mcnemar`: usually
    somewhat smaller if the new version leads, and 1 if it does not, because pairs that all agree are then at least as
    extreme.
    """
    _check_counts(both=both, new_only=new_only, old_only=old_only, neither=neither)
    check_margin(margin)
    n = both + new_only + old_only + neither
    if n == 0:
        return MarginTest(1.0, exact=True)
    if n > _MOST_PAIRS:
        return MarginTest(float(scipy.special.ndtr(-_score_of(new_only, old_only, n, -margin))), exact=False)
    old_counts = np.arange(n + 1)
    one_fewer = np.minimum(_first_extreme(new_only, old_only, n, margin) - 1, n - old_counts)

    def probability(old_shares: Floats) -> Floats:
        weights = binomial_weights(old_counts, n, old_shares[:, None])
        new_given_not_old = np.clip((old_shares - margin) / (1 - old_shares), 0, 1)
        total: Floats = np.sum(
            weights * scipy.special.bdtrc(one_fewer, n - old_counts, new_given_not_old[:, None]), axis=1
        )
        return total

    return MarginTest(supremum(probability, max(0.0, margin), (1 + margin) / 2, n=n), exact=True)


def paired_difference_interval(
    both: int, new_only: int, old_only: int, neither: int, *, alpha: float
) -> tuple[float, float]:
    """Return the approximate interval of new rate - old rate, `alpha` on each side, from counts of pairs.

    It holds the differences that Tango's score test does not reject: asymptotic, so it can contradict the
    exact tests. Contains the estimate. [-1, 1] without pairs.
    """
    _check_counts(both=both, new_only=new_only, old_only=old_only, neither=neither)
    n = both + new_only + old_only + neither
    if n == 0:
        return -1.0, 1.0
    return _lower_bound(new_only, old_only, n, alpha), -_lower_bound(old_only, new_only, n, alpha)


def _lower_bound(new_only: int, old_only: int, n: int, alpha: float) -> float:
    critical = -float(scipy.special.ndtri(alpha))
    rejected, kept = -1.0, (new_only - old_only) / n
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        far = _score_of(new_only, old_only, n, middle) > critical
        rejected, kept = (middle, kept) if far else (rejected, middle)
    return rejected


def _score_of(new_only: int, old_only: int, n: int, difference: float) -> float:
    return float(tango_score(np.array(float(new_only)), np.array(float(old_only)), n, difference))


def tango_score(new_only: Floats, old_only: Floats, n: int, difference: float) -> Floats:
    """Return Tango's z of "new rate - old rate > difference", 0 where its variance is 0."""
    b = (2 * n - new_only + old_only) * difference - new_only - old_only
    c = -old_only * difference * (1 - difference)
    old_share = (np.sqrt(np.maximum(b**2 - 8 * n * c, 0)) - b) / (4 * n)  # the most likely one, given the difference
    variance: Floats = n * (2 * old_share + difference * (1 - difference))
    surplus = new_only - old_only - n * difference
    return standardised(surplus, variance)


def _first_extreme(new_only: int, old_only: int, n: int, margin: float) -> NDArray[np.int64]:
    """Return, for each count of old successes alone, the fewest new ones that are as extreme; n + 1 for none."""
    new, old = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)
    possible = new + old <= n
    scores = np.where(
        possible, tango_score(np.where(possible, new, 0), np.where(possible, old, 0), n, -margin), -np.inf
    )
    monotone = np.maximum.accumulate(scores, axis=0)
    monotone = np.maximum.accumulate(monotone[:, ::-1], axis=1)[:, ::-1]
    extreme = possible & (monotone >= monotone[new_only, old_only] - TIE)
    return np.where(extreme.any(axis=0), extreme.argmax(axis=0), n + 1)


def _sums_by(clusters: Sequence[Hashable], values: Floats) -> Floats:
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} differences have {len(clusters)} cluster labels: give one label for each")
    place = {label: number for number, label in enumerate(dict.fromkeys(clusters))}
    sums: Floats = np.zeros(len(place))
    np.add.at(sums, [place[label] for label in clusters], values)
    return sums


def _all_flips(sums: Floats) -> Floats:
    flipped = np.zeros(1)
    for value in sums:
        flipped = np.concatenate([flipped + value, flipped - value])
    return flipped


def _as_extreme(flipped: Floats, observed: float, rounding: float) -> tuple[int, int]:
    return int(np.sum(flipped >= observed - rounding)), int(np.sum(flipped <= observed + rounding))


def _drawn(sums: Floats, rounding: float, n_flips: int, random: "np.random.Generator") -> PairedTest:
    better = worse = 1
    for start in range(0, n_flips, _BLOCK):
        signs = random.integers(0, 2, size=(min(_BLOCK, n_flips - start), len(sums)), dtype=np.int8) * 2 - 1
        above, below = _as_extreme(signs @ sums, sums.sum(), rounding)
        better, worse = better + above, worse + below
    return _paired(better / (n_flips + 1), worse / (n_flips + 1), exact=False)


def _paired(better: float, worse: float, *, exact: bool) -> PairedTest:
    return PairedTest(better, worse, min(1.0, 2 * min(better, worse)), exact)


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 0:
            raise ValueError(f"{name} is {count!r}: give the number of such pairs, 0 or more")
