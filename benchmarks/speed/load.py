"""A suite as load: hundreds of scenarios with the embedded models, as fast as the engine goes.

    python scenarios/tau.py TASKS.jsonl.gz tau.yaml && python -m benchmarks.speed.load tau.yaml
    python -m benchmarks.speed.load 2000x50     so many scenarios, of so many trials, that ask what an app can do

Prints wall time, CPU, peak memory and the trials that were in flight, with a store and without. The
embedded models answer at once, so only the store's waits fill the line; a real model's do.
"""

import re
import resource
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import anyio

from benchmarks.suites import asking_what_it_can
from simeval import Engine
from simeval.core.run_records import total
from simeval.suites.files import load_suite

CONCURRENCY = 200


async def run(source: str, store: Path | None) -> None:
    """Run the suite against offline/app and print what it took."""
    sizes = re.fullmatch(r"(\d+)x(\d+)", source)
    suite = asking_what_it_can(int(sizes[1]), int(sizes[2])) if sizes else load_suite(source)
    engine = Engine(seed=1, concurrency=CONCURRENCY, store=store, early_stopping=False, display="none")
    in_flight: list[int] = []

    async def sample() -> None:
        while True:
            in_flight.append(engine.trials_in_flight)
            await anyio.sleep(0.01)

    wall, cpu = perf_counter(), process_time()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sample)
        results = await engine.evaluate(suite, "offline/app")
        tasks.cancel_scope.cancel()
    wall, cpu = perf_counter() - wall, process_time() - cpu
    calls = total(results.run.usage).calls
    trials = sum(result.trials for result in results)
    print(f"\n{'with a store' if store else 'without a store'}")
    print(f"{len(results)} scenarios, {trials} trials, {calls} calls: {dict(Counter(r.outcome for r in results))}")
    print(f"wall {wall:.1f} s, {trials / wall:.0f} trials a second; CPU {cpu:.1f} s, {1e6 * cpu / calls:.0f} µs a call")
    print(f"trials in flight: median {sorted(in_flight)[len(in_flight) // 2]}, peak {max(in_flight)} of {CONCURRENCY}")
    clock = perf_counter()
    said = str(results)
    print(f"its report has {len(said.splitlines())} lines, and took {perf_counter() - clock:.1f} s")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with TemporaryDirectory() as folder:
        for path in (Path(folder) / "runs.db", None):
            anyio.run(run, sys.argv[1], path)
