"""The change of each requirement of a suite, or metric of an experiment, from one run to another: the records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from simeval.analysis.saved_run import Key, scenarios_of
from simeval.core.direction import Direction
from simeval.core.terminal import Terminal, one_line, say_p
from simeval.evaluators.verdicts import ROUNDING
from simeval.results.document import FailureKind, RunDocument, ScenarioDocument
from simeval.results.kinds import kinds_at, likeness
from simeval.stats.multiple import holm
from simeval.stats.paired import mcnemar
from simeval.stats.two_sample import fisher

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

KindFinding = Literal["new", "more", "fewer", "gone", "unclear"]
KINDS_WORST_FIRST: Sequence[KindFinding] = ("new", "more", "fewer", "gone", "unclear")
MOST_SHOWN = 8
NONE = FailureKind(said="", trials=(), misses=0, interval=(0.0, 1.0))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KindChange:
    """A kind of misses of one requirement in both runs: in how many of how many trials it was seen.

    `p_value` is that of "it is as frequent as before" (McNemar's test of pairs, else Fisher's; two-sided, by Holm's
    correction over all kinds), approximate because kinds are made of the same trials. A kind is "more" or "fewer" where
    that is proven; one that was not seen before is "new", one that is no longer seen is "gone", whatever its p-value.
    """

    title: str
    label: str
    said: str
    finding: KindFinding
    before: int
    trials_before: int
    now: int
    trials_now: int
    p_value: float

    def __str__(self) -> str:
        counts = f"{self.before} of {self.trials_before} before, {self.now} of {self.trials_now} now"
        return f"{one_line(self.title)}: {one_line(self.label)}: {one_line(self.said)}: {counts}, {say_p(self.p_value)}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """One kind in both runs, and its p-value without any correction."""

    title: str
    label: str
    kinds: tuple[FailureKind, FailureKind]
    trials: tuple[int, int]
    p_value: float


def kind_changes(before: RunDocument, now: RunDocument, *, paired: bool, alpha: float) -> tuple[KindChange, ...]:
    """Return each kind of misses of requirements that both runs have, the worst finding first."""
    found, there = [], scenarios_of(now)
    for title, scenario in scenarios_of(before).items():
        if title in there:
            found += list(_of_scenario(title, scenario, there[title], paired=paired))
    corrected = holm([each.p_value for each in found])
    changes = [_change(each, p, alpha) for each, p in zip(found, corrected, strict=True)]
    return tuple(sorted(changes, key=lambda each: (KINDS_WORST_FIRST.index(each.finding), each.p_value)))


def _of_scenario(title: str, before: ScenarioDocument, now: ScenarioDocument, *, paired: bool) -> Iterator[_Seen]:
    places = {each.label: place for place, each in enumerate(now.expectations)}
    trials = (min(before.trials, now.trials),) * 2 if paired else (before.trials, now.trials)
    for place, expectation in enumerate(before.expectations):
        if expectation.label in places:
            old, new = kinds_at(before, place), kinds_at(now, places[expectation.label])
            for kinds in _matched(old, new):
                one, other = ([at for at in kind.trials if at < most] for kind, most in zip(kinds, trials, strict=True))
                if one or other:
                    p_value = _p_value(one, other, trials, paired=paired)
                    yield _Seen(title, expectation.label, kinds, trials, p_value)


def _matched(old: Sequence[FailureKind], new: Sequence[FailureKind]) -> Iterator[tuple[FailureKind, FailureKind]]:
    """Yield each kind of one run with that of the other that is most like it, if any is."""
    pairs = [(likeness(one, other), one, other) for one in old for other in new]
    pairs.sort(key=lambda pair: -pair[0])
    left, others = list(old), list(new)
    for like, one, other in pairs:
        if like and one in left and other in others:
            left.remove(one)
            others.remove(other)
            yield one, other
    yield from ((kind, NONE) for kind in left)
    yield from ((NONE, kind) for kind in others)


def _p_value(before: Sequence[int], now: Sequence[int], trials: tuple[int, int], *, paired: bool) -> float:
    if paired:
        return mcnemar(len({*now} - {*before}), len({*before} - {*now})).p_two_sided
    found = fisher(len(now), trials[1], len(before), trials[0])
    return min(1.0, 2 * min(found.p_new_better, found.p_new_worse))


def _change(seen: _Seen, p_value: float, alpha: float) -> KindChange:
    before, now = (sum(at < most for at in kind.trials) for kind, most in zip(seen.kinds, seen.trials, strict=True))
    finding: KindFinding = "unclear"
    if not before or not now:
        finding = "gone" if before else "new"
    elif proves(p_value, alpha):
        finding = "fewer" if now * seen.trials[0] < before * seen.trials[1] else "more"
    return KindChange(
        title=seen.title,
        label=seen.label,
        said=max(seen.kinds, key=lambda each: len(each.trials)).said,
        finding=finding,
        before=before,
        trials_before=seen.trials[0],
        now=now,
        trials_now=seen.trials[1],
        p_value=p_value,
    )


def told_changes(changes: Sequence[KindChange]) -> list[str]:
    """Return a line for each kind that is another than before, after a head; [] without any."""
    found = [each for each in changes if each.finding != "unclear"]
    lines = [f"{each.finding}: {each}" for each in found[:MOST_SHOWN]]
    more = [f"{len(found) - MOST_SHOWN} more; --json has them all"] if len(found) > MOST_SHOWN else []
    return ["kinds of misses (p approximate):", *lines, *more] if found else []


def change_lines(changes: Sequence[KindChange], terminal: Terminal) -> list[str]:
    """Return these lines for a terminal."""
    told = enumerate(told_changes(changes))
    return [line for place, said in told for line in terminal.wrap(said, first="  " * (place > 0), rest="    ")]
