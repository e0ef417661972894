"""The recorder: an actor that writes to the journal in batches, off the event loop."""

from dataclasses import dataclass, field

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.store.journal import Entry, Journal

LARGEST_BATCH = 256
LAST_WRITE_SECONDS = 5.0  # how long what is already queued may be written after a cancellation


@dataclass(slots=True)
class _Item:
    entry: Entry
    written: anyio.Event = field(default_factory=anyio.Event)


class Recorder:
    """Writes entries to a journal; whoever records waits until the entry is written."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        streams = anyio.create_memory_object_stream[_Item](LARGEST_BATCH)
        self._outbox: MemoryObjectSendStream[_Item] = streams[0]
        self._inbox: MemoryObjectReceiveStream[_Item] = streams[1]

    async def record(self, entry: Entry) -> None:
        """Keep an entry. Returns when it is in the journal; raises what the journal raised to end the run."""
        item = _Item(entry)
        await self._outbox.send(item)
        await item.written.wait()

    def close(self) -> None:
        """Say that nothing more will be recorded; `run` ends when everything is written."""
        self._outbox.close()

    async def run(self) -> None:
        """Write what comes, a batch at a time. When cancelled, what has come is still written."""
        batch: list[_Item] = []
        try:
            async with self._inbox:
                async for item in self._inbox:
                    batch = [item, *self._waiting()]
                    await anyio.to_thread.run_sync(self._journal.append, [i.entry for i in batch])
                    for written in batch:
                        written.written.set()
                    batch = []
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LAST_WRITE_SECONDS):
                last = [i.entry for i in [*batch, *self._waiting()]]
                await anyio.to_thread.run_sync(self._journal.append, last)
            raise

    def _waiting(self) -> list[_Item]:
        found: list[_Item] = []
        while len(found) < LARGEST_BATCH:
            try:
                found.append(self._inbox.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
                break
        return found
