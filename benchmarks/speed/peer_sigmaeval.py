"""One row of the engine benchmark with SigmaEval; run by the interpreter that has it, never imported."""

import asyncio
import json
import os
import resource
import sys
from time import perf_counter, process_time
from typing import Any

TRIALS, TURNS, IN_FLIGHT, APP_SECONDS = 30, 3, 100, 0.020


async def measure(way: str, scenarios: int, url: str) -> dict[str, float]:
    """Run one suite after a small one that loads and connects everything."""
    os.environ |= {"OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    import numpy as np
    from sigmaeval import ScenarioTest, SigmaEval, assertions

    calls = 0

    async def app(messages: list[dict[str, str]], state: Any) -> str:
        nonlocal calls
        calls += 1  # one call of the simulated user stands before each turn
        await asyncio.sleep(APP_SECONDS)
        return "I answer questions, book meetings and translate texts."

    def suite(count: int, sample_size: int) -> list[Any]:
        return [
            ScenarioTest(f"scenario {number}")
            .given(f"A new user, number {number}")
            .when("The user asks what the app can do")
            .sample_size(sample_size)
            .max_turns(TURNS)
            .expect_behavior(
                "The app lists its functions", criteria=assertions.scores.proportion_gte(min_score=6, proportion=0.9)
            )
            for number in range(count)
        ]

    engine = SigmaEval(
        judge_model=f"{way}judge", user_simulator_model=f"{way}user", significance_level=0.05, log_level=40
    )
    await engine.evaluate(suite(1, 2), app)
    calls = 0
    wall, cpu = perf_counter(), process_time()
    results = await engine.evaluate(suite(scenarios, TRIALS), app, concurrency=max(1, IN_FLIGHT // scenarios))
    wall, cpu = perf_counter() - wall, process_time() - cpu
    latencies = [turn.latency for result in results for talk in result.conversations for turn in talk.turns]
    return {
        "calls": calls + scenarios * (TRIALS + 1),
        "wall": wall,
        "cpu": cpu,
        "p50": float(np.median(latencies)),
        "p95": float(np.quantile(latencies, 0.95)),
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    _, way, scenarios, url = sys.argv[1:5]
    print(json.dumps(asyncio.run(measure(way, int(scenarios), url))))
