"""Looks at labels before all are given: the first that proves a side of the rate of people ends the labelling.

    30 labels ──► 40 ──► 50 ──► ... ──► 120     each look has the labels of the one before, dealt by the same share

A look is scored by the root of a binomial deviance: of the estimated rate to the bar, with as many trials as have the
variance of the estimate. The statistic of all looks is the smallest tail of such a score, divided by the square of the
look's share of the labels; early looks need a clearer score. Its p-value is exact as that of one test: given all
labels, their order is random, so the chance that some look reached the statistic is a number for each outcome of the
last look, summed over the binomial chances of the outcomes. Scores grow with the good labels, so the chance is the
largest where the rate equals the bar. The box of Berger and Boos is for the chance that the judge calls a trial good,
by the number that it called good, which is known before the first label.

Between the points of the grid the chance is not computed. Three times as many points in each direction moved it by at
most 7e-5 in forty random plans, and the p-value pays 2e-4 for that. `benchmarks.statistics.people --looks` sums at
others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

import numpy as np
import scipy
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import clopper_pearson
from simeval.stats.people import (
    GAMMA,
    Labelled,
    PeopleTest,
    binomial_chances,
    least_labels,
    null_line,
    proven,
    variance_of,
)

_BOX = 3e-4  # of GAMMA: the chance that the judge's rate lies outside its box; the rest is for peaks between points
_STEPS, _POINTS = 6, 81  # of the judge's rate to a standard deviation, and of the chance where the judge says good
_SMOOTH = 1.0  # good and bad labels that are added to each kind
_UNLIKELY, _ROUNDING, _CLOSE = 1e-9, 1e-9, 1.02


@dataclass(frozen=True, slots=True)
class PeopleLooks:
    """Tests of "people would find a rate above `bar`" after parts of at most `labels` labels, at so many `looks`.

    They are at equal distances; the first is after two of these. A single look is the test of all labels.
    """

    judged: int
    labels: int
    bar: float
    looks: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of labels at each look."""
        return tuple(ceil(self.labels * (look + 2) / (self.looks + 1)) for look in range(self.looks))

    @property
    def last(self) -> PeopleTest:
        """The test of all labels."""
        return PeopleTest(self.judged, self.labels, self.bar)

    def deals(self, judged_good: int) -> tuple[Labelled, ...]:
        """Return the labels of each look, among those judged good and bad; no label is taken back by a later look."""
        return _deals(self, judged_good)

    def p_above(self, judged_good: int, found: Sequence[Labelled]) -> float:
        """Return the p-value of "people would find a rate above the bar" from the good labels at the looks so far."""
        return _p_of(_Side(self, self.bar, mirrored=False), judged_good, found)

    def p_below(self, judged_good: int, found: Sequence[Labelled]) -> float:
        """Return the p-value of "people would find a rate below the bar"."""
        return _p_of(_Side(self, 1 - self.bar, mirrored=True), judged_good, found)

    def low(self, judged_good: int, found: Sequence[Labelled], *, alpha: float) -> float:
        """Return the lower end of the interval of the rate: the last bar, to 1e-3, that it is proven to be above."""
        return self._last_rejected(judged_good, found, alpha, mirrored=False)

    def high(self, judged_good: int, found: Sequence[Labelled], *, alpha: float) -> float:
        """Return the upper end of the interval of the rate: the last bar, to 1e-3, that it is proven to be below."""
        return 1 - self._last_rejected(judged_good, found, alpha, mirrored=True)

    def _last_rejected(self, judged_good: int, found: Sequence[Labelled], alpha: float, *, mirrored: bool) -> float:
        """Return about the last rate of a side that is rejected; all below it are too. 0 if none is."""
        low, high = 0.0, 1.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            rejected = _p_of(_Side(self, middle, mirrored), judged_good, found, limit=alpha) <= alpha
            low, high = (middle, high) if rejected else (low, middle)
        return low

    def may_decide(self, judged_good: int, good: Labelled, most: Labelled, *, after: int, alpha: float) -> bool:
        """Return whether a look can prove a side beyond the first `after` ones, if all labels to come are alike.

        `good` are the good labels so far; `most` counts as good those that nobody can judge, too.
        """
        if after == self.looks:
            return False
        deals = self.deals(judged_good)
        now = deals[after - 1]
        proves, fails = (self._regions(judged_good, alpha, mirrored=mirrored) for mirrored in (False, True))
        return any(
            proves[look][good.good + dealt.good - now.good, good.bad + dealt.bad - now.bad]
            or fails[look][dealt.bad - most.bad, dealt.good - most.good]
            for look, dealt in enumerate(deals[after:], after)
        )

    def chance_to_pass(self, judged_good: int, chances: tuple[float, float], *, alpha: float) -> float:
        """Return the chance that labels prove a rate above the bar at one of the looks, before they are given.

        `chances` are those that people call a trial good where the judge does, and where it does not. About right: the
        box of a single test is not made smaller by labels, and its grid is coarse.
        """
        return self._chance(judged_good, chances, self._regions(judged_good, alpha, mirrored=False))

    def _chance(self, judged_good: int, chances: tuple[float, float], regions: Sequence[NDArray[np.bool_]]) -> float:
        return 1 - float(_walked(self.deals(judged_good), regions, chances).sum())

    def _regions(self, judged_good: int, alpha: float, *, mirrored: bool) -> Sequence[NDArray[np.bool_]]:
        """Return, for each look, the outcomes that prove the side, or hardly fail to."""
        if self.looks == 1:
            return [proven(self.last, judged_good, alpha)]
        side = _Side(self, 1 - self.bar if mirrored else self.bar, mirrored)
        place = self.judged - judged_good if mirrored else judged_good
        return side.regions(place, _greatest(side, place, alpha)[1])

    def _parts(self) -> Sequence[float]:
        return [(size / self.labels) ** 2 for size in self.sizes]


