"""Make a value once for each key, for any number of concurrent callers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


@dataclass(slots=True)
class Once(Generic[T]):
    """Caches values by key, and makes each once.

    Concurrent callers wait for one computation; if it is cancelled, the next caller takes over.
    """

    made: dict[str, T] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def get(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        """Return the cached value of a key, or make it now."""
        if key not in self.made:
            async with self._locks.setdefault(key, anyio.Lock()):
                if key not in self.made:
                    self.made[key] = await make()
        return self.made[key]
