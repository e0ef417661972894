"""Find the best of several by successive elimination: each round asks all that are left, and drops those another beats.

For each ordered pair a gambler bets, round by round, that one is better than the other, as in `betting`: on the
difference of their values in that round, which is a pair. Hypothesis of the bet of i against j: the mean of i is at
most that of j; its wealth then ever reaches c with probability at most 1/c (J. Ville 1939). For the best entrant this
holds for all bets against it, and so for the mean of their wealths: if entrants are dropped when that mean reaches
1/alpha, the best is dropped with probability at most alpha, whatever their number, the reason the rounds end, and the
dependence between entrants. On means of e-values V. Vovk and R. Wang (2021), "E-values: calibration, combination and
applications", Annals of Statistics 49.
"""

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats

_LARGEST_BET = 1.5  # on a difference scaled to [0, 1] with mean 1/2: no round loses more than 3/4
_LARGEST_LOG = 700.0

Flags = NDArray[np.bool_]


class Elimination:
    """An elimination of `entrants` in at most `n_max` rounds; `runs` simulates many at once.

    left: the entrants not yet dropped, for each run.
    rounds: the number of rounds so far.
    """

    def __init__(self, entrants: int, n_max: int, *, alpha: float, runs: int = 1) -> None:
        if entrants < 2 or n_max < 1 or not 0 < alpha < 1:
            found = f"{entrants!r} entrants, {n_max!r} rounds, alpha {alpha!r}"
            raise ValueError(f"{found}: give two entrants or more, a round or more, and a share")
        shape = (runs, entrants, entrants)
        self.left: Flags = np.ones(shape[:2], dtype=bool)
        self.rounds = 0
        self._n_max, self._alpha = n_max, alpha
        self._others = ~np.eye(entrants, dtype=bool)
        self._sums, self._squares, self._logs = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    @property
    def is_over(self) -> Flags:
        """Whether one alone is left of each run, or the rounds are used up."""
        over: Flags = (self.left.sum(axis=1) == 1) | (self.rounds >= self._n_max)
        return over

    def push(self, low: Floats, high: Floats) -> Flags:
        """Add a round, and return the entrants it drops.

        Each entrant's value is in [0, 1] and, if unknown, between `low` and `high`: an axis of runs, one of entrants.
        The values of dropped entrants are ignored.
        """
        going = self.left & ~self.is_over[:, None]
        pairs = going[:, :, None] & going[:, None, :] & self._others
        self.rounds += 1
        scaled = np.where(pairs, (low[:, :, None] - high[:, None, :] + 1) / 2, 0.5)
        variances = (0.25 + self._squares) / self.rounds
        tuned = np.sqrt(-2 * np.log(self._alpha / (going.shape[1] - 1)) / (variances * self._n_max))
        self._logs += np.where(pairs, np.log1p(np.minimum(tuned, _LARGEST_BET) * (scaled - 0.5)), 0.0)
        self._sums += scaled
        self._squares += (scaled - (0.5 + self._sums) / (self.rounds + 1)) ** 2
        dropped: Flags = going & (self.evidence() >= 1 / self._alpha)
        dropped &= ~(dropped.sum(axis=1) == self.left.sum(axis=1))[:, None]  # somebody stays
        self.left &= ~dropped
        return dropped

    def evidence(self) -> Floats:
        """Return the e-value against each entrant of each run being the best."""
        wealth = np.exp(np.minimum(self._logs, _LARGEST_LOG)) * self._others
        found: Floats = wealth.sum(axis=1) / (self.left.shape[1] - 1)
        return found

    def outdone_by(self, entrant: int) -> int:
        """Return the entrant with the most evidence against another, in the first run."""
        return int(np.argmax(np.where(self._others[entrant], self._logs[0, :, entrant], -np.inf)))
