"""Slices of a table that fail more often than its other rows, named by a permutation test over rows.

Hypothesis: the columns of the table have nothing to do with failing. The unit is the row, with the share of its trials
that failed: with trials as units, rows that always fail for a reason of their own name a slice in 97% of tables (15% of
42 rows, five trials each), with rows in 4%. The shares are permuted over the rows, and each slice is compared with the
greatest statistic of any slice (Westfall and Young 1993, single-step), so that one is named for nothing in at most
`alpha` of tables. This is exact where no column matters, neither for failing nor for how many trials a row has.

A slice is a value of a column, a range of a column of numbers, or two of these of different columns. The statistic is
the hypergeometric tail where each row has one trial, else the standardized difference of the mean shares.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import ceil
from operator import eq
from typing import Any

import numpy as np
import scipy

from simeval.core.arrays import Floats

DRAWS = 2_000
BATCH = 200  # permutations at a time, which bounds the memory
MOST_SLICES = 5_000
MOST_RANGES = 20  # of one column, on each side
CLOSE = 1e-9  # relative to one: sums of the same shares in another order are equal

Condition = tuple[str, str, Any]  # ("nights", ">=", 4)


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of a table that meet one or two conditions."""

    conditions: tuple[Condition, ...]
    rows: frozenset[int]


@dataclass(frozen=True, slots=True)
class SliceTest:
    """A slice with its p-value, adjusted for all slices that were looked at."""

    slice: Slice
    p_value: float


def find_slices(rows: Sequence[Mapping[str, Any]], *, most: int = MOST_SLICES) -> list[Slice]:
    """Return each set of rows, some but not all, once, by its shortest conditions.

    Numbers of more than 20 values have 20 ranges on each side. Where there would be more slices than `most`, there are
    no pairs. A column of texts of which each row has its own tells nothing, and has no slices.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    single = {name: _of_column(rows, name) for name in columns}
    found = [each for slices in single.values() for each in slices]
    pairs = list(combinations(single.values(), 2))
    if len(found) + sum(len(one) * len(other) for one, other in pairs) <= most:
        found += [
            Slice(a.conditions + b.conditions, a.rows & b.rows) for one, other in pairs for a in one for b in other
        ]
    by_rows: dict[frozenset[int], Slice] = {}
    for each in found:
        if 0 < len(each.rows) < len(rows):
            by_rows.setdefault(each.rows, each)
    return list(by_rows.values())


def _of_column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Slice]:
    values = {at: row[name] for at, row in enumerate(rows) if name in row}
    different = list(dict.fromkeys(values.values()))
    numbers = sorted(each for each in different if isinstance(each, (int, float)) and not isinstance(each, bool))
    are_numbers = len(numbers) == sum(each is not None for each in different)
    found = []
    if len(different) < len(values):
        found = [Slice(((name, "=", each),), _where(values, partial(eq, each))) for each in different]
    if are_numbers:
        known = {at: value for at, value in values.items() if value is not None}
        for bound in numbers[1 :: max(1, ceil((len(numbers) - 1) / MOST_RANGES))]:
            above = frozenset(at for at, value in known.items() if value >= bound)
            found += [Slice(((name, ">=", bound),), above), Slice(((name, "<", bound),), frozenset(known) - above)]
    return found


def _where(values: Mapping[int, Any], is_met: Callable[[Any], bool]) -> frozenset[int]:
    return frozenset(at for at, value in values.items() if is_met(value) is True)


def rank_slices(
    slices: Sequence[Slice], failed: Sequence[int], trials: Sequence[int], *, seed: int, draws: int = DRAWS
) -> list[SliceTest]:
    """Return the slices with adjusted p-values, the worst first.

    `failed` and `trials` are counts by row, each row with at least one trial. A p-value is at least 1 / (draws + 1).
    """
    if not slices or min(trials) < 1 or len(failed) != len(trials):
        raise ValueError("needs slices, and for each row its failures of at least one trial")
    shares = np.asarray(failed, dtype=float) / np.asarray(trials, dtype=float)
    members = np.zeros((len(slices), len(shares)))
    for at, each in enumerate(slices):
        members[at, list(each.rows)] = 1
    statistic = _tails(members, shares) if max(trials) == 1 else _differences(members, shares)
    seen = statistic(shares[:, None])[:, 0]
    random, reached = np.random.default_rng(seed), np.zeros(len(slices))
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        permuted = random.permuted(np.tile(shares, (size, 1)), axis=1).T
        greatest = statistic(permuted).max(axis=0)
        reached += (greatest[None, :] >= seen[:, None] - CLOSE).sum(axis=1)
    order = np.argsort(-seen, kind="stable")
    return [SliceTest(slices[at], float(1 + reached[at]) / (draws + 1)) for at in order]


def log_tails(ks: Floats, size: int, failed: int, n: int) -> Floats:
    """Return log P(X >= k) for the failures X in `size` of n rows, drawn without replacement, of which `failed` fail.

    `ks` are all possible numbers of failures, in ascending order.
    """
    ways = _log_comb(failed, ks) + _log_comb(n - failed, size - ks) - _log_comb(n, np.asarray([float(size)]))
    found: Floats = np.logaddexp.accumulate(ways[::-1])[::-1]
    return found


def _log_comb(n: int, k: Floats) -> Floats:
    log_gamma = scipy.special.gammaln
    found: Floats = log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)
    return found


def _tails(members: Floats, shares: Floats) -> Callable[[Floats], Floats]:
    """Return a function that gives minus the logarithm of each slice's tail."""
    n, failed, sizes = len(shares), round(shares.sum()), members.sum(axis=1).astype(int)
    table = np.zeros((n + 1, failed + 1))
    for size in set(sizes.tolist()):
        ks = np.arange(max(0, size + failed - n), min(size, failed) + 1)
        table[size, ks] = -log_tails(ks.astype(float), size, failed, n)
    return lambda permuted: table[sizes[:, None], np.rint(members @ permuted).astype(int)]


def _differences(members: Floats, shares: Floats) -> Callable[[Floats], Floats]:
    """Return a function that gives the standardized difference of the mean in each slice from the mean outside."""
    n, total, sizes = len(shares), shares.sum(), members.sum(axis=1)[:, None]
    scale = max(float(shares.std()), CLOSE) * np.sqrt(1 / sizes + 1 / (n - sizes))

    def differences(permuted: Floats) -> Floats:
        inside = members @ permuted
        found: Floats = (inside / sizes - (total - inside) / (n - sizes)) / scale
        return found

    return differences
