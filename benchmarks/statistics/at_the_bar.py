"""Error rates through the whole engine: how often an app exactly at its bar passes, or fails, in every kind of run.

    python -m benchmarks.statistics.at_the_bar [--scenarios 400] [--quick] [--groups NAME ...] [--in-flight 16]

Whatever a verdict says of such an app is wrong, and each side may be so with a chance of at most 5%. What is bad takes
eight times as long as what is good, 16 trials of a scenario are in flight (or `--in-flight`; 40 of those that are cut
off), on a clock that jumps to whatever comes next. Every seed is fixed. A row whose 95% interval (Clopper-Pearson) lies
above 5% is a finding, and the exit status is 1; `--quick` runs 40 scenarios a row. The rows are in `at_the_bar_cells`;
runs that are cut off are those of `cuts`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

import anyio
import anyio.to_thread

from benchmarks.statistics import cuts
from benchmarks.statistics.at_the_bar_cells import ALPHA, CELLS, IN_FLIGHT, Cell
from simeval import ScenarioResult
from simeval.core import seeds
from simeval.core.logs import configure_logging
from simeval.stats.binomial import clopper_pearson
from tests.support.fake_clock import FakeClockLoop

QUICK, EACH_SIDE = 40, 0.025
HEADERS = ("kind", "run", "of", "wrong pass [95%]", "wrong fail [95%]", "")
CUTS = (1, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many of so many scenarios, or runs, were passed and failed; `promises` says which of it is bounded."""

    of: int
    passes: int
    fails: int
    promises: Sequence[str] = ("pass", "fail")

    def interval(self, count: int) -> tuple[float, float]:
        """Return the interval of a rate."""
        return clopper_pearson(count, self.of, EACH_SIDE)

    @property
    def findings(self) -> list[str]:
        """The sides whose rate is above what is promised."""
        sides = (("pass", self.passes), ("fail", self.fails))
        return [side for side, count in sides if side in self.promises and self.interval(count)[0] > ALPHA]


def measure(cell: Cell, scenarios: int, in_flight: int = IN_FLIGHT) -> Counted:
    """Measure a cell on so many scenarios, or runs, with a part of the scenarios in each run."""
    configure_logging("ERROR")  # its watchdog sees a clock stand still
    runs: list[list[ScenarioResult]] = []
    with ExitStack() as patches:
        patches.enter_context(patch.object(anyio.to_thread, "run_sync", cuts.at_once))
        wanted = scenarios * cell.at_once if cell.by_run else scenarios
        for part in range(-(-wanted // cell.at_once)):
            size = min(cell.at_once, wanted - part * cell.at_once)
            seed = seeds.derive(part, cell.group, cell.name)
            found = anyio.run(cell.run, size, seed, in_flight, backend_options={"loop_factory": FakeClockLoop})
            runs.append(list(found))
    said = [[each.expectations[cell.place].verdicts[0].outcome for each in run] for run in runs]
    units = said if cell.by_run else [[outcome] for run in said for outcome in run]
    return Counted(
        of=len(units),
        passes=sum("pass" in unit for unit in units),
        fails=sum("fail" in unit for unit in units),
        promises=cell.promises,
    )


def measure_cuts(number: int, scenarios: int) -> Counted:
    """Measure runs that are cut off so many times and resumed."""
    found = cuts.measure(cuts.Setting(way="missing", cuts=number), scenarios)
    return Counted(of=found.scenarios, passes=found.passes, fails=found.fails)


def all_rows(in_flight: int = IN_FLIGHT) -> list[tuple[str, str, Callable[[int], Counted]]]:
    """Return the rows, each with its group, its name, and what measures it."""

    def of_cell(cell: Cell) -> Callable[[int], Counted]:
        return lambda scenarios: measure(cell, scenarios, in_flight)

    def of_cuts(number: int) -> Callable[[int], Counted]:
        return lambda scenarios: measure_cuts(number, scenarios)

    measured = [(cell.group, cell.name, of_cell(cell)) for cell in CELLS]
    return [*measured, *(("cut off", f"{number} times, and resumed", of_cuts(number)) for number in CUTS)]


def shown(group: str, name: str, found: Counted) -> str:
    """Return a row of the table."""
    cells = []
    for side, count in (("pass", found.passes), ("fail", found.fails)):
        low, high = found.interval(count)
        said = f"{count / found.of:.3f} [{low:.3f}, {high:.3f}]"
        cells.append(said if side in found.promises else f"({said}: nothing is promised)")
    above = f"ABOVE: {', '.join(found.findings)}" if found.findings else ""
    return " | ".join([group, name, str(found.of), *cells, above])


def main() -> int:
    """Print a row for every cell; return 1 where one is above what is promised."""
    groups = list(dict.fromkeys(group for group, _, _ in all_rows()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=400, help="for each row")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} scenarios for each row")
    parser.add_argument("--groups", nargs="*", default=groups, choices=groups)
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT, help="trials of each scenario at once")
    options = parser.parse_args()
    print(" | ".join(HEADERS), flush=True)
    findings = 0
    for group, name, count in all_rows(options.in_flight):
        if group in options.groups:
            found = count(QUICK if options.quick else options.scenarios)
            print(shown(group, name, found), flush=True)
            findings += len(found.findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
