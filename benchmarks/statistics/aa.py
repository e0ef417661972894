"""What runs of one unchanged app tell: the level of the test for bad days, the days it finds, and simpler looks.

python -m benchmarks.statistics.aa [--repeats 400] [--runs 10]

A suite of one to ten requirements at 90%, of 100 trials each, against an app at 97%. On a bad day every rate is so many
points lower. The simpler look compares the share of runs that are red with the one that the designs foretell: a
difference is found if their intervals have nothing in common.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simeval.analysis.unchanged_runs import DRAWS, LEVEL, TRIALS
from simeval.core.terminal import render_table
from simeval.stats.binomial import clopper_pearson
from simeval.stats.optimal import OptimalDesign, optimal_design
from simeval.stats.run_to_run import chances_of_ends, differ_p_value

BAR, SIZE, RATE = 0.9, 100, 0.97
REQUIREMENTS = (1, 3, 10)
DAYS = ((0.0, 0.0), (0.2, 0.3), (0.1, 0.5), (0.3, 0.15), (0.2, 0.1))  # the share of bad days, and how much lower
HEADERS = ("requirements", "bad days", "lower by", "runs differ", "counted differs from foretold", "standard error")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics.aa", description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    made = optimal_design(BAR, SIZE, alpha=LEVEL, min_trials=TRIALS)
    assert isinstance(made, OptimalDesign)
    print(f"{options.runs} runs, {options.repeats} repeats")
    for requirements in REQUIREMENTS:
        rows = [row_of(requirements, *day, made, options.repeats, options.runs) for day in DAYS]
        print(render_table(HEADERS, rows, widths=()), flush=True)


def row_of(requirements: int, bad: float, lower: float, made: OptimalDesign, repeats: int, runs: int) -> list[str]:
    """Return how often each look finds a difference between runs."""
    random = np.random.default_rng(0)
    found = np.array([looks(random, requirements, bad, lower, made, runs) for _ in range(repeats)])
    shares = found.mean(axis=0)
    error = float(np.sqrt(shares * (1 - shares) / repeats).max())
    by_test, by_count = (f"{share:.3f}" for share in shares)
    return [str(requirements), f"{bad:.0%}", f"{lower:.0%}", by_test, by_count, f"{error:.3f}"]


def looks(
    random: np.random.Generator, requirements: int, bad: float, lower: float, made: OptimalDesign, runs: int
) -> tuple[bool, bool]:
    """Draw the runs, and return whether the test finds a difference, and whether the simpler look does."""
    rates = RATE - lower * (random.random((runs, 1, 1)) < bad)
    misses = random.random((runs, requirements, SIZE)) >= rates
    first = misses[:, :, :TRIALS].reshape(runs, -1).astype(np.int64)
    differs = differ_p_value(first) <= LEVEL
    ends = [[_end(each, made) for each in run] for run in misses]
    red = sum(not all(passed for passed, _ in run) for run in ends)
    low, high = clopper_pearson(red, runs, LEVEL / 2)
    least, most = _foretold(random, misses, ends, made)
    return differs, most < low or high < least


def _end(misses: NDArray[np.bool_], made: OptimalDesign) -> tuple[bool, int]:
    """Return whether a requirement passes, and after how many trials it ends."""
    n, failures = np.arange(made.min_trials, SIZE + 1), misses.cumsum()[made.min_trials - 1 :]
    passes = failures <= made.pass_at[made.min_trials :]
    ends = np.flatnonzero(passes | (failures >= made.end_at[made.min_trials :]))
    return (bool(passes[ends[0]]), int(n[ends[0]])) if ends.size else (False, SIZE)


def _foretold(
    random: np.random.Generator,
    misses: NDArray[np.bool_],
    ends: Sequence[Sequence[tuple[bool, int]]],
    made: OptimalDesign,
) -> tuple[float, float]:
    """Return the interval of the share of red runs at the rates of all runs, from the trials that were held."""
    green = np.ones(DRAWS)
    for place in range(misses.shape[1]):
        seen = np.concatenate([misses[run, place, : each[place][1]] for run, each in enumerate(ends)])
        rates = random.beta(seen.size - seen.sum() + 0.5, seen.sum() + 0.5, DRAWS)
        green *= chances_of_ends(rates, SIZE, pass_at=made.pass_points, end_at=made.end_points)[0]
    low, high = np.quantile(1 - green, (0.05, 0.95)).tolist()
    return low, high


if __name__ == "__main__":
    main()
