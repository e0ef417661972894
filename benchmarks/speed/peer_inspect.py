"""One row of the engine benchmark with inspect_ai; run by the interpreter that has it, never imported.

A solver asks a model for the user's message and then the app, three times, and `model_graded_qa` judges: a sample is
a trial. No rubric is written. Logs go to a temporary folder, as `eval` cannot do without them.
"""

import asyncio
import json
import os
import resource
import sys
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

TRIALS, TURNS, IN_FLIGHT, TRIALS_IN_FLIGHT, APP_SECONDS = 30, 3, 100, 130, 0.020
ANSWER = "I answer questions, book meetings and translate texts."
JUDGE = "You are an expert evaluator.\n{question}\n{answer}\nExpected: {criterion}\n{instructions}"


def conversation(latencies: list[float]) -> Any:
    """Return a solver that holds one conversation, and keeps how long the app took."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
    from inspect_ai.solver import solver

    async def app(_messages: object) -> str:
        await asyncio.sleep(APP_SECONDS)
        return ANSWER

    @solver  # type: ignore[untyped-decorator]
    def talk() -> Any:
        async def solve(state: Any, _generate: Any) -> Any:
            user = get_model(role="user")
            system = ChatMessageSystem(content=f"You are simulating a user. {state.input_text}")
            for _ in range(TURNS):
                said = await user.generate([system, *state.messages])
                state.messages.append(ChatMessageUser(content=said.completion))
                start = perf_counter()
                answer = await app(state.messages)
                latencies.append(perf_counter() - start)
                state.messages.append(ChatMessageAssistant(content=answer))
                state.output.completion = answer
            return state

        return solve

    return talk()


async def run(scenarios: int, trials: int, folder: str) -> list[float]:
    """Hold and judge the conversations; return the app's latencies."""
    from inspect_ai import Epochs, Task, eval_async
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import model_graded_qa

    def model(name: str) -> Any:
        config = GenerateConfig(max_connections=IN_FLIGHT)
        return get_model(f"openai/{name}", config=config, responses_api=False)

    latencies: list[float] = []
    samples = [
        Sample(input=f"A new user, number {number}, asks what the app can do", target="The app lists its functions")
        for number in range(scenarios)
    ]
    scorer = model_graded_qa(template=JUDGE, instructions="Rate it from 1 to 10.", grade_pattern=r'"score": *([0-9])')
    [log] = await eval_async(
        Task(dataset=MemoryDataset(samples), solver=conversation(latencies), scorer=scorer, epochs=Epochs(trials)),
        model=model("app"),
        model_roles={"user": model("user"), "grader": model("judge")},
        max_samples=TRIALS_IN_FLIGHT,
        log_dir=folder,
        log_level="error",
    )
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else log.status)
    return latencies


async def measure(scenarios: int, url: str) -> dict[str, float]:
    """Run one suite after a small one that loads and connects everything."""
    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "INSPECT_DISPLAY": "none"}
    import numpy as np

    with TemporaryDirectory() as folder:
        await run(1, 2, folder)
        wall, cpu = perf_counter(), process_time()
        latencies = await run(scenarios, TRIALS, folder)
        wall, cpu = perf_counter() - wall, process_time() - cpu
    return {
        "calls": scenarios * TRIALS * (TURNS + 1),
        "wall": wall,
        "cpu": cpu,
        "p50": float(np.median(latencies)),
        "p95": float(np.quantile(latencies, 0.95)),
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    _, _, scenarios, url = sys.argv[1:5]
    print(json.dumps(asyncio.run(measure(int(scenarios), url))))
