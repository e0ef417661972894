"""pass^k: a requirement on the chance that so many conversations in a row all meet it.

Conversations are independent, so k in a row meet a requirement with the chance rate^k, and "at least b" is "the rate is
at least b^(1/k)": the exact test of a share, sequential too. The estimate is shown as that chance.

Reference: S. Yao and others (2024), "tau-bench", arXiv 2406.12045.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.terminal import show_share
from simeval.core.trial import Bar, Verdict
from simeval.core.validation import require_share, require_whole
from simeval.evaluators.base import Cut, ShareEvaluator
from simeval.evaluators.scores import SUCCESS_RATING, ProportionEvaluator
from simeval.evaluators.stopping import Counted
from simeval.stats.sequential import Design


@dataclass(frozen=True)
class PassHatKEvaluator(ShareEvaluator):
    """Requires that `k` conversations in a row are all good with a chance of at least `at_least`.

    A conversation is good when its score is at least `threshold`: by default 6, a success by a judge's rating; 1 for a
    scorer that answers yes or no.
    """

    k: int
    at_least: float
    threshold: float = SUCCESS_RATING

    @cached_property
    def _share(self) -> ProportionEvaluator:
        return ProportionEvaluator(self.threshold, self.required_share)

    def check(self) -> None:
        require_whole(self.k, f"{type(self).__name__}.k")
        require_share(self.at_least, f"{type(self).__name__}.at_least")
        self._share.check()

    @property
    def required_share(self) -> float:
        """The share of trials that must be good, so that `k` in a row are."""
        return float(self.at_least ** (1 / self.k))

    @property
    def prefers_high(self) -> bool:
        return True

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        return self._share.meets(value)

    @property
    def cut(self) -> Cut | None:
        return self._share.cut

    def reduce(self, group: Sequence[float]) -> float:
        return self._share.reduce(group)

    def method(self, plan: Design) -> str:
        return self._share.method(plan)

    @property
    def estimates(self) -> str:
        return f"pass^{self.k}"

    def describe(self) -> str:
        return (
            f"score ≥ {self.threshold:g} in {self.k} conversations in a row with a chance of at least "
            f"{show_share(self.at_least)} (a rate of {show_share(self.required_share)})"
        )

    def show_bar(self) -> str:
        return f"≥ {show_share(self.at_least)}"

    @property
    def bar_on_scale(self) -> Bar:
        return Bar(value=self.at_least, is_lower_bound=True, low=0.0, high=1.0)

    def show(self, value: float) -> str:
        return self._share.show(value)

    def tell(self, label: str, verdict: Verdict) -> str:
        required = f"required: {show_share(self.at_least)} (a rate of {show_share(self.required_share)})"
        measured = verdict.n - verdict.missing
        if verdict.estimate is None or not measured:
            return f"{label}, {self.k} times in a row: not measured; {required}"
        good = round(verdict.estimate ** (1 / self.k) * measured)
        chance = show_share(round(verdict.estimate, 3))
        return f"{label} in {good} of {measured} conversations, {self.k} times in a row in {chance}; {required}"

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        share = replace(self._share, significance_level=self.significance_level)
        verdict = share.conclude(values, missing=missing, misses=misses)
        estimate, interval = self._in_a_row(verdict.estimate, verdict.confidence_interval or (0.0, 1.0))
        return replace(verdict, evaluator=self.describe(), estimate=estimate, confidence_interval=interval)

    def summarise(
        self, taken: Sequence[Counted], plan: Design, share: tuple[float, float]
    ) -> tuple[float | None, tuple[float, float]]:
        return self._in_a_row(*self._share.summarise(taken, plan, share))

    def _in_a_row(self, rate: float | None, share: tuple[float, float]) -> tuple[float | None, tuple[float, float]]:
        """Return a rate and its interval as the chance that all of `k` conversations are good."""
        low, high = share
        return None if rate is None else rate**self.k, (low**self.k, high**self.k)
