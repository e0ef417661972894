"""The sentence of the guarantee against what happens: an app exactly at its bar, in runs that do something to the data.

    python -m benchmarks.statistics.guarantee [--scenarios 600]

"passed" is the share of scenarios that passed, with its 95% interval (Clopper-Pearson); "promised" counts the passes
that said that an app below its bar passes with a chance of at most 5%. Where the interval of the promised passes is
above 5%, the exit status is 1. Where the data were touched many passes are no fault, as long as nothing is promised.
"""

import argparse
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from simeval.stats.binomial import clopper_pearson
from tests.support.at_the_bar import TRIALS, at_the_bar, erring_user, run, suite, wrong

LEVEL, EACH_SIDE = 0.05, 0.025
Counts = tuple[int, int]
Row = Callable[[int, Path], Awaitable[Counts]]


async def as_planned(scenarios: int, _: Path) -> Counts:
    return wrong(await run(at_the_bar(11), suite(scenarios)))


async def retried(scenarios: int, _: Path) -> Counts:
    return wrong(await run(at_the_bar(12), suite(scenarios), by=erring_user, on_user_fault="retry", seed=3))


async def counted(scenarios: int, _: Path) -> Counts:
    return wrong(await run(at_the_bar(13), suite(scenarios), by=erring_user, on_user_fault="count", seed=3))


async def left_out(scenarios: int, _: Path) -> Counts:
    return wrong(await run(at_the_bar(14, crashes=True), suite(scenarios), on_app_error="exclude"))


async def enlarged(scenarios: int, folder: Path) -> Counts:
    """Take the trials of a run over into one of twice the sample."""
    app, store = at_the_bar(15), {"store": folder / "store.db"}
    first = await run(app, suite(scenarios), **store)
    larger = suite(scenarios, 2 * TRIALS)
    return wrong(await run(app, larger, **store, resume=first.run.run_id, accept_changes=True))


async def repeated(scenarios: int, folder: Path) -> Counts:
    """Run three times: a scenario passed where one of the runs passed, and was promised by what that run said."""
    app, passed, promised = at_the_bar(16), set[str](), set[str]()
    for seed in (1, 2, 3):
        result = await run(app, suite(scenarios), store=folder / "store.db", seed=seed)
        for each in result:
            if each.passed and each.title not in passed:
                passed.add(each.title)
                promised |= {each.title} if wrong([each])[1] else set()
    return len(passed), len(promised)


ROWS: dict[str, Row] = {
    "as it was planned": as_planned,
    "--on-user-fault retry, faults that depend on the app": retried,
    "--on-user-fault count, the same faults": counted,
    "--on-app-error exclude, an app that crashes where it is bad": left_out,
    "--accept-changes, twice the sample": enlarged,
    "run three times, passed once": repeated,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=600)
    scenarios = parser.parse_args().scenarios
    is_wrong = False
    print(f"{'what was done':<60} {'passed [95%]':>26} {'promised':>9}")
    for name, row in ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            passed, promised = anyio.run(row, scenarios, Path(folder))
        low, high = clopper_pearson(passed, scenarios, EACH_SIDE)
        is_finding = clopper_pearson(promised, scenarios, EACH_SIDE)[0] > LEVEL
        is_wrong |= is_finding
        share = f"{passed / scenarios:.1%} [{low:.1%}, {high:.1%}]"
        print(f"{name:<60} {share:>26} {promised:>9}{'  above 5%' if is_finding else ''}", flush=True)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
