"""What `fail_fast` and the order of dealing save: a suite of 20 through the engine, run after run.

python -m benchmarks.statistics.fail_fast [--runs 20]

16 apps are good 99% of the time, 4 are 80%, the bar is 90%, a scenario may use 100 trials. Counted are all
conversations that were begun. History is that of one plain run.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from benchmarks.statistics.level import SeedSpeaker, app, is_good
from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, SuiteResult, WritingStyleConfig
from simeval.core.terminal import render_table

BAD = (3, 8, 13, 18)
CONCURRENCIES = (1, 20, 50)
HEADERS = ("in flight", "plain", "fail-fast, in rounds [most]", "fail-fast, by history [most]", "passed")


async def run(seed: int, concurrency: int, store: Path | None = None, **options: Any) -> SuiteResult:
    """Run the suite of 20."""
    then = Expectation(scorer=is_good, evaluator=ProportionEvaluator(min_proportion=0.9))
    suite = [
        ScenarioTest(title=f"s{place}", given="0.8" if place in BAD else "0.99", when="asks", then=then)
        for place in range(20)
    ]
    style = WritingStyleConfig(enabled=False)
    settings: dict[str, Any] = {"writing_style_config": style, "display": "none", "sample_size": 100, **options}
    engine = Engine("offline/judge", SeedSpeaker(), seed=seed, concurrency=concurrency, store=store, **settings)
    return await engine.evaluate(suite, app)


def begun(result: SuiteResult) -> int:
    """Count the conversations that were begun."""
    return sum(each.trials + len(each.extras) for each in result)


async def row_of(concurrency: int, runs: int, folder: Path) -> list[str]:
    """Return what the suite takes at so many conversations in flight."""
    before = folder / f"{concurrency}.db"
    await run(0, 20, before)
    plain = [await run(seed, concurrency) for seed in range(1, 1 + max(runs // 4, 1))]
    rounds = [await run(seed, concurrency, fail_fast=True) for seed in range(1, 1 + runs)]
    past = []
    for seed in range(1, 1 + runs):
        store = Path(shutil.copy(before, folder / f"{concurrency}-{seed}.db"))
        past.append(await run(seed, concurrency, store, fail_fast=True, order="history"))
    passed = sum(result.passed for result in (*plain, *rounds, *past))
    return [str(concurrency), f"{fmean(map(begun, plain)):.0f}", said(rounds), said(past), str(passed)]


def said(results: Sequence[SuiteResult]) -> str:
    """Write the mean of the conversations, and the most there were."""
    return f"{fmean(map(begun, results)):.0f} [{max(map(begun, results))}]"


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    with TemporaryDirectory() as folder:
        rows = [await row_of(concurrency, runs, Path(folder)) for concurrency in CONCURRENCIES]
    print(render_table(HEADERS, rows, widths=()))


if __name__ == "__main__":
    anyio.run(main)
