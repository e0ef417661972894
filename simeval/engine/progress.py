"""How far a run has come: one bar for all of it on standard error or, without a bar, a line in the log now and then."""

import logging
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio
from tqdm import tqdm

from simeval.core.logs import LOGGER, log
from simeval.core.usage import Usage
from simeval.engine.plans.budget import show_dollars

BAR_SECONDS = 1.0  # between looks at what stands behind the bar
LINE_SECONDS = 30.0
WINDOW_SECONDS = 120.0  # a rate is that of so long a time
FEWEST_TRIALS = 5  # from which on a rate says something


class _Bar(tqdm):  # type: ignore[type-arg]  # generic in its stubs only
    monitor_interval = 0  # no thread of its own: the bar is redrawn as trials are concluded


@dataclass(slots=True)
class Throughput:
    """How fast trials have been concluded and calls made of late."""

    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)

    def note(self, seconds: float, *, trials: int, calls: int) -> None:
        """Take down how many there are by now, at a time that only grows."""
        self._seen.append((seconds, trials, calls))
        while len(self._seen) > 2 and self._seen[1][0] <= seconds - WINDOW_SECONDS:
            self._seen.popleft()

    @property
    def calls_per_second(self) -> float:
        """The rate of calls; 0 before there are two times to compare."""
        return self._per_second(2)

    def seconds_for(self, trials: int) -> float | None:
        """Say how long so many more trials take; None where too few have come of late, or ever."""
        rate = self._per_second(1)
        return trials / rate if rate and self._seen[-1][1] >= FEWEST_TRIALS else None

    def _per_second(self, place: int) -> float:
        if len(self._seen) < 2:
            return 0.0
        first, last = self._seen[0], self._seen[-1]
        return (last[place] - first[place]) / (last[0] - first[0]) if last[0] > first[0] else 0.0


class Progress:
    """Counts concluded trials; `advance` also takes trials off the total that will not be run."""

    def __init__(self, bar: _Bar, *, writes_lines: bool) -> None:
        self._bar, self._writes_lines = bar, writes_lines
        self._total, self._concluded = int(bar.total or 0), 0

    def advance(self, concluded: int, dropped: int) -> None:
        """Move the bar by `concluded` trials and shorten it by `dropped`."""
        self._concluded += concluded
        self._total -= dropped
        self._bar.total = self._total
        self._bar.update(concluded)

    @asynccontextmanager
    async def watched(self, usage: Callable[[], Usage], in_flight: Callable[[], int]) -> AsyncIterator[None]:
        """Show beside the bar what is spent and how many trials are in flight or, without a bar, write lines.

        A line also estimates how long all trials that are left may take. What is raised inside comes out in an
        exception group.
        """
        async with anyio.create_task_group() as tasks:
            if not self._bar.disable:
                tasks.start_soon(self._keep_the_bar, usage, in_flight)
            elif self._writes_lines:
                pace = Throughput()
                pace.note(anyio.current_time(), trials=self._concluded, calls=usage().calls)
                tasks.start_soon(self._write_lines, usage, pace)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._bar.set_postfix_str(_spent(usage()))  # what stays on the screen is how it ended

    async def _keep_the_bar(self, usage: Callable[[], Usage], in_flight: Callable[[], int]) -> None:
        while True:
            self._bar.set_postfix_str(f"{_spent(usage())}, {in_flight()} in flight")
            await anyio.sleep(BAR_SECONDS)

    async def _write_lines(self, usage: Callable[[], Usage], pace: Throughput) -> None:
        while True:
            await anyio.sleep(LINE_SECONDS)
            used = usage()
            pace.note(anyio.current_time(), trials=self._concluded, calls=used.calls)
            log.info(self._line(used, pace))

    def _line(self, used: Usage, pace: Throughput) -> str:
        left = pace.seconds_for(self._total - self._concluded)
        parts = [
            f"{self._concluded:,} of at most {self._total:,} trials",
            _spent(used),
            f"{_rate(pace.calls_per_second)} calls a second",
            *([] if left is None else [f"about {_time(left)} to go"]),
        ]
        return ", ".join(parts)


@contextmanager
def progress_bar(total: int, *, show: bool | None) -> Iterator[Progress]:
    """Count `total` trials, on a bar where `show` says so, and silently where it is False.

    With None there is a bar where the log shows INFO and standard error is a terminal, and lines in the log elsewhere.
    """
    has_bar = show
    if has_bar is None:
        has_bar = logging.getLogger(LOGGER).isEnabledFor(logging.INFO) and sys.stderr.isatty()
    with _Bar(total=total, unit="trial", disable=not has_bar, file=sys.stderr, dynamic_ncols=True) as bar:
        yield Progress(bar, writes_lines=show is None)


def _spent(used: Usage) -> str:
    cost = "" if used.cost_usd is None else f", {show_dollars(used.cost_usd)}"
    return f"{used.calls:,} calls{cost}"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _time(seconds: float) -> str:
    """Write a time as roughly as it is known."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
