"""Items that arrive in any order and are released in the order of their numbers."""

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class InOrder(Generic[T]):
    """Holds early items until everything before them has come. Numbers start at 0, each comes once."""

    def __init__(self) -> None:
        self._waiting: dict[int, T] = {}
        self._next = 0

    @property
    def waiting(self) -> Mapping[int, T]:
        """Return the early items, by number."""
        return self._waiting

    def push(self, number: int, item: T) -> list[T]:
        """Add an item and return those that can be released now, in order.

        Raises ValueError for a number that has come before.
        """
        if number < self._next or number in self._waiting:
            raise ValueError(f"number {number} has come before")
        self._waiting[number] = item
        released = []
        while self._next in self._waiting:
            released.append(self._waiting.pop(self._next))
            self._next += 1
        return released
