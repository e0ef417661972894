"""An OpenAI-compatible endpoint for tests, in a thread of its own."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Thread

from simeval.testing.replies import Behaviour, EndpointStats
from simeval.testing.server import EndpointServer

STARTING_SECONDS = 10.0
STOPPING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class FakeEndpoint:
    """A running fake endpoint: its address, its behaviour, and the requests it has seen."""

    base_url: str
    behaviour: Behaviour
    stats: EndpointStats

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.base_url.removesuffix("/v1").rpartition(":")[2])


@contextmanager
def fake_endpoint(behaviour: Behaviour | None = None) -> Iterator[FakeEndpoint]:
    """Run an OpenAI-compatible endpoint in a thread of its own, on a free port of this machine.

    It plays every role of simeval, and embeds and moderates; without a `behaviour` it answers at once and well.
    When the block is left it has stopped, whatever hangs in it.
    """
    started: Future[tuple[FakeEndpoint, Callable[[], object]]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        server = EndpointServer(behaviour or Behaviour())
        async with server.serving() as base_url:
            handle = FakeEndpoint(base_url, server.behaviour, server.stats)
            started.set_result((handle, partial(loop.call_soon_threadsafe, stop.set)))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = Thread(target=run, name="fake endpoint", daemon=True)
    thread.start()
    handle, stop = started.result(timeout=STARTING_SECONDS)
    try:
        yield handle
    finally:
        stop()
        thread.join(STOPPING_SECONDS)
        if thread.is_alive():
            raise TimeoutError(f"the endpoint did not stop within {STOPPING_SECONDS:g} seconds")
