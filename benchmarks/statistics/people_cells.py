"""The verdict about people: a bound of its level, for cells of trials, labels and judges.

    python -m benchmarks.statistics.people_cells [--bar 0.9] [--cells 100/50,2000/200] [--judges 0.95/0.9,1/0.4]

"passes" and "fails" bound the chances of either verdict for an app exactly at the bar, and "tried" is how many outcomes
were looked at one by one. An outcome is the number of trials judged good and those of good labels, of both kinds. It
counts as rejected unless it is shown to be accepted. The p-value is the largest chance of its statistic over a grid of
nuisance points, and GAMMA: one point of the grid that makes it larger than 5% is enough.

    its chance at the truth makes it at most 5%         rejected
    the truth is outside the box of its grid            rejected
    its chance at the truth is above 7%                 accepted, if it is at all points of grids next to the truth
    others, the likeliest first, until few are left     accepted, if it is at a point of its own grid

So the bound holds for the p-value as it is computed. The exit status is 1 where one is above 5%. `--judges` takes these
alone. All cells take a quarter of an hour.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import pi

import numpy as np
from numpy.typing import NDArray

from benchmarks.statistics.people import LEVEL, SENSITIVITIES, SPECIFICITIES, chances_of, judges_of
from simeval.core.arrays import Floats
from simeval.stats.binomial import clopper_pearson
from simeval.stats.people import (
    _POINTS,
    _ROUNDING,
    GAMMA,
    Labelled,
    PeopleTest,
    _statistics,
    _Surface,
    binomial_chances,
    null_line,
)

CELLS = ((100, 50), (200, 50), (200, 100), (500, 100), (500, 200), (1000, 100), (1000, 200), (2000, 200))
LARGEST, HIGH = LEVEL - GAMMA, 0.07  # chances of a statistic: the largest that is rejected, and one far above it
PIECES = 12  # of the line near the truth
UNLIKELY, FEW = 1e-12, 2e-5  # chances: of an outcome that is left out, and of all that are not tried

Bools = NDArray[np.bool_]


def main() -> None:
    """Print a row for each cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bar", type=float, default=0.9)
    parser.add_argument("--cells", type=_cells, default=CELLS)
    parser.add_argument("--judges", type=judges_of, default=tuple(product(SENSITIVITIES, SPECIFICITIES)))
    options = parser.parse_args()
    print("".join(f"{each:>10}" for each in ("judged", "labels", "judge", "passes", "fails", "tried")))
    start, worst = time.monotonic(), (0.0, "")
    for (judged, labels), judge in product(options.cells, options.judges):
        test = PeopleTest(judged, labels, options.bar)
        passes, fails = (Truth.at_the_bar(test, judge, mirrored=mirrored).bound() for mirrored in (False, True))
        cell = f"{judged:>10}{labels:>10}{'{:g}/{:g}'.format(*judge):>10}"
        print(f"{cell}{passes[0]:>10.4f}{fails[0]:>10.4f}{passes[1] + fails[1]:>10}", flush=True)
        worst = max(worst, (passes[0], f"pass {cell}"), (fails[0], f"fail {cell}"))
    print(f"greatest bound: {worst[0]:.4f} ({' '.join(worst[1].split())}), after {time.monotonic() - start:.0f} s")
    sys.exit(worst[0] > LEVEL)


