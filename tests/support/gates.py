"""Gates: what holds calls until as many as a test wants are under way at once, however busy the machine is."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import anyio


@dataclass(slots=True)
class Gate:
    """Opens for good when `opens_at` calls wait in it and nothing else can go on; `peak` is the most there were."""

    opens_at: int
    inside: int = 0
    peak: int = 0
    _is_open: anyio.Event = field(default_factory=anyio.Event)

    async def __aenter__(self) -> Self:
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        if self.inside == self.opens_at and not self._is_open.is_set():
            await anyio.wait_all_tasks_blocked()  # whoever else is let in comes now
            self._is_open.set()
        await self._is_open.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inside -= 1
