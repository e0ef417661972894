"""A test of the rate that people would find, from many trials judged by a model and few of them labelled by people.

Of n independent trials a judge calls N1 good. People label m of the n, and the number labelled among those judged good
depends on N1 alone. The hypothesis is about the rate w a + (1 - w) b: w is the chance that the judge calls a trial
good, a and b are the chances that people do so where the judge does, and where it does not. The judge may err in any
way: the test is exact for all w, a and b.

Reference: R. L. Berger and D. D. Boos (1994), "P values maximized over a confidence set for the nuisance parameter",
Journal of the American Statistical Association 89.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import asin, ceil, floor, log, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import clopper_pearson, minimum_n

GAMMA = 5e-4  # the chance that the nuisance parameters lie outside their box, which the p-value pays for
_GUESS = 0.85  # how often a judge is right of either kind, which the share of labels is best for
_SPARE = 0.03  # the chance of all labels being good, at the bar, that the labels of judged-good trials must reach
_STEPS, _POINTS = 4, 41  # of w to a standard deviation, and of a: three times as many move a p-value by 7e-5
_NEGLIGIBLE, _ROUNDING, _NEVER = 1e-9, 1e-9, 1e-300


@dataclass(frozen=True, slots=True)
class Labelled:
    """Numbers of trials among those judged good and those judged bad."""

    good: int
    bad: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.good + self.bad


@dataclass(frozen=True, slots=True)
class PeopleTest:
    """The test of "people would find a rate above `bar`", from `judged` trials and `labels` of them.

    `bar` is strictly between 0 and 1.
    """

    judged: int
    labels: int
    bar: float

    def deal(self, judged_good: int) -> Labelled:
        """Return how many labels the trials judged good get, and those judged bad; each is a random subset."""
        if not self.judged:
            return Labelled(0, 0)
        share, judged_bad = judged_good / self.judged, self.judged - judged_good
        bad = min(floor(_share_of_bad(share, self.bar) * self.labels + 0.5), judged_bad)
        if 1 - self.bar < share < 1:
            least = ceil(log(_SPARE) / log((self.bar - 1 + share) / share))
            if least < self.labels:
                bad = min(bad, self.labels - least)
        good = min(self.labels - bad, judged_good)
        return Labelled(good, min(self.labels - good, judged_bad))

    def p_above(self, judged_good: int, found: Labelled) -> float:
        """Return the p-value of "people would find a rate above the bar".

        `found` is how many of the labelled trials people call good. A label that is missing counts as bad.
        """
        return self.p_value(judged_good, found, self.bar, mirrored=False)

    def p_below(self, judged_good: int, found: Labelled) -> float:
        """Return the p-value of "people would find a rate below the bar"; a missing label counts as good."""
        return self.p_value(judged_good, found, 1 - self.bar, mirrored=True)

    def p_value(self, judged_good: int, found: Labelled, null: float, *, mirrored: bool, limit: float = 1.0) -> float:
        """Return the p-value of a rate above `null`; mirrored, that of a rate below `1 - null`.

        The labels are dealt for the bar of the test. Above `limit` it is some number above it.
        """
        return _p_value(self, judged_good, found, null, limit, mirrored=mirrored)


@dataclass(frozen=True, slots=True)
class Judge:
    """How often a judge is right: about trials that people call good, and about those that they call bad.

    The two sum to more than 1: it is better than a coin.
    """

    sensitivity: float = 0.95
    specificity: float = 0.9

    def rate(self, judged_good: float) -> float:
        """Return the rate of people where the judge calls such a share good."""
        found = (judged_good + self.specificity - 1) / (self.sensitivity + self.specificity - 1)
        return min(1.0, max(0.0, found))

    @classmethod
    def found(cls, judged_good: float, chances: tuple[float, float]) -> "Judge":
        """Return the judge that calls such a share good, where people call a trial good with these chances."""
        of_good, of_bad = judged_good * chances[0], (1 - judged_good) * chances[1]
        rate = of_good + of_bad
        right = (1 - judged_good) - of_bad
        return cls(of_good / rate if rate else 1.0, right / (1 - rate) if rate < 1 else 1.0)

    @property
    def auc(self) -> float:
        """The area under the ROC curve of its verdicts."""
        return (self.sensitivity + self.specificity) / 2

    def chances(self, judged_good: float) -> tuple[float, float]:
        """Return the chances that people call a trial good where the judge does, and where it does not."""
        rate = self.rate(judged_good)
        of_good = rate * self.sensitivity / judged_good if judged_good else 0.0
        of_bad = rate * (1 - self.sensitivity) / (1 - judged_good) if judged_good < 1 else 0.0
        return min(1.0, of_good), min(1.0, of_bad)


def proven(test: PeopleTest, judged_good: int, alpha: float) -> NDArray[np.bool_]:
    """Return about which numbers of good labels prove a rate above the bar."""
    surface, n = _Surface(test, test.bar, mirrored=False), test.judged
    box = clopper_pearson(judged_good, n, GAMMA / 2)
    line = list(null_line(test.bar, box, (0.0, 1.0), (0.0, 1.0), n, steps=1, points=15))
    statistics = _statistics(surface, judged_good)
    found = np.unique(statistics)
    low, high = -1, len(found)  # the first that is rejected is in (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        chance = max(float(surface.chances(found[middle] - _ROUNDING, *at).max()) for at in line)
        low, high = (low, middle) if chance + GAMMA <= alpha else (middle, high)
    return statistics >= (found[high] - _ROUNDING if high < len(found) else np.inf)


def as_exact_as(test: PeopleTest, judged_good: int, chances: tuple[float, float]) -> float:
    """Return how many labels of a random sample estimate the rate with the variance of those dealt by the judge.

    `chances` are those that people call a trial good where the judge does, and where it does not.
    """
    w, dealt, (a, b) = judged_good / test.judged, test.deal(judged_good), chances
    rate = w * a + (1 - w) * b
    variance = (a - b) ** 2 * w * (1 - w) / test.judged
    for share, chance, labels in ((w, a, dealt.good), (1 - w, b, dealt.bad)):
        variance += share**2 * chance * (1 - chance) / labels if labels else share**2 / 4
    return rate * (1 - rate) / variance if variance else float(dealt.total)


def least_labels(bar: float, *, alpha: float) -> int:
    """Return the fewest labels that can prove a rate above the bar: all of them good, of trials judged good."""
    return minimum_n(bar, alpha - GAMMA)


def _share_of_bad(judged_good: float, bar: float) -> float:
    """Return the share of labels for trials judged bad: Neyman's, for a judge that is right in 85% of each kind."""
    right, wrong = bar * _GUESS, (1 - bar) * (1 - _GUESS)
    a = right / (right + wrong)
    b = bar * (1 - _GUESS) / (bar * (1 - _GUESS) + (1 - bar) * _GUESS)
    of_good, of_bad = judged_good * sqrt(a * (1 - a)), (1 - judged_good) * sqrt(b * (1 - b))
    return of_bad / (of_good + of_bad)


