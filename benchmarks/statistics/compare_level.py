"""Comparisons that stop early: their levels, power and pairs, beside those of the whole sample that `compare` takes.

python -m benchmarks.statistics.compare_level [--largest 540]

All of it is arithmetic over all sequences of pairs. The pairs of a row with a margin of 5 or 10 points are those that
the whole sample needs to prove "not worse" four times in five where nothing changed. `level` is the greatest chance
of a wrong finding ("not worse" / "worse") over shares of pairs that end differently from almost none to all, looked
for between the points of the design's own grid; `at 2-20%` over those from 2 to 20%, of which none can be under the
margin.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

from simeval.core.arrays import Floats
from simeval.core.tables import render_table
from simeval.stats.paired import mcnemar, paired_not_worse
from simeval.stats.paired_sequential import PairedDesign, PairedWalk, look_times, pair_chances, paired_design

ALPHA = 0.05
ROWS = (  # margin, share of pairs that end differently, pairs
    *((0.02, 0.02, 340), (0.03, 0.02, 165), (0.05, 0.02, 99), (0.05, 0.05, 170), (0.05, 0.10, 290), (0.05, 0.20, 540)),
    *((0.10, 0.02, 49), (0.10, 0.05, 51), (0.10, 0.10, 82), (0.10, 0.20, 150)),
)
LOSSES = (0.05, 0.10, 0.20)
BETWEEN = 23  # shares to a point of the design's grid, on average


@dataclass(frozen=True, slots=True)
class Course:
    """What becomes of a comparison, in each of several cases: the chances of its two findings, and its mean pairs."""

    not_worse: Floats
    worse: Floats
    pairs: Floats


def course(plan: PairedDesign, discordance: Floats, difference: float) -> Course:
    """Work out a comparison that stops by either finding."""
    walk = PairedWalk(*pair_chances(discordance, difference), plan.n_max)
    found, pairs = [np.zeros(len(discordance)) for _ in range(2)], np.zeros(len(discordance))
    for place, look in enumerate(plan.looks):
        walk.advance(look)
        for is_worse in (False, True):
            stopped = walk.stop(plan.stops(place, worse=is_worse))
            found[is_worse] += stopped
            pairs += look * stopped
    return Course(found[0], found[1], pairs + plan.n_max * (1 - found[0] - found[1]))


def whole_sample(n: int, margin: float, discordance: float, difference: float) -> tuple[float, float]:
    """Return the chances of "not worse" and "worse" by `compare`, of all pairs."""
    gain, loss = (np.atleast_1d(each) for each in pair_chances(np.array([discordance]), difference))
    walk = PairedWalk(gain, loss, n)
    walk.advance(n)
    likely = np.argwhere(walk.mass[0] > 1e-7)
    found = [0.0, 0.0]
    for gains, losses in likely.tolist():
        chance = float(walk.mass[0, gains, losses])
        p = paired_not_worse(0, gains, losses, n - gains - losses, margin=margin).p_value
        if p <= ALPHA:
            found[0] += chance
        elif mcnemar(gains, losses).p_new_worse <= ALPHA:
            found[1] += chance
    return found[0], found[1]


def levels(plan: PairedDesign, low: float, high: float) -> tuple[float, float]:
    """Return the greatest chances of a wrong "not worse", at a loss of the margin, and of a wrong "worse", at none."""
    shares = low + (high - low) * np.sin(np.linspace(0, np.pi / 2, int(BETWEEN * np.sqrt(plan.n_max)))) ** 2
    worst = [0.0, 0.0]
    for part in np.array_split(shares, max(1, len(shares) // 100)):
        lost = course(plan, np.maximum(part, plan.margin), -plan.margin)
        worst[0] = max(worst[0], float(lost.not_worse.max()))
        worst[1] = max(worst[1], float(course(plan, part, 0.0).worse.max()))
    return worst[0], worst[1]


def row_of(margin: float, discordance: float, n: int) -> list[str]:
    """Return what a comparison comes to."""
    began = time.process_time()
    plan = paired_design(n, look_times(n), margin=margin, alpha=ALPHA)
    took = time.process_time() - began
    wide, narrow = levels(plan, 1e-4, 1.0), levels(plan, 0.02, 0.20)
    share = np.array([discordance])
    same = course(plan, share, 0.0)
    fixed = whole_sample(n, margin, discordance, 0.0)[0]
    lost = [(course(plan, np.maximum(share, loss), -loss), loss) for loss in LOSSES]
    return [
        *(f"{margin:.0%}", f"{discordance:.0%}", str(n)),
        *(" / ".join(f"{each:.5f}" for each in pair) for pair in (wide, narrow)),
        *(f"{fixed:.3f}", f"{float(same.not_worse[0]):.3f}"),
        f"{float(same.pairs[0]):.0f} ({float(same.pairs[0]) / n - 1:+.0%})",
        *(
            f"{float(each.worse[0]):.0%} (whole {whole_sample(n, margin, max(discordance, loss), -loss)[1]:.0%}), "
            f"{float(each.pairs[0]):.0f} ({float(each.pairs[0]) / n - 1:+.0%})"
            for each, loss in lost
        ),
        f"{took:.1f}",
    ]


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--largest", type=int, default=540)
    largest = asked.parse_args().largest
    headers = ["margin", "end differently", "pairs", "level", "at 2-20%", "power, whole", "power", "pairs, no change"]
    headers += [f"worse by {loss:.0%}: found, pairs" for loss in LOSSES]
    print(render_table([*headers, "seconds"], [row_of(*row) for row in ROWS if row[2] <= largest], widths=[]))


if __name__ == "__main__":
    main()
