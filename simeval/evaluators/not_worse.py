"""The evaluator of a comparison: a requirement is met no less often than by another run, or app, but for a margin."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import nan
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.setting_field import EarlyStopping, StopAt
from simeval.core.settings import MARGIN
from simeval.core.terminal import show_shares
from simeval.core.trial import Bar, Verdict
from simeval.core.validation import require, require_share
from simeval.evaluators.base import Cut, Evaluator
from simeval.evaluators.pairs import Met, OtherApp, PairedTest
from simeval.evaluators.stopping import RunningTest
from simeval.stats.paired_open import OpenPairedDesign, pairs_evalue
from simeval.stats.paired_sequential import MOST_PAIRS, PairedDesign, look_times, paired_design

OUTCOMES: dict[str, Met] = {"+": True, "-": False, "?": None}


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
