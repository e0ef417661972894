"""What a run writes its entries to: a store, or something of the user's own."""

from collections.abc import Sequence
from typing import Any, Protocol


class Journal(Protocol):
    """Keeps entries in the order given. `append` may block; entries are safe when it returns."""

    def append(self, run_id: str, entries: Sequence[Any]) -> None:
        """Keep a batch of one run's entries: what was begun, said, judged or concluded. Raises StoreError."""

    def close(self) -> None:
        """Release what is held open."""
