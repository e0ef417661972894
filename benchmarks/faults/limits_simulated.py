"""Limits learnt from simulated endpoints: how much of each is used, and how much is refused.

    python -m benchmarks.faults.limits_simulated [--seeds 20] [--late] [--held-out]

Time is only counted. 100 callers ask endpoints with a limit, 50 those that refuse at random, 50 calls at once, for a
minute, or as long as 3,000 calls take. Latencies vary by half; a call arrives after a tenth of its latency and is
taken or refused there, with --late when it is answered; a refused caller waits for its own Retry-After. "used" is a
share of what the endpoint would take, or of what callers get who each wait for themselves, whichever is more: median
and worst of the seeds. "later" is the share refused after the first five seconds. "alone" is what callers get who wait
for themselves, and are refused (where there is a limit, of two seeds, which serve for all). The pace was tuned on these
endpoints; --held-out asks others, of other latencies, shares, rates and Retry-Afters, which it was not tuned on.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import cycle, product
from random import Random
from statistics import median

from simeval.models.limits.traffic import Traffic
from tests.support.servers import (
    Bucket,
    Busy,
    Drive,
    EachForItself,
    FixedWindows,
    Governor,
    Outcomes,
    Server,
    SlidingLog,
    Slots,
)

SECONDS, CALLS, AT_ONCE, SLOTS, RATE = 60.0, 3000, 50, 10, 50
AIM, MOST_REFUSED = 0.7, 0.03
FIRST_SECONDS = 5  # in which the limit is learnt
ALONE = 2  # seeds of callers who wait for themselves where there is a limit: they ask thousands of times in vain
Limits = Mapping[str, tuple[float, Callable[[Random], Server]]]
LIMITED: Limits = {
    "bucket 50/s, burst 50": (RATE, lambda _: Bucket(RATE, RATE)),
    "bucket 50/s, burst 5": (RATE, lambda _: Bucket(RATE, RATE / 10)),
    "bucket 5/s, burst 5": (RATE / 10, lambda _: Bucket(RATE / 10, RATE / 10)),
    "windows 50 in 1 s": (RATE, lambda random: FixedWindows(RATE, 1.0, random.random())),
    "windows 300 in 10 s": (30, lambda random: FixedWindows(300, 10.0, 10 * random.random())),
    "windows 600 in 60 s": (10, lambda random: FixedWindows(600, 60.0, 60 * random.random())),
    "sliding log 50 in 1 s": (RATE, lambda _: SlidingLog(RATE)),
}
OTHERS: Limits = {
    "bucket 20/s, burst 3": (20, lambda _: Bucket(20, 3)),
    "bucket 200/s, burst 20": (200, lambda _: Bucket(200, 20)),
    "bucket 2/s, burst 10": (2, lambda _: Bucket(2, 10)),
    "windows 20 in 1 s": (20, lambda random: FixedWindows(20, 1.0, random.random())),
    "windows 100 in 5 s": (20, lambda random: FixedWindows(100, 5.0, 5 * random.random())),
    "windows 200 in 30 s": (200 / 30, lambda random: FixedWindows(200, 30.0, 30 * random.random())),
    "sliding log 100 in 1 s": (100, lambda _: SlidingLog(100)),
}
ALL_LIMITED: Limits = {**LIMITED, **OTHERS}


@dataclass(frozen=True, slots=True)
class Grid:
    """The endpoints of one table: which share they refuse at random, which limits they have, and how they are asked."""

    shares: Sequence[float]
    limits: Limits
    latencies: Sequence[float]
    retry_afters: Sequence[float | None]


TUNED_ON = Grid((0.01, 0.05, 0.1), LIMITED, (0.02, 0.2, 1.0), (None, 1.0))
HELD_OUT = Grid((0.02, 0.03, 0.07, 0.2), OTHERS, (0.05, 0.5, 3.0), (None, 0.3, 5.0))


@dataclass(frozen=True, slots=True)
class Cell:
    """One endpoint, with what it is asked like."""

    name: str
    latency: float
    retry_after: float | None
    late: bool

    @property
    def share(self) -> float | None:
        """The share that it refuses at random; None where it has a limit."""
        return float(self.name.split()[1]) if self.name.startswith("random") else None

    @property
    def rate(self) -> float:
        """What it would take a second, of 50 calls at once."""
        most = AT_ONCE / self.latency
        if self.name == "slots":
            return SLOTS / self.latency
        return most if self.share is not None else min(most, ALL_LIMITED[self.name][0])

    @property
    def seconds(self) -> float:
        """How long it is asked."""
        return max(SECONDS, CALLS / self.rate) if self.name in ALL_LIMITED else SECONDS

    def run(self, governor: Governor, seed: int) -> Outcomes:
        """Ask it once."""
        random = Random(seed)
        server: Server = Slots(SLOTS)
        if self.share is not None:
            server = Busy(self.share, Random(random.random()))
        elif self.name in ALL_LIMITED:
            server = ALL_LIMITED[self.name][1](random)
        callers = 2 * AT_ONCE if self.share is None else AT_ONCE
        drive = Drive(governor, self.latency, self.seconds, self.retry_after, callers=callers, random=random)
        drive.late = self.late
        return drive.against(server)


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of the calls to one endpoint, median and worst of the seeds."""

    calls_a_second: float
    worst_a_second: float
    used: float
    worst: float
    refused: float
    most_refused: float
    later: float
    alone: float
    alone_refused: float


