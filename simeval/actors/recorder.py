"""The recorder: an actor that writes to the journal in batches, off the event loop."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

import anyio
import anyio.to_thread

from simeval.store.journal import Entry, Journal

E = TypeVar("E", bound=Entry)

LARGEST_BATCH = 256
LAST_WRITE_SECONDS = 5.0  # how long what is already queued may be written after a cancellation


@dataclass(slots=True)
class _Item:
    entry: Entry
    written: anyio.Event = field(default_factory=anyio.Event)


class Recorder:
    """Writes the entries of a run to a journal; whoever records waits until the entry is written.

    Without a journal nothing is kept.

    Used as a context: leaving it in order waits for what is queued, leaving it by an error or a
    cancellation writes what has come by then.
    """

    def __init__(self, journal: Journal | None, run_id: str) -> None:
        self._journal, self._run_id = journal, run_id
        self._outbox, self._inbox = anyio.create_memory_object_stream[_Item](LARGEST_BATCH)
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._outbox.close()
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            self._inbox.close()

    async def record(self, entry: Entry) -> None:
        """Keep an entry. Returns when it is in the journal; an error of the journal ends the run."""
        if self._journal is None:
            return
        item = _Item(entry)
        await self._outbox.send(item)
        await item.written.wait()

    async def recorded(self, entry: E) -> E:
        """Keep an entry and give it."""
        await self.record(entry)
        return entry

    async def _run(self) -> None:
        """Write what comes, a batch at a time. When cancelled, what has come is still written."""
        batch: list[_Item] = []
        try:
            async for item in self._inbox:
                batch = [item, *self._waiting()]
                await self._write(batch)
                for written in batch:
                    written.written.set()
                batch = []
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LAST_WRITE_SECONDS):
                await self._write([*batch, *self._waiting()])
            raise

    async def _write(self, batch: list[_Item]) -> None:
        if self._journal is not None and batch:
            await anyio.to_thread.run_sync(self._journal.append, self._run_id, [item.entry for item in batch])

    def _waiting(self) -> list[_Item]:
        found: list[_Item] = []
        while len(found) < LARGEST_BATCH:
            try:
                found.append(self._inbox.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
                break
        return found