def _cells(text: str) -> tuple[tuple[int, int], ...]:
    """Return the numbers of judged trials and of labels that are named."""
    found = [tuple(map(int, each.split("/"))) for each in text.split(",")]
    return tuple((judged, labels) for judged, labels in found)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes with their statistic and their chance at the truth.

    `is_inside` is whether their box contains the truth, `has_line` whether their grid has points of the null line, or
    the upper corner of the box, at its w next to the truth.
    """

    judged_good: NDArray[np.intp]
    good: NDArray[np.intp]
    bad: NDArray[np.intp]
    statistic: Floats
    chance: Floats
    is_inside: Bools
    has_line: Bools

    def at_least(self) -> Floats:
        """Return the chance of a statistic as large as that of each outcome."""
        order = np.argsort(self.statistic)
        tails = np.append(np.cumsum(self.chance[order][::-1])[::-1], 0.0)
        found: Floats = tails[np.searchsorted(self.statistic[order], self.statistic - _ROUNDING)]
        return found


@dataclass(frozen=True, slots=True)
class Truth:
    """An app and a judge, as a side of the test sees them: its w, a and b."""

    surface: _Surface
    w: float
    a: float
    b: float

    @classmethod
    def at_the_bar(cls, test: PeopleTest, judge: tuple[float, float], *, mirrored: bool) -> "Truth":
        w, a, b = chances_of(test.bar, *judge)
        if mirrored:
            return cls(_Surface(test, 1 - test.bar, mirrored=True), 1 - w, 1 - b, 1 - a)
        return cls(_Surface(test, test.bar, mirrored=False), w, a, b)

    def bound(self) -> tuple[float, int]:
        """Return a bound of the chance of a rejection, and how many outcomes were tried."""
        outcomes, accepted, tried = self.accepted()
        return 1 - float(outcomes.chance[accepted].sum()), tried

    def accepted(self) -> tuple[Outcomes, Bools, int]:
        """Return the likely outcomes, which of them are shown to be accepted, and how many were tried for it."""
        outcomes = self._outcomes()
        at_least = outcomes.at_least()
        is_open = outcomes.is_inside & (at_least > LARGEST)
        accepted = is_open & outcomes.has_line & (at_least > HIGH)
        highest = outcomes.statistic[accepted].max(initial=-np.inf)
        for judged_good in np.unique(outcomes.judged_good[accepted]).tolist():
            if not self._accepts_up_to(highest, judged_good):
                accepted &= outcomes.judged_good != judged_good
        candidates = np.flatnonzero(is_open & ~accepted)
        candidates = candidates[np.argsort(-outcomes.chance[candidates])]
        left = np.cumsum(outcomes.chance[candidates][::-1])[::-1]
        tried = candidates[left > FEW]
        accepted[[each for each in tried if self._accepts(outcomes, each)]] = True
        return outcomes, accepted, tried.size

    def _outcomes(self) -> Outcomes:
        likely = binomial_chances(self.surface.test.judged, np.array([self.w]))[:, 0]
        parts = [self._part(int(each), float(likely[each])) for each in np.flatnonzero(likely > UNLIKELY)]
        return Outcomes(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _part(self, judged_good: int, likely: float) -> tuple[NDArray[np.generic], ...]:
        """Return the outcomes with so many trials judged good."""
        dealt, w = self.surface.dealt(judged_good), self._next_w(judged_good)
        of_good, of_bad = (
            binomial_chances(dealt.good, np.array([self.a])),
            binomial_chances(dealt.bad, np.array([self.b])),
        )
        chance = likely * of_good * of_bad.T
        good, bad = np.nonzero(chance > UNLIKELY)
        a, b = _boxes(dealt.good)[good], _boxes(dealt.bad)[bad]
        box = np.array(clopper_pearson(judged_good, self.surface.test.judged, GAMMA / 6))
        is_inside = _is_in(box, self.w) & _is_in(a, self.a) & _is_in(b, self.b)
        has_line = w * a[:, 0] + (1 - w) * b[:, 0] <= self.surface.null
        statistic = _statistics(self.surface, judged_good)[good, bad]
        return np.full(good.size, judged_good), good, bad, statistic, chance[good, bad], is_inside, has_line

    def _next_w(self, judged_good: int) -> float:
        """Return the w of the grid that is nearest to the truth."""
        found = _grid_of_w(self.surface, judged_good)
        return float(found[np.abs(found - self.w).argmin()])

    def _accepts_up_to(self, statistic: float, judged_good: int) -> bool:
        """Return whether all outcomes with such a statistic are accepted, if their boxes contain the truth.

        At the w next to the truth, the part of the line in a box begins or ends between the truth's a and the a of its
        b, or contains these, or the upper corner of the box is above the truth's a and b. So a point of the grid is at
        most half a step away from these two, or is such a corner. Between two points, the chance is at least that of
        the lower a and the lower b.
        """
        w, null = self._next_w(judged_good), self.surface.null
        if not 0 < w < 1:
            return False
        boxes = _boxes(self.surface.dealt(judged_good).good)
        widest = np.ptp(boxes[_is_in(boxes, self.a)], axis=1).max(initial=0.0)
        ends, half = (self.a, (null - (1 - w) * self.b) / w), widest * pi / (_POINTS - 1) / 4
        a = np.clip(np.linspace(min(ends) - half, max(ends) + half, PIECES + 1), 0, 1)
        b = np.clip((null - w * a) / (1 - w), 0, 1)
        lower = np.append(a[:-1], self.a), np.append(b[1:], self.b)
        return bool(self.surface.chances(statistic - _ROUNDING, w, *lower).min() > LARGEST)

    def _accepts(self, outcomes: Outcomes, place: int) -> bool:
        """Return whether a point of the outcome's own grid accepts it, from the one next to the truth on."""
        surface, judged_good = self.surface, int(outcomes.judged_good[place])
        statistic = float(outcomes.statistic[place]) - _ROUNDING
        found = Labelled(int(outcomes.good[place]), int(outcomes.bad[place]))
        line = sorted(surface.line(judged_good, found), key=lambda at: abs(at[0] - self.w))
        if line:
            w, a, b = line[0]
            nearest = [np.abs(a - self.a).argmin()]
            line.insert(0, (w, a[nearest], b[nearest]))
        return any(float(surface.chances(statistic, *at).max()) > LARGEST for at in line)


@cache
def _boxes(n: int) -> Floats:
    """Return the interval of the box for each number of good labels."""
    return np.array([clopper_pearson(met, n, GAMMA / 6) for met in range(n + 1)])


@cache
def _grid_of_w(surface: _Surface, judged_good: int) -> Floats:
    n, everything = surface.test.judged, (0.0, 1.0)
    box = clopper_pearson(judged_good, n, GAMMA / 6)
    return np.array([w for w, _, _ in null_line(surface.null, box, everything, everything, n, points=2)])


def _is_in(intervals: Floats, chance: float) -> Bools:
    found: Bools = (intervals[..., 0] <= chance) & (chance <= intervals[..., 1])
    return found


if __name__ == "__main__":
    main()
