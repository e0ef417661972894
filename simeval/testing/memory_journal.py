"""A journal in memory."""

from collections.abc import Sequence

from simeval.store.journal import Entry


class MemoryJournal:
    """A journal that keeps entries in a list, `entries`; nothing of it outlives the process."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def append(self, run_id: str, entries: Sequence[Entry]) -> None:  # noqa: ARG002
        """Keep a batch of one run's entries."""
        self.entries.extend(entries)

    def close(self) -> None:
        """Do nothing: nothing is open."""
