"""The suite of the benchmark of prefixes with SigmaEval; run by the interpreter that has it, never imported."""

import asyncio
import json
import os
import sys
from typing import Any

CONCURRENCY = 4


async def run(suite: list[dict[str, Any]], url: str, trials: int) -> None:
    """Run it; what is asked goes to the endpoint, which keeps it."""
    os.environ |= {"OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    from sigmaeval import ScenarioTest, SigmaEval, assertions

    answers = {each["given"].split(" order ")[1].split()[0]: each["answers"] for each in suite}

    async def app(messages: list[dict[str, str]], state: Any) -> Any:
        found = [order for order in answers if any(order in each["content"] for each in messages)]
        turn = sum(each["role"] == "user" for each in messages) - 1
        return answers[found[0] if found else next(iter(answers))][turn]

    engine = SigmaEval(
        judge_model="openai/judge", user_simulator_model="openai/user", significance_level=0.05, log_level=40
    )
    tests = [
        ScenarioTest(f"order {number}")
        .given(each["given"])
        .when(each["when"])
        .sample_size(trials)
        .expect_behavior(each["then"], criteria=assertions.scores.proportion_gte(min_score=6, proportion=0.7))
        for number, each in enumerate(suite)
    ]
    await engine.evaluate(tests, app, concurrency=CONCURRENCY)


if __name__ == "__main__":
    _, url, trials = sys.argv
    asyncio.run(run(json.load(sys.stdin), url, int(trials)))
