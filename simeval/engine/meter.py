"""The meter: a run's usage, and its time, over all its attempts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from simeval.core.run_records import Heartbeat, ResumableRun
from simeval.core.usage import Ledger, Usage, merged


@dataclass(slots=True)
class Meter:
    """Counts from its creation; `before` is the total of the attempts before this one."""

    ledger: Ledger = field(default_factory=Ledger)
    before: ResumableRun | None = None
    _started: float = field(default_factory=lambda: perf_counter())

    def heartbeat(self) -> Heartbeat:
        """Return the totals of this attempt."""
        return Heartbeat(seconds=perf_counter() - self._started, usage=self.ledger.by_role())

    def seconds(self) -> float:
        """Return the seconds of the whole run."""
        return perf_counter() - self._started + (self.before.seconds if self.before else 0.0)

    def usage(self) -> Mapping[str, Usage]:
        """Return the usage of the whole run, by role."""
        now = self.ledger.by_role()
        return merged(self.before.usage, now) if self.before else now

    def measured(self) -> dict[str, Any]:
        """Return the fields that complete the record of a run at its end."""
        return {"seconds": self.seconds(), "usage": self.usage()}
