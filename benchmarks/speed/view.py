"""What the viewer takes on a store of 10,000 trials: CPU for the list, the page of a run and a search, and memory.

    python -m benchmarks.speed.view

Each store has one run: a suite's of one, of a hundred or of a thousand scenarios, made with the embedded models, or an
experiment on 10,000 recorded conversations. The viewer is a process of its own, asked as a browser asks it: for the
list; for the page of the run, with the scenarios that are open at once and the first conversations of each; for the
last conversations of one; for a text that many said, and for one that nobody said; and the same again.
"""

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote

import anyio
import psutil

from benchmarks.speed.experiments import SCORERS, dataset
from benchmarks.speed.resume import run
from simeval import Engine
from simeval.extras.viewer.run_page import AT_ONCE
from simeval.store.opening import open_database
from simeval.store.runs import LAST, Runs
from tests.support.viewers import Viewer, viewing

TRIALS = 10_000
SCENARIOS = (1, 100, 1_000)
OPENED = 6  # scenarios that a page opens at once


def measured(viewer: Viewer, paths: Sequence[str]) -> tuple[float, int]:
    """Return the milliseconds of CPU that a server takes to answer, and the bytes of its answers."""
    process = psutil.Process(viewer.process.pid)
    before, size = process.cpu_times(), 0
    for path in paths:
        status, text = viewer.ask(f"/{viewer.token}/{path}")
        assert status == 200, text
        size += len(text)
    after = process.cpu_times()
    return 1000 * (after.user + after.system - before.user - before.system), size


def asked_of(store: Path, said: str) -> Mapping[str, Sequence[str]]:
    """Return what a browser asks of the run in a store, by what it is for."""
    database = open_database(str(store), must_exist=True)
    runs = Runs(database)
    start = f"run/{runs.find(LAST)}/"
    scenarios = runs.head(runs.find(LAST)).scenarios
    database.close()
    opened = [place for place, each in enumerate(scenarios) if each.outcome != "pass"][:OPENED] or [0]
    return {
        "list": [""],
        "first page of a run": [start, *(f"{start}{each}{part}.json" for each in opened for part in ("", "-0"))],
        "its last conversations": [f"{start}0-{(scenarios[0].trials - 1) // AT_ONCE}.json"],
        "search for what was said": [f"{start}find/{quote(said)}"],
        "search for what was not": [f"{start}find/no%20such%20words"],
    }


def show(shape: str, store: Path, said: str) -> None:
    """Print the rows of a store."""
    asked = asked_of(store, said)
    with viewing(store.parent, "--store", store.name) as viewer:
        process = psutil.Process(viewer.process.pid)
        viewer.ask(f"/{viewer.token}/list.json")  # so that what is imported late is there
        for what, paths in asked.items():
            milliseconds, size = measured(viewer, paths)
            again, _ = measured(viewer, paths)
            memory = process.memory_info().rss // 2**20
            took = f"{milliseconds:.0f} | {again:.0f}"
            print(f"| {shape} | {what} | {took} | {size / 1000:,.0f} | {memory} |", flush=True)


def main() -> None:
    """Print a table."""
    print("| scenarios x trials | what | CPU ms, first time | again | kB | RSS MB after it |")
    print("| --- | --- | --- | --- | --- | --- |")
    for scenarios in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            store, trials = Path(folder) / "runs.db", TRIALS // scenarios
            anyio.run(partial(run, store, None, scenarios=scenarios, trials=trials))
            show(f"{scenarios:,} x {trials:,}", store, "track")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "runs.db"
        anyio.run(partial(experiment, store))
        show(f"experiment of {TRIALS:,}", store, "I do not know")


async def experiment(store: Path) -> None:
    """Measure recorded conversations with thirteen scorers."""
    await Engine(store=store, seed=1, display="none").experiment(dataset(TRIALS), scorers=SCORERS)


if __name__ == "__main__":
    main()
