"""The user's own encoder: any object that turns texts into vectors, without a call to a provider."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors of one length, in their order. It is called in worker threads."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text; may block."""
