"""Whether a suite notices mutants: paired trials, an exact test for each requirement, and the end of a pair of arms.

unchanged app, all its trials ──► mutants that would alter one of them, a trial each ──► until noticed, or to the end

Hypothesis of a mutant and a requirement: a trial that only the mutant fails is at most as likely as one that only the
unchanged app fails, given all trials before. The e-value is the likelihood ratio of BET to 1/2 over the discordant
pairs; its p-value (1 / the largest so far) holds whenever the trials end, so Holm's correction may be applied to it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log
from typing import Any

import numpy as np

from simeval.core.conversation import Conversation
from simeval.core.setting_field import OnAppError
from simeval.core.settings import Settings
from simeval.core.trial import Failure, Score, TrialResult
from simeval.engine.actors.statistician import Statistician, Tally
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.engine.users.state import ENDINGS, takes_leave
from simeval.evaluators.base import Evaluator
from simeval.evaluators.stopping import TrialsNeeded
from simeval.extras.mutate.mutants import MARK, Mutant
from simeval.stats.evalues import likelihood_ratio, running_p_values

BET = 0.95  # of a discordant pair to be the mutant's failure, under the alternative
SPARE = 2  # trials more than prove a mutant that every one of them notices
NOTICED = "the mutant is noticed"
NOT_APPLIED = "the mutant would change none of these conversations"


def least_trials(hypotheses: int, alpha: float) -> int:
    """Return the fewest trials that prove one of so many hypotheses, if a mutant fails all of them."""
    return ceil(log(max(1, hypotheses) / alpha) / log(2 * BET))


def p_value(signs: Sequence[int]) -> float:
    """Return the p-value of pairs in the order of their trials: 1 where only the mutant fails, -1 the contrary."""
    discordant = np.array([sign > 0 for sign in signs if sign])
    if not discordant.size:
        return 1.0
    path = likelihood_ratio(np.cumsum(discordant), np.cumsum(~discordant), 0.5, BET)
    return float(running_p_values(path)[-1])


def is_met(result: Score | Failure, rule: Evaluator, on_app_error: OnAppError) -> bool | None:
    """Return whether a trial is on the good side of a requirement, of one on a mean, too; None if it is missing."""
    if isinstance(result, Failure):
        return False if result.is_miss(leaves_out_crashes=on_app_error == "exclude") else None
    return rule.meets(result.value)


def sign_of(before: Score | Failure, after: Score | Failure, rule: Evaluator, on_app_error: OnAppError) -> int | None:
    """Return 1 if only the second misses a requirement, -1 if only the first does, else 0; None if one is missing."""
    was, now = (is_met(each, rule, on_app_error) for each in (before, after))
    return None if was is None or now is None else int(was) - int(now)


def is_altered(before: Conversation, after: Conversation) -> bool:
    """Return whether a mutant altered a conversation, compared with that of the unchanged app in the same trial."""
    marks = [(each, each.metadata[MARK]) for each in after.responses if MARK in each.metadata]
    if any("seconds" in mark for _, mark in marks):
        return True
    return bool(marks) and _said(before) != _said(after)


def _said(conversation: Conversation) -> list[tuple[str, Sequence[Any]]]:
    return [(each.content, each.tool_calls) for each in conversation.messages]


@dataclass(frozen=True, slots=True)
class Extent:
    """Trials, and their `steps`, which models' calls grow with."""

    trials: int = 0
    steps: float = 0.0

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(self.trials + other.trials, self.steps + other.steps)


