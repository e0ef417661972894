"""Endpoints that take only so much, and a caller that wants all of it, in a time that is only counted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any, Protocol

from simeval.models.limits.traffic import Outcome

Change = tuple[float, Callable[[], None]]


class Server(Protocol):
    """Says of each request whether it is taken, when it arrives."""

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
class Slots:
    """Answers so many at once, each after its latency."""

    most: int
    ends: list[float] = field(default_factory=list)

    def takes(self, now: float) -> bool:
        while self.ends and self.ends[0] <= now:
            heappop(self.ends)
        return len(self.ends) < self.most


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

    def start(self, now: float) -> Any: ...

    def end(self, ticket: Any, now: float, outcome: Outcome, *, retry_after: float | None = None) -> bool: ...


@dataclass(slots=True)
class EachForItself:
    """Starts a call whenever there is a place: the least that waiting for one's own Retry-After gives."""

    most: int
    _in_flight: int = 0

    def wait(self, now: float) -> float:
        return 0.0 if self._in_flight < self.most else inf

    def start(self, now: float) -> None:
        self._in_flight += 1

    def end(self, ticket: None, now: float, outcome: Outcome, *, retry_after: float | None = None) -> bool:
        self._in_flight -= 1
        return False


@dataclass(slots=True)
class Drive:
    """Asks as soon as the traffic lets it, for so many seconds.

    There are so many `callers`, by default more than are ever needed. One that is refused asks again when the
    Retry-After is over. With `random` a call takes half to one and a half times the latency. It arrives after a tenth
    of that, and a refusal is back after two tenths; where the server is `late`, it decides when it answers.
    """

    traffic: Governor
    latency: float
    seconds: float = 60.0
    retry_after: float | None = None
    changes: Sequence[Change] = ()
    callers: float = inf
    random: Random | None = None
    late: bool = False
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: int = 0
    _now: float = 0.0

    def against(self, server: Server) -> Outcomes:
        """Ask a server."""
        outcomes = Outcomes([0] * (int(self.seconds) + 1), [0] * (int(self.seconds) + 1))
        for moment, change in self.changes:
            self._at(moment, change)
        while True:
            wait = self._start_all(server, outcomes)
            self._now = min(self._events[0][0] if self._events else inf, self._now + wait + 1e-9)
            if self._now >= self.seconds:
                return outcomes
            while self._events and self._events[0][0] <= self._now:
                heappop(self._events)[2]()

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        self._number += 1
        heappush(self._events, (moment, self._number, act))

    def _start_all(self, server: Server, outcomes: Outcomes) -> float:
        """Start every call that may be; give the seconds until the next one may."""
        wait = inf
        while self.callers and (wait := self.traffic.wait(self._now)) == 0:
            self.callers -= 1
            self._call(self.traffic.start(self._now), server, outcomes)
        return wait if self.callers else inf

    def _call(self, ticket: Any, server: Server, outcomes: Outcomes) -> None:
        seconds = self.latency * (1.0 if self.random is None else self.random.uniform(0.5, 1.5))
        there = seconds if self.late else seconds / 10

        def arrive() -> None:
            taken = server.takes(self._now)
            left = seconds - there if taken else min(seconds - there, there)
            if taken and isinstance(server, Slots):
                heappush(server.ends, self._now + left)
            self._at(self._now + left, lambda: self._end(ticket, taken, outcomes))

        self._at(self._now + there, arrive)

    def _end(self, ticket: Any, taken: bool, outcomes: Outcomes) -> None:
        (outcomes.accepted if taken else outcomes.refused)[int(self._now)] += 1
        retry_after = None if taken else self.retry_after
        self.traffic.end(ticket, self._now, "answered" if taken else "refused", retry_after=retry_after)
        if retry_after:
            self._at(self._now + retry_after, self._return)
        else:
            self.callers += 1

    def _return(self) -> None:
        self.callers += 1
