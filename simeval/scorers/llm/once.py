"""What is made once for each key, whoever asks for it, and how often at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


@dataclass(slots=True)
class Once(Generic[T]):
    """Keeps what was made by its key. Who asks while it is being made waits; who is cancelled leaves it to the next."""

    made: dict[str, T] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def get(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        """Return what was made for a key, or what `make` gives now."""
        if key not in self.made:
            async with self._locks.setdefault(key, anyio.Lock()):
                if key not in self.made:
                    self.made[key] = await make()
        return self.made[key]
