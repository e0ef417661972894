"""The verdict about people: a bound of its level at the bar in cells of judges, and its power, by sums over outcomes.

    python -m benchmarks.statistics.people [--judged 200] [--labels 50] [--looks 1] [--bar 0.9] [--rate 0.95]
        [--points 0] [--judges 0.95/0.9,1/0.4]

A row is a judge by its sensitivity and specificity. "passes" and "fails" are the chances of either verdict for an app
exactly at the bar: both are wrong, and each is at most 5%. "proves" is the chance of a pass at the rate given, beside
that of as many labels of a random sample without a judge, and "labels" is how many are given on average there.

A p-value is the largest chance over a grid of nuisance points. Here it is taken over a part of that grid, so it is too
small: more outcomes are rejected than by the package, and the chances of wrong verdicts are upper bounds. With several
looks the statistic that proves a side is found for fifty numbers of trials judged good, and between two of them the
greater is taken. `--points` adds the greatest level of so many random judges, of any errors. `--judges`
takes these alone. The exit status is 1 where a level is above 5%. It takes half a minute with 200 judged and 50 labels,
some ten with 500 and 100; `benchmarks.statistics.people_cells` bounds the level of larger samples in seconds.
"""

import argparse
import sys
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.stats.binomial import power
from simeval.stats.people import GAMMA, Labelled, PeopleTest, _points, binomial_chances
from simeval.stats.people_looks import PeopleLooks, _greatest, _Side, with_labels

LEVEL, NEGLIGIBLE = 0.05, 1e-7
SENSITIVITIES, SPECIFICITIES = (0.8, 0.9, 0.95, 0.98, 1.0), (0.4, 0.6, 0.8, 0.9, 1.0)
W_EACH, A_EACH = 4, 5  # of the grid's w, and of its points for each, that are taken
CLOSE = 1.0005  # how near to the greatest statistic that proves a side its value is
FEW = 50  # numbers of trials judged good that a plan of looks is computed for

Judges = tuple[tuple[float, float], ...]
Region = NDArray[np.bool_]  # by good labels of trials judged good (rows), and of the others


@dataclass(slots=True)
class Side:
    """The rejections of one side of a test; neighbouring outcomes have their worst nuisance point nearly alike."""

    test: PeopleTest
    mirrored: bool
    worst: float = 0.5  # the place of the last point that spoke against a rejection
    edge: list[int] = field(default_factory=list)  # of the number of trials judged good before

    def region(self, judged_good: int) -> Region:
        """Return the outcomes that prove the side: a walk along its edge, which begins at the one before."""
        dealt = self.test.deal(judged_good)
        start, edge, at = self.edge, list[int](), dealt.good + 1
        for bad in range(dealt.bad + 1):
            at = min(at, start[bad]) if bad < len(start) else at
            while at <= dealt.good and not self._proves(dealt, judged_good, at, bad):
                at += 1
            while at > 0 and self._proves(dealt, judged_good, at - 1, bad):
                at -= 1
            edge.append(at)
        self.edge = edge
        found = np.arange(dealt.good + 1)[:, None] >= np.array(edge)[None, :]
        return found[::-1, ::-1] if self.mirrored else found

    def _proves(self, dealt: Labelled, judged_good: int, good: int, bad: int) -> bool:
        """Return whether no nuisance point speaks against it; for the mirrored side the labels count the bad ones."""
        labels = Labelled(dealt.good - good, dealt.bad - bad) if self.mirrored else Labelled(good, bad)
        null = 1 - self.test.bar if self.mirrored else self.test.bar
        surface, statistic, line = _points(self.test, judged_good, labels, null, mirrored=self.mirrored)
        points = list(line)[::W_EACH]
        first = min(len(points) - 1, int(self.worst * len(points)))
        for place in [first, *(each for each in range(len(points)) if each != first)] if points else []:
            w, a, b = points[place]
            chance = float(surface.chances(statistic, w, a[::A_EACH], b[::A_EACH]).max())
            if chance + GAMMA > LEVEL:
                self.worst = (place + 0.5) / len(points)
                return False
        return True


Regions = dict[int, list[tuple[Region, Region]]]  # by trials judged good: for each look, pass and fail


