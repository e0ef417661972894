"""What keeping a run costs it: pairs of the same run with a store and without.

    python -m benchmarks.speed.overhead [--postgres URL] [--latency-seconds 0.05]

50 scenarios x 30 trials, 3 turns each and a judgement, through `openai/` (the way that costs the run the
least CPU, so the store's share is at its largest), 100 trials in flight. CPU is that of this process.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import anyio

from benchmarks.speed.engine import server
from benchmarks.suites import asking_what_it_can
from simeval import Engine

SCENARIOS, TRIALS, IN_FLIGHT, PAIRS = 50, 30, 100, 7
RECORDS = 2 * SCENARIOS * TRIALS  # a conversation and a judgement for each trial


async def app(message: str) -> str:
    """Answer after 20 ms."""
    await anyio.sleep(0.02)
    return "I answer questions, book meetings and translate texts."


async def run(url: str, store: str | None) -> tuple[float, float]:
    """Run the suite; give seconds and CPU seconds."""
    engine = Engine(
        "openai/judge",
        "openai/user",
        seed=1,
        concurrency=IN_FLIGHT,
        model_concurrency=IN_FLIGHT,
        model_options={"api_base": url, "api_key": "none"},
        rubric_folder=None,
        early_stopping=False,
        display="none",
        store=store,
    )
    wall, cpu = perf_counter(), process_time()
    await engine.evaluate(asking_what_it_can(SCENARIOS, TRIALS), app)
    return perf_counter() - wall, process_time() - cpu


def measure(url: str, stores: Sequence[str]) -> None:
    """Print what each store adds to a run."""
    anyio.run(run, url, None)  # loads everything
    for store in stores:
        anyio.run(run, url, store)
        pairs = [(anyio.run(run, url, None), anyio.run(run, url, store)) for _ in range(PAIRS)]
        bare, kept = (median(cpu for _, cpu in runs) for runs in zip(*pairs, strict=True))
        added = median(with_store[1] - without[1] for without, with_store in pairs)
        seconds = median(with_store[0] for _, with_store in pairs)
        print(
            f"{store.split('://')[0]}: {RECORDS} records, {RECORDS / seconds:.0f} a second; CPU without {bare:.2f} s, "
            f"with {kept:.2f} s; in pairs {added:+.3f} s ({added / bare:+.1%}), {1e6 * added / RECORDS:.0f} µs a record"
        )


def main() -> None:
    """Measure SQLite, and PostgreSQL where a URL is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL database")
    parser.add_argument("--latency-seconds", default="0.05", help="of the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server("--latency-seconds", options.latency_seconds) as url:
        measure(url, [f"sqlite:///{Path(folder) / 'runs.db'}", *([options.postgres] if options.postgres else [])])


if __name__ == "__main__":
    main()
