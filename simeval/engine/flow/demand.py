"""Which trials can still be needed, and how those under way are ended when they no longer are."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from simeval.core.trial import Trial


@dataclass(slots=True)
class TrialScope:
    """The permission of a trial to go on; where it is taken away, the scope around its work is cancelled."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _is_busy: bool = False
    _is_over: bool = False

    def end(self) -> None:
        """Cancel the work, or see to it that it is cancelled when it can be."""
        self._is_over = True
        if not self._is_busy:
            self.scope.cancel()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Put an end off until the block is left: for a thread, which cannot be stopped."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
            if self._is_over:
                self.scope.cancel()


class Demand:
    """How many trials of each scenario can be needed.

    `closed` are the scenarios that need no more; `settled` the expectations, each by its scenario and its place,
    that need no more scores.
    """

    def __init__(self, scenarios: int) -> None:
        self.closed: set[int] = set()
        self.settled: set[tuple[int, int]] = set()
        self._limits = [0] * scenarios
        self._under_way: list[dict[int, list[TrialScope]]] = [{} for _ in range(scenarios)]

    def needs(self, scenario: int, index: int) -> bool:
        """Return whether the trial with this index can be needed."""
        return index < self._limits[scenario]

    def raise_limit(self, scenario: int, trials: int) -> None:
        """Need at least this many trials of a scenario. What has been needed may be under way, and stays so."""
        self._limits[scenario] = max(self._limits[scenario], trials)

    def end_beyond(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first so many, for good; end those under way that come later."""
        self._limits[scenario] = trials
        for index, stays in self._under_way[scenario].items():
            if index >= trials:
                for stay in stays:
                    stay.end()

    def close(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first `trials`, which have come."""
        self.closed.add(scenario)
        self.end_beyond(scenario, trials)

    @contextmanager
    def stay(self, trial: Trial) -> Iterator[TrialScope]:
        """Hold a scope that is cancelled when the trial is not needed any more."""
        stays = self._under_way[trial.scenario].setdefault(trial.index, [])
        stay = TrialScope()
        if not self.needs(trial.scenario, trial.index):
            stay.end()
        stays.append(stay)
        try:
            with stay.scope:
                yield stay
        finally:
            stays.remove(stay)
            if not stays:
                del self._under_way[trial.scenario][trial.index]


def opening_round(limits: Sequence[int]) -> list[int]:
    """Return scenarios in the order in which their first trials are dealt: one of each, again and again."""
    return [position for index in range(max(limits)) for position, limit in enumerate(limits) if index < limit]