def main() -> None:
    """Print a row for each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=int, default=200)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--looks", type=int, default=1)
    parser.add_argument("--bar", type=float, default=0.9)
    parser.add_argument("--rate", type=float, default=0.95)
    parser.add_argument("--points", type=int, default=0)
    parser.add_argument("--judges", type=judges_of, default=tuple(product(SENSITIVITIES, SPECIFICITIES)))
    options = parser.parse_args()
    plan = PeopleLooks(options.judged, options.labels, options.bar, options.looks)
    regions = _regions(plan, options.rate, options.judges, anywhere=options.points > 0)
    alone = float(power(options.labels, options.bar, options.rate, alpha=LEVEL))
    print(f"{options.judged} judged, {options.labels} labels, {options.looks} looks, bar {options.bar:g}")
    print(f"labels alone prove a rate of {options.rate:g} with a chance of {alone:.3f}")
    print(f"{'judge':>12}{'passes':>10}{'fails':>10}{'proves':>10}{'labels':>10}")
    worst = 0.0
    for judge in options.judges:
        passes, fails, _ = _chance(plan, regions, chances_of(options.bar, *judge))
        proves, _, labels = _chance(plan, regions, chances_of(options.rate, *judge))
        name = "{:g}/{:g}".format(*judge)
        print(f"{name:>12}{passes:>10.4f}{fails:>10.4f}{proves:>10.3f}{labels:>10.1f}")
        worst = max(worst, passes, fails)
    elsewhere = [_chance(plan, regions, each)[:2] for each in _anywhere(plan.bar, options.points)]
    if elsewhere:
        found = max(max(each) for each in elsewhere)
        print(f"greatest level in {len(elsewhere)} random judges: {found:.4f}")
        worst = max(worst, found)
    print(f"greatest level: {worst:.4f}")
    sys.exit(worst > LEVEL)


def judges_of(text: str) -> Judges:
    """Return the judges that are named by their sensitivities and specificities."""
    found = [tuple(map(float, each.split("/"))) for each in text.split(",")]
    return tuple((sensitivity, specificity) for sensitivity, specificity in found)


def _regions(plan: PeopleLooks, rate: float, judges: Judges, *, anywhere: bool) -> Regions:
    """Return the outcomes that prove a side, for the numbers of trials judged good that any judge makes likely."""
    shares = np.array([chances_of(each, *judge)[0] for judge in judges for each in (plan.bar, rate)])
    likely = np.flatnonzero(binomial_chances(plan.judged, shares).max(axis=1) > NEGLIGIBLE).tolist()
    numbers = list(range(plan.judged + 1)) if anywhere else likely
    if plan.looks > 1:
        return _of_looks(plan, numbers)
    passing, failing = Side(plan.last, mirrored=False), Side(plan.last, mirrored=True)
    return {good: [(passing.region(good), failing.region(good))] for good in numbers}


def _of_looks(plan: PeopleLooks, numbers: list[int]) -> Regions:
    step = max(1, plan.judged // FEW)
    knots = sorted({numbers[0], *(each for each in numbers if each % step == 0), numbers[-1]})
    sides, found = (_Side(plan, plan.bar, mirrored=False), _Side(plan, 1 - plan.bar, mirrored=True)), Regions()
    greatest = {
        each: [_greatest(side, plan.judged - each if side.mirrored else each, LEVEL, CLOSE)[0] for side in sides]
        for each in knots
    }
    for good in numbers:
        near = [max(each for each in knots if each <= good), min(each for each in knots if each >= good)]
        above, below = (max(greatest[each][place] for each in near) for place in (0, 1))
        fails = sides[1].regions(plan.judged - good, below)
        found[good] = [
            (proves, fail[::-1, ::-1].T) for proves, fail in zip(sides[0].regions(good, above), fails, strict=True)
        ]
    return found


def _anywhere(bar: float, points: int) -> list[tuple[float, float, float]]:
    """Return random chances that the judge says good and that people do where it does and not, with the bar's rate."""
    draws, found = np.random.default_rng(48), list[tuple[float, float, float]]()
    while len(found) < points:
        says, of_good = draws.random() ** 0.5, draws.random()
        of_bad = (bar - says * of_good) / (1 - says)
        if 0 <= of_bad <= 1:
            found.append((says, of_good, of_bad))
    return found


def chances_of(rate: float, sensitivity: float, specificity: float) -> tuple[float, float, float]:
    """Return the chances that the judge says good, and that people do so where it does, and where it does not."""
    says = rate * sensitivity + (1 - rate) * (1 - specificity)
    return says, rate * sensitivity / says, rate * (1 - sensitivity) / (1 - says) if says < 1 else 0.0


def _chance(plan: PeopleLooks, regions: Regions, chances: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return the chances of a pass and of a fail at any look, and the mean number of labels.

    A wrong pass is counted whether or not an earlier look would have failed it, and the other way round.
    """
    says, of_good, of_bad = (np.array([each]) for each in chances)
    likely, total = binomial_chances(plan.judged, says)[:, 0], np.zeros(3)
    for judged_good, looks in regions.items():
        if likely[judged_good] < NEGLIGIBLE / 100:
            continue
        before, ways = Labelled(0, 0), [np.ones((1, 1))] * 3  # not passed, not failed, neither
        for dealt, (passing, failing) in zip(plan.deals(judged_good), looks, strict=True):
            good = binomial_chances(dealt.good - before.good, of_good)[:, 0]
            bad = binomial_chances(dealt.bad - before.bad, of_bad)[:, 0]
            total[2] += likely[judged_good] * ways[2].sum() * (dealt.total - before.total)
            ways = [with_labels(each, good, bad) for each in ways]
            ended = (passing, failing, passing | failing)
            for side in (0, 1):
                total[side] += likely[judged_good] * ways[side][ended[side]].sum()
            ways = [np.where(end, 0.0, each) for end, each in zip(ended, ways, strict=True)]
            before = dealt
    found: Floats = total
    return float(found[0]), float(found[1]), float(found[2])


if __name__ == "__main__":
    main()
