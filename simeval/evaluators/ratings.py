"""Evaluators of a judge's ratings from 1 to 10, each put in terms of a general evaluator."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.setting_choices import StopAt
from simeval.core.trial import Bar, Verdict
from simeval.core.validation import is_number, require, require_share
from simeval.evaluators.base import Cut, Evaluator
from simeval.evaluators.scores import ProportionEvaluator, QuantileEvaluator
from simeval.evaluators.stopping import RunningTest

SUCCESS_RATING = 6.0
RATING_BOUNDS = (1.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class RatingEvaluator(Evaluator):
    """An evaluator of a judge's ratings from 1 to 10, put in terms of a general one."""

    @cached_property
    @abstractmethod
    def rule(self) -> ProportionEvaluator | QuantileEvaluator:
        """The general evaluator that this one is."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that all evaluators have."""
        return {each.name: getattr(self, each.name) for each in fields(Evaluator)}

    def check(self) -> None:
        for name in ("min_rating", "min_median_rating"):
            rating = getattr(self, name, RATING_BOUNDS[1])
            require(
                is_number(rating) and RATING_BOUNDS[0] < rating <= RATING_BOUNDS[1],
                f"{type(self).__name__}.{name}",
                found=rating,
                do="use a rating above 1, up to 10",
            )
        require_share(getattr(self, "min_proportion", 0.5), f"{type(self).__name__}.min_proportion")

    @property
    def prefers_high(self) -> bool:
        return True

    def accepts(self, value: float) -> bool:
        return RATING_BOUNDS[0] <= value <= RATING_BOUNDS[1]

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        return self.rule.meets(value)

    @property
    def cut(self) -> Cut | None:
        return self.rule.cut

    def reduce(self, group: Sequence[float]) -> float:
        return self.rule.reduce(group)

    def show_bar(self) -> str:
        return self.rule.show_bar()

    @property
    def bar_on_scale(self) -> Bar | None:
        return self.rule.bar_on_scale

    def show(self, value: float) -> str:
        return self.rule.show(value)

    def minimum_trials(self) -> int:
        return self.rule.minimum_trials()

    def running_test(self, n_max: int, *, stop: StopAt | None = None) -> RunningTest:
        test = self.rule.running_test(n_max, stop=stop)
        test.name = self.describe()
        return test

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        outside = values[(values < RATING_BOUNDS[0]) | (values > RATING_BOUNDS[1])]
        require(len(outside) == 0, type(self).__name__, found=outside.tolist()[:1], do="give ratings from 1 to 10")
        verdict = self.rule.conclude(values, missing=missing, misses=misses)
        return replace(verdict, evaluator=self.describe())


def is_of_ratings(evaluator: Evaluator) -> bool:
    """Return whether an evaluator is for ratings from 1 to 10 only."""
    return isinstance(evaluator, RatingEvaluator)


@dataclass(frozen=True)
class RatingProportionEvaluator(RatingEvaluator):
    """Requires a rating of at least `min_rating` in at least `min_proportion` of conversations."""

    min_rating: float
    min_proportion: float

    @cached_property
    def rule(self) -> ProportionEvaluator:
        return ProportionEvaluator(
            self.min_rating,
            self.min_proportion,
            **self.settings,
        )

    def describe(self) -> str:
        return f"rating ≥ {self.min_rating:g} {self.rule.share_in_words()}"

    def tell(self, label: str, verdict: Verdict) -> str:
        return self.rule.tell_share(f"{label} (rating ≥ {self.min_rating:g})", verdict)


@dataclass(frozen=True)
class SuccessRateEvaluator(RatingEvaluator):
    """Requires a success, a rating of 6 or more, in at least `min_proportion` of conversations."""

    min_proportion: float

    @cached_property
    def rule(self) -> ProportionEvaluator:
        return ProportionEvaluator(
            SUCCESS_RATING,
            self.min_proportion,
            **self.settings,
        )

    def describe(self) -> str:
        return f"success (rating ≥ {SUCCESS_RATING:g}) {self.rule.share_in_words()}"

    def tell(self, label: str, verdict: Verdict) -> str:
        return self.rule.tell_share(label, verdict)


@dataclass(frozen=True)
class RatingAverageEvaluator(RatingEvaluator):
    """Requires a typical rating: at least half of all conversations rated `min_median_rating` or more."""

    min_median_rating: float

    @cached_property
    def rule(self) -> QuantileEvaluator:
        return QuantileEvaluator(
            0.5,
            at_least=self.min_median_rating,
            bounds=RATING_BOUNDS,
            **self.settings,
        )

    @property
    def estimates(self) -> str:
        return "median rating"

    def describe(self) -> str:
        return f"median rating at least {self.min_median_rating:g}"


@dataclass(frozen=True)
class RatingMedianEvaluator(RatingAverageEvaluator):
    """Requires a median rating: the RatingAverageEvaluator by the name that says so."""