def labels_for(
    plan: PeopleLooks, judged_good: int, chances: tuple[float, float], *, alpha: float, power: float
) -> int | None:
    """Return the fewest labels that prove a rate above the bar with this chance; None if all are not enough.

    They are looked at as those of the plan, and their statistic is taken to be significant where that of the plan is.
    """
    side = _Side(plan, plan.bar, mirrored=False)
    statistic = _greatest(side, judged_good, alpha)[1] if plan.looks > 1 else None
    low, high = least_labels(plan.bar, alpha=alpha) - 1, plan.judged + 1  # the answer is in (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        tried = replace(plan, labels=middle)
        if statistic is None:
            regions: Sequence[NDArray[np.bool_]] = [proven(tried.last, judged_good, alpha)]
        else:
            regions = _Side(tried, plan.bar, mirrored=False).regions(judged_good, statistic)
        enough = tried._chance(judged_good, chances, regions) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high if high <= plan.judged else None


@lru_cache(maxsize=8192)
def _deals(plan: PeopleLooks, judged_good: int) -> tuple[Labelled, ...]:
    found = [plan.last.deal(judged_good)]
    for size in reversed(plan.sizes[:-1]):
        alone, later = PeopleTest(plan.judged, size, plan.bar).deal(judged_good), found[-1]
        bad = min(max(alone.bad, alone.total - later.good), later.bad)
        found.append(Labelled(alone.total - bad, bad))
    return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class _Side:
    """The side above `null`. Mirrored, good and bad change places, also in `null`; the deal stays."""

    plan: PeopleLooks
    null: float
    mirrored: bool

    def dealt(self, judged_good: int) -> Sequence[Labelled]:
        if not self.mirrored:
            return self.plan.deals(judged_good)
        return [Labelled(each.bad, each.good) for each in self.plan.deals(self.plan.judged - judged_good)]

    def regions(self, judged_good: int, statistic: float) -> Sequence[NDArray[np.bool_]]:
        """Return, for each look, the outcomes with such a statistic or a smaller one."""
        tails = [min(1.0, statistic * part) for part in self.plan._parts()]
        least = [-float(scipy.special.ndtri(tail)) - _ROUNDING for tail in tails]
        return [scores >= each for scores, each in zip(_scores(self, judged_good), least, strict=True)]

    def ended(self, judged_good: int, statistic: float) -> Floats:
        """Return, for each outcome of all labels, the chance that a look found such a statistic, by their order."""
        deals = self.dealt(judged_good)
        open_ = _walked(deals, self.regions(judged_good, statistic), (0.5, 0.5))
        good, bad = (binomial_chances(n, np.array([0.5])) for n in (deals[-1].good, deals[-1].bad))
        found: Floats = 1 - open_ / (good * bad.T)
        return found

    def chances(self, statistic: float, w: float, a: Floats, b: Floats, ended: dict[int, Floats]) -> Floats:
        """Return the chance that a look finds such a statistic, for each pair of a and b; `ended` is filled."""
        likely = binomial_chances(self.plan.judged, np.array([w]))[:, 0]
        groups: dict[Labelled, Floats] = {}
        for place in map(int, np.flatnonzero(likely > _UNLIKELY)):
            if place not in ended:
                ended[place] = self.ended(place, statistic)
            dealt = self.dealt(place)[-1]
            groups[dealt] = groups.get(dealt, 0.0) + likely[place] * ended[place]
        total = np.zeros_like(a)
        for dealt, found in groups.items():
            total += (binomial_chances(dealt.good, a) * (found @ binomial_chances(dealt.bad, b))).sum(axis=0)
        return total

    def p_value(self, judged_good: int, statistic: float, *, limit: float = 1.0) -> float:
        """Return the largest chance of such a statistic in the box, and GAMMA; if above `limit`, some number there."""
        box, ended, worst = clopper_pearson(judged_good, self.plan.judged, _BOX / 2), dict[int, Floats](), 0.0
        everything = (0.0, 1.0)
        line = list(null_line(self.null, box, everything, everything, self.plan.judged, steps=_STEPS, points=_POINTS))
        for w, a, b in sorted(line, key=lambda at: abs(at[0] - judged_good / self.plan.judged)):
            worst = max(worst, float(self.chances(statistic, w, a, b, ended).max()))
            if worst + GAMMA > limit:
                break
        return min(1.0, worst + GAMMA)


