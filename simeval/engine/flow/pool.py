"""A pool: workers that take items from an inbox and put the results into an outbox."""

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

    Errors of `work` become values through `on_error`, except errors that end the run. Each item has a task of its own,
    so that context variables set by the user's code reach no other item.
    """
    places = anyio.Semaphore(workers, fast_acquire=True)

    async def worker(item: In) -> None:
        try:
            made = await capture(partial(work, item))
            await outbox.send(on_error(item, made.error) if isinstance(made, Caught) else made)
        finally:
            places.release()

    async with inbox, outbox, anyio.create_task_group() as pool:
        while True:
            await places.acquire()
            try:
                item = await inbox.receive()
            except anyio.EndOfStream:
                return
            pool.start_soon(worker, item)
