"""A run that is ended in the middle leaves no task, thread, socket or file behind."""

import asyncio
import threading
from contextlib import nullcontext
from pathlib import Path

import anyio
import psutil
import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.errors import ModelUnusable
from tests.support.llm_server import Behaviour, running

SUITE = [
    ScenarioTest(
        title=f"scenario {number}",
        given="A new user",
        when="The user asks what the bot can do",
        then=Expectation(expected_behavior="Bot tracks orders", evaluator=SuccessRateEvaluator(min_proportion=0.9)),
        max_turns=3,
    )
    for number in range(100)
]


@pytest.mark.parametrize("way", ["openai-compatible", "openai"])
@pytest.mark.parametrize("ending", ["end", "stop", "cancel", "error"])
def test_nothing_is_left_behind(tmp_path: Path, way: str, ending: str) -> None:
    with running(Behaviour(latency_seconds=0.02)) as llm:
        engine = Engine(
            f"{way}/judge",
            f"{way}/user",
            model_options={"api_base": llm.base_url, "api_key": "none"},
            store=tmp_path / "runs.db",
            rubric_folder=None,
            seed=1,
        )
        turns = 0
        scopes: list[anyio.CancelScope] = []

        async def app(message: str) -> str:
            nonlocal turns
            turns += 1
            if turns == 100 and ending == "error":
                llm.behaviour.auth = 1
            elif turns == 100 and ending == "cancel":
                scopes[0].cancel()
            elif turns == 100:
                getattr(engine, ending)()
            await anyio.sleep(0.01)
            return "I track orders."

        async def main() -> list[str]:
            refused = pytest.raises(ModelUnusable) if ending == "error" else nullcontext()
            with anyio.fail_after(120), anyio.CancelScope() as scope, refused:
                scopes.append(scope)
                await engine.evaluate(SUITE, app)
            await anyio.sleep(0.05)  # a transport is closed in the next turns of the loop
            return [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]

        threads = set(threading.enumerate())
        tasks = anyio.run(main)

        process = psutil.Process()
        assert turns >= 100
        assert [name for name in tasks if "LoggingWorker" not in name and "litellm" not in name.lower()] == []
        for thread in set(threading.enumerate()) - threads:  # those of anyio end when their loop has
            thread.join(timeout=2)
        assert [each.name for each in set(threading.enumerate()) - threads if not each.daemon] == []
        assert [c for c in process.net_connections() if c.raddr and c.raddr.port == llm.port] == []
        assert [file for file in process.open_files() if file.path.startswith(str(tmp_path))] == []
