"""Shares and agreement from a sample that was drawn from two strata with different probabilities.

References: D. G. Horvitz and D. J. Thompson (1952), "A generalization of sampling without replacement from a finite
universe", Journal of the American Statistical Association 47; C. J. Clopper and E. S. Pearson (1934), Biometrika 26.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan

import numpy as np
from numpy.typing import NDArray

from simeval.stats.binomial import clopper_pearson


@dataclass(frozen=True, slots=True)
class Cell:
    """What one stratum gives to a share: `size` items, of which `labelled` are a random subset.

    `met` of those count for the share, `missed` against it, the others for neither; `can_be_met` and `can_be_missed`
    say whether any item of the stratum ever could, `is_whole` whether each is either met or missed.
    """

    size: int
    labelled: int
    met: int
    missed: int
    can_be_met: bool = True
    can_be_missed: bool = True
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class StratifiedShare:
    """A share of all items with its bounds."""

    value: float  # NaN where a stratum that counts has no labels, or nothing counts
    low: float
    high: float


def stratified_share(cells: tuple[Cell, Cell], *, alpha: float) -> StratifiedShare:
    """Return met / (met + missed) over both strata, with at most `alpha` of error on each side.

    Hypothesis: none is tested. The estimate is Horvitz and Thompson's: an item counts as often as there are items in
    its stratum for each that is labelled. A bound takes Clopper and Pearson's bounds of all shares it rests on at once
    (how many items of each stratum are met, how many missed, and how the strata divide what the app will do), each with
    an equal part of `alpha`, and the worst share these allow. So it holds at any number of labels, for independent
    items, and errs on the wide side.
    """
    low, high = _least(cells, alpha), 1 - _least((_turned(cells[0]), _turned(cells[1])), alpha)
    met, missed = (sum(_scaled(each, number) for each, number in counts) for counts in _counts(cells))
    return StratifiedShare(met / (met + missed) if met + missed else nan, low, high)


def _counts(cells: tuple[Cell, Cell]) -> tuple[list[tuple[Cell, int]], list[tuple[Cell, int]]]:
    met = [(each, each.met) for each in cells if each.can_be_met]
    return met, [(each, each.missed) for each in cells if each.can_be_missed]


def _scaled(cell: Cell, number: int) -> float:
    if cell.size == 0:
        return 0.0
    return cell.size * number / cell.labelled if cell.labelled else nan


def _turned(cell: Cell) -> Cell:
    return Cell(cell.size, cell.labelled, cell.missed, cell.met, cell.can_be_missed, cell.can_be_met, cell.is_whole)


def _least(cells: tuple[Cell, Cell], alpha: float) -> float:
    """Return the least share that both strata allow. It rises with what is met and falls with what is missed."""
    parts = 2 + sum(1 if each.is_whole else each.can_be_met + each.can_be_missed for each in cells)
    at = alpha / parts
    met = [clopper_pearson(each.met, each.labelled, at)[0] if each.can_be_met else 0.0 for each in cells]
    missed = [
        1 - least if each.is_whole else clopper_pearson(each.missed, each.labelled, at)[1] * each.can_be_missed
        for each, least in zip(cells, met, strict=True)
    ]
    ends = clopper_pearson(cells[0].size, cells[0].size + cells[1].size, at)
    return min(_share([end, 1 - end], met, missed) for end in ends)  # in this one it is monotone


def _share(parts: Sequence[float], met: Sequence[float], missed: Sequence[float]) -> float:
    good = sum(part * each for part, each in zip(parts, met, strict=True))
    bad = sum(part * each for part, each in zip(parts, missed, strict=True))
    return good / (good + bad) if good + bad else 0.0


def weighted_kappa(human: NDArray[np.float64], judge: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return Cohen's kappa of passes (1) and failures (0), each pair counted by its weight; NaN where undefined."""
    passed_by = np.average(human, weights=weights), np.average(judge, weights=weights)
    chance = passed_by[0] * (1 - passed_by[1]) + passed_by[1] * (1 - passed_by[0])
    return float(1 - np.average(human != judge, weights=weights) / chance) if chance > 0 else nan


def weighted_alpha(human: NDArray[np.float64], judge: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return Krippendorff's alpha of passes (1) and failures (0), each pair counted by its weight; NaN where undefined.

    With equal weights it is `krippendorff_alpha`.
    """
    values = list(chain(human, judge))
    passed = np.average(values, weights=np.tile(weights, 2))
    chance = 2 * passed * (1 - passed) * len(values) / max(len(values) - 1, 1)
    return float(1 - np.average(human != judge, weights=weights) / chance) if chance > 0 else nan
