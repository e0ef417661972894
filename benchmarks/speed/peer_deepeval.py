"""One row of the engine benchmark with DeepEval; run by the interpreter that has it, never imported.

`ConversationSimulator` holds the conversations, with no model asked whether to stop, and then `ConversationalGEval`
judges each, with its steps given. Its models are a class of the user's own over the openai client, the least that
DeepEval allows, as the endpoint's replies have other names than those that it asks for.
"""

import asyncio
import json
import logging
import os
import resource
import sys
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any

TRIALS, TURNS, IN_FLIGHT, TRIALS_IN_FLIGHT, APP_SECONDS = 30, 3, 100, 130, 0.020
ANSWER = "I answer questions, book meetings and translate texts."
OPENINGS = {"user": "You are simulating a user.", "judge": "You are an expert evaluator."}


def endpoint(role: str, url: str, calls: list[str]) -> Any:
    """Return a model as DeepEval takes it, which adds each call's role to `calls`."""
    from deepeval.models import DeepEvalBaseLLM
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=url, api_key="none")

    class Endpoint(DeepEvalBaseLLM):  # type: ignore[misc]
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return role

        def generate(self, prompt: str, schema: Any = None) -> Any:
            raise NotImplementedError

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            calls.append(role)
            messages = [{"role": "system", "content": OPENINGS[role]}, {"role": "user", "content": prompt}]
            got = await client.chat.completions.create(model=role, messages=messages)
            text = got.choices[0].message.content
            if role == "user":
                return schema(simulated_input=text)
            reply = json.loads(text)
            return schema(reason=reply["reasoning"], score=reply["score"])

    return Endpoint(role)


def simulated(count: int, trials: int, user: Any, latencies: list[float]) -> list[Any]:
    """Hold the conversations."""
    from deepeval.dataset import ConversationalGolden
    from deepeval.simulator import ConversationSimulator
    from deepeval.simulator.controller import proceed
    from deepeval.test_case import Turn

    async def app(input: str) -> Any:  # DeepEval's name
        start = perf_counter()
        await asyncio.sleep(APP_SECONDS)
        latencies.append(perf_counter() - start)
        return Turn(role="assistant", content=ANSWER)

    goldens = [
        ConversationalGolden(
            scenario=f"A new user, number {number}, asks what the app can do",
            expected_outcome="The app lists its functions",
            user_description="friendly and a little impatient",
        )
        for number in range(count)
        for _ in range(trials)
    ]
    simulator = ConversationSimulator(
        model_callback=app,
        simulator_model=user,
        max_concurrent=TRIALS_IN_FLIGHT,
        stopping_controller=lambda **_: proceed(),
    )
    cases: list[Any] = simulator.simulate(goldens, max_user_simulations=TURNS)
    return cases


async def judged(cases: list[Any], judge: Any) -> None:
    """Judge each conversation."""
    from deepeval.metrics import ConversationalGEval
    from deepeval.test_case import MultiTurnParams

    line = asyncio.Semaphore(IN_FLIGHT)

    async def one(case: Any) -> None:
        metric = ConversationalGEval(
            name="lists its functions",
            evaluation_steps=["The app lists its functions"],
            evaluation_params=[MultiTurnParams.CONTENT],
            model=judge,
        )
        async with line:
            await metric.a_measure(case, _show_indicator=False)

    await asyncio.gather(*map(one, cases))


def measure(scenarios: int, url: str) -> dict[str, float]:
    """Run one suite after a small one that loads and connects everything."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    logging.disable(logging.WARNING)
    calls: list[str] = []
    latencies: list[float] = []
    user, judge = endpoint("user", url, calls), endpoint("judge", url, calls)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def run(count: int, trials: int) -> None:
        loop.run_until_complete(judged(simulated(count, trials, user, latencies), judge))

    run(1, 2)
    latencies.clear()
    calls.clear()
    wall, cpu = perf_counter(), process_time()
    run(scenarios, TRIALS)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    twentieths = quantiles(latencies, n=20)
    return {
        "calls": len(calls),
        "wall": wall,
        "cpu": cpu,
        "p50": twentieths[9],
        "p95": twentieths[18],
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    _, _, scenarios, url = sys.argv[1:5]
    print(json.dumps(measure(int(scenarios), url)))
