"""Comparisons by betting, looked at after each pair, beside those that know the number of pairs: level, power, pairs.

python -m benchmarks.statistics.compare_betting [--runs 4000] [--pairs 400]

By simulation. `level` is the greatest share of wrong findings ("not worse" at a loss of the margin / "worse" at none)
over shares of pairs that end differently from 2 to 20%, of which none can be under the margin, with the 95% interval of
the greater one. Power and pairs are those of "not worse" where nothing changed, beside the default design of as many
pairs.
"""

import argparse

import numpy as np

from benchmarks.statistics.compare_level import course
from simeval.core.arrays import Floats
from simeval.core.terminal import render_table
from simeval.stats.binomial import clopper_pearson
from simeval.stats.paired_open import pairs_evalue
from simeval.stats.paired_sequential import look_times, paired_design

ALPHA, FIRST = 0.05, 10
SHARES = (0.02, 0.05, 0.10, 0.20)


def first_finding(discordance: float, loss: float, margin: float, *, worse: bool, shape: tuple[int, int]) -> Floats:
    """Return after how many pairs each of several runs has the finding; infinity where it never has."""
    draws = np.random.default_rng(round(1000 * discordance)).random(shape)
    gains = (draws < (discordance - loss) / 2).cumsum(axis=1)
    differ = (draws < discordance).cumsum(axis=1)
    counts = (differ - gains, gains) if worse else (gains, differ - gains)
    n = np.arange(1, shape[1] + 1)
    found = (pairs_evalue(counts[0], counts[1], n, margin=margin) * ALPHA >= 1) & (n >= FIRST)
    return np.where(found.any(axis=1), found.argmax(axis=1) + 1, np.inf)


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=4000)
    asked.add_argument("--pairs", type=int, default=400)
    given = asked.parse_args()
    shape, rows = (given.runs, given.pairs), []
    for margin in (0.05, 0.1):
        plan = paired_design(given.pairs, look_times(given.pairs), margin=margin, alpha=ALPHA)
        wrong = [
            sum(np.isfinite(first_finding(max(d, loss), loss, 0.0 if worse else margin, worse=worse, shape=shape)))
            for worse, loss in ((False, margin), (True, 0.0))
            for d in SHARES
        ]
        most = int(max(wrong))
        low, high = clopper_pearson(most, given.runs, 0.025)
        for d in SHARES:
            ends = first_finding(d, 0.0, margin, worse=False, shape=shape)
            known = course(plan, np.array([d]), 0.0)
            rows.append(
                (
                    f"{margin:.0%}",
                    f"{d:.0%}",
                    f"{most / given.runs:.3f} [{low:.3f}, {high:.3f}]",
                    f"{float(np.isfinite(ends).mean()):.2f}",
                    f"{float(np.minimum(ends, given.pairs).mean()):.0f}",
                    f"{float(known.not_worse[0]):.2f}",
                    f"{float(known.pairs[0]):.0f}",
                )
            )
    headers = ["margin", "end differently", "level", "power", "pairs", "power, default", "pairs, default"]
    print(render_table(headers, rows, widths=[]))


if __name__ == "__main__":
    main()
