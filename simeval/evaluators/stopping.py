"""Running tests: each takes the trials of a scenario in the order dealt, up to the verdict of one requirement.

After each trial it reports whether its verdict is settled, and how far ahead trials may be started: none that no
verdict can need.

    RunningTest ─┬─ FixedSampleTest   a fixed sample: settled when it is complete
                 ├─ SequentialTest    a share: settled at a boundary of an exact sequential design
                 └─ BettingTest       a mean: settled when a bet against it has won enough
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from simeval.core.trial import Chart, Verdict
from simeval.core.validation import require_size
from simeval.evaluators.verdicts import Counts, Ended, mean_verdict, share_verdict
from simeval.stats.betting import Betting, betting_path, lower_bound, upper_bound
from simeval.stats.optimal import OptimalDesign
from simeval.stats.sequential import Boundary, Design, StopRule

if TYPE_CHECKING:
    from simeval.evaluators.base import ShareEvaluator

MOST_POINTS = 8  # of a table, in words

Counted = float | None  # a score; NaN if it is missing; None if the app failed
Taken = Counted | Literal["excluded"]  # or a trial that does not count
EXCLUDED: Literal["excluded"] = "excluded"
EarlyOutcomes = Mapping[int, Taken]  # trials that have come before their turn, by their index


def say_design(plan: Design) -> str:
    """Describe what passes, and at a gate what ends a run without a pass; empty if nothing can pass."""
    said = say_acceptance(plan.pass_points)
    if not said or plan.stop != "gate":
        return said
    if isinstance(plan, OptimalDesign):
        return f"{said}; {_say_endings(plan)}"
    first = f" in {plan.min_trials} or more" if plan.min_trials > 1 else ""
    misses = plan.within[0] + 1
    return (
        f"{said}; {misses} miss{'' if misses == 1 else 'es'}{first} end{'s' if misses == 1 else ''} it without a pass"
    )


def say_acceptance(points: Sequence[tuple[int, int]]) -> str:
    """Describe the points (trials, misses) at which a run passes; empty without any."""
    first = {misses: n for n, misses in reversed(points)}
    said = [f"{'0 misses' if misses == 0 else f'≤ {misses}'} in {n}" for misses, n in sorted(first.items())]
    if len(said) > MOST_POINTS:
        said[MOST_POINTS - 2 : -1] = ["…"]
    return f"passes with {', '.join(said)}" if said else ""


def _say_endings(plan: OptimalDesign) -> str:
    """Describe by which trial so many misses end a run, because a pass has become unlikely."""
    latest = {misses: n for n, misses in plan.end_points}
    said = [f"{misses} in {n}" for misses, n in latest.items()]
    said[-1] = f"{plan.end_points[-1][1]} at any time"
    number, _, rest = said[0].partition(" ")
    said[0] = f"{number} miss{'' if number == '1' else 'es'} {rest}"
    if len(said) > MOST_POINTS:
        said[MOST_POINTS - 2 : -1] = ["…"]
    first = f" (from trial {plan.min_trials} on)" if plan.min_trials > 1 else ""
    return f"ends without a pass at {', '.join(said)}{first}"


@dataclass(frozen=True, slots=True)
class TrialsNeeded:
    """How many trials of a scenario a test can need, and whether it ends the scenario there, without a pass."""

    trials: int
    ends: bool


class RunningTest(ABC):
    """One requirement, tested on at most `n_max` trials. `name` is the requirement in words."""

    needs_full_sample = False  # on all of its trials, whatever becomes of other requirements
    min_trials = 1  # that count, before any verdict; of a sample with fewer, all

    def __init__(self, name: str, n_max: int) -> None:
        require_size(n_max, f"{name}: trials")
        self.name, self.n_max = name, n_max
        self.settled = False
        self.passes = False  # whether it is settled as a pass
        self.taken: list[Counted] = []
        self.excluded: list[int] = []
        self._verdict: Verdict | None = None  # which takes some milliseconds, and is that of a settled test for good

    @property
    def index(self) -> int:
        """The index of the trial that comes next."""
        return len(self.taken) + len(self.excluded)

    @property
    def is_due(self) -> bool:
        """Whether there may be a verdict; before, nothing is known. Excluded trials do not count."""
        return len(self.taken) >= self.min_trials or self.index == self.n_max

    @property
    def misses(self) -> int | None:
        """Return the number of trials that did not meet the requirement; None if trials have no yes or no."""
        return None

    @property
    def allowed(self) -> int | None:
        """Return the most misses that still pass; None if no number passes, or a trial cannot be a miss."""
        return None

    @property
    def strain(self) -> float:
        """Return the share of its tolerance that it has used."""
        return 0.0 if self.misses is None or self.allowed is None else self.misses / (self.allowed + 1)

    def take(self, outcome: Taken) -> None:
        """Take the next trial, unless the verdict is settled."""
        if self.settled:
            return
        if outcome == EXCLUDED:
            self.excluded.append(self.index)
        else:
            self.taken.append(outcome)
            self.advance(outcome)
        self.settled = self.settled or self.index == self.n_max or self.is_dead_end()

    def is_dead_end(self) -> bool:
        """Return whether the test ends here because no pass can be reached any more."""
        has_none = not self.taken and self.index >= self.min_trials  # all are excluded: no verdict to wait for
        return (self.is_due or has_none) and self.trials_needed({}).ends

    def verdict(self) -> Verdict:
        """Return the verdict on the trials so far; a test that is not settled was cut short."""
        if self._verdict is None or not self.settled:
            ended: Ended = "full" if self.index == self.n_max else "boundary" if self.settled else "cut"
            self._verdict = replace(self.conclude(ended), evaluator=self.name, left_out=len(self.excluded))
        return self._verdict

    def so_far(self, evaluate: Callable[..., Verdict]) -> Verdict:
        """Return the state to show while the test goes on; `evaluate` is the test of a fixed sample."""
        scores = [score for score in self.taken if score is not None]
        return evaluate(scores, misses=len(self.taken) - len(scores))

    def advance(self, outcome: Counted) -> None:  # noqa: B027  (a fixed sample has nothing to weigh)
        """Weigh the last trial, and settle the verdict if that is enough."""

    @abstractmethod
    def trials_needed(self, later: EarlyOutcomes) -> TrialsNeeded:
        """Return how many trials an unsettled test can need, given the early outcomes."""

    def first_look(self, later: EarlyOutcomes) -> int:
        """Return the trial after which there may be a verdict, if the unknown ones count."""
        counted = [index + 1 for index in range(self.index, self.n_max) if later.get(index) != EXCLUDED]
        return [*counted, self.n_max][min(max(self.min_trials - len(self.taken) - 1, 0), len(counted))]

    @abstractmethod
    def conclude(self, ended: Ended) -> Verdict:
        """Return the verdict on the trials so far."""

    def acceptance(self) -> str:
        """Describe what passes, before the first trial; empty without a table."""
        return ""


class FixedSampleTest(RunningTest):
    """A test that needs its whole sample. Trials it did not get count as missing."""

    needs_full_sample = True

    def __init__(
        self,
        name: str,
        n_max: int,
        evaluate: Callable[..., Verdict],
        *,
        meets: Callable[[float], bool] | None = None,
        most_misses: int = -1,
    ) -> None:
        super().__init__(name, n_max)
        self._evaluate, self._meets, self._most_misses = evaluate, meets, most_misses

    @property
    def misses(self) -> int | None:
        meets = self._meets
        return None if meets is None else sum(is_met(outcome, meets) is not True for outcome in self.taken)

    @property
    def allowed(self) -> int | None:
        return self._most_misses if self._most_misses >= 0 else None

    def trials_needed(self, later: EarlyOutcomes) -> TrialsNeeded:  # noqa: ARG002
        return TrialsNeeded(self.n_max, ends=False)

    def conclude(self, ended: Ended) -> Verdict:  # noqa: ARG002
        scores = [score for score in self.taken if score is not None]
        lost = [nan] * (self.n_max - self.index)
        verdict = self._evaluate([*scores, *lost], misses=len(self.taken) - len(scores))
        if self._meets is None:
            return verdict
        return replace(
            verdict,
            chart=Chart(
                n_max=self.n_max,
                stop="never",
                met=tuple(is_met(outcome, self._meets) for outcome in self.taken),
                pass_at=((self.n_max, self._most_misses),) if self._most_misses >= 0 else (),
                excluded=tuple(self.excluded),
            ),
        )

    def acceptance(self) -> str:
        return say_acceptance([(self.n_max, self._most_misses)]) if self._most_misses >= 0 else ""


class SequentialTest(RunningTest):
    """A test of a share that stops at a boundary.

    Two sequences walk the design: in one missing trials are bad, and it may pass; in the other they are good, and it
    may fail. So both error rates hold whatever made trials missing.
    """

    def __init__(self, name: str, plan: Design, rule: "ShareEvaluator", method: str) -> None:
        super().__init__(name, plan.n_max)
        self.min_trials = plan.min_trials
        self._plan, self._rule, self._method = plan, rule, method
        self._met: list[bool | None] = []
        self._worst = _Walker(plan, missing_is_good=False)
        self._best = _Walker(plan, missing_is_good=True)

    @property
    def misses(self) -> int:
        return self._worst.failures

    @property
    def allowed(self) -> int | None:
        return int(self._plan.pass_at.max()) if self._plan.can_pass else None

    def advance(self, outcome: Counted) -> None:
        met = is_met(outcome, self._rule.meets)
        self._met.append(met)
        self._worst.step(met)
        self._best.step(met)
        worst, best = self._worst.ending, self._best.ending
        self.passes = worst == "pass"
        if self._plan.stop == "gate":
            self.settled = worst is not None
        else:
            self.settled = self.passes or best == "bad" or (worst is not None and best is not None)

    def trials_needed(self, later: EarlyOutcomes) -> TrialsNeeded:
        trials, ending = self._look_ahead(self._worst, later, unknown=True)
        if ending != "pass" and self._plan.stop == "verdict":
            trials, _ = self._look_ahead(self._best, later, unknown=False)
        ends = ending != "pass" and self._plan.stop == "gate"
        if ends and self._look_ahead(self._worst, {}, unknown=True)[1] != "pass":
            trials = self.first_look(later)
        return TrialsNeeded(trials, ends=ends)

    def conclude(self, ended: Ended) -> Verdict:
        """Conclude stage-wise; the trials that a cut-short run did not reach count against both sides."""
        plan, rule = self._plan, self._rule
        worst, best = ((each.n, each.failures) if self.is_due else (0, 0) for each in (self._worst, self._best))
        for_pass = plan.infer(*plan.completed(*worst, good=False))
        for_fail = plan.infer(*plan.completed(*best, good=True))
        estimate, interval = rule.summarise(self.taken, plan, (for_pass.interval[0], for_fail.interval[1]))
        good, bad, missing = (self._met.count(met) for met in (True, False, None))
        verdict = share_verdict(
            Counts(good=good, bad=bad, missing=missing, crashes=self.taken.count(None)),
            evidence=(for_pass.p_pass, for_fail.p_fail),
            bar=rule.required_share,
            alpha=rule.alpha,
            method=self._method,
            estimate=estimate,
            interval=interval,
            ended=ended,
            n_max=plan.n_max,
            least=rule.minimum_trials(),
            is_open=plan.is_open,
            chance_left=self._chance_left() if ended == "boundary" else None,
        )
        return replace(
            verdict,
            chart=Chart(
                n_max=plan.n_max,
                stop=plan.stop,
                met=tuple(self._met),
                pass_at=tuple(plan.pass_points),
                fail_at=tuple(plan.fail_points),
                end_at=tuple(plan.end_points) if isinstance(plan, OptimalDesign) else (),
                excluded=tuple(self.excluded),
            ),
        )

    def acceptance(self) -> str:
        return say_design(self._plan)

    def _chance_left(self) -> float | None:
        """Return the chance a pass still had if that ended the run; None if something else did."""
        if isinstance(self._plan, OptimalDesign) and self._worst.ending == "bad":
            return self._plan.chance_left(self._worst.n, self._worst.failures)
        return None

    def _look_ahead(self, walker: "_Walker", later: EarlyOutcomes, *, unknown: bool) -> tuple[int, Boundary | None]:
        """Walk on to an ending, as if each trial that is not known were good, or bad."""
        if not later and unknown and walker.ending is None and self._plan.may_pass(walker.n, walker.failures):
            trials = len(self.excluded) + self._plan.launch_limit(walker.n, walker.failures)
            return (trials, "pass") if trials <= self.n_max else (self.n_max, None)
        walker = replace(walker)
        for index in range(self.index, self.n_max):
            if index not in later:
                walker.step(unknown)
            elif (outcome := later[index]) != EXCLUDED:
                walker.step(is_met(outcome, self._rule.meets))
            if walker.ending is not None:
                return index + 1, walker.ending
        return self.n_max, None


class BettingTest(RunningTest):
    """A test of a mean that bets on it after each trial, and against it; no bet is settled before `min_trials`.

    A trial without a score counts as the worst one in the test of a pass and as the best in the test of a fail. With
    stop "gate" it is also settled when even the best scores for all trials left would not make a pass.
    """

    def __init__(
        self,
        name: str,
        n_max: int,
        bar: float,
        *,
        at_least: bool,
        bounds: tuple[float, float],
        alpha: float,
        stop: StopRule,
        min_trials: int,
    ) -> None:
        super().__init__(name, n_max)
        self._sign, self._bounds, self._alpha, self._stop = 1 if at_least else -1, bounds, alpha, stop
        self.min_trials = min(min_trials, n_max)
        self._bar = self._sign * bar
        self._low, self._high = sorted(self._sign * bound for bound in bounds)
        self._above = Betting(self._bar, bounds=(self._low, self._high), alpha=alpha, n_max=n_max)
        self._below = Betting(-self._bar, bounds=(-self._high, -self._low), alpha=alpha, n_max=n_max)

    def advance(self, outcome: Counted) -> None:
        self._above.push(self._value(outcome, self._low))
        self._below.push(-self._value(outcome, self._high))
        if not self.is_due:
            return
        self.passes = self._above.p_value <= self._alpha
        self.settled = self.passes or self._below.p_value <= self._alpha

    def trials_needed(self, later: EarlyOutcomes) -> TrialsNeeded:
        best = self._sign * self._high
        ahead = {index: later.get(index, best) for index in range(self.index, self.n_max)}
        counted = {index: outcome for index, outcome in ahead.items() if outcome != EXCLUDED}
        values = [self._value(outcome, self._low) for outcome in [*self.taken, *counted.values()]]
        path = betting_path(values, self._bar, bounds=(self._low, self._high), alpha=self._alpha, n_max=self.n_max)
        proven = np.maximum.accumulate(path)[len(self.taken) :] * self._alpha >= 1
        first, wins = self.first_look(later), [index + 1 for index, won in zip(counted, proven, strict=True) if won]
        at_gate, is_lost = self._stop == "gate", self._below.p_value <= self._alpha
        if wins and not is_lost:
            return TrialsNeeded(max(first, wins[0]), ends=False)
        is_lost = is_lost or (at_gate and (not later or self.trials_needed({}).ends))
        return TrialsNeeded(first if is_lost else self.n_max, ends=at_gate)

    def conclude(self, ended: Ended) -> Verdict:
        low, high = self._bounds
        scores = [score for score in self.taken if score is not None and not isnan(score)]
        lost = len(self.taken) - len(scores)
        known = self.taken if self.is_due else []
        return mean_verdict(
            scores,
            lost,
            evidence=(self._above.p_value, self._below.p_value) if self.is_due else (1.0, 1.0),
            interval=(
                lower_bound(filled(known, low), self._alpha, bounds=self._bounds, n_max=self.n_max),
                upper_bound(filled(known, high), self._alpha, bounds=self._bounds, n_max=self.n_max),
            ),
            alpha=self._alpha,
            method="test by betting (proven; holds however the run is stopped), betting interval",
            ended=ended,
        )

    def _value(self, outcome: Counted, lost: float) -> float:
        return lost if outcome is None or isnan(outcome) else self._sign * outcome


@dataclass(slots=True)
class _Walker:
    """A sequence of good and bad trials on its way through a design, until it ends there."""

    plan: Design
    missing_is_good: bool
    n: int = 0
    failures: int = 0
    ending: Boundary | None = None

    def step(self, met: bool | None) -> None:
        if self.ending is None:
            self.n += 1
            self.failures += not (self.missing_is_good if met is None else met)
            self.ending = self.plan.ending(self.n, self.failures)


def is_met(outcome: Counted, meets: Callable[[float], bool]) -> bool | None:
    """Return whether a trial is good: never if the app failed, None if it is missing."""
    if outcome is None:
        return False
    return None if isnan(outcome) else bool(meets(outcome))


def filled(taken: Sequence[Counted], lost: float) -> list[float]:
    """Return the scores, with `lost` in the place of trials that have none."""
    return [lost if score is None or isnan(score) else score for score in taken]
