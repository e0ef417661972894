"""CPU of this code against another's, in alternating pairs of fresh processes; and of a turn as conversations grow.

    python -m benchmarks.speed.pairs --against TREE [--kinds function http stream] [--pairs 9]
    python -m benchmarks.speed.pairs --turns 40 100 200

TREE is a worktree of another commit. The kinds are a function that answers at once with embedded models (the engine
alone), an app and models behind URLs, and an app that streams 500 events. Each process runs a small suite first, and
counts its own CPU of the second one. With --turns it prints the CPU of a turn in 10 conversations of so many turns.
"""

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

ANSWER = "I answer questions, book meetings and translate texts."
KINDS = ("function", "http", "stream")
EVENTS = 500
SIZES = {"function": (10, 60), "http": (10, 30), "stream": (4, 10)}
WHEN = "The user asks for opening hours. The user asks for the address. The user asks for the prices."
LONG = 10  # conversations
_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni")
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Print a line for each kind, or for each number of turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="TREE", help="a worktree of another commit")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--turns", type=int, nargs="+", default=[], help="of long conversations, of this code alone")
    parser.add_argument("--row", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve())
    elif options.row:
        sys.stdout.write(f"{_measured(*options.row)}\n")
    for turns in options.turns:
        costs = [1e6 * cpu_of(ROOT, "long", str(turns)) for _ in range(3)]
        print(f"{LONG} conversations of {turns} turns: {min(costs):.0f} µs of CPU a turn", flush=True)
    if options.against:
        compare(options.against, options.kinds, options.pairs)


def compare(other: Path, kinds: Sequence[str], pairs: int) -> None:
    """Measure pairs of each kind and print its line."""
    serving = [sys.executable, "-m", "benchmarks.speed.pairs", "--serve"]
    models = [sys.executable, "-m", "simeval.testing"]
    with served(serving, ROOT) as app, served(models, other) as theirs, served(models, ROOT) as ours:
        for kind in kinds:
            found = [(cpu_of(other, kind, app, theirs), cpu_of(ROOT, kind, app, ours)) for _ in range(pairs)]
            print(line_of(kind, found), flush=True)


def line_of(kind: str, found: Sequence[tuple[float, float]]) -> str:
    """Return the line of pairs of one kind."""
    there, here = (1e6 * median(each) / (SIZES[kind][0] * SIZES[kind][1]) for each in zip(*found, strict=True))
    ratios = sorted(mine / theirs for theirs, mine in found)
    spread = f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    return f"{kind:9} {there:7.0f} µs a trial there, {here:7.0f} here; ratio in {len(found)} pairs {spread}"


def cpu_of(tree: Path, *row: str) -> float:
    """Return the CPU that a fresh process of a tree's code counts."""
    command = [sys.executable, str(Path(__file__)), "--row", *row]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def _measured(kind: str, given: str, models: str = "") -> float:
    return asyncio.run(_long(int(given)) if kind == "long" else _run(kind, given, models))


async def _run(kind: str, url: str, models_url: str) -> float:
    """Return the CPU of a suite of one kind."""
    from simeval import Engine, HttpApp

    async def answer(message: str) -> str:
        await asyncio.sleep(0)
        return ANSWER

    models, options, app = ("offline/judge", "offline/user"), {}, answer
    if kind != "function":
        app = HttpApp(url=f"{url}/{kind}", request={"text": "{message}"})  # type: ignore[assignment]
    when = WHEN
    if kind == "http":
        when = "The user asks what the app can do"  # as that endpoint's user does
        models, options = ("openai/judge", "openai/user"), {"api_base": models_url, "api_key": "none"}
    engine = Engine(
        *models,
        seed=1,
        concurrency=100,
        app_concurrency=100,
        model_concurrency=100,
        model_options=options,
        rubric_folder=None,
        store=None,
        early_stopping=False,
        display="none",
    )
    await engine.evaluate(_suite(1, 2, when), app)
    cpu = process_time()
    result = await engine.evaluate(_suite(*SIZES[kind], when), app)
    cpu = process_time() - cpu
    held = [each for one in result for each in one.conversations]
    assert len(held) == SIZES[kind][0] * SIZES[kind][1], result.text()
    assert all(len(each.responses) == 3 for each in held), held[0]
    return cpu


def _suite(scenarios: int, trials: int, when: str) -> list[Any]:
    from simeval import Expectation, ScenarioTest, SuccessRateEvaluator

    then = Expectation(expected_behavior="The app answers", evaluator=SuccessRateEvaluator(min_proportion=0.7))
    return [
        ScenarioTest(
            title=f"scenario {number}",
            given=f"A new user, number {number}",
            when=when,
            sample_size=trials,
            max_turns=3,
            then=then,
        )
        for number in range(scenarios)
    ]


async def _long(turns: int) -> float:
    """Return the CPU of one turn in conversations of so many."""
    from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
    from simeval.testing import ScriptedModel, judge_reply, user_reply

    said, answered = iter(range(10**9)), iter(range(10**9))

    async def app(message: str) -> str:
        await asyncio.sleep(0)
        return f"{_words(next(answered))}: that is on its way, and it will be with you in some days."

    model = ScriptedModel(
        {
            "user": lambda _: user_reply(f"And where is {_words(next(said))}?", goes_on=True),
            "judge": [judge_reply(9)],
        }
    )
    then = Expectation(expected_behavior="The app answers", evaluator=SuccessRateEvaluator(min_proportion=0.5))
    engine = Engine(model, seed=1, rubric_folder=None, store=None, early_stopping=False, display="none")

    def suite(size: int) -> ScenarioTest:
        given, when = "A customer who has ordered much, such as AB-1234 on 2026-03-04", "The user asks for its parcels"
        return ScenarioTest(title="long", given=given, when=when, sample_size=size, max_turns=turns, then=then)

    await engine.evaluate(suite(1), app)
    cpu = process_time()
    result = await engine.evaluate(suite(LONG), app)
    cpu = process_time() - cpu
    assert all(len(each.responses) == turns for each in result.conversations)
    return cpu / (LONG * turns)


def _words(number: int) -> str:
    """Return five words that no other number has."""
    return " ".join(_SYLLABLES[number // 8**place % 8] * 2 + _SYLLABLES[place] for place in range(5))


@contextmanager
def served(command: Sequence[str], tree: Path) -> Iterator[str]:
    """Run a server of a tree's code in a process of its own; yield the URL that it prints."""
    environment, pipe = {**os.environ, "PYTHONPATH": str(tree)}, subprocess.PIPE
    with subprocess.Popen(command, cwd=tree, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def _serve() -> None:
    """Serve an app that answers at once, one that streams, and models."""
    from aiohttp import web

    async def plain(request: web.Request) -> web.Response:
        await request.json()
        return web.json_response({"reply": ANSWER})

    async def stream(request: web.Request) -> web.StreamResponse:
        await request.json()
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for place in range(EVENTS):
            await answer.write(b'data: {"text": "word%d "}\n\n' % place)
        await answer.write(b"data: [DONE]\n\n")
        return answer

    serving = web.Application()
    serving.add_routes([web.post("/http", plain), web.post("/stream", stream)])
    runner = web.AppRunner(serving)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    sys.stdout.write(f"http://127.0.0.1:{port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