class Watch(Statistician):
    """A statistician of scenarios with an app and its mutants, which come after all trials of the unchanged app.

    A mutant that would alter none of a scenario's conversations is not asked there, and one that a requirement notices
    is asked no more there. All have one trial before any has a second one, since conversations may be shorter with
    mutants. `on_outlook` gets the trials before and those to come twice: before the first of them, and after it.
    """

    def __init__(
        self,
        plans: Sequence[ScenarioPlan],
        settings: Settings,
        *,
        apps: int,
        mutants: Sequence[Mutant],
        on_outlook: Callable[[Extent, Extent], None],
        **wiring: Any,
    ) -> None:
        super().__init__(plans, replace(settings, fail_fast=False), **wiring)
        self._size, self._mutants, self._on_outlook = len(plans) // apps, mutants, on_outlook
        count = hypotheses(plans[: self._size], len(mutants))
        self._level = settings.significance_level / max(1, count)
        self._least = least_trials(count, settings.significance_level)
        self._going: list[Tally] = []  # of mutants, once they have begun
        self._most: float = 0  # trials of each of them for now

    @property
    def _unchanged(self) -> Sequence[Tally]:
        return self._tallies[: self._size]

    def _is_mutated(self, tally: Tally) -> bool:
        return tally.plan.position >= self._size

    def _base(self, tally: Tally) -> Tally:
        return self._unchanged[tally.plan.position % self._size]

    def _trials_needed(self, tally: Tally) -> TrialsNeeded:
        """Need all trials of the unchanged app, none of a mutant before them, and then one of each."""
        most = self._most if self._is_mutated(tally) else inf
        return TrialsNeeded(int(min(most, tally.plan.sample_size)), ends=False)

    def _grant(self, tally: Tally) -> None:
        super()._grant(tally)
        if self._is_mutated(tally) and not self._is_closed(tally) and self._is_noticed(tally):
            self._end_early(tally, NOTICED)
        self._go_on()

    def _end_early(self, tally: Tally, why: str) -> None:
        super()._end_early(tally, why)
        self._go_on()

    def _close(self, tally: Tally) -> None:
        super()._close(tally)
        self._go_on()

    def _go_on(self) -> None:
        """Begin with the mutants once the unchanged app has had all its trials; go on once each has had its first."""
        if self._stop.reason or self._most == inf:
            return
        if not self._most and all(map(self._is_closed, self._unchanged)):
            self._begin()
        elif self._most and all(each.judgements or self._is_closed(each) for each in self._going):
            self._deal(inf, [each for each in self._going if each.judgements])

    def _begin(self) -> None:
        """Ask the mutants once that would alter anything; none if the unchanged app never answered."""
        others: list[Tally] = []
        for tally in (each for each in self._tallies[self._size :] if not self._is_closed(each)):
            mutant = self._mutants[tally.plan.position // self._size - 1]
            applies = any(mutant.applies(each.conversation) for each in self._base(tally).judgements)
            (self._going if applies and not self._unanswered.said else others).append(tally)
        self._deal(1, self._unchanged)
        for tally in others:
            self._end_early(tally, self._unanswered.said or NOT_APPLIED)

    def _deal(self, most: float, before: Sequence[Tally]) -> None:
        """Ask the mutants so often, and foretell all that is left from the trials before."""
        self._most = most
        going = [each for each in self._going if not self._is_closed(each)]
        if going:
            seen = [_extent(each.judgements) for each in before]
            self._on_outlook(sum(seen, Extent()), sum(map(self._left, going), Extent()))
        for tally in going:
            self._demand.grant(tally.plan.position, self._trials_needed(tally).trials)

    def _left(self, tally: Tally) -> Extent:
        """Return what is left of a mutant: to the end, or until it is noticed if its first trial is a failure.

        Each is as long as that of the unchanged app, with its first one's change.
        """
        base, had = self._base(tally).judgements, tally.judgements
        end = self._least if any(1 in each for each in self._pairs(tally)) else tally.plan.sample_size
        trials = max(0, min(end, tally.plan.sample_size) - len(had))
        change = _extent(had).steps / _extent(base[: len(had)]).steps if had else 1.0
        each = _extent(base)
        return Extent(trials, trials * change * each.steps / max(1, each.trials))

    def _is_noticed(self, tally: Tally) -> bool:
        return any(p_value([sign or 0 for sign in each]) <= self._level for each in self._pairs(tally))

    def _pairs(self, tally: Tally) -> Iterator[list[int | None]]:
        rules = [each.evaluators for each in tally.plan.measures]
        return signs(self._base(tally).judgements, tally.judgements, rules, self._settings.on_app_error)


def _extent(judgements: Sequence[TrialResult]) -> Extent:
    return Extent(len(judgements), sum(_steps(each.conversation) for each in judgements))


def _steps(talk: Conversation) -> int:
    """Return the answers, and one for the user who read the last of them and left silently, and one for the judge."""
    left = talk.ended in ENDINGS.values() and not any(map(takes_leave, talk.messages))
    return len(talk.responses) + left + 1


def hypotheses(plans: Sequence[ScenarioPlan], mutants: int) -> int:
    """Return how many pairs of a mutant and a requirement there are."""
    return mutants * sum(len(each.evaluators) for plan in plans for each in plan.measures)


def signs(
    before: Sequence[TrialResult],
    after: Sequence[TrialResult],
    evaluators: Sequence[Sequence[Evaluator]],
    on_app_error: OnAppError,
) -> Iterator[list[int | None]]:
    """Yield the signs of the pairs of trials, by each evaluator of each expectation."""
    for place, rules in enumerate(evaluators):
        pairs = [(old.results[place], new.results[place]) for old, new in zip(before, after, strict=False)]
        for rule in rules:
            yield [sign_of(old, new, rule, on_app_error) for old, new in pairs]
