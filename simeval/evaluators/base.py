"""The evaluator: a requirement on the scores of many trials, and the parts that evaluators share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isinf, isnan
from typing import Final, Literal, Self, get_args, overload

import numpy as np
from numpy.typing import NDArray

from simeval.core.arrays import Floats
from simeval.core.direction import slack
from simeval.core.originals import OF_EVALUATORS
from simeval.core.setting_field import EarlyStopping, Standard, StopAt
from simeval.core.settings import DEFAULTS
from simeval.core.terminal import show_number
from simeval.core.trial import Bar, Verdict
from simeval.core.validation import (
    AnswersOriginals,
    is_number,
    require,
    require_level,
    require_one_of,
    require_share,
    require_size,
)
from simeval.errors import DefinitionError
from simeval.evaluators.stopping import Counted, FixedSampleTest, RunningTest, SequentialTest
from simeval.evaluators.verdicts import unlabelled
from simeval.stats import binomial, open_ended, people
from simeval.stats.multiple import joint_level
from simeval.stats.open_ended import open_design
from simeval.stats.optimal import FEWEST, STRICT, Promise, optimal_design
from simeval.stats.sequential import Design, design

_PROMISES: Final[Mapping[str | None, Promise]] = {"fewest": FEWEST, "unlikely": STRICT}

LABELS = 100  # of people, for a requirement on the rate they would find
MOST_LOOKS = 10  # at their labels

Cut = tuple[Literal[">=", "<=", ">", "<"], float]  # a score is good on this side of this value


@dataclass(frozen=True, kw_only=True)
class Evaluator(AnswersOriginals, ABC):
    """A requirement on the scores of many trials.

    Six methods make one: `describe`, `meets`, `prefers_high`, `show_bar`, `reduce`, `conclude`. One that inherits
    another and decides by a `meets` of its own has a `describe` of its own, too: reports show that.

    `early_stopping` sets when the trials of a scenario may end before the sample is complete: True, by an exact
    sequential test that knows the sample size; "anytime", by an e-value that holds without one; False, never. They
    never end before `min_trials` of a sample that has so many. Without values the engine's are used. If
    `expected_rate` guesses the share of good trials, a test of a share takes few trials near it, at the same error
    rates. `evaluate` is always the test of a fixed sample.

    With the `standard` "people" a requirement on a share is on the rate that people would find. The whole sample is
    judged, and people label `labels` of its trials (100 by default). Then `simeval people agree` concludes. With more
    `looks` than one the labels are tested so many times, and the labelling ends at the first look that proves a side.
    """

    originals = OF_EVALUATORS

    significance_level: float | None = None
    early_stopping: EarlyStopping | None = None
    min_trials: int | None = None
    expected_rate: float | None = None
    standard: Standard = "judge"
    labels: int | None = None
    looks: int = 1

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_level(self.significance_level, f"{name}.significance_level", optional=True)
        require_one_of(self.early_stopping, (True, False, "anytime", None), f"{name}.early_stopping")
        require_size(self.min_trials, f"{name}.min_trials", optional=True)
        require_share(self.expected_rate, f"{name}.expected_rate", optional=True)
        if self.is_newer("meets", "describe"):
            do = "define describe(), which says in reports what it requires"
            raise DefinitionError(name, found="it has a meets() of its own, and no describe()", do=do)
        require_one_of(self.standard, get_args(Standard), f"{name}.standard")
        require_size(self.labels, f"{name}.labels", optional=True)
        require_size(self.looks, f"{name}.looks")
        require(self.looks <= MOST_LOOKS, f"{name}.looks", found=self.looks, do=f"give at most {MOST_LOOKS}")
        self.check()
        if self.standard == "people":
            self._require_enough_labels(name)

    def _require_enough_labels(self, name: str) -> None:
        rule = self.rule
        do = "use it with a requirement on a share of conversations"
        require(isinstance(rule, ShareEvaluator), f"{name}.standard", found="people", do=do)
        assert isinstance(rule, ShareEvaluator)
        do = f"use a level above {people.GAMMA:g}: no number of labels can prove it at this one"
        require(self.alpha > people.GAMMA, f"{name}.significance_level", found=self.alpha, do=do)
        least = people.least_labels(rule.required_share, alpha=self.alpha)
        do = f"give {least} or more: fewer cannot prove it, even if people call all of them good"
        require(self.labels_wanted >= least, f"{name}.labels", found=self.labels_wanted, do=do)

    @property
    def labels_wanted(self) -> int:
        """How many trials people label, if the requirement is on the rate they would find."""
        return LABELS if self.labels is None else self.labels

    def is_newer(self, method: str, than: str) -> bool:
        """Return whether a class further down than that of another method defines a method."""
        owners = [next(each for each in type(self).__mro__ if name in vars(each)) for name in (method, than)]
        return owners[0] is not owners[1] and issubclass(owners[0], owners[1])

    @property
    def alpha(self) -> float:
        """The significance level in force."""
        return DEFAULTS.significance_level if self.significance_level is None else self.significance_level

    @property
    def rule(self) -> "Evaluator":
        """Return the general evaluator that this one is a name for; itself if there is none."""
        return self

    @property
    def has_outcomes(self) -> bool:
        """Whether each trial meets it or not: it is about a share of them, a median or another quantile."""
        return isinstance(self.rule, ShareEvaluator)

    @property
    def first_verdict(self) -> int:
        """Return the smallest number of trials after which early stopping may end a scenario."""
        return DEFAULTS.min_trials if self.min_trials is None else self.min_trials

    def with_defaults(
        self, *, significance_level: float, early_stopping: EarlyStopping, min_trials: int, requirements: int = 1
    ) -> Self:
        """Return this evaluator with these settings in place of those it lacks.

        As one of several `requirements` of a joint claim it gets its share of the level.
        """
        level = significance_level if self.significance_level is None else self.significance_level
        return replace(
            self,
            significance_level=joint_level(level, requirements),
            early_stopping=early_stopping if self.early_stopping is None else self.early_stopping,
            min_trials=min_trials if self.min_trials is None else self.min_trials,
        )

    def evaluate(
        self,
        values: Iterable[float] | NDArray[np.generic],
        clusters: Sequence[Hashable] | None = None,
        *,
        misses: int = 0,
    ) -> Verdict:
        """Test the requirement on `values`, one number or boolean for each independent trial.

        If several values belong together (the turns of a conversation), `clusters` names the group of each value; every
        group is reduced to one value first, because only groups are independent. `misses` trials without a value did
        not meet the requirement (the app crashed on them). Raises DefinitionError for values that cannot be numbers or
        are outside their bounds.
        """
        numbers = _numbers(values, self)
        if clusters is not None:
            numbers = np.array([self.reduce(group) for group in _grouped(numbers.tolist(), clusters)], dtype=float)
        lost = np.isnan(numbers)
        missing = int(np.count_nonzero(lost))
        verdict = self.conclude(numbers[~lost] if missing else numbers, missing=missing, misses=misses)
        return verdict if self.standard == "judge" else unlabelled(verdict, self.labels_wanted)

    def running_test(self, n_max: int, *, stop: StopAt | None = None) -> RunningTest:  # noqa: ARG002
        """Return the running test of this requirement on at most `n_max` trials of a scenario.

        `stop` names the other reasons to end: "fewest" and "unlikely", also when a pass has become unlikely; "gate",
        when no pass can be reached; "verdict", only when a side is proven; without a value it is one of the last two.
        """
        return FixedSampleTest(self.describe(), n_max, self.evaluate)

    def check(self) -> None:
        """Raise DefinitionError where an argument cannot be used."""

    @abstractmethod
    def describe(self) -> str:
        """Say the requirement in words."""

    @abstractmethod
    def show_bar(self) -> str:
        """Write the bar that the estimate is compared with."""

    @property
    def bar_on_scale(self) -> Bar | None:
        """Return the position of the bar among the values the estimate can take; None if these are unbounded."""
        return None

    @property
    def estimates(self) -> str:
        """The name of the number that is estimated, such as "median"."""
        return "value"

    def tell(self, label: str, verdict: Verdict) -> str:
        """Describe in a sentence the observed value of the metric `label` names, and the required one."""
        if verdict.estimate is None:
            found = "not measured"
        elif isinf(verdict.estimate):  # it is among the trials without a value, which count as the worst
            found = f"no finite {self.estimates} (too many conversations have no finite value)"
        else:
            found = f"{self.estimates} {self.show(verdict.estimate)}"
        return f"{label}: {found}; required: {self.show_bar().replace('≥', 'at least').replace('≤', 'at most')}"

    def named(self, label: str, scores: Iterable[float]) -> str:  # noqa: ARG002
        """Return a label for reports, with the criterion of a trial if the `scores` do not show it."""
        return f"{label} ({self.describe()})" if self.is_newer("meets", "cut") else label

    def show(self, value: float) -> str:
        """Write a value in the unit of the bar."""
        if isinf(value):
            return "∞" if value > 0 else "-∞"
        return f"{value:.0f}" if abs(value) >= 1000 else show_number(float(f"{value:.3g}"))

    @abstractmethod
    def reduce(self, group: Sequence[float]) -> float:
        """Return one value for a group of values that belong together."""

    @abstractmethod
    def conclude(self, values: Floats, *, missing: int, misses: int) -> Verdict:
        """Test the requirement on a fixed sample of finite values, `missing` trials and `misses`."""

    @property
    @abstractmethod
    def prefers_high(self) -> bool:
        """Whether higher scores speak for the requirement."""

    def minimum_trials(self) -> int:
        """Return the smallest number of trials that can prove the requirement; 1 if it is unknown."""
        return 1

    def shortfall(self, sample_size: int) -> tuple[int, int] | None:
        """Return how many trials there would be, and how many it takes, where so many cannot prove the requirement."""
        least = self.minimum_trials()
        return (sample_size, least) if least > sample_size else None

    def too_few(self, trials: str) -> str:
        """Say that so many `trials`, such as "12 trials", cannot prove the requirement."""
        return f"cannot be proven with {trials}, even if every one is met"

    def warnings(self, sample_size: int) -> list[str]:
        """Return other weaknesses of a verdict on at most so many trials."""
        is_late = self.first_verdict > max(sample_size, DEFAULTS.min_trials) and self.early_stopping is not False
        if not is_late or self.shortfall(sample_size):
            return []
        return [f"no verdict comes before the last trial, for min_trials is {self.first_verdict}"]

    @property
    def doubt(self) -> str:
        """Why nobody knows the error rate of its verdict; empty if it is known."""
        return ""

    def misfit(self, low: float, high: float) -> str:
        """Say why nothing is to be concluded on scores between these bounds; nothing where something is."""
        ends = [bool(self.meets(low)), bool(self.meets(high))]
        if self.cut is None or ends[0] != ends[1]:
            return ""
        return f"every score from {low:g} to {high:g} {'meets' if ends[0] else 'misses'} it"

    def accepts(self, value: float) -> bool:
        """Return whether `value` is one this evaluator can conclude on; what has no end proves nothing good."""
        return not isnan(value) and not (isinf(value) and self.meets(value))

    @property
    def cut(self) -> Cut | None:
        """Return the value and the side of it that meet the requirement; None if that is not one number."""
        return None

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    @abstractmethod
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        """Return whether a trial with this value speaks for the requirement; of an array, for each."""


class BarEvaluator(Evaluator):
    """An evaluator that holds one number of the scores against a bar, from above or from below."""

    at_least: float | None
    at_most: float | None
    bounds: tuple[float, float]

    def require_one_bar(self) -> None:
        """Raise DefinitionError unless exactly one bar is given, and it is a number."""
        name = type(self).__name__
        given = (self.at_least, self.at_most)
        if given.count(None) != 1:
            found = "found neither at_least nor at_most" if None in given else "found both at_least and at_most"
            raise DefinitionError(name, found=found, do="give one of the two")
        field = "at_least" if self.prefers_high else "at_most"
        require(is_number(self.bar), f"{name}.{field}", found=self.bar, do="use a number")

    @property
    def prefers_high(self) -> bool:
        return self.at_least is not None

    @property
    def bar(self) -> float:
        """The value that is asked for."""
        return self.at_least if self.at_least is not None else self.at_most or 0.0

    def describe(self) -> str:
        return f"{self.estimates} {'at least' if self.prefers_high else 'at most'} {self.bar:g}"

    @overload
    def meets(self, value: float) -> bool: ...
    @overload
    def meets(self, value: Floats) -> NDArray[np.bool_]: ...
    def meets(self, value: float | Floats) -> bool | NDArray[np.bool_]:
        return value >= self.bar - slack(self.bar) if self.prefers_high else value <= self.bar + slack(self.bar)

    @property
    def cut(self) -> Cut | None:
        return None if self.is_newer("meets", "cut") else ((">=" if self.prefers_high else "<="), self.bar)

    @property
    def bar_on_scale(self) -> Bar | None:
        low, high = self.bounds
        if not -inf < low < high < inf:
            return None
        return Bar(value=self.bar, is_lower_bound=self.prefers_high, low=low, high=high)

    def show_bar(self) -> str:
        return f"{'≥' if self.prefers_high else '≤'} {self.bar:g}"


class ShareEvaluator(Evaluator):
    """An evaluator that tests whether a share of trials is good."""

    @property
    @abstractmethod
    def required_share(self) -> float:
        """The share of trials that must count for the requirement."""

    @abstractmethod
    def summarise(
        self, taken: Sequence[Counted], plan: Design, share: tuple[float, float]
    ) -> tuple[float | None, tuple[float, float]]:
        """Return estimate and interval of a sequential test; `share` is the interval of the good share."""

    @abstractmethod
    def method(self, plan: Design) -> str:
        """Name the sequential test."""

    def minimum_trials(self) -> int:
        least = open_ended.minimum_n if self.early_stopping == "anytime" else binomial.minimum_n
        return least(self.required_share, self.alpha)

    def plan(self, n_max: int, *, stop: StopAt | None = None) -> Design:
        """Return the sequential design of at most `n_max` trials.

        Without `stop`, and with "fewest" or "unlikely", it is a gate, with one exception: if a gate could not recognise
        an app that always fails (no pass is possible at all, or after a first miss), a run goes on until a side is
        proven, whatever `min_trials` is. With "fewest" the gate takes the fewest trials on average; with "unlikely",
        the fewest while it keeps more power.
        """
        kind = open_design if self.early_stopping == "anytime" else design
        make: Callable[..., Design] = partial(kind, self.required_share, n_max, alpha=self.alpha)
        at_once = make(stop="verdict" if stop == "verdict" else "gate")
        worst = at_once.infer(*at_once.ending_of(good=False)).p_fail
        tells = at_once.can_pass and (stop in ("gate", "verdict") or worst <= self.alpha)
        if stop in _PROMISES and tells and self.early_stopping != "anytime":
            return optimal_design(
                self.required_share,
                n_max,
                alpha=self.alpha,
                min_trials=self.first_verdict,
                expected=self.expected_rate,
                promise=_PROMISES[stop],
            )
        return make(stop=at_once.stop if tells else "verdict", min_trials=self.first_verdict)

    def running_test(self, n_max: int, *, stop: StopAt | None = None) -> RunningTest:
        require_size(n_max, f"{type(self).__name__}.running_test: n_max")
        require_one_of(stop, (None, *get_args(StopAt)), f"{type(self).__name__}.running_test: stop")
        if self.standard == "people":
            return FixedSampleTest(self.describe(), n_max, self.evaluate, meets=self.meets)
        if self.early_stopping is not False:
            plan = self.plan(n_max, stop=stop)
            return SequentialTest(self.describe(), plan, self, self.method(plan))
        return FixedSampleTest(
            self.describe(),
            n_max,
            self.evaluate,
            meets=self.meets,
            most_misses=binomial.most_misses(n_max, self.required_share, self.alpha),
        )


def _numbers(values: Iterable[float] | NDArray[np.generic], evaluator: Evaluator) -> Floats:
    if isinstance(values, np.ndarray) and values.dtype.kind in "bif":
        return values.astype(float, copy=False).ravel()
    return np.array([_number(value, evaluator) for value in values], dtype=float)


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
