"""The two checks of a number that a classifier gives of a text: against an expected score, and against golden texts.

A check has a `Gauge`, a scorer of one number (sentiment, toxicity, bias), and passes or fails its number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf, isfinite, sqrt
from statistics import fmean, stdev
from typing import Any, ClassVar, Literal, cast

from simeval.core.direction import COUNT, Bounds, Direction, bounds_at, by_path
from simeval.core.trial import Preparation
from simeval.core.validation import is_number, require, require_one_of
from simeval.scorers.base import COLUMNS, ColumnScorer, Gauge
from simeval.scorers.llm.judge import at_once
from simeval.scorers.values import is_array

Side = Literal["both", "at_most", "at_least"]
Interval = Literal["sd", "prediction"]

FEWEST_REFERENCES = 3
_OPEN_TO: Mapping[Side, Direction] = {"at_most": "lower", "at_least": "higher", "both": "none"}
WIDEST_PREDICTION = 30  # normal deviations; tails outside of 38 underflow
_WIDTHS = ("allowed_uncertainty", "calculated_uncertainty", "standard_deviation", "scale")
ROUNDING = 1e-9  # a border that is met but for the rounding of floats is met


@dataclass(kw_only=True, eq=False)
class Check(ColumnScorer):
    """The base of the two: the gauge, and the allowed side of the wanted number.

    With `side` "at_most" any number below passes too (an answer less toxic than expected is no failure), with
    "at_least" any number above.
    """

    gives_ratings = False
    by: Gauge
    side: Side = "both"

    default_score = "passed"
    direction = by_path(higher=["passed"], none=[""])
    timeout_seconds: ClassVar[float | None] = None  # those of the gauge bound its calls

    def __post_init__(self) -> None:
        super().__post_init__()
        is_gauge = isinstance(self.by, Gauge)
        require(is_gauge, f"{self.where}: by", found=self.by, do="give a scorer such as SentimentScorer()")
        require_one_of(self.side, ("both", "at_most", "at_least"), f"{self.where}: side")

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:
        """Prepare the gauge."""
        return await self.by.prepare(columns)

    def direction_of(self, path: str) -> Direction | None:
        """Return which way a value is better: for the gauge's number, the way that cannot fail."""
        if self.direction is None and path in (self.by.metric, "difference"):
            return _OPEN_TO[self.side]
        return super().direction_of(path)

    def bounds_of(self, path: str) -> Bounds | None:
        """Return the bounds of the gauge's number, and of values in its unit."""
        lowest, highest = self.by.bounds
        known = {
            **dict.fromkeys((self.by.metric, "expected_score", "mean_score"), (lowest, highest)),
            "difference": (lowest - highest, highest - lowest),
            **dict.fromkeys(_WIDTHS, COUNT),
        }
        return bounds_at(known, path)

    @property
    def where(self) -> str:
        """How errors name this scorer."""
        return f"scorer {self.name}"

    def needs(self, given: object, column: str, columns: Sequence[str] | Mapping[str, object]) -> None:
        """Raise DefinitionError if the value to check against is neither given nor a column."""
        mapped = column in self.column_map or column in columns
        do = f"give {column}, or name its column: column_map={{{column!r}: ...}}"
        require(given is not None or mapped, self.where, found=f"no {column}", do=do)

    async def gauged(self, output: Any) -> tuple[float, dict[str, Any]]:
        """Return the number of the output, and the gauge's other results.

        Raises the gauge's errors, or TimeoutError.
        """
        measured: dict[str, object] = await self.by.measure({"output": output})
        return cast("float", measured[self.by.metric]), measured

    def verdict(self, number: float, middle: float, half: float) -> dict[str, Any]:
        """Return whether a number is within `half` of the middle, the borders included, and why."""
        lowest = -inf if self.side == "at_most" else middle - half
        highest = inf if self.side == "at_least" else middle + half
        passed = lowest - ROUNDING <= number <= highest + ROUNDING
        metric = self.by.metric
        allowed = " and ".join(
            [f"at least {lowest:.4g}"] * isfinite(lowest) + [f"at most {highest:.4g}"] * isfinite(highest)
        )
        return {
            f"{metric}_result": "pass" if passed else "fail",
            "passed": passed,
            "difference": number - middle,
            "side": self.side,
            "why": f"{metric} is {number:.4g}, and {allowed} was allowed",
        }

    def proper(self, expected: object, what: str) -> float:
        """Return a number that the gauge could give. Raises DefinitionError for any other."""
        lowest, highest = self.by.bounds
        within = is_number(expected) and lowest <= expected <= highest
        do = f"give a number from {lowest:g} to {highest:g}"
        require(within, f"{self.where}: {what}", found=expected, do=do)
        return cast("float", expected)