def cells(grid: Grid, *, late: bool) -> list[Cell]:
    """Return all cells, those that refuse at random first."""
    names = [f"random {share}" for share in grid.shares] + [*grid.limits, "slots"]
    return [Cell(*each, late) for each in product(names, grid.latencies, grid.retry_afters)]


def measure(cell: Cell, seeds: int) -> Measured:
    """Ask the endpoint of a cell once for each seed."""
    runs = [cell.run(Traffic(AT_ONCE), seed) for seed in range(seeds)]
    alone = [cell.run(EachForItself(AT_ONCE), seed) for seed in range(seeds if cell.share else min(seeds, ALONE))]
    taken = [run.taken() / cell.seconds for run in runs]
    best = [max(other.taken() / cell.seconds, 0.0 if cell.share else cell.rate) for other in alone]
    used = [mine / most for mine, most in zip(taken, cycle(best), strict=False)]
    refused = [run.refused_share for run in runs]
    return Measured(
        median(taken),
        min(taken),
        median(used),
        min(used),
        median(refused),
        max(refused),
        median(later_share(run) for run in runs),
        median(other.taken() / cell.seconds for other in alone),
        median(other.refused_share for other in alone),
    )


def later_share(run: Outcomes) -> float:
    """Return the share of calls that was refused after the first seconds."""
    accepted, refused = sum(run.accepted[FIRST_SECONDS:]), sum(run.refused[FIRST_SECONDS:])
    return refused / max(1, accepted + refused)


def main() -> None:
    """Print a line a cell, and what falls short of the aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--late", action="store_true", help="the endpoint takes or refuses when it answers")
    parser.add_argument("--held-out", action="store_true", help="other endpoints, which the pace was not tuned on")
    options = parser.parse_args()
    asked = cells(HELD_OUT if options.held_out else TUNED_ON, late=options.late)
    print(f"{'endpoint':24}{'latency':>8}{'Retry-After':>12}{'calls/s':>9}{'worst':>8}{'used':>8}{'worst':>8}", end="")
    print(f"{'refused':>9}{'worst':>8}{'later':>8}{'alone/s':>9}{'refused':>9}")
    below: list[str] = []
    with ProcessPoolExecutor() as pool:
        for cell, one in zip(asked, pool.map(measure, asked, [options.seeds] * len(asked)), strict=True):
            print(f"{cell.name:24}{cell.latency:>8g}{cell.retry_after or 'none':>12}", end="")
            print(f"{one.calls_a_second:>9.1f}{one.worst_a_second:>8.1f}{one.used:>8.1%}{one.worst:>8.1%}", end="")
            print(f"{one.refused:>9.1%}{one.most_refused:>8.1%}{one.later:>8.1%}", end="")
            print(f"{one.alone:>9.1f}{one.alone_refused:>9.1%}", flush=True)
            if one.worst < AIM or (cell.share is None and one.refused > MOST_REFUSED):
                after = cell.retry_after or "none"
                below.append(
                    f"{cell.name} at {cell.latency:g} s, Retry-After {after}: {one.worst:.0%}, {one.refused:.1%}"
                )
    print(
        f"\nworst seed under {AIM:.0%} of the better, or over {MOST_REFUSED:.0%} refused: {len(below)} of {len(asked)}"
    )
    print("\n".join(below))


if __name__ == "__main__":
    main()
