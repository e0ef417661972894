"""What more workers bring: one process, one worker and four on a PostgreSQL store, with an app that waits.

    python -m benchmarks.speed.workers [--postgres URL] [--app-seconds 0.5] [--workers 1 4] [--rounds 3]

20 scenarios x 40 trials, up to 3 turns each, 16 in flight a worker; users and judge are embedded heuristics, which
take no time. A worker's throughput is bounded by its places in flight: so four of them have four times as many, and the
measure is how much of that arrives. `alone` is `simeval run` with as many places as one worker.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import anyio
from sqlalchemy import select

from benchmarks.suites import asking_what_it_can
from simeval.core.trial import Trial
from simeval.store.database import Database
from simeval.store.schema import TRIALS
from simeval.store.trial_queue import Offer, TrialQueue, clear
from tests.support.postgres import installed, serving

SCENARIOS, TRIALS_EACH, IN_FLIGHT = 20, 40, 16
QUEUED, BATCH, WORK_CHARACTERS, DELIVERY_CHARACTERS = 2_000, 8, 2_000, 3_000
APP_SECONDS = "SIMEVAL_BENCHMARK_APP_SECONDS"
SUITE = asking_what_it_can(SCENARIOS, TRIALS_EACH)
COMMON = ("benchmarks.speed.workers:SUITE", "--app", "benchmarks.speed.workers:app", "--seed", "1")


async def app(message: str) -> str:
    """Answer after a while."""
    await anyio.sleep(float(os.environ.get(APP_SECONDS, "0.5")))
    return "I answer questions, book meetings and translate texts."


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "simeval.cli", *arguments]


def conduct(store: str, *more: str) -> float:
    """Run the suite to its end; return trials a second, by the run's own clock."""
    with TemporaryDirectory() as folder:
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
        return float(runs.document(runs.find("last"))["seconds"])
    finally:
        database.close()


@contextmanager
def working(store: str, count: int) -> Iterator[None]:
    """Have so many workers that are ready."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    arguments = ("worker", *COMMON, "--store", store, "--no-early-stopping", "--concurrency", str(IN_FLIGHT))
    crew = [
        subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(count)
    ]
    try:
        sleep(5)  # for them to be loaded; only what the run itself takes is measured
        yield
    finally:
        for each in crew:
            each.kill()
            each.wait()


def measure_queue(store: str) -> None:
    """Print how many trials pass through the queue where a run and a worker do nothing but take turns."""
    databases = Database(store), Database(store)
    run, worker = (TrialQueue(each) for each in databases)
    offered, done, settled = 0, set[int](), list[int]()
    clock = perf_counter()
    while len(done) < QUEUED:
        size = min(BATCH, QUEUED - offered)
        offers = [Offer(Trial(0, offered + n, 1), 1 + offered + n, "w" * WORK_CHARACTERS) for n in range(size)]
        found = run.exchange("queue", offers=offers, withdrawn=[], settled=settled)
        offered, settled = offered + size, list(found.delivered)
        done.update(settled)
        for claim in worker.claim("worker", ["queue"], most=BATCH, lease_seconds=30):
            worker.deliver("worker", claim.token, "d" * DELIVERY_CHARACTERS)
    seconds = perf_counter() - clock
    print(f"the queue:    {QUEUED / seconds:6.1f} trials a second, {seconds / QUEUED * 1000:.1f} ms each", flush=True)
    clear(databases[0], "queue")
    for each in databases:
        each.close()


def measure(store: str, counts: Sequence[int], rounds: int) -> None:
    """Print trials a second."""
    alone = median(conduct(store, "--concurrency", str(IN_FLIGHT)) for _ in range(rounds))
    print(f"one process:  {alone:6.1f} trials a second")
    first = 0.0
    for count in counts:
        with working(store, count):
            places = str(IN_FLIGHT * count + 2 * count)  # a few that wait, so that nobody is idle
            found = median(conduct(store, "--executor", "workers", "--concurrency", places) for _ in range(rounds))
        first = first or found
        print(f"{count} worker{'s'[: count - 1]}:    {found:6.1f} trials a second, {found / first:.2f} x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", metavar="URL", help="a database to use, where no server can be started here")
    parser.add_argument("--app-seconds", default="0.5", help="how long the app takes for an answer")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ[APP_SECONDS] = options.app_seconds
    with ExitStack() as ends:
        binaries = installed()
        if options.postgres is None and binaries is None:
            parser.error("no PostgreSQL server is installed; name one with --postgres")
        if options.postgres is None and binaries is not None:
            options.postgres = ends.enter_context(serving(binaries)).fresh()
        Database(options.postgres).close()
        measure_queue(options.postgres)
        measure(options.postgres, options.workers, options.rounds)


if __name__ == "__main__":
    main()