@dataclass(frozen=True, slots=True)
class _Surface:
    """The chances of the statistic on the line where the rate equals `null`.

    Mirrored, good and bad change places, also in `null`: the labels stay dealt as they are.
    """

    test: PeopleTest
    null: float
    mirrored: bool

    def dealt(self, judged_good: int) -> Labelled:
        if not self.mirrored:
            return _deal(self.test, judged_good)
        there = _deal(self.test, self.test.judged - judged_good)
        return Labelled(there.bad, there.good)

    def chances(self, statistic: float, w: float, a: Floats, b: Floats) -> Floats:
        """Return P(T >= statistic) for each pair of a and b."""
        pmf = binomial_chances(self.test.judged, np.array([w]))[:, 0]
        total = np.zeros_like(a)
        for dealt, places in self._groups(np.flatnonzero(pmf > _NEGLIGIBLE)):
            reached = np.zeros((dealt.good + 2, dealt.bad + 1))
            for place in places:
                reached[_least(self, place, statistic), np.arange(dealt.bad + 1)] += pmf[place]
            at_least = np.cumsum(binomial_chances(dealt.good, a)[::-1], axis=0)[::-1]
            total += ((at_least.T @ reached[:-1]) * binomial_chances(dealt.bad, b).T).sum(axis=1)
        return total

    def line(self, judged_good: int, found: Labelled) -> Iterator[tuple[float, Floats, Floats]]:
        """Yield the points of an outcome's box that its p-value is taken over."""
        n, dealt = self.test.judged, self.dealt(judged_good)
        a, b = (clopper_pearson(met, of, GAMMA / 6) for met, of in ((found.good, dealt.good), (found.bad, dealt.bad)))
        return null_line(self.null, clopper_pearson(judged_good, n, GAMMA / 6), a, b, n)

    def _groups(self, places: NDArray[np.intp]) -> Iterator[tuple[Labelled, list[int]]]:
        """Yield numbers of trials judged good that have the same labels."""
        groups: dict[Labelled, list[int]] = {}
        for place in map(int, places):
            groups.setdefault(self.dealt(place), []).append(place)
        yield from groups.items()


@lru_cache(maxsize=8192)
def _deal(test: PeopleTest, judged_good: int) -> Labelled:
    return test.deal(judged_good)


