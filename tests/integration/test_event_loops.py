"""On which event loops simeval runs, and what is said on the others."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from simeval import (
    Engine,
    Example,
    Expectation,
    ExperimentResult,
    OnlineEvaluator,
    ScenarioResult,
    ScenarioTest,
    SuccessRateEvaluator,
    dataset_of,
)
from simeval.cli import loop
from simeval.errors import DefinitionError
from simeval.scorers import ValidJSON, turn_count

SCENARIO = ScenarioTest(
    title="Bot answers",
    given="A user",
    when="They ask",
    sample_size=2,
    then=Expectation(expected_behavior="Bot answers", evaluator=SuccessRateEvaluator(min_proportion=0.5)),
)
DATASET = dataset_of([Example(inputs={"message": each}) for each in ("one", "two")], name="words")
ON_TRIO = (
    "this is trio, and aiohttp and LiteLLM need asyncio; run it on asyncio (in tests with anyio's pytest plugin: a "
    'fixture anyio_backend that returns "asyncio").'
)
USERS_TESTS = """
import anyio
import pytest
from tests.integration.test_event_loops import SCENARIO, Engine

@pytest.mark.anyio
async def test_the_bot():
    result = await Engine(store=None, rubric_folder=None, display="none").evaluate(SCENARIO, lambda message: "hello")
    assert result.trials
"""


async def evaluate() -> Any:
    return await Engine(store=None, display="none").evaluate(SCENARIO, lambda message: "hello")


async def measure_online() -> None:
    async with OnlineEvaluator([ValidJSON()]):
        """Nothing is submitted."""


@pytest.mark.parametrize(("work", "where"), [(evaluate, "evaluate"), (measure_online, "OnlineEvaluator")])
def test_on_trio_it_is_said_in_a_sentence_that_asyncio_is_needed(work: Any, where: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        trio.run(work)

    assert str(raised.value) == f"{where}: {ON_TRIO}"


@pytest.mark.parametrize("name", ["evaluate", "experiment"])
def test_on_trio_no_advice_is_given_that_does_not_work_there(name: str) -> None:
    async def notebook() -> None:
        getattr(Engine(store=None), f"{name}_sync")(SCENARIO, lambda message: "hello")

    with pytest.raises(DefinitionError) as raised:
        trio.run(notebook)

    assert str(raised.value) == f"{name}_sync: {ON_TRIO}"


@pytest.mark.parametrize("name", ["evaluate", "experiment"])
def test_without_await_it_is_not_run_inside_a_loop(name: str) -> None:
    given = {"evaluate": SCENARIO, "experiment": DATASET}[name]

    async def notebook() -> None:
        getattr(Engine(store=None), f"{name}_sync")(given, lambda message: "hello")

    with pytest.raises(DefinitionError) as raised:
        anyio.run(notebook)

    assert str(raised.value) == (
        f"{name}_sync: an event loop is running here, as in a notebook; write `await engine.{name}(...)`."
    )


def test_an_experiment_is_run_without_a_loop_as_with_one() -> None:
    engine = Engine(store=None, seed=1)

    def shout(message: str) -> str:
        return message.upper()

    async def awaited() -> ExperimentResult:
        return await engine.experiment(DATASET, shout, scorers=[turn_count], repetitions=2)

    found = engine.experiment_sync(DATASET, shout, scorers=[turn_count], repetitions=2)

    assert found.answers == 4
    assert found.values == anyio.run(awaited).values


def test_users_tests_on_both_loops_of_anyio_say_it_and_with_the_fixture_pass(tmp_path: Path) -> None:
    fixture = "\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n"
    (tmp_path / "test_both.py").write_text(USERS_TESTS)
    (tmp_path / "test_one.py").write_text(USERS_TESTS + fixture)

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)

    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert f"evaluate: {ON_TRIO}" in done.stdout


def test_a_command_runs_on_uvloop_where_that_is_installed_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = list[str]()

    async def handle(message: str) -> str:
        loops.append(type(asyncio.get_running_loop()).__module__)
        return "I track orders" if len(message) % 2 else "no idea"

    async def found() -> ScenarioResult:
        engine = Engine(store=None, display="none", seed=1, concurrency=1)
        return await engine.evaluate(SCENARIO, handle)

    with_it = loop.run_to_end(found)
    monkeypatch.setattr(loop, "find_spec", lambda name: None)
    without = loop.run_to_end(found)

    half = len(loops) // 2
    assert loops == ["uvloop"] * half + ["asyncio.unix_events"] * half
    assert texts_of(with_it) == texts_of(without)


def texts_of(result: ScenarioResult) -> Sequence[str]:
    return [each.content for held in result.conversations for each in held.messages]
