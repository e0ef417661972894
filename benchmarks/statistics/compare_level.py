"""Comparisons that stop early: their levels, power and pairs, beside those of the whole sample that `compare` takes.

python -m benchmarks.statistics.compare_level [--largest 540] [--cut]

All of it is arithmetic over all sequences of pairs. The pairs of a row with a margin of 5 or 10 points are those that
the whole sample needs to prove "not worse" four times in five where nothing changed. `level` is the greatest chance
of a wrong finding ("not worse" / "worse") over shares of pairs that end differently from almost none to all, looked
for between the points of the design's own grid; `at 2-20%` over those from 2 to 20%, of which none can be under the
margin.

`--cut` prints what becomes of the level where the share changes on the way, from and to any of up to 40%, as it does
where trials of one side were dealt anew by other seeds, because its run was cut off: `by place` counts them as pairs,
`lacking a side` as what they are in a run, in which the outcome of the other side is missing from there on. An old
version that is good in 75% to 99% of trials gives the chances of that.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

from simeval.core.arrays import Floats
from simeval.core.terminal import render_table
from simeval.stats.paired import mcnemar, paired_not_worse
from simeval.stats.paired_sequential import PairedDesign, PairedWalk, look_times, one_pair, pair_chances, paired_design

ALPHA = 0.05
ROWS = (  # margin, share of pairs that end differently, pairs
    *((0.02, 0.02, 340), (0.03, 0.02, 165), (0.05, 0.02, 99), (0.05, 0.05, 170), (0.05, 0.10, 290), (0.05, 0.20, 540)),
    *((0.10, 0.02, 49), (0.10, 0.05, 51), (0.10, 0.10, 82), (0.10, 0.20, 150)),
)
CUT_ROWS = ((0.05, 99), (0.05, 170), (0.10, 82), (0.10, 150))  # margin, pairs
LOSSES = (0.05, 0.10, 0.20)
CHANGING = np.array([0.001, 0.01, 0.02, 0.05, 0.08, 0.12, 0.18, 0.25, 0.32, 0.40])  # shares before and after a cut
PARTS = (0.25, 0.5, 0.75)  # of the pairs, that come before a cut
OLD_RATES = np.array([0.75, 0.85, 0.9, 0.95, 0.99])
BETWEEN = 23  # shares to a point of the design's grid, on average

Chances = tuple[Floats, Floats]  # of a gain and of a loss


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


def level_in_two_parts(plan: PairedDesign, change: int, *, worse: bool, parts: tuple[Chances, Chances]) -> float:
    """Return the greatest chance of a finding, where pairs have other chances of a gain and of a loss from one on."""
    size = min(plan.n_max, 60 + plan.n_max // 5) + 1
    mass, found, n = np.zeros((len(parts[0][0]), size, size)), np.zeros(len(parts[0][0])), 0
    mass[:, 0, 0] = 1.0
    for place, look in enumerate(plan.looks):
        while n < look:
            mass = one_pair(mass, *parts[n >= change])
            n += 1
        states = plan.stops(place, worse=worse)
        found += mass[:, states].sum(axis=1)
        mass[:, states] = 0.0
    return float(found.max())


def cut_row(margin: float, n: int, *, looks_once: bool) -> list[str]:
    """Return the levels of a comparison whose second part has another share of pairs that end differently."""
    plan = paired_design(n, (n,) if looks_once else look_times(n), margin=margin, alpha=ALPHA)
    row = [f"{margin:.0%}", str(n), "once" if looks_once else str(len(plan.looks))]
    for worse in (False, True):
        difference = 0.0 if worse else -margin
        shares = np.unique(np.maximum(CHANGING, -difference))
        then, now = (each.ravel() for each in np.meshgrid(shares, shares))
        early, late = pair_chances(then, difference), pair_chances(now, difference)
        good, share = (each.ravel() for each in np.meshgrid(OLD_RATES, shares))
        same = pair_chances(np.minimum(share, 2 * (1 - good) - difference), difference)
        new, nothing = good + difference, np.zeros(len(good))
        lacking = (new, nothing) if worse else (nothing, 1 - new)
        changes = [round(n * part) for part in PARTS]
        by_place = [level_in_two_parts(plan, at, worse=worse, parts=(early, late)) for at in changes]
        without = [level_in_two_parts(plan, at, worse=worse, parts=(same, lacking)) for at in changes]
        row += [f"{max(by_place):.4f}", f"{max(without):.4f}"]
    return row


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
    asked.add_argument("--cut", action="store_true", help="where the share changes on the way")
    given = asked.parse_args()
    largest = given.largest
    if given.cut:
        headers = ["margin", "pairs", "looks", '"not worse" by place', "lacking a side", '"worse" by place']
        rows = [cut_row(*row, looks_once=once) for row in CUT_ROWS if row[1] <= largest for once in (False, True)]
        print(render_table([*headers, "lacking a side"], rows, widths=[]))
        return
    headers = ["margin", "end differently", "pairs", "level", "at 2-20%", "power, whole", "power", "pairs, no change"]
    headers += [f"worse by {loss:.0%}: found, pairs" for loss in LOSSES]
    print(render_table([*headers, "seconds"], [row_of(*row) for row in ROWS if row[2] <= largest], widths=[]))


if __name__ == "__main__":
    main()
