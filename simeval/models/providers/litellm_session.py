"""The connections under LiteLLM: opened with the first model that needs them, closed with the last.

LiteLLM keeps its clients in a cache of the whole process, by endpoint and not by model, so the session they run
on must be one for all our models on an event loop. When it closes, the clients that hold it leave the cache
(else LiteLLM would open a new session behind our back), and LiteLLM's logging task ends if it began with us.
"""

import asyncio
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio

if TYPE_CHECKING:
    import aiohttp

FLUSHING_SECONDS = 1.0


@dataclass(slots=True)
class _Shared:
    session: "aiohttp.ClientSession"
    worker_is_ours: bool
    users: int = 0


_shared: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared]" = WeakKeyDictionary()


def open_session(litellm: ModuleType) -> "aiohttp.ClientSession":
    """Return the running event loop's session, opened if it was not; each call needs one `close_session`."""
    import aiohttp

    loop = asyncio.get_running_loop()
    if loop not in _shared:
        connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        _shared[loop] = _Shared(session, worker_is_ours=not _is_at_work(_worker(litellm), loop))
    _shared[loop].users += 1
    return _shared[loop].session


async def close_session(litellm: ModuleType) -> None:
    """Close the session if this was its last user."""
    loop = asyncio.get_running_loop()
    shared = _shared.get(loop)
    if shared is None:
        return
    shared.users -= 1
    if shared.users:
        return
    del _shared[loop]
    _forget_clients(litellm, shared.session)
    await shared.session.close()
    if shared.worker_is_ours and _is_at_work(_worker(litellm), loop):
        with anyio.move_on_after(FLUSHING_SECONDS):
            await _worker(litellm).flush()
        await _worker(litellm).stop()


def _is_at_work(worker: Any, loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether LiteLLM's logging task was begun on this loop before us.

    One of a loop that has ended is nobody's.
    """
    task = getattr(worker, "_worker_task", None)
    return task is not None and not task.done() and task.get_loop() is loop


def _worker(litellm: ModuleType) -> Any:
    return litellm.litellm_core_utils.logging_worker.GLOBAL_LOGGING_WORKER


def _forget_clients(litellm: ModuleType, session: "aiohttp.ClientSession") -> None:
    cache = litellm.in_memory_llm_clients_cache
    for key, client in list(cache.cache_dict.items()):
        inner = getattr(client, "_client", None) or getattr(client, "client", None)
        if getattr(getattr(inner, "_transport", None), "client", None) is session:
            cache.cache_dict.pop(key, None)
            cache.ttl_dict.pop(key, None)
