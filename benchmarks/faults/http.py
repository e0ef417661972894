"""A big run on a bad day: 100 scenarios x 30 trials on an endpoint that fails one call in five.

    python -m benchmarks.faults.http [openai/ openai-compatible/]
    python -m benchmarks.faults.http --classes [0.2 1 5]

5% of calls each are answered by a 500, a 429 with Retry-After, malformed content and a truncated body; 1% are never
answered. The app raises, hangs or returns the wrong type on 1% of its turns. Every trial must end up concluded on, or
recorded as failed with its cause, and the run must end by itself.

--classes: 400 trials on endpoints that take so many seconds, with the engine's own settings, 50 at once, and one class
of faults each, of 5% of calls (1% that are never answered). "beside" is the time over that of the run without any.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import count
from time import perf_counter
from typing import Any

import anyio

from benchmarks.speed.engine import server
from benchmarks.suites import asking_what_it_can
from simeval import AppResponse, Engine, RetryConfig
from simeval.core.run_records import total

SCENARIOS, TRIALS = 100, 30
FAULTS = (
    "--error-500",
    "0.05",
    "--rate-limited",
    "0.05",
    "--malformed",
    "0.05",
    "--truncated",
    "0.05",
    "--hang",
    "0.01",
)
BUSY_SCENARIOS, BUSY_TRIALS = 20, 20
CLASSES = {
    "nothing fails": (),
    "500s": ("--error-500", "0.05"),
    "429s, Retry-After 1": ("--rate-limited", "0.05"),
    "malformed": ("--malformed", "0.05"),
    "truncated": ("--truncated", "0.05"),
    "connections reset": ("--reset", "0.05"),
    "never answered": ("--hang", "0.01"),
}
TROUBLE_EVERY = 100  # turns of the app

_turns = count(1)


async def app(message: str, state: dict[str, Any]) -> Any:
    """Answer, and fail in one of three ways on every hundredth turn."""
    turn = next(_turns)
    if turn % TROUBLE_EVERY == 0:
        match turn // TROUBLE_EVERY % 3:
            case 0:
                raise RuntimeError("the app broke")
            case 1:
                await anyio.sleep(3600)
            case _:
                return 42
    return AppResponse("I answer questions, book meetings and translate texts.", state)


async def run(prefix: str, url: str) -> None:
    """Run the suite once and print what became of its trials."""
    engine = Engine(
        f"{prefix}judge",
        f"{prefix}user",
        seed=1,
        concurrency=100,
        model_concurrency=100,
        model_timeout_seconds=2,
        app_timeout_seconds=2,
        retry_config=RetryConfig(backoff_multiplier=0.05, max_backoff_seconds=0.5),
        model_options={"api_base": url, "api_key": "none"},
        rubric_folder=None,
        store=None,
        early_stopping=False,
    )
    suite = asking_what_it_can(SCENARIOS, TRIALS, bar=0.75)
    clock = perf_counter()
    results = await engine.evaluate(suite, app)
    seconds = perf_counter() - clock
    judgements = [judgement for result in results for judgement in result.judgements]
    scored = sum(not judgement.failures for judgement in judgements)
    causes = Counter(f"{f.stage} ({f.cause})" for judgement in judgements for f in judgement.failures)
    usage = total(results.run.usage)
    print(f"\n{prefix}: {len(judgements)} of {SCENARIOS * TRIALS} trials accounted for in {seconds:.1f} s")
    print(f"  scored: {scored}; failed with a cause: {sum(causes.values())}: {dict(causes.most_common())}")
    print(f"  calls: {usage.calls}, of which failed {usage.failed_calls} ({usage.failed_calls / usage.calls:.1%})")
    print(f"  outcomes: {dict(Counter(result.outcome for result in results))}")


async def answer(message: str, state: dict[str, Any]) -> str:
    """Answer at once."""
    return "I answer questions, book meetings and translate texts."


async def run_busy(url: str) -> tuple[float, int]:
    """Run 400 trials; return the seconds it took, and how many were lost."""
    engine = Engine(
        "openai-compatible/test",
        seed=1,
        model_options={"api_base": url, "api_key": "none"},
        rubric_folder=None,
        store=None,
        early_stopping=False,
        display="none",
    )
    suite = asking_what_it_can(BUSY_SCENARIOS, BUSY_TRIALS, bar=0.75)
    clock = perf_counter()
    results = await engine.evaluate(suite, answer)
    seconds = perf_counter() - clock
    return seconds, sum(bool(judgement.failures) for result in results for judgement in result.judgements)


def run_classes(latencies: Sequence[str]) -> None:
    """Run each class of faults at each latency, and print its time beside that without faults."""
    for latency in latencies:
        clean = 0.0
        for name, faults in CLASSES.items():
            with server("--latency-seconds", latency, "--retry-after", "1", "--seed", "1", *faults) as url:
                seconds, lost = anyio.run(run_busy, url)
            clean = clean or seconds
            print(
                f"{latency:>4} s {name:24}{seconds:>8.1f} s, beside {seconds / clean:.2f}, {lost} trials lost",
                flush=True,
            )


def main() -> None:
    """Run through LiteLLM and directly, or each class of faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", default=["openai/", "openai-compatible/"])
    parser.add_argument("--classes", nargs="*", metavar="SECONDS", help="by default 0.2, 1 and 5")
    options = parser.parse_args()
    if options.classes is not None:
        run_classes(options.classes or ("0.2", "1", "5"))
        return
    with server("--latency-seconds", "0.01", *FAULTS) as url:
        for prefix in options.ways:
            anyio.run(run, prefix, url)


if __name__ == "__main__":
    main()
