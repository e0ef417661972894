"""Endpoints that take only so much, and a caller that wants all of it, in a time that is only counted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Protocol

from simeval.models.limits.traffic import Ticket, Traffic

Change = tuple[float, Callable[[], None]]


class Server(Protocol):
    """Says of each request whether it is taken."""

    def takes(self, now: float) -> bool: ...


@dataclass(slots=True)
class Bucket:
    """A token bucket, full at the start."""

    rate: float
    burst: float
    _level: float = field(init=False)
    _counted: float = 0.0

    def __post_init__(self) -> None:
        self._level = self.burst

    def takes(self, now: float) -> bool:
        self._level = min(self.burst, self._level + (now - self._counted) * self.rate)
        self._counted = now
        if self._level < 1:
            return False
        self._level -= 1
        return True


@dataclass(slots=True)
class FixedWindows:
    """So many in each window of the clock; the first window began `offset` seconds ago."""

    most: int
    seconds: float = 1.0
    offset: float = 0.0
    _window: int = -1
    _taken: int = 0

    def takes(self, now: float) -> bool:
        window = int((now + self.offset) / self.seconds)
        if window != self._window:
            self._window, self._taken = window, 0
        self._taken += 1
        return self._taken <= self.most


@dataclass(slots=True)
class SlidingLog:
    """So many in any one second."""

    most: int
    _taken: deque[float] = field(default_factory=deque)

    def takes(self, now: float) -> bool:
        while self._taken and self._taken[0] <= now - 1.0:
            self._taken.popleft()
        if len(self._taken) >= self.most:
            return False
        self._taken.append(now)
        return True


@dataclass(slots=True)
class Busy:
    """Refuses a share of requests, whatever their pace."""

    share: float
    random: Random

    def takes(self, now: float) -> bool:
        return self.random.random() >= self.share


@dataclass(slots=True)
class Outcomes:
    """What became of the calls, by the second in which they ended."""

    accepted: list[int]
    refused: list[int]

    def taken(self, since: int = 0, until: int | None = None) -> int:
        """Count the accepted calls of some seconds."""
        return sum(self.accepted[since:until])

    @property
    def refused_share(self) -> float:
        return sum(self.refused) / (sum(self.refused) + sum(self.accepted))


@dataclass(slots=True)
class Drive:
    """Starts calls as soon as the traffic lets it, for so many seconds."""

    traffic: Traffic
    latency: float
    seconds: float = 60.0
    retry_after: float | None = None
    changes: Sequence[Change] = ()
    _under_way: list[tuple[float, int, Ticket, bool | None]] = field(default_factory=list)
    _now: float = 0.0

    def against(self, server: Server) -> Outcomes:
        """Ask a server that decides when it answers."""
        return self._run(lambda: (None, self.latency), server)

    def against_slots(self, slots: int) -> Outcomes:
        """Ask a server that has so many slots, and refuses at once, in a tenth of its latency."""

        def decide() -> tuple[bool, float]:
            taken = sum(1 for _, _, _, takes in self._under_way if takes) < slots
            return taken, self.latency if taken else self.latency / 10

        return self._run(decide, None)

    def _run(self, decide: Callable[[], tuple[bool | None, float]], server: Server | None) -> Outcomes:
        outcomes = Outcomes([0] * (int(self.seconds) + 1), [0] * (int(self.seconds) + 1))
        changes = deque(self.changes)
        while True:
            wait = self._start_all(decide)
            self._now = min(self._under_way[0][0] if self._under_way else inf, self._now + wait + 1e-9)
            if self._now >= self.seconds:
                return outcomes
            while changes and changes[0][0] <= self._now:
                changes.popleft()[1]()
            while self._under_way and self._under_way[0][0] <= self._now:
                self._end(server, outcomes)

    def _start_all(self, decide: Callable[[], tuple[bool | None, float]]) -> float:
        while (wait := self.traffic.wait(self._now)) == 0:
            taken, seconds = decide()
            ticket = self.traffic.start(self._now)
            heappush(self._under_way, (self._now + seconds, ticket.number, ticket, taken))
        return wait

    def _end(self, server: Server | None, outcomes: Outcomes) -> None:
        _, _, ticket, taken = heappop(self._under_way)
        if server is not None:
            taken = server.takes(self._now)
        (outcomes.accepted if taken else outcomes.refused)[int(self._now)] += 1
        retry_after = None if taken else self.retry_after
        self.traffic.end(ticket, self._now, "answered" if taken else "refused", retry_after=retry_after)
