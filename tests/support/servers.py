"""Endpoints that take only so much, and a caller that wants all of it, in a time that is only counted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Protocol

from simeval.models.limits.traffic import Outcome, Ticket

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


class Governor(Protocol):
    """Says when the next call may start, as Traffic does."""

    def wait(self, now: float) -> float: ...

    def start(self, now: float) -> Ticket: ...

    def end(self, ticket: Ticket, now: float, outcome: Outcome, *, retry_after: float | None = None) -> bool: ...


@dataclass(slots=True)
class EachForItself:
    """Starts a call whenever there is a place: the least that waiting for one's own Retry-After gives."""

    most: int
    _in_flight: int = 0
    _starts: int = 0

    def wait(self, now: float) -> float:
        return 0.0 if self._in_flight < self.most else inf

    def start(self, now: float) -> Ticket:
        self._in_flight += 1
        self._starts += 1
        return Ticket(self._starts, now, 0, 0.0)

    def end(self, ticket: Ticket, now: float, outcome: Outcome, *, retry_after: float | None = None) -> bool:
        self._in_flight -= 1
        return False


@dataclass(slots=True)
class Drive:
    """Asks as soon as the traffic lets it, for so many seconds.

    There are so many `callers`, by default more than are ever needed. One that is refused asks again when the
    Retry-After is over. With `random` a call takes half to one and a half times the latency.
    """

    traffic: Governor
    latency: float
    seconds: float = 60.0
    retry_after: float | None = None
    changes: Sequence[Change] = ()
    callers: float = inf
    random: Random | None = None
    _under_way: list[tuple[float, int, Ticket, bool | None]] = field(default_factory=list)
    _waiting: list[float] = field(default_factory=list)  # until when each refused caller waits
    _now: float = 0.0

    def against(self, server: Server) -> Outcomes:
        """Ask a server that decides when it answers."""
        return self._run(lambda: (None, self._seconds()), server)

    def against_slots(self, slots: int) -> Outcomes:
        """Ask a server that has so many slots, and refuses at once, in a tenth of its latency."""

        def decide() -> tuple[bool, float]:
            taken = sum(1 for _, _, _, takes in self._under_way if takes) < slots
            return taken, self._seconds() if taken else self._seconds() / 10

        return self._run(decide, None)

    def _seconds(self) -> float:
        return self.latency if self.random is None else self.latency * self.random.uniform(0.5, 1.5)

    def _run(self, decide: Callable[[], tuple[bool | None, float]], server: Server | None) -> Outcomes:
        outcomes = Outcomes([0] * (int(self.seconds) + 1), [0] * (int(self.seconds) + 1))
        changes = deque(self.changes)
        while True:
            wait = self._start_all(decide)
            ends = self._under_way[0][0] if self._under_way else inf
            returns = self._waiting[0] if self._waiting else inf
            self._now = min(ends, returns, self._now + wait + 1e-9)
            if self._now >= self.seconds:
                return outcomes
            while changes and changes[0][0] <= self._now:
                changes.popleft()[1]()
            while self._waiting and self._waiting[0] <= self._now:
                heappop(self._waiting)
                self.callers += 1
            while self._under_way and self._under_way[0][0] <= self._now:
                self._end(server, outcomes)

    def _start_all(self, decide: Callable[[], tuple[bool | None, float]]) -> float:
        """Start every call that may be; give the seconds until the next one may."""
        wait = inf
        while self.callers and (wait := self.traffic.wait(self._now)) == 0:
            taken, seconds = decide()
            ticket = self.traffic.start(self._now)
            self.callers -= 1
            heappush(self._under_way, (self._now + seconds, ticket.number, ticket, taken))
        return wait if self.callers else inf

    def _end(self, server: Server | None, outcomes: Outcomes) -> None:
        _, _, ticket, taken = heappop(self._under_way)
        if server is not None:
            taken = server.takes(self._now)
        (outcomes.accepted if taken else outcomes.refused)[int(self._now)] += 1
        retry_after = None if taken else self.retry_after
        self.traffic.end(ticket, self._now, "answered" if taken else "refused", retry_after=retry_after)
        if retry_after:
            heappush(self._waiting, self._now + retry_after)
        else:
            self.callers += 1
