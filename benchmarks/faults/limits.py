"""An endpoint that takes 50 requests a second and refuses more: how much of that is used, and how much is refused.

    python -m benchmarks.faults.limits

Each row is a process of its own that runs for about a minute against a server with a bucket of one second's worth of
requests; all go on at the same time.
Simeval is told nothing of the limit and may have 100 calls under way. "used" is what was accepted in the whole run,
start and end included, as a share of 50 a second.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import anyio

from benchmarks.speed.engine import ROOT, server
from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core.run_records import total

RATE, SECONDS, TURNS = 50, 60, 3
ROWS: tuple[tuple[float, str], ...] = ((0.05, "1"), (0.05, ""), (0.2, "1"))
IN_FLIGHT, TRIALS_IN_FLIGHT = 100, 200


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the calls of a run."""

    accepted: int
    refused: int
    seconds: float
    trials: int
    failed: int


async def app(message: str, state: dict[str, Any]) -> str:
    """Answer at once."""
    return "I answer questions, book meetings and translate texts."


async def measure(url: str) -> Row:
    """Run one suite of about SECONDS."""
    engine = Engine(
        "openai-compatible/test",
        seed=1,
        concurrency=TRIALS_IN_FLIGHT,
        model_concurrency=IN_FLIGHT,
        model_options={"api_base": url, "api_key": "none"},
        rubric_folder=None,
        store=None,
        early_stopping=False,
        display="none",
    )
    then = Expectation(
        expected_behavior="The app lists its functions", evaluator=SuccessRateEvaluator(min_proportion=0.9)
    )
    scenario = ScenarioTest(
        title="A limited endpoint",
        given="A new user",
        when="The user asks what the app can do",
        sample_size=RATE * SECONDS // (TURNS + 1),
        max_turns=TURNS,
        then=then,
    )
    clock = perf_counter()
    result = await engine.evaluate(scenario, app)
    seconds = perf_counter() - clock
    usage = total(result.run.usage)
    accepted = usage.calls - usage.failed_calls
    return Row(accepted, usage.failed_calls, seconds, result.trials, len(result.failures))


def show(latency: float, retry_after: str, row: Row) -> Mapping[str, str]:
    """Return the columns of a row."""
    calls = row.accepted + row.refused
    return {
        "latency s": f"{latency:g}",
        "Retry-After": retry_after or "none",
        "seconds": f"{row.seconds:.1f}",
        "accepted": str(row.accepted),
        "used": f"{row.accepted / row.seconds / RATE:.1%}",
        "refused": f"{row.refused} ({row.refused / calls:.2%})",
        "trials lost": f"{row.failed} of {row.trials}",
    }


def run(latency: float, retry_after: str) -> None:
    """Measure one row and print it."""
    options = ("--latency-seconds", str(latency), "--max-rps", str(RATE), "--retry-after", retry_after)
    with server(*options) as url:
        row = anyio.run(measure, url)
    print("".join(f"{text:>14}" for text in show(latency, retry_after, row).values()), flush=True)


def main() -> None:
    """Start every row; print the head, and each row as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", nargs=2, metavar=("LATENCY", "RETRY_AFTER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        run(float(options.row[0]), options.row[1])
        return
    print("".join(f"{name:>14}" for name in show(0, "", Row(1, 0, 1, 1, 0))), flush=True)
    command = [sys.executable, "-m", "benchmarks.faults.limits", "--row"]
    rows = [subprocess.Popen([*command, str(latency), after], cwd=ROOT) for latency, after in ROWS]
    for row in rows:
        row.wait(timeout=4 * SECONDS)


if __name__ == "__main__":
    main()
