"""The event loop of a command: uvloop's where that is installed (the extra `fast`), otherwise asyncio's."""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TypeVar, TypeVarTuple

import anyio

T = TypeVar("T")
Args = TypeVarTuple("Args")


def run_to_end(work: Callable[[*Args], Awaitable[T]], *args: *Args) -> T:
    """Run an asynchronous function to its end in a new event loop, and return its result."""
    return anyio.run(work, *args, backend_options={"use_uvloop": find_spec("uvloop") is not None})
