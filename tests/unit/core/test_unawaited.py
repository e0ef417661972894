"""A coroutine that was not awaited says what to write; one that is awaited is as any other."""

import asyncio

import anyio
import pytest

from simeval.core.event_loops import advised


@advised("ask was not awaited: write `await ask(...)`")
async def ask(number: int) -> int:
    await anyio.lowlevel.checkpoint()
    return number + 1


def test_it_gives_its_result_to_whatever_awaits() -> None:
    async def main() -> list[int]:
        return [
            await ask(1),
            await asyncio.wait_for(ask(2), 5),
            *await asyncio.gather(ask(3), asyncio.create_task(ask(4))),
        ]

    found = [*anyio.run(main), anyio.run(ask, 5), asyncio.run(ask(6))]

    assert found == [2, 3, 4, 5, 6, 7]


def test_a_task_group_starts_it() -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, 1)

    anyio.run(main)


def test_its_error_is_raised_where_it_is_awaited() -> None:
    @advised("it was not awaited")
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        anyio.run(fails)


def test_what_a_result_would_have_is_not_there_yet() -> None:
    pending = ask(1)

    with pytest.raises(AttributeError, match="there is no 'passed' yet: ask was not awaited: write `await ask"):
        _ = pending.passed  # type: ignore[attr-defined]

    assert not hasattr(pending, "passed")
    assert repr(pending) == "<ask was not awaited: write `await ask(...)`>"
    pending.close()


def test_it_is_neither_true_nor_false() -> None:
    pending = ask(1)

    with pytest.raises(TypeError, match="ask was not awaited"):
        assert pending

    pending.close()


def drop() -> None:
    ask(1)  # type: ignore[unused-coroutine]


def test_one_that_is_dropped_warns_in_these_words() -> None:
    with pytest.warns(RuntimeWarning) as warned:
        drop()

    assert [str(each.message) for each in warned] == ["ask was not awaited: write `await ask(...)`"]
