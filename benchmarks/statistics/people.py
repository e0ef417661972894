"""The verdict about people: its level at the bar in cells of judges, and its power, by sums over all outcomes.

    python -m benchmarks.statistics.people [--judged 200] [--labels 50] [--bar 0.9] [--rate 0.95]

A row is a judge by its sensitivity and specificity. "passes" and "fails" are the chances of either verdict for an app
exactly at the bar: both are wrong, and each is at most 5%. "proves" is the chance of a pass at the rate given, beside
that of as many labels of a random sample without a judge. The exit status is 1 where a level is above 5%. It takes
minutes, and an hour with 500 judged and 100 labels.
"""

import argparse
import sys
from collections.abc import Callable
from itertools import product

import numpy as np
import scipy

from simeval.core.arrays import Floats
from simeval.stats.binomial import power
from simeval.stats.people import Labelled, PeopleTest

LEVEL, NEGLIGIBLE = 0.05, 1e-7
SENSITIVITIES, SPECIFICITIES = (0.8, 0.9, 0.95, 0.98, 1.0), (0.4, 0.6, 0.8, 0.9, 1.0)
Edge = dict[int, list[int]]  # by trials judged good, and good labels of those judged bad: good labels of the others


def main() -> None:
    """Print a row for each judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=int, default=200)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--bar", type=float, default=0.9)
    parser.add_argument("--rate", type=float, default=0.95)
    options = parser.parse_args()
    test = PeopleTest(options.judged, options.labels, options.bar)
    passing = _edge(test, lambda good, found: test.p_above(good, found) <= LEVEL, rises=True)
    failing = _edge(test, lambda good, found: test.p_below(good, found) <= LEVEL, rises=False)
    alone = float(power(test.labels, test.bar, options.rate, alpha=LEVEL))
    print(f"{test.judged} judged, {test.labels} labels, bar {test.bar:g}")
    print(f"labels alone prove a rate of {options.rate:g} with a chance of {alone:.3f}")
    print(f"{'judge':>12}{'passes':>10}{'fails':>10}{'proves':>10}")
    worst = 0.0
    for sensitivity, specificity in product(SENSITIVITIES, SPECIFICITIES):
        at_bar = _chances(test.bar, sensitivity, specificity)
        passes, fails = _chance(test, passing, at_bar, rises=True), _chance(test, failing, at_bar, rises=False)
        proves = _chance(test, passing, _chances(options.rate, sensitivity, specificity), rises=True)
        print(f"{f'{sensitivity:g}/{specificity:g}':>12}{passes:>10.4f}{fails:>10.4f}{proves:>10.3f}")
        worst = max(worst, passes, fails)
    print(f"greatest level: {worst:.4f}")
    sys.exit(worst > LEVEL)


def _edge(test: PeopleTest, proves: Callable[[int, Labelled], bool], *, rises: bool) -> Edge:
    """Return where a side is proven, for the numbers of trials judged good that any judge here makes likely.

    By good labels of the trials judged bad: the fewest good labels of the others that prove a pass, or the most that
    prove a fail. Both fall as the first number grows, so one walk finds them.
    """
    edge: Edge = {}
    for judged_good in _likely(test):
        dealt = test.deal(judged_good)
        at, found = dealt.good + 1 if rises else -1, []
        for bad in range(dealt.bad + 1) if rises else range(dealt.bad, -1, -1):
            while rises and at > 0 and proves(judged_good, Labelled(at - 1, bad)):
                at -= 1
            while not rises and at < dealt.good and proves(judged_good, Labelled(at + 1, bad)):
                at += 1
            found.append(at)
        edge[judged_good] = found if rises else found[::-1]
    return edge


def _likely(test: PeopleTest) -> list[int]:
    numbers = np.arange(test.judged + 1)
    shares = [_chances(test.bar, *judge)[0] for judge in product(SENSITIVITIES, SPECIFICITIES)]
    chance = np.max([_binomial(numbers, test.judged, share) for share in shares], axis=0)
    return [int(each) for each in np.flatnonzero(chance > NEGLIGIBLE)]


def _chances(rate: float, sensitivity: float, specificity: float) -> tuple[float, float, float]:
    """Return the chances that the judge says good, and that people do so where it does, and where it does not."""
    says = rate * sensitivity + (1 - rate) * (1 - specificity)
    return says, rate * sensitivity / says, rate * (1 - sensitivity) / (1 - says) if says < 1 else 0.0


def _chance(test: PeopleTest, edge: Edge, chances: tuple[float, float, float], *, rises: bool) -> float:
    """Return the chance that a side is proven."""
    says, of_good, of_bad = chances
    total = 0.0
    for judged_good, found in edge.items():
        dealt, at = test.deal(judged_good), np.array(found)
        bad = _binomial(np.arange(dealt.bad + 1), dealt.bad, of_bad)
        below = np.where(at > 0, scipy.special.bdtr(np.maximum(at - 1, 0), dealt.good, of_good), 0.0)
        up_to = np.where(at >= 0, scipy.special.bdtr(np.maximum(at, 0), dealt.good, of_good), 0.0)
        proven = np.where(at > dealt.good, 0.0, 1 - below) if rises else up_to
        total += float(_binomial(np.array([judged_good]), test.judged, says)[0] * (bad @ proven))
    return total


def _binomial(numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]", n: int, chance: float) -> Floats:
    upper = scipy.special.bdtr(numbers, n, chance)
    lower = np.where(numbers > 0, scipy.special.bdtr(np.maximum(numbers - 1, 0), n, chance), 0.0)
    found: Floats = np.maximum(upper - lower, 0.0)
    return found


if __name__ == "__main__":
    main()
