"""What more actors bring: one process, one Ray actor and four, with an app that waits.

    python -m benchmarks.speed.workers [--app-seconds 0.5] [--actors 1 4] [--rounds 3]

20 scenarios x 40 trials, up to 3 turns each, 16 in flight an actor; users and judge are embedded heuristics, which
take no time. An actor's throughput is bounded by its places in flight: so four of them have four times as many, and the
measure is how much of that arrives. `alone` is `simeval run` with as many places as one actor.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import anyio
from sqlalchemy import select

from benchmarks.suites import asking_what_it_can
from simeval.store.database import Database
from simeval.store.schema import TRIALS

SCENARIOS, TRIALS_EACH, IN_FLIGHT = 20, 40, 16
APP_SECONDS = "SIMEVAL_BENCHMARK_APP_SECONDS"
SUITE = asking_what_it_can(SCENARIOS, TRIALS_EACH)
COMMON = ("benchmarks.speed.workers:SUITE", "--app", "benchmarks.speed.workers:app", "--seed", "1")


async def app(message: str) -> str:
    """Answer after a while."""
    await anyio.sleep(float(os.environ.get(APP_SECONDS, "0.5")))
    return "I answer questions, book meetings and translate texts."


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "simeval.cli", *arguments]


def conduct(*more: str) -> float:
    """Run the suite to its end in a store of its own; return trials a second, by the run's own clock."""
    with TemporaryDirectory() as folder:
        store = f"{folder}/runs.db"
        arguments = ("run", *COMMON, "--store", store, "--no-early-stopping", "--log-level", "error", *more)
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        subprocess.run(command(*arguments), cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
        return SCENARIOS * TRIALS_EACH / seconds_of_last_run(store)


def seconds_of_last_run(store: str) -> float:
    """Return what the run's own clock says."""
    from simeval.store.runs import Runs

    database = Database(store)
    try:
        runs = Runs(database)
        count = database.read(lambda connection: len(connection.execute(select(TRIALS.c.trial)).all()))
        assert count >= SCENARIOS * TRIALS_EACH
        return runs.head(runs.find("last")).seconds
    finally:
        database.close()


def measure(counts: Sequence[int], rounds: int) -> None:
    """Print trials a second."""
    alone = median(conduct("--concurrency", str(IN_FLIGHT)) for _ in range(rounds))
    print(f"one process:  {alone:6.1f} trials a second", flush=True)
    first = 0.0
    for count in counts:
        actors = ("--executor", "ray", "--actors", str(count), "--concurrency", str(IN_FLIGHT * count))
        found = median(conduct(*actors) for _ in range(rounds))
        first = first or found
        print(f"{count} actor{'s'[: count - 1]}:     {found:6.1f} trials a second, {found / first:.2f} x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--app-seconds", default="0.5", help="how long the app takes for an answer")
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ[APP_SECONDS] = options.app_seconds
    measure(options.actors, options.rounds)


if __name__ == "__main__":
    main()