@lru_cache(maxsize=8192)
def _statistics(surface: _Surface, judged_good: int) -> Floats:
    """Return the statistic of each number of good labels: rows among those judged good, columns among those not."""
    n, dealt, null = surface.test.judged, surface.dealt(judged_good), surface.null
    a = (np.arange(dealt.good + 1)[:, None] + 0.5) / (dealt.good + 1)
    b = (np.arange(dealt.bad + 1)[None, :] + 0.5) / (dealt.bad + 1)
    w = judged_good / n
    found = (w * a + (1 - w) * b - null) / np.sqrt(variance_of(a, b, n, judged_good, dealt))
    return np.maximum.accumulate(np.maximum.accumulate(found, axis=0), axis=1)


def variance_of(a: Floats, b: Floats, judged: int, judged_good: int, dealt: Labelled) -> Floats:
    """Return the variance of the rate that people would find, estimated from `dealt` labels.

    `a` and `b` are their shares of good labels where the judge says good, and where it says bad, of any shapes that
    broadcast.
    """
    w = judged_good / judged
    smooth = (judged_good + 0.5) / (judged + 1) if 0 < judged_good < judged else w
    variance = (a - b) ** 2 * smooth * (1 - smooth) / judged
    if judged_good:
        variance = variance + (w * w * a * (1 - a) / dealt.good if dealt.good else 1.0)
    if judged_good < judged:
        variance = variance + ((1 - w) ** 2 * b * (1 - b) / dealt.bad if dealt.bad else 1.0)
    return variance


@lru_cache(maxsize=8192)
def _least(surface: _Surface, judged_good: int, statistic: float) -> NDArray[np.intp]:
    """Return, by good labels of trials judged bad, the fewest of those judged good that reach the statistic."""
    short: NDArray[np.intp] = (_statistics(surface, judged_good) < statistic).sum(axis=0, dtype=np.intp)
    return short


@lru_cache(maxsize=256)
def _log_choose(n: int) -> Floats:
    """Return the logarithms of the binomial coefficients, as a column."""
    counts = np.arange(n + 1.0)[:, None]
    found: Floats = scipy.special.gammaln(n + 1) - scipy.special.gammaln(counts + 1)
    return found - scipy.special.gammaln(n - counts + 1)


def binomial_chances(n: int, chances: Floats) -> Floats:
    """Return P(Bin(n, chance) = k), a row for each k from 0 to n and a column for each chance."""
    counts = np.arange(n + 1.0)[:, None]
    met, missed = (np.log(np.maximum(each, _NEVER)) for each in (chances, 1 - chances))
    found: Floats = np.exp(_log_choose(n) + counts * met + (n - counts) * missed)
    return found


@lru_cache(maxsize=1024)
def _p_value(
    test: PeopleTest, judged_good: int, found: Labelled, null: float, limit: float, *, mirrored: bool
) -> float:
    """Return the largest chance of a statistic as large as this one, in the box of the three chances, and GAMMA."""
    surface, statistic, line = _points(test, judged_good, found, null, mirrored=mirrored)
    worst = 0.0
    for at in line:
        worst = max(worst, float(surface.chances(statistic, *at).max()))
        if worst + GAMMA > limit:
            break
    return min(1.0, worst + GAMMA)


def _points(
    test: PeopleTest, judged_good: int, found: Labelled, null: float, *, mirrored: bool
) -> tuple[_Surface, float, Iterator[tuple[float, Floats, Floats]]]:
    """Return the surface, the statistic, and the points of the box that the p-value is taken over."""
    surface = _Surface(test, null, mirrored)
    if mirrored:
        there = test.deal(judged_good)
        judged_good, found = test.judged - judged_good, Labelled(there.bad - found.bad, there.good - found.good)
    statistic = float(_statistics(surface, judged_good)[found.good, found.bad]) - _ROUNDING
    return surface, statistic, surface.line(judged_good, found)


def null_line(
    null: float,
    box: tuple[float, float],
    a: tuple[float, float],
    b: tuple[float, float],
    n: int,
    *,
    steps: int = _STEPS,
    points: int = _POINTS,
) -> Iterator[tuple[float, Floats, Floats]]:
    """Yield each w of the box with points (a, b) where the rate is `null`, or the box's corner nearest to it."""
    low, high = (asin(sqrt(end)) for end in box)
    intervals = max(2, ceil((high - low) * 2 * sqrt(n) * steps))
    for w in map(float, np.sin(np.linspace(low, high, intervals + 1)) ** 2):
        if w * a[0] + (1 - w) * b[0] > null:
            continue
        if w * a[1] + (1 - w) * b[1] <= null:
            yield w, np.array([a[1]]), np.array([b[1]])
        elif w >= 1:
            yield w, np.array([null]), np.array([b[1]])
        else:
            least = max(0.0, (null - (1 - w) * b[1]) / w, a[0]) if w > 0 else a[0]
            most = min(1.0, (null - (1 - w) * b[0]) / w, a[1]) if w > 0 else a[1]
            firsts = least + (most - least) * (1 - np.cos(np.linspace(0, np.pi, points))) / 2
            yield w, firsts, np.clip((null - w * firsts) / (1 - w), 0, 1)
