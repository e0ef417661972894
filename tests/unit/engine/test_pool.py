"""A pool of workers between an inbox and an outbox."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from math import inf

import anyio
import anyio.lowlevel
import pytest

from simeval.engine.flow import run_pool
from simeval.errors import ModelError, ModelUnusable, RunStopped

pytestmark = pytest.mark.anyio


async def work_through(
    items: Sequence[int], work: Callable[[int], Awaitable[str]], *, workers: int, buffer: float = 0
) -> list[str]:
    """Send the items through a pool and give what comes out; ends only when the outbox is closed."""
    into, inbox = anyio.create_memory_object_stream[int](buffer)
    outbox, out = anyio.create_memory_object_stream[str](buffer)

    async def feed() -> None:
        async with into:
            for item in items:
                await into.send(item)

    async def pool() -> None:
        await run_pool(
            work, workers=workers, inbox=inbox, outbox=outbox, on_error=lambda item, error: f"{item}: {error!r}"
        )

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, out:
            tasks.start_soon(feed)
            tasks.start_soon(pool)
            made = [each async for each in out]
    return made


async def slowly(item: int) -> str:
    for _ in range(item % 7):
        await anyio.lowlevel.checkpoint()
    return f"made {item}"


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 50, 1000])
@pytest.mark.parametrize("buffer", [0, 3, inf])
async def test_every_item_comes_out_once(workers: int, buffer: float) -> None:
    made = await work_through(range(200), slowly, workers=workers, buffer=buffer)

    assert Counter(made) == Counter(f"made {item}" for item in range(200))


async def test_one_worker_keeps_the_order() -> None:
    assert await work_through(range(20), slowly, workers=1) == [f"made {item}" for item in range(20)]


async def test_an_inbox_that_ends_at_once_closes_the_outbox() -> None:
    assert await work_through([], slowly, workers=5) == []


@pytest.mark.parametrize("workers", [1, 4])
async def test_an_exception_becomes_a_value_and_costs_no_other_item(workers: int) -> None:
    async def work(item: int) -> str:
        await anyio.lowlevel.checkpoint()
        if item % 3 == 0:
            raise KeyError(item)
        return f"made {item}"

    made = await work_through(range(30), work, workers=workers)

    expected = [f"{item}: KeyError({item})" if item % 3 == 0 else f"made {item}" for item in range(30)]
    assert Counter(made) == Counter(expected)


async def test_of_a_group_of_exceptions_the_first_inside_is_told() -> None:
    async def work(item: int) -> str:
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError(item), ValueError()])])

    assert await work_through([5], work, workers=1) == ["5: KeyError(5)"]


async def test_a_failed_call_of_a_model_is_a_value() -> None:
    async def work(item: int) -> str:
        raise ModelError("m", kind="server", problem="HTTP 500")

    assert len(await work_through([1, 2], work, workers=2)) == 2


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    "error", [ModelUnusable("m", kind="authentication", problem="HTTP 401"), RunStopped("title", 1, "it raised")]
)
async def test_an_error_that_ends_the_run_passes_through(error: Exception, wrapped: bool) -> None:
    async def work(item: int) -> str:
        if item == 3:
            raise ExceptionGroup("group", [KeyError(), error]) if wrapped else error
        return await slowly(item)

    with pytest.raises(ExceptionGroup) as raised:
        await work_through(range(20), work, workers=2)

    found = raised.value.subgroup(lambda leaf: leaf is error)
    assert found is not None


@pytest.mark.parametrize("workers", [1, 3, 8])
async def test_workers_at_once_reach_their_number_and_never_exceed_it(workers: int) -> None:
    busy = peak = 0

    async def work(item: int) -> str:
        nonlocal busy, peak
        busy += 1
        peak = max(peak, busy)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        busy -= 1
        return str(item)

    await work_through(range(100), work, workers=workers, buffer=inf)

    assert peak == workers


async def test_a_slow_item_holds_up_no_other() -> None:
    others_are_done = anyio.Event()
    done = 0

    async def work(item: int) -> str:
        nonlocal done
        if item == 0:
            await others_are_done.wait()
            return "slow"
        done += 1
        if done == 49:
            others_are_done.set()
        return "quick"

    made = await work_through(range(50), work, workers=2)

    assert made[-1] == "slow"
    assert made.count("quick") == 49


async def test_cancellation_ends_the_work_and_closes_the_outbox() -> None:
    into, inbox = anyio.create_memory_object_stream[int](inf)
    outbox, out = anyio.create_memory_object_stream[str](inf)
    begun, ended = anyio.Event(), 0

    async def work(item: int) -> str:
        nonlocal ended
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended += 1
        raise AssertionError

    async def pool() -> None:
        await run_pool(work, workers=3, inbox=inbox, outbox=outbox, on_error=lambda item, error: "error")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, into, out:
            for item in range(5):
                into.send_nowait(item)
            tasks.start_soon(pool)
            await begun.wait()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert ended == 3
    assert inbox.statistics().open_receive_streams == 0
    assert outbox.statistics().open_send_streams == 0
