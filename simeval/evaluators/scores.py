"""Evaluators: the requirement on many scores, and the statistical test that concludes on it.

Each tests one requirement from both sides at the significance level: it passes when the requirement is
proven, fails when the opposite is proven, and is inconclusive otherwise. Values are numbers or booleans,
one for each independent trial; NaN is a missing trial and counts against both sides.

    Evaluator ──┬─ ProportionEvaluator   a share of trials on one side of a threshold
                ├─ QuantileEvaluator     a quantile, by the share of trials that reach it
                └─ MeanEvaluator         a mean of bounded scores
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from math import inf, isnan
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.direction import UNIT, Direction, require_pair, slack
from simeval.core.setting_field import StopAt
from simeval.core.terminal import show_share
from simeval.core.trial import Bar, Verdict
from simeval.core.validation import LARGEST_SAMPLE, is_number, require, require_one_of, require_share
from simeval.errors import DefinitionError
from simeval.evaluators.base import BarEvaluator, Cut, Evaluator, ShareEvaluator
from simeval.evaluators.stopping import BettingTest, Counted, FixedSampleTest, RunningTest
from simeval.evaluators.verdicts import Counts, mean_verdict, share_verdict
from simeval.stats import binomial, mean, quantile
from simeval.stats.betting import p_values
from simeval.stats.optimal import OptimalDesign
from simeval.stats.sequential import Design, StopRule

MOST_DIGITS = 6  # of a share that would otherwise look like the bar it is compared with
BINOMIAL = "exact binomial test, Clopper-Pearson interval"
ORDER_STATISTICS = "exact test on the quantile (binomial), order-statistic interval"
SEQUENTIAL = "exact sequential binomial test ({rule}), stage-wise interval"
SEQUENTIAL_QUANTILE = "exact sequential test on the quantile ({rule}), repeated interval"
SPENDING = "spending (n/{n_max})^2 of the level"
OPTIMAL = "at most {n_max} trials, the fewest on average for its level and power"
ANYTIME = "e-value test that holds at any time (uniform mixture), anytime interval"
ANYTIME_QUANTILE = "e-value test on the quantile that holds at any time (uniform mixture), repeated interval"
YES = float("1")  # an object of its own, which tells the default threshold from a 1 that somebody gave
GAFFKE = "Gaffke bound on the mean (not proven in general, no counterexample known)"

SUCCESS_RATING = 6.0
RATING_BOUNDS = (1.0, 10.0)


@dataclass(frozen=True)
class ProportionEvaluator(ShareEvaluator):
    """Requires a share of trials on one side of a threshold.

    A trial counts when its value is at least `threshold` (at most, with `at_least=False`; without either an Expectation
    takes the better side of its metric); the share of such trials must be at least `min_proportion`, or at most
    `max_proportion`. For a scorer that answers yes or no the threshold of 1 means yes. Exact binomial test. Values that
    belong together count as a good trial only if every one of them is good.
    """

    threshold: float = YES
    min_proportion: float | None = None
    max_proportion: float | None = None
    at_least: bool | None = None

    def check(self) -> None:
        name = type(self).__name__
        require(is_number(self.threshold), f"{name}.threshold", found=self.threshold, do="use a number")
        require_one_of(self.at_least, (True, False, None), f"{name}.at_least")
        given = [each for each in ("min_proportion", "max_proportion") if getattr(self, each) is not None]
        if len(given) != 1:
            found = f"found {'both' if given else 'neither'} min_proportion {'and' if given else 'nor'} max_proportion"
            raise DefinitionError(name, found=found, do="give one of the two")
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
    def counts_high(self) -> bool:
        """Whether a trial counts at the threshold and above; the default is yes."""
        return self.at_least is not False

    def towards(self, direction: Direction | None) -> "ProportionEvaluator":
        """Return this requirement on scores that are better this way, on the side of the threshold that it asks for."""
        if self.at_least is not None or direction not in ("higher", "lower"):
            return self
        return replace(self, at_least=(direction == "higher") == (self.min_proportion is not None))

    @property
    def prefers_high(self) -> bool:
        return self.counts_high == (self.min_proportion is not None)

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        bar, around = self.threshold, slack(self.threshold)
        inside = value >= bar - around if self.counts_high else value <= bar + around
        return inside != (self.min_proportion is None)

    @property
    def cut(self) -> Cut | None:
        if self.is_newer("meets", "cut"):
            return None
        if self.min_proportion is None:
            return ("<" if self.counts_high else ">"), self.threshold
        return (">=" if self.counts_high else "<="), self.threshold

    def reduce(self, group: Sequence[float]) -> float:
        if any(isnan(value) for value in group):
            return float("nan")
        return next((value for value in group if not self.meets(value)), group[0])

    def describe(self) -> str:
        return f"score {self._counted} {self.share_in_words()}"

    def share_in_words(self) -> str:
        if self.min_proportion is not None:
            return f"in at least {show_share(self.min_proportion)} of conversations"
        return f"in at most {show_share(self.max_proportion or 0)} of conversations"

    def show_bar(self) -> str:
        if self.min_proportion is not None:
            return f"≥ {show_share(self.min_proportion)}"
        return f"≤ {show_share(self.max_proportion or 0)}"

    @property
    def bar_on_scale(self) -> Bar:
        is_lower_bound = self.min_proportion is not None
        value = self.min_proportion if self.min_proportion is not None else self.max_proportion or 0.0
        return Bar(value=value, is_lower_bound=is_lower_bound, low=0.0, high=1.0)

    def named(self, label: str, scores: Iterable[float]) -> str:
        if self.is_newer("meets", "cut"):
            return super().named(label, scores)
        is_yes_or_no = self.counts_high and self.threshold == 1 and all(score in (0, 1) for score in scores)
        return label if is_yes_or_no else f"{label} ({self._counted})"

    def tell(self, label: str, verdict: Verdict) -> str:
        return self.tell_share(label, verdict)

    def tell_share(self, what: str, verdict: Verdict) -> str:
        """Say in how many conversations it was so, and in how many it has to be."""
        measured, bar = verdict.n - verdict.missing, self.bar_on_scale
        required = f"{'required' if bar.is_lower_bound else 'allowed'}: {show_share(bar.value)}"
        if verdict.estimate is None or not measured:
            return f"{what}: not measured; {required}"
        return f"{what} in {round(verdict.estimate * measured)} of {measured} conversations; {required}"

    @property
    def _counted(self) -> str:
        return f"{'≥' if self.counts_high else '≤'} {self.threshold:g}"

    def show(self, value: float) -> str:
        bar = self.max_proportion if self.min_proportion is None else self.min_proportion
        digits = 3
        while round(value, digits) == bar != value and digits < MOST_DIGITS:
            digits += 1
        return show_share(round(value, digits)) if digits == 3 else f"{value:.{digits - 2}%}"

    def method(self, plan: Design) -> str:
        return ANYTIME if plan.is_open else SEQUENTIAL.format(rule=_rule_of(plan))

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        good = int(np.count_nonzero(self.meets(values)))
        counts = Counts(good, len(values) - good + misses, missing, misses)
        low, high = binomial.clopper_pearson(counts.good, counts.n, self.alpha)
        if missing:
            high = binomial.clopper_pearson(counts.good + missing, counts.n, self.alpha)[1]
        estimate, interval = self._in_own_terms(good, good + counts.bad, (low, high))
        return share_verdict(
            counts,
            bar=self.required_share,
            alpha=self.alpha,
            evaluator=self.describe(),
            method=BINOMIAL,
            estimate=estimate,
            interval=interval,
        )

    def summarise(
        self,
        taken: Sequence[Counted],
        plan: Design,  # noqa: ARG002
        share: tuple[float, float],
    ) -> tuple[float | None, tuple[float, float]]:
        met = [value is not None and self.meets(value) for value in taken if value is None or not isnan(value)]
        return self._in_own_terms(sum(met), len(met), share)

    def _in_own_terms(
        self, good: int, measured: int, share: tuple[float, float]
    ) -> tuple[float | None, tuple[float, float]]:
        rate = good / measured if measured else None
        if self.min_proportion is not None:
            return rate, share
        return None if rate is None else 1 - rate, (1 - share[1], 1 - share[0])


@dataclass(frozen=True)
class QuantileEvaluator(BarEvaluator, ShareEvaluator):
    """Requires a quantile of the scores to be at least, or at most, a value.

    "The q-quantile is at least m" is read as P(X >= m) >= 1 - q, "at most m" as P(X <= m) >= q; scores equal to m meet
    it. So the test is an exact binomial test and ties need no correction. `bounds` is the support of the score, used if
    the interval has no order statistic on a side. Values that belong together are reduced to their own quantile.
    """

    quantile: float = 0.5
    at_least: float | None = None
    at_most: float | None = None
    bounds: tuple[float, float] = (-inf, inf)

    def check(self) -> None:
        require_share(self.quantile, f"{type(self).__name__}.quantile", such_as=0.9)
        self.require_one_bar()
        require_pair(self.bounds, f"{type(self).__name__}.bounds")
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

    @property
    def estimates(self) -> str:
        return "median" if self.quantile == 0.5 else f"{_ordinal(100 * self.quantile)} percentile"

    def method(self, plan: Design) -> str:
        return ANYTIME_QUANTILE if plan.is_open else SEQUENTIAL_QUANTILE.format(rule=_rule_of(plan))

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        good = int(np.count_nonzero(self.meets(values)))
        low, high = self.bounds
        worst, best = (low, high) if self.prefers_high else (high, low)
        known = np.sort(np.append(values, [worst] * misses) if misses else values)
        interval = partial(quantile.order_interval, quantile=self.quantile, alpha=self.alpha, bounds=self.bounds)
        found = interval(np.append(known, [worst] * missing)) if missing else interval(known, ranked=True)
        if missing:
            optimistic = interval(np.append(known, [best] * missing))
            found = (found[0], optimistic[1]) if self.prefers_high else (optimistic[0], found[1])
        return share_verdict(
            Counts(good, len(values) - good + misses, missing, misses),
            bar=self.required_share,
            alpha=self.alpha,
            evaluator=self.describe(),
            method=ORDER_STATISTICS,
            estimate=self._estimate(known, ranked=True),
            interval=found,
        )

    def summarise(
        self, taken: Sequence[Counted], plan: Design, share: tuple[float, float]
    ) -> tuple[float | None, tuple[float, float]]:
        low, high = self.bounds
        worst, best = (low, high) if self.prefers_high else (high, low)
        pessimistic = [worst if value is None or isnan(value) else value for value in taken]
        optimistic = [worst if value is None else best if isnan(value) else value for value in taken]
        lower, upper = (pessimistic, optimistic) if self.prefers_high else (optimistic, pessimistic)
        interval = partial(quantile.repeated_interval, plan=plan, bounds=self.bounds, from_above=not self.prefers_high)
        known = [worst if value is None else value for value in taken if value is None or not isnan(value)]
        found = interval(lower)[0], interval(upper)[1]
        if share[1] <= plan.p0:  # proven by the order of the stops, which may reach a little further
            found = (found[0], min(found[1], self.bar)) if self.prefers_high else (max(found[0], self.bar), found[1])
        return self._estimate(np.array(known)), found

    def _estimate(self, known: Floats, *, ranked: bool = False) -> float | None:
        if not len(known):
            return None
        return quantile.sample_quantile(known, self.quantile, upper=self.prefers_high, ranked=ranked)


@dataclass(frozen=True)
class MeanEvaluator(BarEvaluator):
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
        require_pair(self.bounds, f"{type(self).__name__}.bounds")
        low, high = self.bounds
        require(
            self.bar not in (low, high),
            f"{type(self).__name__}.bounds",
            found=self.bounds,
            do=f"put the bar between them: no mean of such scores lies beyond {self.bar:g}, so nothing is to be proven",
        )
        if not -inf < low < self.bar < high < inf:
            found = (
                f"found {self.bounds!r}" if self.bounds != UNIT else "scores lie between 0 and 1 where none are given"
            )
            do = f"give the lowest and the highest score, with {self.bar:g} between them, such as [1, 10] for ratings"
            raise DefinitionError(f"{type(self).__name__}.bounds", found=found, do=do)

    def accepts(self, value: float) -> bool:
        return self.bounds[0] <= value <= self.bounds[1]

    def misfit(self, low: float, high: float) -> str:
        if self.bounds[0] <= low and high <= self.bounds[1]:
            return super().misfit(low, high)
        return (
            f"its bounds are {self.bounds[0]:g} to {self.bounds[1]:g}, and the scores lie between {low:g} and {high:g}"
        )

    def reduce(self, group: Sequence[float]) -> float:
        return sum(group) / len(group)

    @property
    def estimates(self) -> str:
        return "mean"

    def running_test(self, n_max: int, *, stop: StopAt | None = None) -> RunningTest:
        if self.early_stopping is False:
            return FixedSampleTest(self.describe(), n_max, self.evaluate)
        test = self._betting(n_max, "verdict" if stop == "verdict" else "gate")
        is_chosen = stop in ("gate", "verdict")
        return test if is_chosen or not test.trials_needed({}).ends else self._betting(n_max, "verdict")

    def _betting(self, n_max: int, stop: StopRule) -> RunningTest:
        return BettingTest(
            self.describe(),
            n_max,
            self.bar,
            at_least=self.prefers_high,
            bounds=self.bounds,
            alpha=self.alpha,
            stop=stop,
            min_trials=self.first_verdict,
        )

    def minimum_trials(self) -> int:
        low, high = 0, LARGEST_SAMPLE + 1  # means "more than a scenario may have"
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._can_prove(middle) else (middle, high)
        return high

    def _can_prove(self, n: int) -> bool:
        """Return whether n of the best scores there can be prove the requirement."""
        room = self.bounds[1] - self.bounds[0]
        worst = (self.bar - self.bounds[0]) / room if self.prefers_high else (self.bounds[1] - self.bar) / room
        if self.early_stopping is False:
            return bool(worst**n <= self.alpha)
        return bool(p_values([1.0] * n, worst, bounds=(0.0, 1.0), alpha=self.alpha, n_max=n)[0][-1] <= self.alpha)

    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        low, high = self.bounds
        outside = values[(values < low) | (values > high)]
        require(
            len(outside) == 0,
            f"{type(self).__name__}.bounds",
            found=outside.tolist()[:1],
            do=f"widen the bounds {self.bounds} to hold every score",
        )
        lost = missing + misses
        lowest, highest = [*values.tolist(), *[low] * lost], [*values.tolist(), *[high] * lost]
        above, below = mean.p_above(lowest, self.bar, low=low), mean.p_below(highest, self.bar, high=high)
        return mean_verdict(
            values.tolist(),
            lost,
            evidence=(above, below) if self.prefers_high else (below, above),
            interval=(
                mean.lower_bound(lowest, self.alpha, low=low),
                mean.upper_bound(highest, self.alpha, high=high),
            ),
            alpha=self.alpha,
            method=GAFFKE,
            evaluator=self.describe(),
        )


def _ordinal(number: float) -> str:
    teens = 10 <= number % 100 <= 20
    shown = f"{number:g}"
    return shown + ("th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(shown[-1], "th"))


def _rule_of(plan: Design) -> str:
    """Describe the rule that stops a sequential test."""
    return (OPTIMAL if isinstance(plan, OptimalDesign) else SPENDING).format(n_max=plan.n_max)


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
