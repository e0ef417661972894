"""Selections of the best of several apps: how often the best is dropped, how often it is found, what that costs.

python -m benchmarks.statistics.select_level [--runs 400] [--rounds 400]

Apps are asked in rounds. What they come to is the same in a round, but for a share of outcomes of their own, which is
chosen so that of two equal ones as many pairs end differently as the table says. `dropped` is the share of runs in
which the best (of equal ones: the first) is dropped, with its 95% interval: at most alpha; `found` that in which it
alone is left; `cost` the conversations, of those that all apps in all rounds would take.
"""

import argparse

import numpy as np

from simeval.core.terminal import render_table
from simeval.stats.binomial import clopper_pearson
from simeval.stats.elimination import Elimination

ALPHA, RATE, BETTER = 0.05, 0.8, 0.1
DISCORDANCES = (0.02, 0.05, 0.10, 0.20)


def simulate(rates: list[float], discordance: float, *, runs: int, rounds: int, seed: int) -> tuple[int, int, float]:
    """Return in how many runs the best was dropped, in how many it was found, and the share of conversations used."""
    rng, contest = np.random.default_rng(seed), Elimination(len(rates), rounds, alpha=ALPHA, runs=runs)
    own = 1 - np.sqrt(1 - min(1.0, discordance / (2 * RATE * (1 - RATE))))  # either one's own makes a pair differ so
    used, shape = 0, (runs, len(rates))
    for _ in range(rounds):
        used += int(np.where(contest.is_over, 0, contest.left.sum(axis=1)).sum())
        draws = np.where(rng.random(shape) < own, rng.random(shape), rng.random((runs, 1)))
        outcomes = (draws < rates).astype(float)
        contest.push(outcomes, outcomes)
    best = contest.left[:, 0]
    found = best & (contest.left.sum(axis=1) == 1)
    return int((~best).sum()), int(found.sum()), used / (runs * rounds * len(rates))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=400)
    given = parser.parse_args()
    rows = []
    for entrants in (2, 4, 8):
        for name, lead in (("all equal", 0.0), ("one better by 10 points", BETTER)):
            for place, discordance in enumerate(DISCORDANCES):
                rates = [RATE + lead, *[RATE] * (entrants - 1)]
                dropped, found, cost = simulate(
                    rates, discordance, runs=given.runs, rounds=given.rounds, seed=100 * entrants + place
                )
                low, high = clopper_pearson(dropped, given.runs, 0.025)
                shown = f"{dropped / given.runs:.3f} [{low:.3f}, {high:.3f}]"
                rows.append(
                    (str(entrants), name, f"{discordance:.0%}", shown, f"{found / given.runs:.0%}", f"{cost:.0%}")
                )
    head = ("apps", "truth", "pairs that differ", "best dropped", "found", "cost")
    print(render_table(head, rows, widths=(6, 26)))


if __name__ == "__main__":
    main()
