"""The running test of a comparison: each trial is paired, by its seed, with one of another run or another app.

A pair is known when the trial of this run is: that of the other side was there before. So two walks go through a
`PairedDesign`: in one each missing outcome counts as a loss, and it may find "not worse"; in the other it counts as a
gain, and it may find "worse". Both error rates hold whatever made trials missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simeval.core.terminal import say_p
from simeval.core.trial import Chart, Reason, Verdict
from simeval.evaluators.stopping import EXCLUDED, Counted, EarlyOutcomes, RunningTest, Taken, TrialsNeeded, is_met
from simeval.evaluators.verdicts import NO_TIME, Ended, decide
from simeval.stats.paired import paired_difference_interval
from simeval.stats.paired_open import OpenPairedDesign, smallest_difference
from simeval.stats.paired_sequential import PairedDesign, paired_design

Met = bool | None  # whether a trial met the requirement; None if it is missing
SEQUENTIAL = "exact group-sequential test of pairs (a look every {step}, spending (n/{n_max})^2 of the level), Tango"
OPEN = "test of pairs by betting (proven; holds however the run is stopped)"
WHOLE = "exact unconditional test of {n_max} pairs, Tango"


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
