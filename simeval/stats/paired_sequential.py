"""A comparison of two versions on pairs that stops when it is proven: "not worse by more than a margin", and "worse".

A group-sequential test, exact at every share of pairs that end differently: the boundary of each look keeps the
greatest chance of a wrong finding, over all such shares, within the level that may be spent by then. The chances are
sums over all sequences of gains (the new version alone succeeds) and losses (the old one alone), by dynamic
programming.

References: as of `paired`; S. K. Wang and A. A. Tsiatis (1987) and K. Kim and D. L. DeMets (1987) for spending the
level as a power of the share of the sample; A. A. Tsiatis, G. L. Rosner and C. R. Mehta (1984) for p-values by stages.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, pi, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.paired import tango_score
from simeval.stats.two_sample import check_margin

Flags = NDArray[np.bool_]

MOST_LOOKS = 30
LEAST_STEP = 5  # pairs between two looks
MOST_PAIRS = 600  # a design of so many takes some 20 seconds
_POWER = 2  # of the share of the sample, by which the level is spent: little of it early
_POINTS = 6  # of the grid over the nuisance share, times the square root of n: two per standard error
_NEAR = 0.05  # relative, to the greatest level: peaks of the grid that are looked at between its points
_BETWEEN = 1e-6  # relative: how far the level may be exceeded between points
_BLOCK = 12  # cases that are walked together: those with few discordant pairs need little room
_DEVIATIONS = 8  # the most by which a count exceeds its mean
_ROUNDING = 1e-12  # relative: the tolerance of a sum of probabilities that equals its limit


@dataclass(frozen=True, slots=True, eq=False)
class PairedDesign:
    """When a comparison of at most `n_max` pairs stops: it looks after each number of pairs in `looks`.

    `spent` holds the share of `alpha` that each test may have spent by each look. `not_worse` and `worse` hold for each
    look the p-values by stages, with gains as rows and losses as columns; any other state has the p-value 1.
    """

    n_max: int
    margin: float
    alpha: float
    looks: tuple[int, ...]
    spent: tuple[float, ...]
    not_worse: tuple[Floats, ...]
    worse: tuple[Floats, ...]

    @property
    def is_open(self) -> bool:
        """Whether a finding holds however the pairs ended: here by the looks alone."""
        return False

    def p_not_worse(self, look: int, gains: int, losses: int) -> float:
        """Return the p-value of "not worse by more than the margin" for these counts at look number `look`."""
        return _at(self.not_worse[look], gains, losses)

    def p_worse(self, look: int, gains: int, losses: int) -> float:
        """Return the p-value of "worse" for these counts at look number `look`."""
        return _at(self.worse[look], gains, losses)

    def proves(self, p: float, look: int) -> bool:
        """Return whether a p-value of a look ends the comparison there."""
        return p <= self.spent[look] * (1 + _ROUNDING)

    def stops(self, look: int, *, worse: bool) -> Flags:
        """Return, for each number of gains and of losses, whether a look ends there by one of the two findings."""
        found = self.worse if worse else self.not_worse
        stopped: Flags = found[look] <= self.spent[look] * (1 + _ROUNDING)
        return stopped


def look_times(n_max: int, *, least: int = 1) -> tuple[int, ...]:
    """Return after how many pairs a comparison looks: evenly, at most 30 times, the last time at its end."""
    step = max(LEAST_STEP, ceil(n_max / MOST_LOOKS))
    return (*(n for n in range(step, n_max, step) if n >= least and n_max - n >= LEAST_STEP), n_max)


@lru_cache(maxsize=64)
def paired_design(n_max: int, looks: tuple[int, ...], *, margin: float, alpha: float) -> PairedDesign:
    """Return the design of a comparison of at most `n_max` pairs.

    Hypotheses: new rate - old rate <= -margin, for "not worse"; new rate >= old rate, for "worse"; each is rejected
    wrongly with a probability of at most alpha, whatever share of pairs ends differently and whether or not the other
    test ends the comparison first. Both are ordered by Tango's score. A state that beats another, by more gains and
    fewer losses, never has the larger p-value: so the greatest chance of a wrong finding is at a difference of exactly
    that of the hypothesis. The maximum over the nuisance share is taken over a grid in the angle whose squared sine it
    is, and over the peaks between its points; `benchmarks/statistics/compare_level.py` looks everywhere.
    """
    check_margin(margin)
    if not 1 <= n_max <= MOST_PAIRS:
        raise ValueError(f"a comparison of {n_max!r} pairs was asked for: give 1 to {MOST_PAIRS}")
    spent = tuple(alpha * (n / n_max) ** _POWER for n in looks)
    better = _stages(looks, spent, margin, alpha)
    worse = better if margin == 0 else _stages(looks, spent, 0.0, alpha)
    return PairedDesign(n_max, margin, alpha, looks, spent, better, tuple(p.T for p in worse))


def pair_chances(discordance: Floats, difference: float) -> tuple[Floats, Floats]:
    """Return the chances of a gain and of a loss, where so many pairs end differently and the rates differ by that."""
    return np.clip((discordance + difference) / 2, 0, 1), np.clip((discordance - difference) / 2, 0, 1)


def one_pair(mass: Floats, gain: Floats, loss: Floats) -> Floats:
    """Return the chances of all states after one more pair, from those before: an axis of cases, gains, losses."""
    gain, loss = gain[:, None, None], loss[:, None, None]
    after: Floats = mass * (1 - gain - loss)
    after[:, 1:, :] += mass[:, :-1, :] * gain
    after[:, :, 1:] += mass[:, :, :-1] * loss
    return after


class PairedWalk:
    """The chances of all states on their way through a comparison, in each of several cases of gains and losses."""

    def __init__(self, gain: Floats, loss: Floats, n_max: int) -> None:
        self.n, self._most = 0, min(n_max, 60 + n_max // 5)  # states with more are found to be nothing
        self.mass = np.zeros((len(gain), self._most + 1, self._most + 1))
        self.mass[:, 0, 0] = 1.0
        self._gain, self._loss = gain, loss

    def advance(self, n: int) -> None:
        """Go on to `n` pairs."""
        for start in range(0, len(self._gain), _BLOCK):
            block = slice(start, start + _BLOCK)
            gain, loss = self._gain[block], self._loss[block]
            here = block, slice(self._room(gain, n)), slice(self._room(loss, n))
            mass = self.mass[here]
            for _ in range(n - self.n):
                mass = one_pair(mass, gain, loss)
            self.mass[here] = mass
        self.n = n

    def stop(self, states: Flags) -> Floats:
        """Take these states out; return the chance of being in them, of each case."""
        chance: Floats = self.mass[:, states].sum(axis=1)
        self.mass[:, states] = 0.0
        return chance

    def _room(self, shares: Floats, n: int) -> int:
        """Return how many of n pairs can be such: more have a chance under 1e-12."""
        share = float(shares.max())
        return min(n, self._most, ceil(n * share + _DEVIATIONS * sqrt(n * share) + _DEVIATIONS)) + 1


def _stages(looks: tuple[int, ...], spent: tuple[float, ...], margin: float, alpha: float) -> tuple[Floats, ...]:
    """Return for each look the p-values by stages of "the rate is above that of the old version less the margin".

    Where the level is exceeded between points of the grid, these are added to it.
    """
    angles = np.linspace(0, pi / 2, ceil(_POINTS * sqrt(looks[-1])) + 2)
    while True:
        found, gone = _walked(angles, looks, spent, margin, alpha)
        peaks = _peaks(angles, gone)
        above = peaks[_level(found, peaks, looks, spent, margin) > alpha * (1 + _BETWEEN)] if peaks.size else peaks
        if not above.size:
            return found
        angles = np.sort(np.concatenate([angles, above]))


def _peaks(angles: Floats, level: Floats) -> Floats:
    """Return where parabolas through each three points have a maximum that comes near to the greatest level."""
    before, here, after = level[:-2], level[1:-1], level[2:]
    is_peak = (here >= before) & (here >= after) & (here > (1 - _NEAR) * level.max())
    left, right = (np.diff(angles)[place][is_peak] for place in (slice(None, -1), slice(1, None)))
    rise, fall = (here - before)[is_peak] / left, (after - here)[is_peak] / right
    bend = (fall - rise) / ((left + right) / 2)
    bent = bend < 0
    move = -(rise * right + fall * left)[bent] / (left + right)[bent] / bend[bent]
    found: Floats = angles[1:-1][is_peak][bent] + np.clip(move, -left[bent], right[bent])
    return np.setdiff1d(found, angles)


def _level(
    stages: tuple[Floats, ...], angles: Floats, looks: tuple[int, ...], spent: tuple[float, ...], margin: float
) -> Floats:
    """Return the chance of a wrong finding in each of these cases."""
    walk, gone = PairedWalk(*_chances(angles, margin), looks[-1]), np.zeros(len(angles))
    for look, may_be_spent, p in zip(looks, spent, stages, strict=True):
        walk.advance(look)
        gone = gone + walk.stop(p <= may_be_spent * (1 + _ROUNDING))
    return gone


def _chances(angles: Floats, margin: float) -> tuple[Floats, Floats]:
    """Return the chances of a gain and of a loss for rates that differ by the margin."""
    return pair_chances(margin + (1 - margin) * np.sin(angles) ** 2, -margin)


def _walked(
    angles: Floats, looks: tuple[int, ...], spent: tuple[float, ...], margin: float, alpha: float
) -> tuple[tuple[Floats, ...], Floats]:
    """Return the p-values by stages of a grid, and the chance of a wrong finding in each of its cases."""
    walk, gone, found = PairedWalk(*_chances(angles, margin), looks[-1]), np.zeros(len(angles)), []
    for look, may_be_spent in zip(looks, spent, strict=True):
        walk.advance(look)
        p = _p_values(
            walk.mass, gone, look, margin, may_be_spent * (1 + _ROUNDING), least=-float(scipy.special.ndtri(2 * alpha))
        )
        gone = gone + walk.stop(p <= may_be_spent * (1 + _ROUNDING))
        found.append(p)
    return tuple(found), gone


def _p_values(mass: Floats, gone: Floats, n: int, margin: float, may_be_spent: float, *, least: float) -> Floats:
    """Return for each state at a look the greatest chance, over the cases, of having stopped or being as extreme.

    States are as extreme as their scores say, with one exception: if a single such state would spend too much (with
    many discordant pairs all is spent), the unused states with a score of at least `least` come before it.
    """
    scores = _scores(mass.shape[1], n, margin)
    gains, losses = np.nonzero(scores > -np.inf)
    order = np.lexsort((losses - gains, -scores[gains, losses]))  # of equal ones that which beats the other is first
    gains, losses = gains[order], losses[order]
    at, chances = scores[gains, losses], mass[:, gains, losses]
    bulk = int(np.searchsorted((gone[:, None] + np.cumsum(chances, axis=1)).max(axis=0), may_be_spent, side="right"))
    last = int(np.searchsorted(-at, -least, side="right"))
    inside = np.zeros((mass.shape[1] + 1, mass.shape[2] + 1), dtype=bool)  # with a border: gains + 1, losses - 1
    inside[gains[:bulk], losses[:bulk] + 1] = True
    inside[-1, :] = inside[:, 0] = True
    inside[:-1, 1:][scores == -np.inf] = True
    total, taken, left = gone + chances[:, :bulk].sum(axis=1), list(range(bulk)), list[int]()
    for place in range(bulk, last):
        g, k = gains[place], losses[place]
        fits = inside[g + 1, k + 1] and inside[g, k] and (total + chances[:, place]).max() <= may_be_spent
        (taken if fits else left).append(place)
        if fits:
            inside[g, k + 1] = True
            total = total + chances[:, place]
    order = np.array([*taken, *left, *range(max(bulk, last), len(at))])
    p = np.ones(scores.shape)
    p[gains[order], losses[order]] = np.minimum(1.0, (gone[:, None] + np.cumsum(chances[:, order], axis=1)).max(axis=0))
    return p


def _scores(size: int, n: int, margin: float) -> Floats:
    """Return Tango's score of each state of n pairs, monotone in gains and losses; -inf for an impossible state."""
    new, old = np.arange(float(size))[:, None], np.arange(float(size))
    possible = new + old <= n
    scores = tango_score(np.where(possible, new, 0), np.where(possible, old, 0), n, -margin)
    scores = np.maximum.accumulate(np.where(possible, scores, -np.inf), axis=0)
    monotone: Floats = np.maximum.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
    return np.where(possible, monotone, -np.inf)


def _at(found: Floats, gains: int, losses: int) -> float:
    rows, columns = found.shape
    return float(found[gains, losses]) if gains < rows and losses < columns else 1.0