@dataclass(kw_only=True, eq=False)
class ScoreMatch(Check):
    """Whether a gauge's number is within `uncertainty` of `expected`, the borders included.

    If `expected` is not given it is the column `expected_score`.
    """

    expected: float | None = None
    uncertainty: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = is_number(self.uncertainty) and 0 <= self.uncertainty < inf
        require(usable, f"{self.where}: uncertainty", found=self.uncertainty, do="give a number of 0 or more")
        if self.expected is not None:
            self.proper(self.expected, "expected")

    def check(self, columns: Any = COLUMNS) -> None:
        super().check(columns)
        self.needs(self.expected, "expected_score", columns)

    async def score(self, output: Any, expected_score: Any = None) -> dict[str, Any]:
        """Return the number, the texts and bounds it was checked with, and whether it passed.

        Raises DefinitionError if the gauge could not give the expected score, and the gauge's errors.
        """
        wanted = self.proper(expected_score if self.expected is None else self.expected, "expected_score")
        number, measured = await self.gauged(output)
        return {
            self.by.metric: number,
            "response": output,
            "expected_score": wanted,
            "allowed_uncertainty": self.uncertainty,
            **self.verdict(number, wanted, self.uncertainty),
            "model": measured["model"],
        }


@dataclass(kw_only=True, eq=False)
class ScoreConsistency(Check):
    """Whether a gauge's number is like those of golden `references`: their mean, within `scale` standard deviations.

    The standard deviation is the sample's (n - 1). With `interval` "prediction" it is multiplied by a factor that is
    honest for few references, so that an equivalent answer passes as often as `scale` normal deviations promise (68%
    for 1, 95.4% for 2; with one side checked, 84% and 97.7%), if the numbers are normal: t(n - 1) * sqrt(1 + 1 / n).
    The interval is never narrower than `floor` to each side, which matters if references are the same. If `references`
    are not given they are the column `references`, a list of texts.
    """

    references: Sequence[str] | None = None
    scale: float = 1.0
    interval: Interval = "sd"
    floor: float = 0.01
    _known: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        usable = is_number(self.scale) and 0 < self.scale < inf
        require(usable, f"{self.where}: scale", found=self.scale, do="give a positive number; 1 to 3 is usual")
        usable = is_number(self.floor) and 0 <= self.floor < inf
        require(usable, f"{self.where}: floor", found=self.floor, do="give a number of 0 or more")
        require_one_of(self.interval, ("sd", "prediction"), f"{self.where}: interval")
        usable = self.interval == "sd" or self.scale <= WIDEST_PREDICTION
        do = f"give at most {WIDEST_PREDICTION}; 1 to 3 is usual"
        require(usable, f"{self.where}: scale", found=self.scale, do=do)
        if self.references is not None:
            self._texts(self.references)

    def check(self, columns: Any = COLUMNS) -> None:
        super().check(columns)
        self.needs(self.references, "references", columns)

    async def score(self, output: Any, references: Any = None) -> dict[str, Any]:
        """Return the number, the references with theirs, the interval, and whether it passed.

        Raises DefinitionError for fewer than three references, and the gauge's errors, also for a reference.
        """
        texts = self._texts(references if self.references is None else self.references)
        scores = await self._scores(texts)
        number, measured = await self.gauged(output)
        middle, deviation = fmean(scores), stdev(scores)
        half = max(self.floor, self._factor(len(scores)) * deviation)
        return {
            self.by.metric: number,
            "response": output,
            "references": texts,
            "reference_scores": scores,
            "mean_score": middle,
            "calculated_uncertainty": half,
            "standard_deviation": deviation,
            "scale": self.scale,
            "interval": self.interval,
            **self.verdict(number, middle, half),
            "model": measured["model"],
        }

    def _factor(self, n: int) -> float:
        """Return how many standard deviations are allowed to each side."""
        if self.interval == "sd":
            return self.scale
        from scipy.special import ndtr, stdtrit

        return -float(stdtrit(n - 1, ndtr(-self.scale))) * sqrt(1 + 1 / n)  # of the tail: below it rounds to 1

    def _texts(self, references: object) -> list[str]:
        do = f"give a list of at least {FEWEST_REFERENCES} texts; 10 are better"
        usable = is_array(references) and len(references) >= FEWEST_REFERENCES
        texts = list(references) if usable and is_array(references) else []
        usable = usable and all(isinstance(text, str) and text.strip() for text in texts)
        require(usable, f"{self.where}: references", found=references, do=do)
        return texts

    async def _scores(self, texts: Sequence[str]) -> list[float]:
        """Return the numbers of the references; those given with the check are measured once for all answers."""
        if self.references is None:
            return await self._measured(texts)
        if not self._known:  # several at once measure twice at worst: a lock would belong to one event loop
            self._known = dict(zip(texts, await self._measured(texts), strict=True))
        return [self._known[text] for text in texts]

    async def _measured(self, texts: Sequence[str]) -> list[float]:
        each = list(dict.fromkeys(texts))
        gauged = await at_once([partial(self.gauged, text) for text in each])
        found = {text: number for text, (number, _) in zip(each, gauged, strict=True)}
        return [found[text] for text in texts]
