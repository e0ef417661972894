"""Reports of 100, 1,000 and 10,000 trials: how long they take to be written, how large they are, how long to open.

python -m benchmarks.speed.report [--trials 100 1000 5000 10000]
"""

import argparse
import random
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from simeval.core.conversation import Conversation
from simeval.results.suite import SuiteResult
from tests.support.golden import rows_of
from tests.support.reported import many, tau_talk

PER_SCENARIO = 100


def talks() -> list[tuple[Conversation, bool]]:
    """Return conversations of tau-bench."""
    return [tau_talk(row) for row in rows_of("public_tau_airline")]


def result_of(trials: int) -> SuiteResult:
    """Return a run of so many trials, in scenarios of a hundred."""
    chance = random.Random(7)
    spoken = talks()
    mixed = [(replace(talk, ended="goal_satisfied"), is_met) for talk, is_met in chance.choices(spoken, k=trials)]
    return many(
        [f"scenario {place}" for place in range(max(1, trials // PER_SCENARIO))], mixed, min(trials, PER_SCENARIO)
    )


def seconds_to_open(path: Path) -> float | None:
    """Return how long a browser takes from the start of a page to its first scenarios; None where there is none."""
    from tests.support.browsers import chromium, installed, opened

    if installed() is None:
        return None
    with chromium() as browser:
        started = time.perf_counter()
        with opened(browser, path) as found:
            found.page.wait_for_selector("section.scenario")
            return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 1_000, 5_000, 10_000])
    print("| trials | MB | seconds to write | seconds to open | peak MB of memory |")
    print("| --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for trials in parser.parse_args().trials:
            result, path = result_of(trials), Path(folder) / "report.html"
            started = time.perf_counter()
            result.to_html(path)
            wrote = time.perf_counter() - started
            opens = seconds_to_open(path)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            size = path.stat().st_size / 1e6
            seen = "-" if opens is None else f"{opens:.1f}"
            print(f"| {trials:,} | {size:.1f} | {wrote:.1f} | {seen} | {peak} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
