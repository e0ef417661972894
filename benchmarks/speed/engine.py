"""The engine against its bound: CPU a call, wall time, memory, and how truly the app's latency is recorded.

    python -m benchmarks.speed.engine [--peer PYTHON]

Each row is a process of its own on the same server: scenarios x 30 trials, 3 turns a conversation, an endpoint
of 50 ms, an app of 20 ms, 100 calls in flight. The bound is the larger of the model's seconds divided by the limit
and the critical path (rubric or three turns, then the judge). PYTHON is an interpreter that has
sigmaeval-framework; its suites have no limit of their own, so 100 in flight are shared out among scenarios.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

SCENARIOS = (1, 20, 100)
TRIALS, TURNS, IN_FLIGHT = 30, 3, 100
TRIALS_IN_FLIGHT = 130  # a trial is in the app for a part of its time, so more of them keep the model busy
MODEL_SECONDS, APP_SECONDS = 0.050, 0.020
ROOT = Path(__file__).resolve().parents[2]
BARE = "bare"
WAYS = {
    "aiohttp alone": BARE,
    "simeval, openai/": "openai/",
    "simeval, transport=litellm": "litellm:openai/",
}
HEADER = (
    "system",
    "scenarios",
    "calls",
    "wall s",
    "bound s",
    "wall/bound",
    "CPU ms/call",
    "/aiohttp",
    "app p50",
    "app p95",
    "RSS MB",
)
SIGMAEVAL_PROMPTS = (
    ("You are simulating a user", "user"),
    ("You are an expert evaluator", "judge"),
    ("You are an expert at creating", "rubric"),
)
FORM = "{:26} {:>9} {:>6} {:>7} {:>7} {:>10} {:>11} {:>8} {:>7} {:>7} {:>6}"


def main() -> None:
    """Run every row and print it as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="a Python that has sigmaeval-framework")
    parser.add_argument("--row", nargs=3, metavar=("WAY", "SCENARIOS", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        way, scenarios, url = options.row
        sys.stdout.write(json.dumps(measure(way, int(scenarios), url)) + "\n")
        return
    with server(*(word for prompt in SIGMAEVAL_PROMPTS for word in ("--prompt", *prompt))) as url:
        print(f"true app latency: {1000 * APP_SECONDS:.0f} ms")
        print(FORM.format(*HEADER))
        for scenarios in SCENARIOS:
            for name, prefix in WAYS.items():
                report(name, scenarios, [sys.executable, "-m", "benchmarks.speed.engine"], prefix, url)
            if options.peer:
                peer = [str(options.peer), str(ROOT / "benchmarks" / "peer_sigmaeval.py")]
                report("SigmaEval 0.1.3", scenarios, peer, "openai/", url)
    if not options.peer:
        print("SigmaEval: not run; give --peer PYTHON, an interpreter that has sigmaeval-framework==0.1.3")


def report(name: str, scenarios: int, command: list[str], way: str, url: str) -> None:
    """Run one row in a process of its own and print it."""
    done = subprocess.run(
        [*command, "--row", way, str(scenarios), url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        print(f"{name}: failed\n{done.stderr[-2000:]}")
        return
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    bound = max(row["calls"] * MODEL_SECONDS / IN_FLIGHT, TURNS * (MODEL_SECONDS + APP_SECONDS) + MODEL_SECONDS)
    print(
        FORM.format(
            name,
            scenarios,
            int(row["calls"]),
            f"{row['wall']:.2f}",
            f"{bound:.2f}",
            f"{row['wall'] / bound:.2f}",
            f"{1000 * row['cpu'] / row['calls']:.2f}",
            f"{1000 * row['p50']:.1f}",
            f"{1000 * row['p95']:.1f}",
            f"{row['rss']:.0f}",
        ),
        flush=True,
    )


def measure(way: str, scenarios: int, url: str) -> dict[str, float]:
    """Run one suite in this process, after a small one that loads and connects everything."""
    import anyio

    return anyio.run(_measure, way, scenarios, url)


async def _measure(way: str, scenarios: int, url: str) -> dict[str, float]:
    import anyio
    import numpy as np

    from benchmarks.suites import asking_what_it_can
    from simeval import Engine

    async def app(message: str, state: dict[str, Any]) -> str:
        await anyio.sleep(APP_SECONDS)
        return "I answer questions, book meetings and translate texts."

    engine = Engine(
        f"{way}judge",
        f"{way}user",
        seed=1,
        concurrency=TRIALS_IN_FLIGHT,
        model_concurrency=TRIALS_IN_FLIGHT,
        model_options={"api_base": url, "api_key": "none"},
        rubric_folder=None,
        store=None,
        early_stopping=False,
        progress=False,
    )
    await engine.evaluate(asking_what_it_can(1, 2), app)
    wall, cpu = perf_counter(), process_time()
    results = await engine.evaluate(asking_what_it_can(scenarios, TRIALS), app)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    latencies = [m.seconds for result in results for c in result.conversations for m in c.responses]
    return {
        "calls": sum(usage.calls for usage in results.run.usage.values()),
        "wall": wall,
        "cpu": cpu,
        "p50": float(np.median(latencies)),
        "p95": float(np.quantile(latencies, 0.95)),
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """Run a fake endpoint as a process; yield its base URL; stop it by closing its standard input."""
    command = [sys.executable, "-m", "simeval.testing", "--latency-seconds", str(MODEL_SECONDS), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(timeout=10)


if __name__ == "__main__":
    main()
