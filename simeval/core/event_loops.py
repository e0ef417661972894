"""The running event loop: simeval needs asyncio, because aiohttp and LiteLLM, which call models, do."""

import asyncio

import anyio

from simeval.errors import DefinitionError


def is_on_asyncio() -> bool:
    """Return whether this runs in a loop of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def require_asyncio(where: str) -> None:
    """Raise a DefinitionError in a loop that is not asyncio's."""
    if not is_on_asyncio():
        do = 'run it on asyncio (in tests with anyio\'s pytest plugin: a fixture anyio_backend that returns "asyncio")'
        raise DefinitionError(where, found="this is trio, and aiohttp and LiteLLM need asyncio", do=do)


def require_no_loop(where: str, do: str) -> None:
    """Raise a DefinitionError in a loop, of asyncio or any other."""
    if not is_on_asyncio() and _is_in_a_task():
        require_asyncio(where)
    if is_on_asyncio():
        raise DefinitionError(where, found="an event loop is running here, as in a notebook", do=do)


def _is_in_a_task() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True
