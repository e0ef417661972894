"""A comparison of two versions on pairs; you may look at it, and continue it, at any time.

A gambler starts with 1 and bets, pair by pair, that the new version gains more than it loses, but for the margin: a
gain multiplies the wealth by 1 + bet (1 + margin), a loss by 1 - bet (1 - margin), any other pair by 1 + bet margin. If
the new rate is no more than the old one less the margin, the wealth of any fixed bet, and so the mean of many, ever
reaches 1/alpha with probability alpha at most (J. Ville 1939), whatever share of pairs ends differently. Bets are
spread from nothing to the size at which a loss would cost all, large ones more densely, as most pairs end alike: they
do not depend on the number of pairs, so you may choose it after seeing results.

References: I. Waudby-Smith and A. Ramdas (2024), as of `betting`; mixtures of bets: T. M. Cover (1991), "Universal
portfolios", Mathematical Finance 1.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from simeval.core.arrays import Floats
from simeval.stats.two_sample import check_margin

BETS = 24
_ROUNDING = 1e-12
_HALVINGS = 40  # of the range searched for a bound
_LARGEST_LOG = 700.0


def pairs_evalue(gains: ArrayLike, losses: ArrayLike, n: ArrayLike, *, margin: float) -> Floats:
    """Return the e-value of "not worse by more than the margin" after n pairs, of each of several counts.

    Hypothesis: new rate - old rate <= -margin, with the margin between -1 and 1. Holds at every moment; at most 1e304,
    and 1 before the first pair.
    """
    gained, lost, pairs = (np.asarray(each, dtype=float)[..., None] for each in (gains, losses, n))
    same = pairs - gained - lost
    if not -1 < margin < 1 or min(gained.min(), lost.min(), same.min()) < 0:
        said = f"{gains!r} gains and {losses!r} losses in {n!r} pairs, margin {margin!r}"
        raise ValueError(f"{said}: give counts of these pairs, and a margin between -1 and 1")
    bets = np.sqrt((np.arange(BETS) + 0.5) / BETS) / (1 - margin)
    logs = (
        gained * np.log1p(bets * (1 + margin)) + lost * np.log1p(-bets * (1 - margin)) + same * np.log1p(bets * margin)
    )
    found: Floats = np.exp(np.minimum(logs, _LARGEST_LOG)).mean(axis=-1)
    return found


def smallest_difference(gains: int, losses: int, n: int, *, alpha: float) -> float:
    """Return the greatest proven lower bound of new rate - old rate after n pairs, valid at any moment."""
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_proven = bool(pairs_evalue(gains, losses, n, margin=-middle) * alpha >= 1)
        low, high = (middle, high) if is_proven else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class OpenPairedDesign:
    """A comparison of any number of pairs that looks after each from the `first` on; `n_max` only ends it."""

    n_max: int
    margin: float
    alpha: float
    first: int = 1

    def __post_init__(self) -> None:
        check_margin(self.margin)

    @property
    def is_open(self) -> bool:
        """Whether a finding holds however the pairs ended."""
        return True

    @property
    def looks(self) -> range:
        """After which numbers of pairs it looks."""
        return range(min(self.first, self.n_max), self.n_max + 1)

    def p_not_worse(self, look: int, gains: int, losses: int) -> float:
        """Return the p-value of "not worse by more than the margin" for these counts at look number `look`."""
        return _p_value(gains, losses, self.looks[look], self.margin)

    def p_worse(self, look: int, gains: int, losses: int) -> float:
        """Return the p-value of "worse" for these counts at look number `look`."""
        return _p_value(losses, gains, self.looks[look], 0.0)

    def proves(self, p: float, look: int) -> bool:  # noqa: ARG002
        """Return whether a p-value of a look ends the comparison there."""
        return p <= self.alpha * (1 + _ROUNDING)


@lru_cache(maxsize=4096)
def _p_value(gains: int, losses: int, n: int, margin: float) -> float:
    return min(1.0, 1 / float(pairs_evalue(gains, losses, n, margin=margin)))
