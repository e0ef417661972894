"""Limits learnt from simulated endpoints: how much of each is used, how much is refused, and what each part is worth.

    python -m benchmarks.faults.limits_simulated [--seeds 8] [--ablation]

Time is only counted. 100 callers ask endpoints with a limit, 50 those that refuse at random, 50 calls at once, for a
minute each; latencies vary by half; a refused caller waits for its own Retry-After. "used" is a share of what the
endpoint would take, or of what callers get who each wait for themselves; median and worst of the seeds. The ablation
takes out one part after another.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from random import Random
from statistics import mean, median
from typing import Any

from simeval.models.limits import pace, traffic
from simeval.models.limits.pace import Pace, Window
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
)

SECONDS, AT_ONCE, SLOTS, RATE = 60.0, 50, 10, 50
LATENCIES, RETRY_AFTERS = (0.02, 0.2, 1.0), (None, 1.0)
SHARES = (0.01, 0.05, 0.1)
LIMITED: Mapping[str, tuple[float, Callable[[Random], Server]]] = {
    "bucket 50/s, burst 50": (RATE, lambda _: Bucket(RATE, RATE)),
    "bucket 50/s, burst 5": (RATE, lambda _: Bucket(RATE, RATE / 10)),
    "bucket 5/s, burst 5": (RATE / 10, lambda _: Bucket(RATE / 10, RATE / 10)),
    "windows 50 in 1 s": (RATE, lambda random: FixedWindows(RATE, 1.0, random.random())),
    "windows 300 in 10 s": (30, lambda random: FixedWindows(300, 10.0, 10 * random.random())),
    "sliding log 50 in 1 s": (RATE, lambda _: SlidingLog(RATE)),
}
PARTS: Mapping[str, tuple[tuple[Any, str, object], ...]] = {
    "a share of refusals is borne (20%)": ((traffic, "BORNE", 0.0),),
    "a pace that did not help is lifted": ((traffic, "PATIENCE", 10**9),),
    "the base refusal rate, once lifted": ((traffic, "BORNE_TIMES_BASE", 0),),
    "a Retry-After for all where most fail": ((traffic, "AT_ITS_LIMIT", 2.0),),
    "a Retry-After for the refused call alone": ((traffic, "AT_ITS_LIMIT", 0.0),),
    "15 answers before the first call": ((traffic, "ANSWERED_BEFORE", 0),),
    "what is ahead of the pace is waited for": ((Pace, "hold", lambda *_: None),),
    "the pace is halved in a long silence": ((Pace, "halve", lambda *_: None),),
    "a cut leaves a quarter of the pace": ((pace, "DEEPEST_CUT", 0.0),),
    "20 calls to measure by": ((traffic, "ENOUGH", 0),),
    "a first climb of 4 s (10)": ((pace, "FIRST_CLIMB_SECONDS", 10.0),),
    "a rise of 10% a second (5%)": ((pace, "RISE", 0.05),),
    "a climb of 10 s to one met again (4)": ((pace, "CLIMB_SECONDS", 4.0),),
    "room in the window (1.5; 3)": ((traffic, "HEADROOM", 3.0),),
    "a window cut by 0.7 (0.5)": ((pace, "CUT", 0.5),),
    "rounds of 0.1 s at least": ((pace, "SHORTEST_ROUND_SECONDS", 0.0),),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One endpoint, with what it is asked like."""

    name: str
    latency: float
    retry_after: float | None

    @property
    def share(self) -> float | None:
        """The share that it refuses at random; None where it has a limit."""
        return float(self.name.split()[1]) if self.name.startswith("random") else None

    def run(self, governor: Governor, seed: int) -> Outcomes:
        """Ask for a minute."""
        callers = 2 * AT_ONCE if self.share is None else AT_ONCE
        random = Random(seed)
        drive = Drive(governor, self.latency, SECONDS, self.retry_after, callers=callers, random=random)
        if self.share is not None:
            return drive.against(Busy(self.share, Random(seed + 1)))
        return drive.against_slots(SLOTS) if self.name == "slots" else drive.against(LIMITED[self.name][1](random))

    def best(self, seed: int) -> float:
        """Return how many calls could be answered."""
        if self.share is not None:
            return self.run(EachForItself(AT_ONCE), seed).taken()
        rate = SLOTS / self.latency if self.name == "slots" else LIMITED[self.name][0]
        return SECONDS * min(rate, AT_ONCE / self.latency)


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of the calls to one endpoint."""

    calls_a_second: float
    worst_a_second: float
    used: float
    worst: float
    refused: float


def cells() -> list[Cell]:
    """Return all cells, those that refuse at random first."""
    names = [f"random {share}" for share in SHARES] + [*LIMITED, "slots"]
    return [Cell(*each) for each in product(names, LATENCIES, RETRY_AFTERS)]


def measure(cell: Cell, seeds: int, best: tuple[float, ...]) -> Measured:
    """Ask the endpoint of a cell once for each seed."""
    runs = [cell.run(Traffic(Window(AT_ONCE)), seed) for seed in range(seeds)]
    used = [run.taken() / most for run, most in zip(runs, best, strict=True)]
    taken = [run.taken() / SECONDS for run in runs]
    refused = median(run.refused_share for run in runs)
    return Measured(median(taken), min(taken), median(used), min(used), refused)


def limits(cell: Cell, seeds: int) -> tuple[float, ...]:
    """Return the best of a cell for each seed."""
    return tuple(cell.best(seed) for seed in range(seeds))


@contextmanager
def without(part: str) -> Iterator[None]:
    """Take a part out."""
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in PARTS.get(part, ())]
    for owner, name, value in PARTS.get(part, ()):
        setattr(owner, name, value)
    yield
    for owner, name, value in kept:
        setattr(owner, name, value)


def all_cells(part: str, seeds: int, best: list[tuple[float, ...]]) -> list[Measured]:
    """Measure every cell without a part; "" takes nothing out."""
    with without(part):
        return [measure(cell, seeds, most) for cell, most in zip(cells(), best, strict=True)]


def show(best: list[tuple[float, ...]], found: list[Measured]) -> None:
    """Print a line a cell."""
    print(f"{'endpoint':24}{'latency':>8}{'Retry-After':>12}{'calls/s':>9}{'worst':>8}{'best':>8}", end="")
    print(f"{'used':>8}{'worst':>8}{'refused':>9}")
    for cell, most, one in zip(cells(), best, found, strict=True):
        print(f"{cell.name:24}{cell.latency:>8g}{cell.retry_after or 'none':>12}", end="")
        print(f"{one.calls_a_second:>9.1f}{one.worst_a_second:>8.1f}{median(most) / SECONDS:>8.1f}", end="")
        print(f"{one.used:>8.1%}{one.worst:>8.1%}{one.refused:>9.1%}", flush=True)


def compare(part: str, whole: list[Measured], found: list[Measured]) -> None:
    """Print a line a part: the means of all cells, and those cells that move by more than two points."""
    used = [100 * (one.used - other.used) for one, other in zip(found, whole, strict=True)]
    moved = sorted(change for change in used if abs(change) > 2)
    ends = f" ({moved[0]:+.0f} to {moved[-1]:+.0f})" if moved else ""
    print(f"{part or 'nothing':42}{mean(one.used for one in found):>7.1%}", end="")
    print(f"{mean(one.worst for one in found):>8.1%}{mean(one.refused for one in found):>7.1%}  {len(moved)}{ends}")


def main() -> None:
    """Print the table, or the ablation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--ablation", action="store_true")
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        best = list(pool.map(limits, cells(), [options.seeds] * len(cells())))
        whole = list(pool.map(measure, cells(), [options.seeds] * len(cells()), best))
        if not options.ablation:
            show(best, whole)
            return
        print(f"{'taken out':42}{'used':>7}{'worst':>8}{'refused':>8} cells that move")
        compare("", whole, whole)
        tasks = [pool.submit(all_cells, part, options.seeds, best) for part in PARTS]
        for part, task in zip(PARTS, tasks, strict=True):
            compare(part, whole, task.result())


if __name__ == "__main__":
    main()