def _walked(deals: Sequence[Labelled], ends: Sequence[NDArray[np.bool_]], chances: tuple[float, float]) -> Floats:
    """Return the chances of the outcomes of all labels where no look has ended them."""
    open_, before = np.ones((1, 1)), Labelled(0, 0)
    for dealt, end in zip(deals, ends, strict=True):
        more = dealt.good - before.good, dealt.bad - before.bad
        good, bad = (binomial_chances(n, np.array([p]))[:, 0] for n, p in zip(more, chances, strict=True))
        open_, before = np.where(end, 0.0, with_labels(open_, good, bad)), dealt
    return open_


def with_labels(chances: Floats, good: Floats, bad: Floats) -> Floats:
    """Return the chances of numbers of good labels after more of them, of either kind."""
    return _longer(_longer(chances, good).T, bad).T


def _longer(chances: Floats, more: Floats) -> Floats:
    """Return chances of the sum of each row's number and another, whose chances are `more`."""
    rows, columns = chances.shape
    found = np.zeros((rows + more.size - 1, columns))
    for place, chance in enumerate(more):
        found[place : place + rows] += chance * chances
    return found


def _p_of(side: _Side, judged_good: int, found: Sequence[Labelled], *, limit: float = 1.0) -> float:
    """Return the p-value; if above `limit`, some number there."""
    plan, deals = side.plan, side.plan.deals(judged_good)
    if plan.looks == 1:
        return plan.last.p_value(judged_good, found[-1], side.null, mirrored=side.mirrored, limit=limit)
    if side.mirrored:
        found = [Labelled(of.bad - good.bad, of.good - good.good) for of, good in zip(deals, found, strict=False)]
        judged_good = plan.judged - judged_good
    scores = zip(_scores(side, judged_good), found, plan._parts(), strict=False)
    statistic = min(float(scipy.special.ndtr(-of[good.good, good.bad])) / part for of, good, part in scores)
    return _p_value(side, judged_good, statistic, limit)


@lru_cache(maxsize=4096)
def _p_value(side: _Side, judged_good: int, statistic: float, limit: float) -> float:
    return 1.0 if statistic >= 1 else side.p_value(judged_good, statistic, limit=limit)


@lru_cache(maxsize=256)
def _greatest(side: _Side, judged_good: int, alpha: float, close: float = _CLOSE) -> tuple[float, float]:
    """Return two statistics with a ratio up to `close`: the first proves the side, the second hardly fails to."""
    low, high = alpha / 100, alpha
    while high < 1 and side.p_value(judged_good, high, limit=alpha) <= alpha:
        low, high = high, 2 * high
    while high / low > close:
        middle = (low * high) ** 0.5
        proves = side.p_value(judged_good, middle, limit=alpha) <= alpha
        low, high = (middle, high) if proves else (low, middle)
    return low, high


@lru_cache(maxsize=600)
def _scores(side: _Side, judged_good: int) -> tuple[Floats, ...]:
    """Return, for each look, the score of each outcome: good labels by the judge's good (rows) and bad."""
    return tuple(_score(side, judged_good, dealt) for dealt in side.dealt(judged_good))


def _score(side: _Side, judged_good: int, dealt: Labelled) -> Floats:
    n, null = side.plan.judged, side.null
    w, good, bad = judged_good / n, np.arange(dealt.good + 1.0)[:, None], np.arange(dealt.bad + 1.0)[None, :]
    a, b = ((each + _SMOOTH) / (of + 2 * _SMOOTH) for each, of in ((good, dealt.good), (bad, dealt.bad)))
    expected = w * a + (1 - w) * b
    trials = expected * (1 - expected) / variance_of(a, b, n, judged_good, dealt)
    rate = w * (good / dealt.good if dealt.good else a) + (1 - w) * (bad / dealt.bad if dealt.bad else b)
    rate = np.clip(rate - 0.5 / trials, 0, 1)
    deviance = scipy.special.rel_entr(rate, null) + scipy.special.rel_entr(1 - rate, 1 - null)
    found = np.sign(rate - null) * np.sqrt(2 * trials * np.maximum(deviance, 0))
    return np.maximum.accumulate(np.maximum.accumulate(found, axis=0), axis=1)
