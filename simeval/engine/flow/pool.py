"""A pool: workers that take items from an inbox and put what they make of them into an outbox."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.core.capture import Caught, capture

In = TypeVar("In")
Out = TypeVar("Out")


async def run_pool(
    work: Callable[[In], Awaitable[Out]],
    *,
    workers: int,
    inbox: MemoryObjectReceiveStream[In],
    outbox: MemoryObjectSendStream[Out],
    on_error: Callable[[In, Exception], Out],
) -> None:
    """Work through the inbox with `workers` at once; close the outbox when the inbox has ended.

    What `work` raises becomes a value through `on_error`, except errors that end the run. Workers are
    started as items come, so a pool costs no more tasks than it has items.
    """

    async def worker(first: In) -> None:
        item: In | None = first
        async with inbox.clone() as mine, outbox.clone() as out:
            while item is not None:
                made = await capture(partial(work, item))
                await out.send(on_error(item, made.error) if isinstance(made, Caught) else made)
                item = await _next(mine)

    async with inbox, outbox, anyio.create_task_group() as pool:
        for _ in range(workers):
            item = await _next(inbox)
            if item is None:
                return
            pool.start_soon(worker, item)


async def _next(inbox: MemoryObjectReceiveStream[In]) -> In | None:
    try:
        return await inbox.receive()
    except anyio.EndOfStream:
        return None
