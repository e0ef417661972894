"""The engine against its bound: CPU a call, wall time, memory, and how truly the app's latency is recorded.

    python -m benchmarks.speed.engine [--peer NAME=PYTHON ...]

Each row is a process of its own on the same server: scenarios x 30 trials, 3 turns a conversation, an endpoint
of 50 ms, an app of 20 ms, 100 calls in flight. The bound is the larger of the model's seconds divided by the limit
and the critical path (rubric or three turns, then the judge). "aiohttp alone" makes as many calls of the same bodies
with no engine around them: what every way's CPU a call is compared with, on plain asyncio. A peer is one of sigmaeval,
inspect and deepeval, with an interpreter that has it; the top of its peer_NAME.py says how it is used. SigmaEval's
suites have no limit of their own, so 100 in flight are shared out among scenarios.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

SCENARIOS = (1, 20, 100)
TRIALS, TURNS, IN_FLIGHT = 30, 3, 100
CONTROLS = 2  # conversations by which each judge is tried
ANSWER = "I answer questions, book meetings and translate texts."
TRIALS_IN_FLIGHT = 130  # a trial is in the app for a part of its time, so more of them keep the model busy
MODEL_SECONDS, APP_SECONDS = 0.050, 0.020
ROOT = Path(__file__).resolve().parents[2]
BARE = "bare"
UVLOOP = "uvloop:"
WAYS = {
    "aiohttp alone": BARE,
    "simeval, openai/": "openai/",
    "simeval[fast], openai/": "uvloop:openai/",
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
PEERS = {"sigmaeval": "SigmaEval 0.1.3", "inspect": "inspect_ai 0.3.285", "deepeval": "DeepEval 4.3.1"}
PEERS_PROMPTS = (
    ("You are simulating a user", "user"),
    ("You are an expert evaluator", "judge"),
    ("You are an expert at creating", "rubric"),
)
FORM = "{:26} {:>9} {:>6} {:>7} {:>7} {:>10} {:>11} {:>8} {:>7} {:>7} {:>6}"


def main() -> None:
    """Run every row and print it as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ", ".join(f"{name} ({versioned})" for name, versioned in PEERS.items())
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", help=f"one of {known}")
    parser.add_argument("--row", nargs=3, metavar=("WAY", "SCENARIOS", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        way, scenarios, url = options.row
        sys.stdout.write(json.dumps(measure(way, int(scenarios), url)) + "\n")
        return
    peers = dict(peer.split("=", 1) for peer in options.peer)
    with server(*(word for prompt in PEERS_PROMPTS for word in ("--prompt", *prompt))) as url:
        print(f"true app latency: {1000 * APP_SECONDS:.0f} ms")
        print(FORM.format(*HEADER))
        for scenarios in SCENARIOS:
            bare: float | None = None
            for name, way in WAYS.items():
                ours = [sys.executable, "-m", "benchmarks.speed.engine"]
                cost = report(name, scenarios, ours, way, url, bare)
                bare = bare or cost
            for name, python in peers.items():
                peer = [python, str(ROOT / "benchmarks" / "speed" / f"peer_{name}.py")]
                report(PEERS[name], scenarios, peer, "openai/", url, bare)
    for name in PEERS.keys() - peers:
        print(f"{PEERS[name]}: not run; give --peer {name}=PYTHON, an interpreter that has it")


def report(name: str, scenarios: int, command: list[str], way: str, url: str, bare: float | None) -> float | None:
    """Run one row in a process of its own, print it, and return its CPU a call."""
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
        return None
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    bound = max(row["calls"] * MODEL_SECONDS / IN_FLIGHT, TURNS * (MODEL_SECONDS + APP_SECONDS) + MODEL_SECONDS)
    cpu = 1000 * row["cpu"] / row["calls"]
    print(
        FORM.format(
            name,
            scenarios,
            int(row["calls"]),
            f"{row['wall']:.2f}",
            f"{bound:.2f}",
            f"{row['wall'] / bound:.2f}",
            f"{cpu:.2f}",
            f"{cpu / (bare or cpu):.2f}",
            f"{1000 * row['p50']:.1f}",
            f"{1000 * row['p95']:.1f}",
            f"{row['rss']:.0f}",
        ),
        flush=True,
    )
    return cpu


def measure(way: str, scenarios: int, url: str) -> dict[str, float]:
    """Run one suite in this process, after a small one that loads and connects everything."""
    import anyio

    name = way.removeprefix(UVLOOP)
    options = {"use_uvloop": name != way}
    return anyio.run(_measure_bare if way == BARE else _measure, name, scenarios, url, backend_options=options)


async def _measure_bare(_way: str, scenarios: int, url: str) -> dict[str, float]:
    """Make the calls that a run makes, with nothing around them."""
    import aiohttp
    import anyio

    bodies = _bodies()
    calls = scenarios * (TRIALS * (TURNS + 1) + CONTROLS + 1)
    turns = anyio.Semaphore(IN_FLIGHT, fast_acquire=True)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    connector, jar = aiohttp.TCPConnector(limit=0), aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar, headers=headers) as session:

        async def call(number: int) -> None:
            async with turns, session.post(f"{url}/chat/completions", data=_json(bodies[number % len(bodies)])) as got:
                json.loads(await got.text())

        async def make(count: int) -> None:
            async with anyio.create_task_group() as calling:
                for number in range(count):
                    calling.start_soon(call, number)

        await make(IN_FLIGHT)
        wall, cpu = perf_counter(), process_time()
        await make(calls)
        wall, cpu = perf_counter() - wall, process_time() - cpu
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"calls": calls, "wall": wall, "cpu": cpu, "p50": 0.0, "p95": 0.0, "rss": rss}


def _json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _bodies() -> list[Mapping[str, Any]]:
    """Return the bodies of one trial's calls: three of the user's, one of the judge's."""
    from simeval.core.conversation import Message
    from simeval.models.protocol.model import Request
    from simeval.models.protocol.prompts import GradeRequest, UserTurn
    from simeval.models.providers.openai_format import Dialect
    from simeval.testing import rubric_reply

    said = [Message(role=role, content=ANSWER) for _ in range(TURNS) for role in ("user", "assistant")]
    given, when = "A new user, number 1", "The user asks what the app can do"
    style = {"tone": "friendly and a little impatient", "length": "a sentence or two"}
    turns = [
        UserTurn(given=given, when=when, writing_style=style, history=said[: 2 * turn], seed=turn)
        for turn in range(TURNS)
    ]
    judged = GradeRequest(
        given=given,
        when=when,
        conversation=said,
        seed=1,
        expected_behavior="The app lists its functions",
        levels=rubric_reply()["levels"],
    )
    requests: list[Request] = [*turns, judged]
    return [{"model": "judge", **Dialect().asked(request, "auto")} for request in requests]


async def _measure(way: str, scenarios: int, url: str) -> dict[str, float]:
    import anyio
    import numpy as np

    from benchmarks.suites import asking_what_it_can
    from simeval import Engine

    answered = count()

    async def app(message: str, state: dict[str, Any]) -> str:
        await anyio.sleep(APP_SECONDS)
        return f"{ANSWER} Your ticket is AB-{next(answered):06}."  # no two answers are the same

    road, _, prefix = way.rpartition(":")
    engine = Engine(
        f"{prefix}judge",
        f"{prefix}user",
        seed=1,
        concurrency=TRIALS_IN_FLIGHT,
        model_concurrency=TRIALS_IN_FLIGHT,
        model_options={"api_base": url, "api_key": "none", **({"transport": road} if road else {})},
        rubric_folder=None,
        store=None,
        early_stopping=False,
        display="none",
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
