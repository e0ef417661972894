"""How much memory a run takes whose app or model answers with far too much, and what many evaluations leave behind.

    python -m benchmarks.faults.memory [bodies] [leaks]

"bodies": twenty trials against an app at a URL, or judged by a model (directly, and through LiteLLM), which answers
without end (in one body, in large events or in tokens), with 1 GB, or with a gzip bomb of 1 GB. Each run
is a process of its own; "above" is its peak less that of the same run with ordinary answers.

"leaks": 300 evaluations in one process, looked at after the first 50 and at the end: memory, open files, threads, tasks
and objects. Memory that was freed is given back to the system first: glibc keeps it for each thread. About 10 MB more
are caches of texts, which end at their bounds.
"""

import argparse
import asyncio
import ctypes
import gc
import json
import os
import re
import resource
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import psutil
from aiohttp import web

from benchmarks.suites import asking_what_it_can
from simeval import Engine, RetryConfig
from simeval.suites.apps.http_app import HttpApp

ROOT = Path(__file__).resolve().parents[2]
PIECE, GIGABYTE = b"and on " * 10_000, 1_000_000_000
EVENTS = {"stream": b'data: {"token": "%b"}\n\n' % PIECE, "tokens": b'data: {"token": "and on"}\n\n' * 1000}
BODIES = ("ordinary", "endless", "stream", "tokens", "gigabyte", "bomb")
DIRECT = "openai-compatible/judge"
ROADS = (
    *("app", DIRECT, "openai/judge", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash", "ollama_chat/judge"),
    "amazon_nova/judge",
)
TRIALS, ALLOWED_MB = 20, 150
ANSWER = "I answer questions, book meetings and translate texts."
RATING = json.dumps({"rating": 8})
RATED: Mapping[str, Any] = {
    "messages": {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": RATING}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": RATING}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    },
    "chat": {"reply": ANSWER, "message": {"role": "assistant", "content": RATING}, "done": True},
    "completions": {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": RATING}}]},
}  # by the last word of the path: as Anthropic, Gemini, Ollama and the app, and all others answer
EVALUATIONS, SETTLED, CACHES_MB = 300, 50, 15


def bomb() -> bytes:
    """Return a body of a gigabyte, packed."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(PIECE * 100) for _ in range(GIGABYTE // len(PIECE) // 100)]) + packer.flush()


async def serve() -> None:
    """Answer as the first part of the path says, on a free port that is printed; until it is ended."""
    packed = bomb()

    async def answer(request: web.Request) -> web.StreamResponse:
        match kind := request.match_info["kind"]:
            case "ordinary":
                return web.json_response(RATED.get(re.split("[/:]", request.path)[-1], {}))
            case "bomb":
                headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
                return web.Response(body=packed, headers=headers)
        size = GIGABYTE if kind == "gigabyte" else None
        piece = EVENTS.get(kind, PIECE)
        came = web.StreamResponse(headers={"Content-Type": "text/event-stream" if kind in EVENTS else "text/plain"})
        came.content_length = size
        try:
            await came.prepare(request)
            for _ in range(size // len(PIECE) if size else sys.maxsize):
                await came.write(piece)
        except ConnectionError:
            pass
        return came

    application = web.Application()
    application.router.add_route("*", "/{kind}/{rest:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await anyio.sleep_forever()


async def hold(road: str, url: str) -> None:
    """Hold the trials of one run, and print the peak of this process in megabytes."""
    judge = "offline/judge" if road == "app" else road
    options = {"api_base": url, "api_key": "none"} | ({} if road in ("app", DIRECT) else {"transport": "litellm"})
    engine = Engine(
        judge,
        "offline/user",
        model_options=None if road == "app" else options,
        retry_config=RetryConfig(max_attempts=2, backoff_multiplier=0.01, max_backoff_seconds=0.02),
        seed=1,
        store=None,
        rubric_folder=None,
        early_stopping=False,
        display="none",
    )
    app: Any = HttpApp(url=f"{url}/chat") if road == "app" else ordinary
    await engine.evaluate(asking_what_it_can(1, TRIALS, bar=0.75), app)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def ordinary(message: str) -> str:
    """Answer."""
    return ANSWER


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.faults.memory", "--serve"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.kill()
        server.wait()


def measure_bodies() -> bool:
    """Print a row for each road and body, and return whether all are within what is allowed."""
    is_good = True
    print(f"{'road':28}{'body':12}{'peak MB':>9}{'above':>8}")
    with served() as url:
        for road in ROADS:
            usual = 0.0
            for body in BODIES:
                command = [sys.executable, "-m", "benchmarks.faults.memory", "--hold", road, f"{url}/{body}"]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
                peak = float(done.stdout.split()[-1])
                usual = usual or peak
                is_good &= peak - usual <= ALLOWED_MB
                print(f"{road:28}{body:12}{peak:>9.0f}{peak - usual:>8.0f}", flush=True)
    return is_good


async def evaluate(engine_store: Path, number: int) -> None:
    """Hold one evaluation, with a store."""
    engine = Engine(seed=number, store=engine_store, rubric_folder=None, display="none", early_stopping=False)
    await engine.evaluate(asking_what_it_can(1, 12, bar=0.75), ordinary)


def found() -> dict[str, float]:
    """Return what this process holds."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of glibc
        trim(0)
    return {
        "MB": psutil.Process().memory_info().rss / 1e6,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "threads": threading.active_count(),
        "tasks": len(asyncio.all_tasks()),
        "objects": len(gc.get_objects()),
    }


async def measure_leaks() -> bool:
    """Print what many evaluations leave behind, and return whether it is nothing but memory that is used again."""
    with TemporaryDirectory() as folder:
        looked = {}
        for number in range(1, EVALUATIONS + 1):
            await evaluate(Path(folder) / "runs.db", number)
            if number in (SETTLED, EVALUATIONS):
                looked[number] = found()
    print(f"\n{'evaluations':>12}" + "".join(f"{name:>10}" for name in looked[SETTLED]))
    for number, row in looked.items():
        print(f"{number:>12}" + "".join(f"{value:>10.0f}" for value in row.values()))
    before, after = looked[SETTLED], looked[EVALUATIONS]
    return all(after[name] <= before[name] for name in ("files", "threads", "tasks")) and (
        after["objects"] <= 1.01 * before["objects"] and after["MB"] <= before["MB"] + CACHES_MB
    )


def main() -> int:
    """Measure what is named, or both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="bodies, leaks")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--hold", nargs=2, metavar=("ROAD", "URL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        anyio.run(serve)
    if options.hold:
        anyio.run(hold, *options.hold)
        return 0
    parts = options.parts or ["bodies", "leaks"]
    are_bounded = "bodies" not in parts or measure_bodies()
    return 0 if are_bounded & ("leaks" not in parts or anyio.run(measure_leaks)) else 1


if __name__ == "__main__":
    sys.exit(main())
