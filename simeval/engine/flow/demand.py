"""The way back through the line: the trials needed, the credits to deal them, and the slots they take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

import anyio

from simeval.core.trial import Trial


@dataclass(slots=True)
class TrialScope:
    """The permission of a trial to go on; if it is withdrawn, the scope around its work is cancelled."""

    cancel_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _is_busy: bool = False
    _is_over: bool = False

    def end(self) -> None:
        """Cancel the work, or see to it that it is cancelled when it can be."""
        self._is_over = True
        if not self._is_busy:
            self.cancel_scope.cancel()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Put an end off until the block is left: for a thread, which cannot be stopped."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False
            if self._is_over:
                self.cancel_scope.cancel()


class TrialSlots:
    """The places in flight that one run has taken of those all runs share."""

    def __init__(self, shared: anyio.Semaphore) -> None:
        self._shared, self.taken = shared, 0
        self._given_back = anyio.Event()

    async def take(self) -> None:
        """Wait for a free place."""
        await self._shared.acquire()
        self.taken += 1

    def give_back(self) -> None:
        """Free one place."""
        self.taken -= 1
        self._shared.release()
        self._given_back.set()
        self._given_back = anyio.Event()

    async def wait_for_one(self) -> None:
        """Wait until a place is given back."""
        await self._given_back.wait()

    def give_back_all(self) -> None:
        """Free every place."""
        while self.taken:
            self.give_back()


class Demand:
    """The demand of a run's end on its beginning; the one thing that stages share.

    The actor that concludes sets how many trials of each scenario can be needed, and gives a slot back for each that
    has come. The dispatcher takes a credit, the right to deal one more trial of a scenario, and a slot for each trial;
    a worker on a trial holds a scope, which ends when the trial is not needed any more.

    `credits` has room for `largest` of them, as many as all scenarios can have trials. Used as a context: left, it
    gives all slots back.
    """

    def __init__(self, scenarios: int, *, largest: int, shared: anyio.Semaphore) -> None:
        self.slots = TrialSlots(shared)
        self._credit, self.credits = anyio.create_memory_object_stream[int](largest)
        self._granted = [0] * scenarios
        self._limits = [0] * scenarios
        self._closed: set[int] = set()
        self._settled: set[tuple[int, int]] = set()
        self._under_way: list[dict[int, list[TrialScope]]] = [{} for _ in range(scenarios)]
        self._preparing: dict[int, anyio.CancelScope] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._credit.close()
        self.credits.close()
        self.slots.give_back_all()

    def grant(self, scenario: int, trials: int) -> None:
        """Need at least this many trials of a scenario. Trials that were needed may be in progress, and stay so."""
        self._limits[scenario] = max(self._limits[scenario], trials)
        while self._granted[scenario] < trials:
            try:
                self._credit.send_nowait(scenario)
            except anyio.BrokenResourceError:  # the run was stopped, and nobody deals any more
                return
            self._granted[scenario] += 1

    def grant_no_more(self) -> None:
        """Close the credits: when those there are have been dealt, the line ends in order."""
        self._credit.close()

    @property
    def is_over(self) -> bool:
        """Whether every scenario is closed."""
        return len(self._closed) == len(self._limits)

    def is_closed(self, scenario: int) -> bool:
        """Return whether a scenario needs no more trials."""
        return scenario in self._closed

    def is_settled(self, scenario: int, place: int) -> bool:
        """Return whether an expectation, by its place in its scenario, needs no more scores."""
        return (scenario, place) in self._settled

    def settle(self, scenario: int, place: int) -> None:
        """Need no more scores of an expectation."""
        self._settled.add((scenario, place))

    def limit(self, scenario: int) -> int:
        """Return how many trials of a scenario can be needed, by present knowledge."""
        return self._limits[scenario]

    def needs(self, scenario: int, index: int) -> bool:
        """Return whether the trial with this index can be needed."""
        return index < self._limits[scenario]

    def end_beyond(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first so many, for good; end those under way that come later."""
        self._limits[scenario] = trials
        for index, scopes in self._under_way[scenario].items():
            if index >= trials:
                for scope in scopes:
                    scope.end()

    def close(self, scenario: int, trials: int) -> None:
        """Need no trials of a scenario but the first `trials`, which have come; after the last one grant no more."""
        self._closed.add(scenario)
        self.end_beyond(scenario, trials)
        if scenario in self._preparing:
            self._preparing[scenario].cancel()
        if self.is_over:
            self.grant_no_more()

    @contextmanager
    def preparing(self, scenario: int) -> Iterator[None]:
        """Hold a scope for the preparation of a scenario; it is cancelled when the scenario is closed."""
        with anyio.CancelScope() as scope:
            self._preparing[scenario] = scope
            if self.is_closed(scenario):
                scope.cancel()
            yield

    @contextmanager
    def scope(self, trial: Trial) -> Iterator[TrialScope]:
        """Hold a scope that is cancelled when the trial is not needed any more."""
        scopes = self._under_way[trial.scenario].setdefault(trial.index, [])
        scope = TrialScope()
        if not self.needs(trial.scenario, trial.index):
            scope.end()
        scopes.append(scope)
        try:
            with scope.cancel_scope:
                yield scope
        finally:
            scopes.remove(scope)
            if not scopes:
                del self._under_way[trial.scenario][trial.index]
