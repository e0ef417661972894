"""The recorder: an actor that writes to the journal in batches, off the event loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import anyio
import anyio.to_thread

from simeval.core.run_records import Heartbeat, Journal
from simeval.errors import StoreError

if TYPE_CHECKING:
    from simeval.results.suite import RunRecord
    from simeval.store.journal import Entry

E = TypeVar("E", bound="Entry")

LARGEST_BATCH = 256
BATCH_SECONDS = 0.03  # from one write to the next, so that many records a second share few writes
PULSE_SECONDS = 1.0  # between signs of life: the spending since the last one is lost with the process
USAGE_SECONDS = 0.25  # between records of the usage, where others are written anyway
LAST_WRITE_SECONDS = 2.0  # how long queued entries may be written after a cancellation


@dataclass(slots=True)
class _Item:
    entry: "Entry"
    is_last: bool = False
    written: anyio.Event = field(default_factory=anyio.Event)


class Recorder:
    """Writes the entries of a run to a journal; a caller waits until its entry is written.

    Without a journal nothing is stored. The entries include now and then a Heartbeat from `heartbeat`: the spending so
    far, and a sign of life.

    Used as a context: leaving it in order waits for the queue, leaving it by an error or a cancellation writes the
    entries that have come by then. If the journal cannot be written, every caller gets its StoreError, from then on.
    """

    def __init__(self, journal: Journal | None, heartbeat: Callable[[], Heartbeat]) -> None:
        self._journal, self._heartbeat, self._run_id = journal, heartbeat, ""
        self._next_heartbeat = self._next_write = 0.0
        self._error: StoreError | None = None

    async def __aenter__(self) -> Self:
        self._outbox, self._inbox = anyio.create_memory_object_stream[_Item](LARGEST_BATCH)
        self._tasks = anyio.create_task_group()
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

    async def begin(self, run: "RunRecord") -> None:
        """Keep the record of the run that all further entries belong to; comes before them."""
        self._run_id = run.run_id
        await self.record(run)

    async def record(self, entry: "Entry", *, is_last: bool = False) -> None:
        """Store an entry, if `is_last` after all others; return once it is there. Raises StoreError if it cannot be."""
        if self._journal is None:
            return
        item = _Item(entry, is_last)
        try:
            self._outbox.send_nowait(item)  # a cancellation that comes now must not lose finished results
        except anyio.WouldBlock:
            await self._outbox.send(item)
        await item.written.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)

    async def note(self, entry: "Entry") -> None:
        """Keep an entry with the next batch, without waiting for that."""
        if self._journal is not None:
            await self._outbox.send(_Item(entry))

    def give_up(self) -> None:
        """Write nothing more, and leave a write that does not end to itself."""
        self._journal = None
        self._tasks.cancel_scope.cancel()

    async def recorded(self, entry: E) -> E:
        """Keep an entry and give it."""
        await self.record(entry)
        return entry

    async def _run(self) -> None:
        """Write the entries, a batch at a time. When cancelled, entries that have come are still written."""
        batch: list[_Item] = []
        try:
            while True:
                batch = []
                with anyio.move_on_after(PULSE_SECONDS):
                    batch = [await self._inbox.receive()]
                if batch:
                    await anyio.sleep_until(self._next_write)
                batch += self._waiting()
                given, batch = batch, []  # to a thread, which goes on whatever happens here
                await self._write(given)
                self._next_write = anyio.current_time() + BATCH_SECONDS
                for item in given:
                    item.written.set()
        except anyio.EndOfStream:
            pass
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LAST_WRITE_SECONDS):
                await self._write([*batch, *self._waiting()])
            raise

    async def _write(self, batch: list[_Item]) -> None:
        if self._journal is None or self._error is not None or not (batch or self._run_id):
            return  # a run that has not begun has no signs of life
        entries, now = [item.entry for item in batch], anyio.current_time()
        at_end = sum(item.is_last for item in batch)
        if now >= self._next_heartbeat or not batch or at_end:
            entries.insert(len(entries) - at_end, self._heartbeat())  # the end of a run is its last entry
            self._next_heartbeat = now + USAGE_SECONDS
        try:
            await anyio.to_thread.run_sync(self._journal.append, self._run_id, entries, abandon_on_cancel=True)
        except StoreError as error:
            self._error = error
        except OSError as error:  # of a journal of the user's own
            self._error = StoreError(getattr(self._journal, "name", type(self._journal).__name__), problem=str(error))

    def _waiting(self) -> list[_Item]:
        found: list[_Item] = []
        while len(found) < LARGEST_BATCH:
            try:
                found.append(self._inbox.receive_nowait())
            except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
                break
        return found
