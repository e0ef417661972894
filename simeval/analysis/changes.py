"""The change of each requirement of a suite, or metric of an experiment, from one run to another: the records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simeval.analysis.saved_run import Key
from simeval.core.direction import Direction
from simeval.evaluators.verdicts import ROUNDING

Gate = Literal["not_worse", "not_proven_worse"]
Finding = Literal["better", "worse", "not worse", "unclear", "changed", "unchanged"]
ChangeReason = Literal[
    "",
    "within_margin",
    "not_proven",
    "nothing_in_common",
    "incomplete",
    "no_margin",
    "unpaired",
    "no_direction",
    "unknown_direction",
]

WORST_FIRST: Sequence[Finding] = ("worse", "unclear", "changed", "better", "not worse", "unchanged")
ASKED = {
    "not_worse": "everything with a margin is proven better or not worse, something is proven, nothing is proven worse",
    "not_proven_worse": "nothing is proven worse",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One run's figures on a requirement or metric.

    Of `size` trials or examples `missing` have no value; the `value` (the share of a yes, or the mean) rests on `n`. Of
    an experiment these have one in both runs. `met` counts the yes; None unless each has a yes or no.
    """

    size: int
    missing: int
    n: int
    value: float | None
    met: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairChange:
    """A trial or example whose value is another in the candidate; `index` is its place there."""

    key: str
    index: int
    before: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One requirement of a suite, or one metric of an experiment, in both runs.

    `finding` is the proven change, each with a probability of at most alpha of being wrong: "not worse" by more than
    the margin (a difference of shares), "better" or "worse" than without any change. A loss that is proven to be
    smaller than the margin is "not worse". If none is proven it is "unclear". A metric without a known direction is
    described and not tested: "changed" if some value is another, else "unchanged".

    `p_better`, `p_worse` and `p_not_worse` belong to these proofs; None if there is no such test. That of the margin
    takes a share with one outcome for each trial or example. `reason` and `explanation` describe the basis of a
    finding, `approximate` why its error rate is not exact, if it is not. `difference` is candidate - baseline,
    `interval` its approximate interval with alpha on each side. `improved` and `regressed` are the pairs that changed,
    by the direction, the greatest change first; `changed` those without a direction. `pairs` counts those with a value
    in both runs; None if trials are no pairs. `left_out` trials do not count, because the app failed on them.
    """

    title: str  # of the scenario; empty for a metric, whose name is the label
    label: str
    evaluator: str
    kind: Literal["share", "mean"]
    direction: Direction | None
    baseline: Side
    candidate: Side
    finding: Finding
    reason: ChangeReason
    explanation: str
    method: str
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p_better: float | None = None
    p_worse: float | None = None
    p_not_worse: float | None = None
    pairs: int | None = None
    improved: tuple[PairChange, ...] = ()
    regressed: tuple[PairChange, ...] = ()
    changed: tuple[PairChange, ...] = ()
    left_out: int = 0
    approximate: str = ""

    @property
    def name(self) -> str:
        """Return its name in words."""
        return f"{self.label}: {self.evaluator}" if self.evaluator else self.label

    @property
    def has_direction(self) -> bool:
        """Whether it is known which way it is better, so that something can be found."""
        return self.direction in ("higher", "lower")

    @property
    def has_margin(self) -> bool:
        """Whether "not worse" can be proven of it."""
        return self.p_not_worse is not None

    @property
    def is_proven(self) -> bool:
        """Whether it is proven to be better, or not worse by more than the margin."""
        return self.finding in ("better", "not worse")

    @property
    def unchanged(self) -> int | None:
        """How many pairs have the same value in both runs; None where trials are no pairs."""
        turned = len(self.improved) + len(self.regressed) + len(self.changed)
        return None if self.pairs is None else self.pairs - turned

    @property
    def p_value(self) -> float | None:
        """The p-value of the finding; without one, of the proof that the gate "not_worse" needs."""
        found = {"better": self.p_better, "not worse": self.p_not_worse, "worse": self.p_worse}
        return found.get(self.finding, self.p_not_worse if self.has_margin else self.p_worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """The run on a side of a comparison, and the parts only it has: requirements or metrics, and examples."""

    run_id: str
    app: str
    seed: int | None
    dataset: str = ""
    only_here: tuple[Key, ...] = ()
    examples_only_here: int = 0

    def __str__(self) -> str:
        of = f"dataset {self.dataset}" if self.dataset else f"seed {self.seed}"
        return f"run {self.run_id} (app {self.app}, {of})"


def proves(p: float | None, alpha: float) -> bool:
    """Return whether a p-value is small enough; None is that of no test."""
    return p is not None and p <= alpha * (1 + ROUNDING)


def finding_of(*, p_better: float | None, p_worse: float | None, p_not_worse: float | None, alpha: float) -> Finding:
    """Return the finding of the tests of a change with a direction, each at the level alpha."""
    if proves(p_not_worse, alpha):
        return "better" if proves(p_better, alpha) else "not worse"
    if proves(p_worse, alpha):
        return "worse"
    return "better" if p_not_worse is None and proves(p_better, alpha) else "unclear"
