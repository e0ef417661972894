"""Waiting for what happens in another thread, where nothing tells the event loop of it."""

from collections.abc import Callable

import anyio

PATIENCE_SECONDS = 60.0  # no test counts on it: it ends those that would wait for ever


async def until(happened: Callable[[], bool]) -> None:
    """Let the event loop turn until something is the case. Raises TimeoutError when patience is at an end."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while not happened():  # noqa: ASYNC110
            await anyio.sleep(0.001)
