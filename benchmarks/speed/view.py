"""What the viewer takes on a store of 10,000 trials: CPU for the list and for the page of a run, and memory.

    python -m benchmarks.speed.view

The store has one run of 100 scenarios x 100 trials, or of one scenario with 10,000, made with the embedded models. The
viewer is a process of its own, asked as a browser asks it: for the list; for the page of the run, with the scenarios
that are open at once and the first conversations of each; for conversations further down; and the same again.
"""

import json
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import psutil

from benchmarks.speed.resume import run
from tests.support.viewers import Viewer, viewing

SHAPES = ((100, 100), (1, 10_000))  # scenarios, trials of each
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


def main() -> None:
    """Print a table."""
    print("| scenarios x trials | what | CPU ms, first time | again | kB | RSS MB after it |")
    print("| --- | --- | --- | --- | --- | --- |")
    for scenarios, trials in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "runs.db"
            work = anyio.run(partial(run, store, None, scenarios=scenarios, trials=trials))
            run_id = work[0].run.run_id
            opened = [place for place, each in enumerate(work[0]) if not each.passed][:OPENED] or [0]
            del work
            first = [f"run/{run_id}/", *(f"run/{run_id}/{each}{part}.json" for each in opened for part in ("", "-0"))]
            asked = {"list": [""], "first page of a run": first, "20 conversations more": [f"run/{run_id}/0-3.json"]}
            with viewing(Path(folder), "--store", "runs.db") as viewer:
                process = psutil.Process(viewer.process.pid)
                json.loads(viewer.ask(f"/{viewer.token}/list.json")[1])  # so that what is imported late is there
                for what, paths in asked.items():
                    milliseconds, size = measured(viewer, paths)
                    again, _ = measured(viewer, paths)
                    memory = process.memory_info().rss // 2**20
                    shape = f"{scenarios} x {trials:,}"
                    print(f"| {shape} | {what} | {milliseconds:.0f} | {again:.0f} | {size / 1000:,.0f} | {memory} |")


if __name__ == "__main__":
    main()
