"""How fast a run goes, and how its times and rates are written."""

from collections import deque
from dataclasses import dataclass, field

from simeval.core.usage import Usage
from simeval.engine.plans.budget import show_dollars

WINDOW_SECONDS = 120.0  # a rate is that of so long a time
FEWEST_TRIALS = 5  # the least number for a meaningful rate


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


def show_calls(used: Usage) -> str:
    """Write how many calls there were, and their cost."""
    cost = "" if used.cost_usd is None else f", {show_dollars(used.cost_usd)}"
    return f"{used.calls:,} calls{cost}"


def show_rate(rate: float) -> str:
    """Write how many there are a second."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def show_time(seconds: float) -> str:
    """Write a time as roughly as it is known."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
