"""Bounds of a judge's rates by a stratified sample of labels: how often they miss, and how wide they are.

    python -m benchmarks.statistics.stratified [--draws 300]

Conversations are good, and passed by the judge, by chance. Of what it passes and of what it fails as many are labelled,
as far as there are so many. "missed" is the larger share of draws in which the truth lies below, or above, a one-sided
95% bound. Beside the sensitivity's interval stands that of a random sample of as many labels.
"""

import argparse
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from simeval.stats.binomial import clopper_pearson
from simeval.stats.stratified import Stratum, stratified_rates

ALPHA = 0.05  # on each side
RATES = ("sensitivity", "specificity", "accuracy", "rate")


@dataclass(frozen=True, slots=True)
class Setting:
    """So many trials and labels, and what is true of the judge and of the app."""

    trials: int
    labels: int
    sensitivity: float
    specificity: float
    rate: float

    @property
    def truth(self) -> tuple[float, ...]:
        """The true rates, in the order of RATES."""
        accuracy = self.rate * self.sensitivity + (1 - self.rate) * self.specificity
        return self.sensitivity, self.specificity, accuracy, self.rate


SETTINGS = (
    Setting(100, 40, 0.9, 0.8, 0.8),
    Setting(300, 60, 0.95, 0.7, 0.85),
    Setting(300, 60, 0.97, 0.75, 0.9),
    Setting(300, 60, 0.7, 0.95, 0.5),
    Setting(60, 40, 0.99, 0.5, 0.9),
    Setting(500, 80, 0.85, 0.85, 0.9),
)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print("| trials, labels | sensitivity, specificity, rate | missed | interval of the sensitivity | random sample |")
    print("| --- | --- | --- | --- | --- |")
    for setting in SETTINGS:
        missed, width, plain = measured(setting, draws, np.random.default_rng(7))
        truth = f"{setting.sensitivity}, {setting.specificity}, {setting.rate}"
        print(f"| {setting.trials}, {setting.labels} | {truth} | {missed:.1%} | {width:.3f} | {plain:.3f} |")


def measured(setting: Setting, draws: int, chance: Generator) -> tuple[float, float, float]:
    """Return the largest share of bounds that miss, and the mean widths by both kinds of sample."""
    missed: Counter[tuple[str, str]] = Counter()
    widths, plain = [], []
    for _ in range(draws):
        good = chance.random(setting.trials) < setting.rate
        passes = np.where(good, setting.sensitivity, 1 - setting.specificity)
        said = chance.random(setting.trials) < passes
        found = stratified_rates(
            *(_stratum(good, said == each, setting, chance) for each in (True, False)), alpha=ALPHA
        )
        for name, truth in zip(RATES, setting.truth, strict=True):
            share = getattr(found, name)
            missed[name, "low"] += bool(truth < share.low)
            missed[name, "high"] += bool(truth > share.high)
        widths.append(found.sensitivity.high - found.sensitivity.low)
        drawn = chance.choice(setting.trials, setting.labels, replace=False)
        known = drawn[good[drawn]]
        low, high = clopper_pearson(int(said[known].sum()), known.size, ALPHA)
        plain.append(high - low)
    return max(missed.values()) / draws, float(np.mean(widths)), float(np.mean(plain))


def _stratum(good: NDArray[np.bool_], where: NDArray[np.bool_], setting: Setting, chance: Generator) -> Stratum:
    places = np.flatnonzero(where)
    drawn = chance.choice(places, min(setting.labels // 2, places.size), replace=False)
    return Stratum(places.size, drawn.size, int(good[drawn].sum()))


if __name__ == "__main__":
    main()
