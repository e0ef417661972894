"""Evaluators: the requirement on many scores, and the statistical test that concludes on it.

Each tests one requirement from both sides at the significance level: it passes when the requirement is
proven, fails when the opposite is proven, and is inconclusive otherwise. Values are numbers or booleans,
one for each independent trial; NaN is a missing trial and counts against both sides.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Self

import numpy as np

from simeval.concluding import Counts, mean_verdict, share_verdict, show_share
from simeval.errors import DefinitionError
from simeval.outcome import Verdict
from simeval.settings import is_number, require, require_level
from simeval.stats import binomial, quantile

DEFAULT_SIGNIFICANCE = 0.05
BINOMIAL = "exact binomial test, Clopper-Pearson interval"
ORDER_STATISTICS = "exact test on the quantile (binomial), order-statistic interval"


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """A requirement on the scores of many trials."""

    significance_level: float | None = None

    def __post_init__(self) -> None:
        require_level(self.significance_level, f"{type(self).__name__}.significance_level", optional=True)
        self.check()

    @property
    def alpha(self) -> float:
        """The significance level in force."""
        return DEFAULT_SIGNIFICANCE if self.significance_level is None else self.significance_level

    def at_level(self, default: float) -> Self:
        """Give this evaluator with `default` as its level, where it has none of its own."""
        return self if self.significance_level is not None else replace(self, significance_level=default)

    def evaluate(
        self, values: Iterable[float], clusters: Sequence[Hashable] | None = None, *, misses: int = 0
    ) -> Verdict:
        """Test the requirement on `values`, one number or boolean for each independent trial.

        Where several values belong together (the turns of a conversation), `clusters` names the group of
        each value; every group is reduced to one value first, because only groups are independent.
        `misses` trials without a value did not meet the requirement (the app crashed on them).
        Raises DefinitionError for values that cannot be numbers or lie outside their bounds.
        """
        numbers = [_number(value, self) for value in values]
        if clusters is not None:
            numbers = [self.reduce(group) for group in _grouped(numbers, clusters)]
        missing = sum(isnan(number) for number in numbers)
        return self.conclude([number for number in numbers if not isnan(number)], missing=missing, misses=misses)

    @abstractmethod
    def check(self) -> None:
        """Raise DefinitionError where an argument cannot be used."""

    @abstractmethod
    def describe(self) -> str:
        """Say the requirement in words."""

    @abstractmethod
    def show_bar(self) -> str:
        """Write the bar the estimate is held against."""

    def show(self, value: float) -> str:
        """Write a value in the unit of the bar."""
        return f"{value:.0f}" if 1000 <= abs(value) < inf else f"{value:.3g}"

    @abstractmethod
    def reduce(self, group: Sequence[float]) -> float:
        """Give the one value that stands for values that belong together."""

    @abstractmethod
    def conclude(self, values: Sequence[float], *, missing: int, misses: int) -> Verdict:
        """Test the requirement on finite values, `missing` trials and `misses`."""

    @property
    @abstractmethod
    def prefers_high(self) -> bool:
        """Whether higher scores speak for the requirement."""

    def minimum_trials(self) -> int:
        """Give the smallest number of trials that can prove the requirement; 1 where it is not known."""
        return 1

    def accepts(self, value: float) -> bool:
        """Whether `value` is one this evaluator can conclude on."""
        return not isnan(value)

    @abstractmethod
    def meets(self, value: float) -> bool:
        """Whether a trial with this value speaks for the requirement."""


@dataclass(frozen=True)
class ProportionEvaluator(Evaluator):
    """Requires a share of trials on one side of a threshold.

    A trial counts when its value is at least `threshold` (at most, with `at_least=False`); the share of
    such trials must be at least `min_proportion`, or at most `max_proportion`. For a scorer that answers
    yes or no the threshold of 1 means yes. Exact binomial test. Values that belong together count as a
    good trial only if every one of them is good.
    """

    threshold: float = 1.0
    min_proportion: float | None = None
    max_proportion: float | None = None
    at_least: bool = True

    def check(self) -> None:
        name = type(self).__name__
        require(is_number(self.threshold), f"{name}.threshold", found=self.threshold, do="use a number")
        require(
            (self.min_proportion is None) != (self.max_proportion is None),
            name,
            found=(self.min_proportion, self.max_proportion),
            do="give either min_proportion or max_proportion",
        )
        for field, share in (
            ("min_proportion", self.min_proportion),
            ("max_proportion", self.max_proportion),
        ):
            require_share(share, f"{name}.{field}", optional=True)

    @property
    def required_share(self) -> float:
        """The share of trials that must count for the requirement."""
        return self.min_proportion if self.min_proportion is not None else 1 - (self.max_proportion or 0)

    @property
    def prefers_high(self) -> bool:
        return self.at_least == (self.min_proportion is not None)

    def meets(self, value: float) -> bool:
        inside = value >= self.threshold if self.at_least else value <= self.threshold
        return inside if self.min_proportion is not None else not inside

    def reduce(self, group: Sequence[float]) -> float:
        if any(isnan(value) for value in group):
            return float("nan")
        return next((value for value in group if not self.meets(value)), group[0])

    def describe(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"score {sign} {self.threshold:g} {self.share_in_words()}"

    def share_in_words(self) -> str:
        if self.min_proportion is not None:
            return f"in at least {show_share(self.min_proportion)} of conversations"
        return f"in at most {show_share(self.max_proportion or 0)} of conversations"

    def show_bar(self) -> str:
        if self.min_proportion is not None:
            return f"≥ {show_share(self.min_proportion)}"
        return f"≤ {show_share(self.max_proportion or 0)}"

    def show(self, value: float) -> str:
        return show_share(round(value, 3))

    def minimum_trials(self) -> int:
        return binomial.minimum_n(self.required_share, self.alpha)

    def conclude(self, values: Sequence[float], *, missing: int, misses: int) -> Verdict:
        counts = Counts.of(map(self.meets, values), missing=missing, misses=misses)
        measured = counts.good + counts.bad
        rate = counts.good / measured if measured else None
        low = binomial.clopper_pearson(counts.good, counts.n, self.alpha)[0]
        high = binomial.clopper_pearson(counts.good + counts.missing, counts.n, self.alpha)[1]
        if self.min_proportion is None:
            rate, low, high = None if rate is None else 1 - rate, 1 - high, 1 - low
        return share_verdict(
            counts,
            bar=self.required_share,
            alpha=self.alpha,
            evaluator=self.describe(),
            method=BINOMIAL,
            estimate=rate,
            interval=(low, high),
        )


class _BarEvaluator(Evaluator):
    """An evaluator that holds one number of the scores against a bar, from above or from below."""

    at_least: float | None
    at_most: float | None

    def require_one_bar(self) -> None:
        """Raise DefinitionError unless exactly one bar is given, and it is a number."""
        name = type(self).__name__
        given = (self.at_least, self.at_most)
        require(given.count(None) == 1, name, found=given, do="give either at_least or at_most")
        field = "at_least" if self.prefers_high else "at_most"
        require(is_number(self.bar), f"{name}.{field}", found=self.bar, do="use a number")

    @property
    def prefers_high(self) -> bool:
        return self.at_least is not None

    @property
    def bar(self) -> float:
        """The value that is asked for."""
        return self.at_least if self.at_least is not None else self.at_most or 0.0

    @property
    def bar_in_words(self) -> str:
        """The bar for a sentence."""
        return f"{'at least' if self.prefers_high else 'at most'} {self.bar:g}"

    def meets(self, value: float) -> bool:
        return value >= self.bar if self.prefers_high else value <= self.bar

    def show_bar(self) -> str:
        return f"{'≥' if self.prefers_high else '≤'} {self.bar:g}"


@dataclass(frozen=True)
class QuantileEvaluator(_BarEvaluator):
    """Requires a quantile of the scores to be at least, or at most, a value.

    "The q-quantile is at least m" is read as P(X >= m) >= 1 - q, "at most m" as P(X <= m) >= q; scores
    equal to m meet it. So the test is an exact binomial test and ties need no correction. `bounds` is the
    support of the score, used where the interval has no order statistic on a side. Values that belong
    together are reduced to their own quantile.
    """

    quantile: float = 0.5
    at_least: float | None = None
    at_most: float | None = None
    bounds: tuple[float, float] = (-inf, inf)

    def check(self) -> None:
        require_share(self.quantile, f"{type(self).__name__}.quantile")
        self.require_one_bar()
        require(
            self.bounds[0] <= self.bar <= self.bounds[1],
            f"{type(self).__name__}.bounds",
            found=self.bounds,
            do=f"give the lowest and highest score, on either side of {self.bar:g}",
        )

    @property
    def required_share(self) -> float:
        """The share of trials that must count for the requirement."""
        return 1 - self.quantile if self.prefers_high else self.quantile

    def reduce(self, group: Sequence[float]) -> float:
        return float(np.quantile(group, self.quantile))

    def describe(self) -> str:
        name = "median" if self.quantile == 0.5 else f"{_ordinal(100 * self.quantile)} percentile"
        return f"{name} {self.bar_in_words}"

    def minimum_trials(self) -> int:
        return binomial.minimum_n(self.required_share, self.alpha)

    def conclude(self, values: Sequence[float], *, missing: int, misses: int) -> Verdict:
        low, high = self.bounds
        worst, best = (low, high) if self.prefers_high else (high, low)
        known = [*values, *[worst] * misses]
        pessimistic, optimistic = [*known, *[worst] * missing], [*known, *[best] * missing]
        lower, upper = (pessimistic, optimistic) if self.prefers_high else (optimistic, pessimistic)
        return share_verdict(
            Counts.of(map(self.meets, values), missing=missing, misses=misses),
            bar=self.required_share,
            alpha=self.alpha,
            evaluator=self.describe(),
            method=ORDER_STATISTICS,
            estimate=quantile.sample_quantile(known, self.quantile, upper=self.prefers_high) if known else None,
            interval=(
                quantile.order_interval(lower, self.quantile, self.alpha, bounds=self.bounds)[0],
                quantile.order_interval(upper, self.quantile, self.alpha, bounds=self.bounds)[1],
            ),
        )


@dataclass(frozen=True)
class MeanEvaluator(_BarEvaluator):
    """Requires the mean of a bounded score to be at least, or at most, a value.

    `bounds` are the smallest and largest values the score can take. Means of ratings need more trials than
    proportions and medians and hide rare disasters; prefer those as gates. A crash of the app has no value,
    so it counts against both sides here. Values that belong together are reduced to their mean.
    """

    at_least: float | None = None
    at_most: float | None = None
    bounds: tuple[float, float] = (0.0, 1.0)

    def check(self) -> None:
        self.require_one_bar()
        low, high = self.bounds
        require(
            -inf < low < self.bar < high < inf,
            f"{type(self).__name__}.bounds",
            found=self.bounds,
            do=f"give the finite lowest and highest score, on either side of {self.bar:g}",
        )

    def accepts(self, value: float) -> bool:
        return self.bounds[0] <= value <= self.bounds[1]

    def reduce(self, group: Sequence[float]) -> float:
        return sum(group) / len(group)

    def describe(self) -> str:
        return f"mean {self.bar_in_words}"

    def conclude(self, values: Sequence[float], *, missing: int, misses: int) -> Verdict:
        for value in values:
            require(
                self.accepts(value),
                f"{type(self).__name__}.bounds",
                found=value,
                do=f"widen the bounds {self.bounds} to hold every score",
            )
        return mean_verdict(
            values,
            missing + misses,
            bar=self.bar,
            at_least=self.prefers_high,
            bounds=self.bounds,
            alpha=self.alpha,
            evaluator=self.describe(),
        )


def _ordinal(number: float) -> str:
    teens = 10 <= number % 100 <= 20
    shown = f"{number:g}"
    return shown + ("th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(shown[-1], "th"))


def _number(value: object, evaluator: Evaluator) -> float:
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)
    raise DefinitionError(
        type(evaluator).__name__,
        found=f"found {value!r} among the values",
        do="give numbers or booleans, NaN for a trial that is missing",
    )


def _grouped(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    require(
        len(values) == len(clusters),
        "clusters",
        found=f"{len(clusters)} clusters for {len(values)} values",
        do="name one cluster for each value",
    )
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return list(groups.values())


def require_share(share: float | None, where: str, *, optional: bool = False) -> None:
    """Raise DefinitionError unless `share` is strictly between 0 and 1, or None where it is optional."""
    require(
        (share is None and optional) or (share is not None and is_number(share) and 0 < share < 1),
        where,
        found=share,
        do="use a share strictly between 0 and 1 (no number of trials can prove 0% or 100%)",
    )
