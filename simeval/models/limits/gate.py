"""A gate before something that takes so much at a time: callers wait in one line, first come, first served."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic

import anyio

from simeval.models.limits.traffic import Ticket, Traffic

NAP_SECONDS = 0.005  # at the least: waking costs 100 µs of CPU, and the pace catches up


@dataclass(slots=True)
class Gate:
    """Lets the next caller in when the traffic allows it; `changed` must be called when a call has ended."""

    traffic: Traffic
    _line: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True), init=False, repr=False)
    _changed: anyio.Event | None = field(default=None, init=False, repr=False)

    async def enter(
        self, wait: Callable[[float], float] | None = None, on_entry: Callable[[], None] | None = None
    ) -> Ticket:
        """Wait until a call may start, and start it; `on_entry` is called just before.

        `wait` returns the seconds to wait at a time of the monotonic clock, inf until something has changed; by default
        it is the traffic's.
        """
        wait = wait or self.traffic.wait
        now = monotonic()
        if self._line.locked() or wait(now) > 0:
            async with self._line:
                while (seconds := wait(monotonic())) > 0:
                    self._changed = anyio.Event()
                    with anyio.move_on_after(None if seconds == inf else max(seconds, NAP_SECONDS)):
                        await self._changed.wait()
                return self._started(monotonic(), on_entry)
        return self._started(now, on_entry)

    def _started(self, now: float, on_entry: Callable[[], None] | None) -> Ticket:
        if on_entry is not None:
            on_entry()
        return self.traffic.start(now)

    def changed(self) -> None:
        """Wake the first caller in line."""
        if self._changed is not None:
            self._changed.set()
