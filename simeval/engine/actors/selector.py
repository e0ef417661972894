"""The selector: concludes which of several apps is the best, and asks those no more that are not."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from simeval.core.settings import Settings
from simeval.engine.actors.statistician import Statistician, Tally
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.errors import DefinitionError
from simeval.evaluators.stopping import TrialsNeeded
from simeval.results.selection import range_of
from simeval.stats.elimination import Elimination

SELECTED = "the selection needed no more trials"


class Selector(Statistician):
    """A statistician of scenarios with several apps, by rounds: one trial of each scenario and remaining app.

    Outdone apps are dropped: no more of their trials are needed. It ends when one is left, a scenario of a remaining
    one has ended by itself, or the rounds are used up. Verdicts are those of whole samples, and most are cut short.
    """

    def __init__(self, plans: Sequence[ScenarioPlan], settings: Settings, *, apps: int, **wiring: Any) -> None:
        super().__init__(plans, settings, **wiring)
        evaluators = [[one for each in plan.measures for one in each.evaluators] for plan in plans]
        if not all(any(one.has_outcomes for one in each) for each in evaluators):
            found, do = "a scenario has no requirement with a yes or no for each trial", "require a share of the trials"
            raise DefinitionError("select", found=found, do=f"{do} in each scenario")
        self._size = len(plans) // apps
        rounds = min(plan.sample_size for plan in plans)
        self._contest = Elimination(apps, rounds, alpha=settings.significance_level)
        self._rounds = rounds

    def _trials_needed(self, tally: Tally) -> TrialsNeeded:  # noqa: ARG002
        """Need as many rounds as fill the places in flight."""
        ahead = ceil(self._settings.concurrency / (int(self._contest.left.sum()) * self._size))
        return TrialsNeeded(min(self._rounds, self._contest.rounds + ahead), ends=False)

    def _grant(self, tally: Tally) -> None:  # noqa: ARG002
        self._go_on()
        for each in self._tallies:
            super()._grant(each)

    def _go_on(self) -> None:
        """Process all complete rounds; end dropped apps, and all when it is over."""
        while not self._contest.is_over[0] and all(
            len(tally.judgements) > self._contest.rounds for tally in self._going()
        ):
            self._take_round()
        if self._contest.is_over[0] or any(
            self._is_closed(tally) and len(tally.judgements) <= self._contest.rounds for tally in self._going()
        ):
            self._end(self._tallies)

    def _take_round(self) -> None:
        low, high = np.zeros(self._contest.left.shape), np.ones(self._contest.left.shape)
        for place in np.flatnonzero(self._contest.left[0]):
            found = [self._range(tally) for tally in self._of(int(place))]
            low[0, place], high[0, place] = np.mean(found, axis=0)
        for place in np.flatnonzero(self._contest.push(low, high)[0]):
            self._end(self._of(int(place)))

    def _range(self, tally: Tally) -> tuple[float, float]:
        judgement = tally.judgements[self._contest.rounds]
        return range_of(
            judgement.results, [each.evaluators for each in tally.plan.measures], self._settings.on_app_error
        )

    def _of(self, place: int) -> Sequence[Tally]:
        """Return the scenarios of an app, by its place."""
        return self._tallies[place * self._size : (place + 1) * self._size]

    def _going(self) -> list[Tally]:
        return [tally for place in np.flatnonzero(self._contest.left[0]) for tally in self._of(int(place))]

    def _end(self, tallies: Sequence[Tally]) -> None:
        for tally in tallies:
            if not self._is_closed(tally):
                self._end_early(tally, SELECTED)
