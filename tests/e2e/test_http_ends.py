"""What a run over HTTP leaves behind, however it ends: nothing."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import psutil
import pytest

from simeval import ScenarioResult
from simeval.core.run_records import total
from simeval.testing import Behaviour, FakeEndpoint, fake_endpoint
from tests.support.http_runs import MakeEngine, app_handler, scenario

pytestmark = pytest.mark.anyio

# Threads that may outlive a run: those of the pools which anyio and asyncio keep, idle, as long as their loop
# runs; the server's own; and the main one.
LASTING_THREADS = ("MainThread", "AnyIO worker thread", "asyncio_", "fake endpoint")


def open_sockets(handle: FakeEndpoint) -> list[Any]:
    """Return our ends of the connections to a server."""
    connections = psutil.Process().net_connections(kind="inet")
    return [c for c in connections if c.raddr and c.raddr.port == handle.port and c.status == psutil.CONN_ESTABLISHED]


def litellms_pool() -> set[threading.Thread]:
    """Return the threads that LiteLLM keeps for the whole process, once something has used them."""
    module = sys.modules.get("litellm.litellm_core_utils.thread_pool_executor")
    return set(module.executor._threads) if module else set()


@contextmanager
def nothing_left_behind(handle: FakeEndpoint) -> Iterator[None]:
    """Assert that what runs in the block leaves no task, thread or socket."""
    tasks = asyncio.all_tasks()
    yield
    left = [repr(task.get_coro()) for task in asyncio.all_tasks() - tasks]
    others = {*threading.enumerate()} - litellms_pool()
    threads = [thread.name for thread in others if not thread.name.startswith(LASTING_THREADS)]

    assert (left, threads, open_sockets(handle)) == ([], [], [])


async def test_a_normal_run_leaves_no_task_thread_or_socket(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    with nothing_left_behind(llm):
        await make_engine(llm).evaluate(scenario(10), app_handler)


async def test_a_second_run_of_an_engine_leaves_nothing_either(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)
    with nothing_left_behind(llm):
        for _ in range(2):
            await engine.evaluate(scenario(3), app_handler)


def test_an_engine_may_be_used_in_one_event_loop_after_another(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)
    results = [asyncio.run(engine.evaluate(scenario(3), app_handler)) for _ in range(2)]

    assert [result.failures for result in results] == [(), ()]
    assert open_sockets(llm) == []


async def test_an_engine_that_ends_takes_no_connection_from_another(make_engine: MakeEngine) -> None:
    results: list[ScenarioResult] = []

    async def evaluate(sample_size: int) -> None:
        results.append(await make_engine(llm).evaluate(scenario(sample_size, max_turns=sample_size), app_handler))

    with fake_endpoint(Behaviour(latency_seconds=0.1, user_messages=10)) as llm:
        async with anyio.create_task_group() as runs:
            runs.start_soon(evaluate, 1)
            runs.start_soon(evaluate, 10)

    assert [total(result.run.usage).failed_calls for result in results] == [0, 0]


@pytest.mark.parametrize(
    "behaviour", [Behaviour(latency_seconds=0.05), Behaviour(hang=0.5, faulty_roles=("user",))], ids=["slow", "hanging"]
)
async def test_a_cancelled_run_returns_at_once_and_leaves_no_task_thread_or_socket(
    behaviour: Behaviour, make_engine: MakeEngine
) -> None:
    turns, scope = 0, anyio.CancelScope()

    async def app(message: str) -> str:
        nonlocal turns
        turns += 1
        if turns == 10:
            scope.cancel()
            await anyio.sleep_forever()
        return "I answer questions."

    with fake_endpoint(behaviour) as llm, nothing_left_behind(llm):
        with scope:
            await make_engine(llm).evaluate(scenario(1000), app)
        await anyio.wait_all_tasks_blocked()

        assert scope.cancelled_caught
        assert turns < 100
        assert llm.stats.requests < 200  # of 4,001
