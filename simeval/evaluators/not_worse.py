"""Comparisons: a requirement is met no less often than by another run, or app, but for a margin.

Each trial is paired, by its seed, with one of another run or another app.

A pair is known when the trial of this run is: that of the other side was there before. So two walks go through a
`PairedDesign`: in one each missing outcome counts as a loss, and it may find "not worse"; in the other it counts as a
gain, and it may find "worse". Both error rates hold whatever made trials missing.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import nan
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.setting_field import EarlyStopping, StopAt
from simeval.core.settings import MARGIN
from simeval.core.terminal import say_p, show_shares
from simeval.core.trial import Bar, Chart, Reason, Verdict
from simeval.core.validation import require, require_share
from simeval.evaluators.base import Cut, Evaluator
from simeval.evaluators.stopping import EXCLUDED, Counted, EarlyOutcomes, RunningTest, Taken, TrialsNeeded, is_met
from simeval.evaluators.verdicts import NO_TIME, Ended, decide
from simeval.stats.paired import paired_difference_interval
from simeval.stats.paired_open import OpenPairedDesign, pairs_evalue, smallest_difference
from simeval.stats.paired_sequential import MOST_PAIRS, PairedDesign, look_times, paired_design

Met = bool | None  # whether a trial met the requirement; None if it is missing
SEQUENTIAL = "exact group-sequential test of pairs (a look every {step}, spending (n/{n_max})^2 of the level), Tango"
OPEN = "test of pairs by betting (proven; holds however the run is stopped)"
WHOLE = "exact unconditional test of {n_max} pairs, Tango"

OUTCOMES: dict[str, Met] = {"+": True, "-": False, "?": None}


@dataclass(frozen=True, slots=True, eq=False)
class OtherApp:
    """An app that is asked in the trials of a run beside that run's own.

    `outcomes` are its results by trial number; each is there before the run's own outcome is.
    """

    handler: object
    outcomes: dict[int, Met] = field(default_factory=dict)


class PairedTest(RunningTest):
    """A test of pairs that stops when one of its two findings is proven.

    `before` are the outcomes of the other side, `run_id`, by the places of its trials. They may come as the run goes
    on; one that is absent when its trial is counted is missing. It also ends when the pairs that are left can prove
    neither. That "not worse" alone cannot be proven any more does not end it: to prove a loss takes few pairs then.
    """

    def __init__(
        self,
        name: str,
        plan: PairedDesign | OpenPairedDesign,
        before: Mapping[int, Met],
        *,
        meets: Callable[[float], bool],
        run_id: str,
    ) -> None:
        super().__init__(name, plan.n_max)
        self._plan, self._before, self._meets, self._run_id = plan, before, meets, run_id
        self.min_trials = plan.looks[0]
        self.needs_full_sample = len(plan.looks) == 1
        self._met: list[Met] = []
        self._pairs: list[tuple[Met, Met]] = []
        self._worst, self._best = _Walk(plan, worse=False), _Walk(plan, worse=True)

    def advance(self, outcome: Counted) -> None:
        met, before = is_met(outcome, self._meets), self._before.get(self.index - 1)
        self._met.append(met)
        self._pairs.append((before, met))
        self._worst.step(*_against(before, met))
        self._best.step(*_in_favour(before, met))
        self.passes = self._worst.has_stopped
        self.settled = self.passes or self._best.has_stopped

    def take(self, outcome: Taken) -> None:
        is_last = not self.settled and self.index == self.n_max - 1
        super().take(outcome)
        if is_last and self.needs_full_sample and self.excluded and self._pairs:
            self._look_at_fewer()

    def _look_at_fewer(self) -> None:
        """Look at the pairs of a whole sample that count, by a design of so many: that of all has no look there."""
        n = len(self._pairs)
        self._plan = plan = paired_design(n, (n,), margin=self._plan.margin, alpha=self._plan.alpha)
        self._worst, self._best = _Walk(plan, worse=False), _Walk(plan, worse=True)
        for pair in self._pairs:
            self._worst.step(*_against(*pair))
            self._best.step(*_in_favour(*pair))
        self.passes = self._worst.has_stopped

    def trials_needed(self, later: EarlyOutcomes) -> TrialsNeeded:
        if self.needs_full_sample:
            return TrialsNeeded(self.n_max, ends=False)
        passes_at = self._earliest(self._worst, later, _against, unknown=True)
        fails_at = self._earliest(self._best, later, _in_favour, unknown=False)
        if passes_at is None and fails_at is None:
            is_over = not later or self.trials_needed({}).ends  # otherwise over once the early outcomes are in order
            known = 0 if is_over else max(later) + 1
            return TrialsNeeded(max(self.first_look(later), known), ends=True)
        return TrialsNeeded(min(at for at in (passes_at, fails_at, self.n_max) if at is not None), ends=False)

    def conclude(self, ended: Ended) -> Verdict:
        """Conclude by stages; outcomes that might still have come count against both findings."""
        plan, pairs = self._plan, self._pairs
        if plan.is_open:
            p_not_worse, p_worse = self._worst.least, self._best.least
        else:
            p_not_worse = self._completed(self._worst, _against, now=False)
            p_worse = self._completed(self._best, _in_favour, now=True)
        outcome = decide(p_not_worse, p_worse, plan.alpha)
        known = [(old, new) for old, new in pairs if old is not None and new is not None]
        gains, losses = known.count((False, True)), known.count((True, False))
        reason, explanation, why = self._explain(outcome == "fail", p_worse, ended)
        return Verdict(
            outcome=outcome,
            evaluator=self.name,
            method=self._method(),
            n=len(pairs),
            significance_level=plan.alpha,
            p_value=p_not_worse,
            p_value_fail=p_worse,
            estimate=(gains - losses) / len(known) if known else None,
            confidence_interval=self._interval(),
            missing=len(pairs) - len(known),
            reason="" if outcome == "pass" else reason,
            explanation=self._seen() if outcome == "pass" else explanation,
            why="" if outcome == "pass" else why,
            against=self._run_id,
            margin=plan.margin,
            shares=_shares(known),
            chart=Chart(
                n_max=self.n_max,
                stop="never" if self.needs_full_sample else "verdict",
                met=tuple(self._met),
                excluded=tuple(self.excluded),
            ),
        )

    def _method(self) -> str:
        kind = OPEN if self._plan.is_open else WHOLE if self.needs_full_sample else SEQUENTIAL
        return kind.format(step=self._plan.looks[0], n_max=self.n_max)

    def so_far(self, evaluate: Callable[..., Verdict]) -> Verdict:  # noqa: ARG002
        return self.conclude("cut")

    def _seen(self) -> str:
        """Say how many pairs ended differently."""
        gains, losses = (self._pairs.count(pair) for pair in ((False, True), (True, False)))
        lost = sum(None in pair for pair in self._pairs)
        more = f", {lost} lack a side" if lost else ""
        return f"of {len(self._pairs)} pairs {losses} got worse and {gains} better{more}"

    def acceptance(self) -> str:
        plan = self._plan
        looks = enumerate(plan.looks)
        first = next((n for place, n in looks if plan.proves(plan.p_not_worse(place, 0, 0), place)), None)
        often = "" if self.needs_full_sample else f", looking every {plan.looks[0]}"
        often = ", looking after each" if plan.is_open else often
        said = f"no loss in {first} of at most {plan.n_max} pairs proves it{often}"
        return said if first else f"{plan.n_max} pairs cannot prove it even without any loss"

    def _interval(self) -> tuple[float, float]:
        if self._plan.is_open:
            alpha, worst, best = self._plan.alpha, self._worst, self._best
            least = smallest_difference(worst.gains, worst.losses, worst.n, alpha=alpha)
            return least, -smallest_difference(best.losses, best.gains, best.n, alpha=alpha)
        counts = []
        for filled in (_against, _in_favour):
            pairs = [filled(*pair) for pair in self._pairs]
            new, old, both = (pairs.count(pair) for pair in ((False, True), (True, False), (True, True)))
            counts.append((both, new, old, len(pairs) - both - new - old))
        low, high = (paired_difference_interval(*four, alpha=self._plan.alpha) for four in counts)
        return low[0], high[1]

    def _earliest(self, walk: "_Walk", later: EarlyOutcomes, filled: "_Filling", *, unknown: bool) -> int | None:
        """Return the earliest trial after which a walk may stop, if each unknown outcome is `unknown`.

        An unknown outcome of the other side is the contrary.
        """
        walk = replace(walk)
        for index in range(self.index, self.n_max):
            if (outcome := later.get(index, 0.0)) == EXCLUDED:
                continue
            met = is_met(outcome, self._meets) if index in later else unknown
            walk.step(*filled(self._before.get(index, not unknown), met))
            if walk.has_stopped:
                return index + 1
        return None

    def _completed(self, walk: "_Walk", filled: "_Filling", *, now: bool) -> float:
        """Return the p-value that a walk comes to where each trial that is left is `now`."""
        walk = replace(walk)
        for index in range(self.index, self.n_max):
            walk.step(*filled(self._before.get(index), now))
        return walk.p_value

    def _explain(self, is_worse: bool, p_worse: float, ended: Ended) -> tuple[Reason, str, str]:
        seen, n_max = self._seen(), self._plan.n_max
        points = f"{100 * self._plan.margin:.4g} percentage points"
        if is_worse:
            return "proven_below", f"{seen}: an app that is no worse gives so bad a result with {say_p(p_worse)}", ""
        if self.acceptance().startswith(f"{n_max} pairs cannot"):
            why = f"{self.acceptance()}; take more samples, in both runs, or a greater margin"
            return "never_possible", f"{seen}; {why}", why
        if ended == "cut":
            return "scenario_settled", f"{seen} when its trials ended, before it was found to be worse or not", NO_TIME
        if ended == "boundary":
            why = (
                f"with at most {n_max} pairs neither a loss nor that it is less than {points} can be proven any more, "
                "so the run stopped"
            )
            return "pass_unreachable", f"{seen}: {why}", why
        why = f"proves neither a loss nor that it is less than {points}; more pairs are needed"
        return "budget_exhausted", f"{seen}, which {why}", f"that {why}"


_Filling = Callable[[Met, Met], tuple[bool, bool]]


def _shares(pairs: Sequence[tuple[bool, bool]]) -> tuple[float, float] | None:
    """Return the share of pairs that met the requirement on the other side, and on this one."""
    if not pairs:
        return None
    return sum(old for old, _ in pairs) / len(pairs), sum(new for _, new in pairs) / len(pairs)


def _against(before: Met, now: Met) -> tuple[bool, bool]:
    """Return a pair with a missing outcome counted as a loss."""
    return before is not False, now is True


def _in_favour(before: Met, now: Met) -> tuple[bool, bool]:
    """Return a pair with a missing outcome counted as a gain."""
    return before is True, now is not False


@dataclass(slots=True)
class _Walk:
    """A sequence of pairs on its way to one of the two findings, `worse` or not worse, until it stops there."""

    plan: PairedDesign | OpenPairedDesign
    worse: bool
    n: int = 0
    gains: int = 0
    losses: int = 0
    look: int = 0  # which comes next
    p_value: float = 1.0  # at the last look
    least: float = 1.0  # of all looks
    has_stopped: bool = False

    def step(self, before: bool, now: bool) -> None:
        if self.has_stopped:
            return
        self.n += 1
        self.gains += now and not before
        self.losses += before and not now
        if self.n == self.plan.looks[self.look]:
            p_of = self.plan.p_worse if self.worse else self.plan.p_not_worse
            self.p_value = p_of(self.look, self.gains, self.losses)
            self.least = min(self.least, self.p_value)
            self.has_stopped = self.plan.proves(self.p_value, self.look)
            self.look += self.n < self.plan.n_max


@dataclass(frozen=True, kw_only=True)
class NotWorseEvaluator(Evaluator):
    """Requires that the share of trials which meet `requirement` is no smaller than in another run, but for a margin.

    It passes when that is proven: a share that is smaller by the `margin` or more passes with a probability of at most
    the significance level. It fails when the share is proven to be smaller at all. `run_id` names the other run, `seed`
    is its seed, `before` has a "+" for each of its trials that met the requirement, a "-" for one that did not, a "?"
    for one that is missing, in their order. Trials are pairs by their places; there are no more than the other run has.
    `seeds` are those of its trials, if they are known: a trial with another seed in this run is no pair. `judge` and
    `user` are its models, `conditions` everything else its outcomes depend on besides its app; if it `stopped_early` on
    its data, these are no fair sample.

    To compare with an `other` app, which answers in the same trials, `run_id` is its name, and `seed` and `before` are
    empty.
    """

    requirement: Evaluator
    run_id: str
    seed: int | None
    before: str
    margin: float = MARGIN
    judge: str = ""
    user: str = ""
    stopped_early: bool = False
    other: OtherApp | None = field(default=None, repr=False, compare=False)
    conditions: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    seeds: Sequence[int | None] = field(default=(), repr=False, compare=False)

    def check(self) -> None:
        name = type(self).__name__
        require_share(self.margin, f"{name}.margin", such_as=0.05)
        do = 'give "+", "-" or "?" for each trial of the other run'
        is_known = bool(self.before) and {*self.before} <= {*OUTCOMES}
        require(is_known or self._asks_app, f"{name}.before", found=self.before, do=do)

    def with_defaults(
        self, *, significance_level: float, early_stopping: EarlyStopping, min_trials: int, requirements: int = 1
    ) -> Self:
        """Return this evaluator as others do, and with outcomes of the other app for one run alone."""
        made = super().with_defaults(
            significance_level=significance_level,
            early_stopping=early_stopping,
            min_trials=min_trials,
            requirements=requirements,
        )
        return made if made.other is None else replace(made, other=OtherApp(made.other.handler))

    def with_seeds(self, seeds: Sequence[int]) -> Self:
        """Return this evaluator for a run whose trials have these seeds; trials with another seed lack their pair.

        Trials with different seeds end differently more often, and the levels assume a constant share of such pairs.
        With betting the levels hold whatever that share does, and all trials are pairs.
        """
        if self.early_stopping == "anytime":
            return self
        both = enumerate(zip(self.seeds, seeds, strict=False))
        lost = {place for place, (theirs, ours) in both if theirs not in (None, ours)}
        return replace(self, before="".join("?" if i in lost else sign for i, sign in enumerate(self.before)))

    def describe(self) -> str:
        return f"{self.requirement.describe()}: not worse by {self._points} than {self._side}"

    def show_bar(self) -> str:
        return f"> -{self._points}"

    def show(self, value: float) -> str:
        return f"{100 * value:+.3g} points"

    @property
    def estimates(self) -> str:
        return "change"

    @property
    def bar_on_scale(self) -> Bar:
        return Bar(value=-self.margin, is_lower_bound=True, low=-1.0, high=1.0)

    def tell(self, label: str, verdict: Verdict) -> str:
        measured = f"{label} ({self.requirement.show_bar()})"
        found = "no pair was measured" if verdict.estimate is None else f"{self.show(verdict.estimate)}"
        pairs = f" in {verdict.n - verdict.missing} pairs" if verdict.estimate is not None else ""
        shares = f"{show_shares(verdict.shares)}, " if verdict.shares else ""  # which older results do not have
        return f"{measured}: {shares}{found}{pairs}; tolerated: a loss of {self._points} against {self._side}"

    def reduce(self, group: Sequence[float]) -> float:
        return self.requirement.reduce(group)

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        return self.evaluate([*values.tolist(), *[nan] * missing], misses=misses)

    def evaluate(
        self,
        values: Iterable[float] | NDArray[np.generic],
        clusters: Sequence[Hashable] | None = None,
        *,
        misses: int = 0,
    ) -> Verdict:
        """Test the requirement on `values` in the order of the trials, NaN for a missing one; `misses` come last.

        Raises DefinitionError if there are more than the other run has, or `clusters`.
        """
        require(clusters is None, "clusters", found=clusters, do="leave them out: trials are pairs by their places")
        taken = [*map(float, values), *[None] * misses]
        most = self._pairs(len(taken))
        require(len(taken) <= most, "values", found=len(taken), do=f"give {most} at most")
        n = max(1, len(taken))
        test = self._test(paired_design(n, (n,), margin=self.margin, alpha=self.alpha))
        for value in taken:
            test.take(value)
        return test.verdict()

    def running_test(self, n_max: int, *, stop: StopAt | None = None) -> RunningTest:  # noqa: ARG002
        pairs = self._pairs(n_max)
        if self.early_stopping == "anytime":
            return self._test(OpenPairedDesign(pairs, self.margin, self.alpha, first=self.first_verdict))
        do = f"use at most {MOST_PAIRS} samples"
        require(pairs <= MOST_PAIRS, f"{type(self).__name__}: pairs", found=pairs, do=do)
        looks = (pairs,) if self.early_stopping is False else look_times(pairs, least=self.first_verdict)
        return self._test(paired_design(pairs, looks, margin=self.margin, alpha=self.alpha))

    def minimum_trials(self) -> int:
        """Return the smallest number of pairs that can prove it: if no pair loses, (1 - margin)^n <= alpha.

        By betting it is the smallest that does so where all pairs are the same on both sides.
        """
        if self.early_stopping == "anytime":
            return next(n for n in count(1) if pairs_evalue(0, 0, n, margin=self.margin) * self.alpha >= 1)
        return int(np.ceil(np.log(self.alpha) / np.log1p(-self.margin) * (1 - 1e-12)))

    def shortfall(self, sample_size: int) -> tuple[int, int] | None:
        return super().shortfall(self._pairs(sample_size))

    def too_few(self, trials: str) -> str:
        return f"without any change, {trials} cannot prove that it is not worse"

    @property
    def doubt(self) -> str:
        fair = "stopped early on its data, so its trials are no fair sample"
        return f"run {self.run_id} {fair}" if self.stopped_early else ""

    def warnings(self, sample_size: int) -> list[str]:
        said, there = super().warnings(self._pairs(sample_size)), len(self.before)
        if there < sample_size and not self._asks_app:
            said.append(f"run {self.run_id} has {there} of {sample_size} trials, so there are at most {there} pairs")
        if missing := self.before.count("?"):
            said.append(f"{missing} of its trials in run {self.run_id} are missing")
        if self.stopped_early:
            said.append(
                f"run {self.run_id} stopped early on its data, so its trials are no fair sample and the error rates "
                "are not exact; run it with --no-early-stopping"
            )
        return said

    @property
    def prefers_high(self) -> bool:
        return self.requirement.prefers_high

    @property
    def cut(self) -> Cut | None:
        return self.requirement.cut

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        return self.requirement.meets(value)

    def accepts(self, value: float) -> bool:
        return self.requirement.accepts(value)

    @property
    def _points(self) -> str:
        return f"{100 * self.margin:.4g} points"

    @property
    def _asks_app(self) -> bool:
        return self.seed is None and not self.before

    @property
    def _side(self) -> str:
        return f"{'app' if self._asks_app else 'run'} {self.run_id}"

    def _pairs(self, trials: int) -> int:
        """Return how many pairs so many trials make."""
        return trials if self._asks_app else min(trials, len(self.before))

    def _test(self, plan: PairedDesign | OpenPairedDesign) -> PairedTest:
        before = self.other.outcomes if self.other else {i: OUTCOMES[each] for i, each in enumerate(self.before)}
        return PairedTest(self.requirement.describe(), plan, before, meets=self.meets, run_id=self.run_id)
