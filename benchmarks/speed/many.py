"""Very many trials in flight: memory, descriptors, the event loop's lag, fairness, and how long an end takes.

    python -m benchmarks.speed.many [--in-flight 500 5000] [--scenarios 100] [--trials 60]

An endpoint that takes 2 s, an app that takes 0.5 s, three turns a conversation; each row is a process of its own. Lag
is by how much a sleep of 50 ms is late. Fairness is the most by which one scenario was ahead of another, in trials
begun. "end" is how long `engine.end` takes to return with all of that under way.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time

import anyio
import numpy as np

from benchmarks.speed.engine import ROOT, server
from benchmarks.suites import asking_what_it_can
from simeval import Engine
from simeval.core.logs import NAMED

MODEL_SECONDS, APP_SECONDS, LOOK_SECONDS = 2.0, 0.5, 0.05
HEADER = ("in flight", "trials", "wall s", "CPU ms/call", "RSS MB", "files", "lag p50", "p99", "most", "ahead", "end s")
FORM = "{:>9} {:>7} {:>7} {:>11} {:>7} {:>6} {:>8} {:>6} {:>6} {:>6} {:>6}"


class Look:
    """Looks at the process while it is at work."""

    def __init__(self) -> None:
        self.lags: list[float] = []
        self.files, self.ahead, self.is_over = 0, 0, False
        self.begun: Counter[str] = Counter()

    async def run(self) -> None:
        """Look until it is over."""
        while not self.is_over:
            clock = perf_counter()
            await anyio.sleep(LOOK_SECONDS)
            self.lags.append(perf_counter() - clock - LOOK_SECONDS)
            self.files = max(self.files, len(os.listdir("/proc/self/fd")))  # noqa: PTH208
            if self.begun:
                self.ahead = max(self.ahead, max(self.begun.values()) - min(self.begun.values()))


async def measure(url: str, in_flight: int, scenarios: int, trials: int) -> dict[str, float]:
    """Run a suite to its end, and then another until all of it is under way."""
    look = Look()

    async def app(messages: list[dict[str, str]]) -> str:
        if len(messages) == 1:
            look.begun[str(NAMED.get().get("scenario"))] += 1
        await anyio.sleep(APP_SECONDS)
        return "I answer questions, book meetings and translate texts."

    def engine() -> Engine:
        return Engine(
            "openai/judge",
            "openai/user",
            seed=1,
            concurrency=in_flight,
            model_concurrency=in_flight,
            app_concurrency=in_flight,
            model_timeout_seconds=300,
            model_options={"api_base": url, "api_key": "none"},
            rubric_folder=None,
            store=None,
            early_stopping=False,
            display="none",
        )

    wall, cpu = perf_counter(), process_time()
    async with anyio.create_task_group() as looking:
        looking.start_soon(look.run)
        results = await engine().evaluate(asking_what_it_can(scenarios, trials), app)
        look.is_over = True
    wall, cpu = perf_counter() - wall, process_time() - cpu
    return {
        "trials": scenarios * trials,
        "wall": wall,
        "cpu": cpu,
        "calls": sum(usage.calls for usage in results.run.usage.values()),
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files": look.files,
        "p50": float(np.median(look.lags)),
        "p99": float(np.quantile(look.lags, 0.99)),
        "most": max(look.lags),
        "ahead": look.ahead,
        "end": await ended(engine(), scenarios, trials, in_flight),
    }


async def ended(engine: Engine, scenarios: int, trials: int, in_flight: int) -> float:
    """Return how long it takes to end a run at once whose trials are all in the app."""
    under_way, clock = 0, 0.0

    async def stuck(messages: list[dict[str, str]]) -> str:
        nonlocal under_way, clock
        under_way += 1
        if under_way == min(in_flight, scenarios * trials):
            clock = perf_counter()
            engine.end("the benchmark ends it")
        await anyio.sleep_forever()
        raise AssertionError

    await engine.evaluate(asking_what_it_can(scenarios, trials), stuck)
    return perf_counter() - clock


def main() -> None:
    """Print a row for each number in flight."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--scenarios", type=int, default=100)
    parser.add_argument("--trials", type=int, default=60, help="of each scenario")
    parser.add_argument("--row", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if options.row:
        [in_flight] = options.in_flight
        row = anyio.run(measure, options.row, in_flight, options.scenarios, options.trials)
        sys.stdout.write(json.dumps(row) + "\n")
        return
    print(FORM.format(*HEADER))
    with server("--latency-seconds", str(MODEL_SECONDS)) as url:
        for in_flight in options.in_flight:
            report(url, in_flight, options.scenarios, options.trials)


def report(url: str, in_flight: int, scenarios: int, trials: int) -> None:
    """Run one row in a process of its own and print it."""
    sizes = ["--in-flight", str(in_flight), "--scenarios", str(scenarios), "--trials", str(trials)]
    command = [sys.executable, "-m", "benchmarks.speed.many", "--row", url, *sizes]
    done = subprocess.run(command, cwd=Path(ROOT), capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        print(f"{in_flight}: failed\n{done.stderr[-2000:]}")
        return
    row = json.loads(done.stdout.splitlines()[-1])
    lags = (f"{1000 * row[name]:.0f}" for name in ("p50", "p99", "most"))
    cpu = f"{1000 * row['cpu'] / row['calls']:.2f}"
    wall, end = f"{row['wall']:.1f}", f"{row['end']:.2f}"
    print(FORM.format(in_flight, row["trials"], wall, cpu, f"{row['rss']:.0f}", row["files"], *lags, row["ahead"], end))


if __name__ == "__main__":
    main()
