"""The destination of a run's entries: a store, or an object of the user's own."""

from collections.abc import Sequence
from typing import Any, Protocol


class Journal(Protocol):
    """Keeps entries in the order given. `append` may block; entries are safe when it returns."""

    def append(self, run_id: str, entries: Sequence[Any]) -> None:
        """Store a batch of one run's entries: trials begun, messages, ratings, verdicts. Raises StoreError."""

    def close(self) -> None:
        """Release open resources."""
