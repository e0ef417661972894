"""Comparison of two experiments: for each metric of both, what is proven on the examples they share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, sqrt
from typing import Literal

from scipy.special import stdtrit

from simeval.direction import Direction, by_path
from simeval.errors import DefinitionError
from simeval.experiment_results import ExperimentResult
from simeval.metric_changes import ExampleChange, ExperimentComparison, Finding, MetricChange
from simeval.settings import require_level, require_share
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip
from simeval.stored import Experimental, StoredExperiment, read_experiment

MARGIN, ALPHA = 0.05, 0.05
ROUNDING = 1e-12  # between values that are the same
MOST_MISSING = 0.1  # the share of examples that may lack a number where something is concluded on the others
CRASHES = "(the app failed)"

_Places = Mapping[str, tuple[int, int]]  # of the examples that both have, by key: before and now


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """One metric of the examples that both experiments have; NaN is a value that is missing."""

    name: str
    kind: Literal["share", "mean"]
    direction: Direction | None
    keys: tuple[str, ...]
    places: tuple[int, ...]
    before: tuple[float, ...]
    now: tuple[float, ...]

    @property
    def higher(self) -> bool:
        """Whether a higher value is better; also said of one that is only described."""
        return self.direction != "lower"

    @property
    def known(self) -> list[ExampleChange]:
        """The examples that have a value in both."""
        rows = zip(self.keys, self.places, self.before, self.now, strict=True)
        return [
            ExampleChange(key=key, index=place, before=before, now=now)
            for key, place, before, now in rows
            if not isnan(before) and not isnan(now)
        ]

    @property
    def is_binary(self) -> bool:
        """Whether each example is a yes or a no in both."""
        return self.kind == "share" and {v for v in (*self.before, *self.now) if not isnan(v)} <= {0.0, 1.0}

    def counts(self, *, missing_before: bool, missing_now: bool) -> tuple[int, int, int, int]:
        """Count the pairs that are good in both, now only, before only, and in neither.

        `missing_before` and `missing_now` say whether what is missing is taken as good.
        """
        good = 1.0 if self.higher else 0.0
        found = [
            (missing_before if isnan(before) else before == good, missing_now if isnan(now) else now == good)
            for before, now in zip(self.before, self.now, strict=True)
        ]
        both, neither = found.count((True, True)), found.count((False, False))
        return both, found.count((False, True)), found.count((True, False)), neither


def is_experiment(found: object) -> bool:
    """Whether something is the result of an experiment."""
    return isinstance(found, ExperimentResult) or (isinstance(found, Mapping) and "metrics" in found)


def compare_experiments(
    baseline: Experimental,
    candidate: Experimental,
    *,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    higher_is_better: Collection[str] = (),
    lower_is_better: Collection[str] = (),
) -> ExperimentComparison:
    """Compare two experiments, metric by metric, on the examples that both have.

    Each is what an engine gave, or its JSON result as a dict. An example is the same where its id is, or else its
    inputs; its value is the mean of its repetitions. A metric is found "better" or "worse" where that is proven
    against no change (McNemar's exact test of shares without repetitions, else sign flips by example), "not worse"
    where a loss of `margin` (of a share) is ruled out, each wrong with a probability of at most `alpha`. How often the
    app failed is a metric of its own. A share that is missing counts against every finding; of numbers with more than
    a tenth missing nothing is found. Which way a metric is better its scorer declares, unless `higher_is_better` or
    `lower_is_better` names it; of one that has no direction, or none that is known, it is only said whether it changed.
    Raises DefinitionError for what cannot be compared.
    """
    require_share(margin, "margin")
    require_level(alpha, "alpha")
    old, new = read_experiment(baseline, "baseline"), read_experiment(candidate, "candidate")
    before, now = _by_key(old), _by_key(new)
    common = {key: (before[key], now[key]) for key in now if key in before}
    if not common:
        raise DefinitionError("compare", found="they have no example in common", do="compare runs of one dataset")
    names = _names(old, new)
    said = _said(names, higher_is_better, lower_is_better)
    pairs = [_pairs(name, old, new, common, said.get(name, _declared(name, old, new))) for name in names]
    crashes = _crashes(old, new, common)
    return ExperimentComparison(
        changes=tuple(_change(each, margin=margin, alpha=alpha) for each in [*pairs, *crashes]),
        baseline=str(old),
        candidate=str(new),
        common=len(common),
        only_baseline=len(before) - len(common),
        only_candidate=len(now) - len(common),
        only=tuple(sorted({metric.name for metric in (*old.metrics, *new.metrics)} - set(names))),
        margin=margin,
        alpha=alpha,
        notes=(*_notes(old, new), *_notes_of_directions([name for name in names if name not in said], old, new)),
    )


def _said(names: Sequence[str], higher: Collection[str], lower: Collection[str]) -> dict[str, Direction]:
    """Return the directions that the caller gives. Raises DefinitionError for names that are no metrics of both."""
    for where, given in (("higher_is_better", higher), ("lower_is_better", lower)):
        for name in given:
            if name not in names:
                raise DefinitionError(where, found=f"found {name!r}", do=f"name a metric of both: {', '.join(names)}")
    if both := [name for name in higher if name in lower]:
        raise DefinitionError("lower_is_better", found=f"{both[0]!r} is in both", do="say one of the two")
    return by_path(higher=higher, lower=lower)


def _declared(name: str, old: StoredExperiment, new: StoredExperiment) -> Direction | None:
    """Return which way a metric is better: as the candidate's scorer says, else as the baseline's does."""
    return new.direction_of(name) or old.direction_of(name)


def _notes_of_directions(names: Sequence[str], old: StoredExperiment, new: StoredExperiment) -> list[str]:
    return [
        f"which way {name} is better was {before!r} and is {now!r} now, by which it is compared"
        for name in names
        if (before := old.direction_of(name)) and (now := new.direction_of(name)) and before != now
    ]


def _names(old: StoredExperiment, new: StoredExperiment) -> list[str]:
    """Give the metrics of both; one that a run has no value of, although its scorer was in it, is missing there."""
    found = dict.fromkeys(metric.name for metric in (*new.metrics, *old.metrics))
    return [name for name in found if all(run.kind_of(name) or run.measured(name) for run in (old, new))]


def _by_key(run: StoredExperiment) -> dict[str, int]:
    """Give the places of examples by their keys, numbered where one has come before; what was not reached has none."""
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    for index, key in enumerate(run.examples.keys):
        if key:
            seen[key] = number = seen.get(key, 0) + 1
            found[key if number == 1 else f"{key} ({number})"] = index
    return found


def _pairs(
    name: str, old: StoredExperiment, new: StoredExperiment, places: _Places, direction: Direction | None
) -> _Pairs:
    is_share = {old.kind_of(name), new.kind_of(name)} <= {"share", None}
    return _Pairs(
        name=name,
        kind="share" if is_share else "mean",
        direction=direction,
        keys=tuple(places),
        places=tuple(now for _, now in places.values()),
        before=tuple(old.value(name, before, is_share=is_share) for before, _ in places.values()),
        now=tuple(new.value(name, now, is_share=is_share) for _, now in places.values()),
    )


def _crashes(old: StoredExperiment, new: StoredExperiment, places: _Places) -> list[_Pairs]:
    """Give how often the app failed, where it did: numbers do not show it."""
    if not old.examples.crashed and not new.examples.crashed:
        return []
    return [
        _Pairs(
            name=CRASHES,
            kind="share",
            direction="lower",
            keys=tuple(places),
            places=tuple(now for _, now in places.values()),
            before=tuple(old.crashes(before) for before, _ in places.values()),
            now=tuple(new.crashes(now) for _, now in places.values()),
        )
    ]


def _change(pairs: _Pairs, *, margin: float, alpha: float) -> MetricChange:
    """Conclude on a metric. What is missing counts against every finding, or, of numbers, allows none if it is much."""
    if pairs.direction not in ("higher", "lower"):
        return _described(pairs, alpha)
    known = pairs.known
    gains = [(each.now - each.before) * (1 if pairs.higher else -1) for each in known]
    better = [each for each, gain in zip(known, gains, strict=True) if gain > ROUNDING]
    worse = [each for each, gain in zip(known, gains, strict=True) if gain < -ROUNDING]
    n, missing = len(known), len(pairs.keys) - len(known)
    p_not_worse: float | None = None
    if pairs.is_binary:
        _, now_only, before_only, _ = against = pairs.counts(missing_before=True, missing_now=False)
        p_better = mcnemar(now_only, before_only).p_new_better
        p_not_worse = paired_not_worse(*against, margin=margin).p_value
        _, now_only, before_only, _ = pairs.counts(missing_before=False, missing_now=True)
        p_worse, method = mcnemar(now_only, before_only).p_new_worse, "McNemar's exact test"
        interval = _share_interval(known, pairs.higher, alpha)
    else:
        tested = sign_flip(gains)
        p_better, p_worse = tested.p_new_better, tested.p_new_worse
        method = "sign flips by example" + ("" if tested.exact else ", drawn")
        interval = _t_interval([each.now - each.before for each in known], alpha)
        if missing > MOST_MISSING * len(pairs.keys):
            p_better = p_worse = 1.0
            method = f"none: {missing} of {len(pairs.keys)} examples lack a value in one of the runs"
    return MetricChange(
        name=pairs.name,
        kind=pairs.kind,
        direction=pairs.direction,
        finding=_finding(p_better, p_worse, p_not_worse, alpha),
        pairs=n,
        left_out=missing,
        before=sum(each.before for each in known) / n if n else None,
        now=sum(each.now for each in known) / n if n else None,
        interval=interval,
        p_better=p_better,
        p_worse=p_worse,
        p_not_worse=p_not_worse,
        improved=_by_size(better),
        regressed=_by_size(worse),
        method=method,
    )


def _described(pairs: _Pairs, alpha: float) -> MetricChange:
    """Describe a metric that is better neither way, or of which that is not known."""
    known = pairs.known
    changed = [each for each in known if abs(each.now - each.before) > ROUNDING]
    n = len(known)
    if pairs.is_binary:
        interval = _share_interval(known, True, alpha)
    else:
        interval = _t_interval([each.now - each.before for each in known], alpha)
    return MetricChange(
        name=pairs.name,
        kind=pairs.kind,
        direction=pairs.direction,
        finding="changed" if changed else "unchanged",
        pairs=n,
        left_out=len(pairs.keys) - n,
        before=sum(each.before for each in known) / n if n else None,
        now=sum(each.now for each in known) / n if n else None,
        interval=interval,
        method="none: it has no direction" if pairs.direction else "none: its direction is not known",
        changed=_by_size(changed),
    )


def _share_interval(known: Sequence[ExampleChange], higher: bool, alpha: float) -> tuple[float, float] | None:
    """Give the interval of the difference of shares over the pairs that are known."""
    if not known:
        return None
    good = 1.0 if higher else 0.0
    found = [(each.before == good, each.now == good) for each in known]
    both, neither = found.count((True, True)), found.count((False, False))
    now_only, before_only = found.count((False, True)), found.count((True, False))
    low, high = paired_difference_interval(both, now_only, before_only, neither, alpha=alpha)
    return (low, high) if higher else (-high, -low)


def _finding(p_better: float, p_worse: float, p_not_worse: float | None, alpha: float) -> Finding:
    if p_worse <= alpha:
        return "worse"
    if p_better <= alpha:
        return "better"
    return "not worse" if p_not_worse is not None and p_not_worse <= alpha else "unclear"


def _t_interval(differences: Sequence[float], alpha: float) -> tuple[float, float] | None:
    n = len(differences)
    if n < 2:
        return None
    mean = sum(differences) / n
    spread = sqrt(sum((each - mean) ** 2 for each in differences) / (n - 1) / n)
    if spread < ROUNDING:  # differences that are all the same say nothing of how others would spread
        return None
    half = float(stdtrit(n - 1, 1 - alpha)) * spread
    return mean - half, mean + half


def _by_size(examples: Sequence[ExampleChange]) -> tuple[ExampleChange, ...]:
    return tuple(sorted(examples, key=lambda each: (-abs(each.now - each.before), each.index)))


def _notes(old: StoredExperiment, new: StoredExperiment) -> tuple[str, ...]:
    notes = []
    if old.dataset.version != new.dataset.version:
        notes.append(
            "the runs are of different versions of the dataset: only the examples of both are compared, and where a "
            "reference has changed under the same inputs, so may have what is measured by it"
        )
    if old.models.get("judge") != new.models.get("judge"):
        notes.append(
            f"the judges differ ({old.models.get('judge')} and {new.models.get('judge')}), so ratings may, too"
        )
    for name, run in (("baseline", old), ("candidate", new)):
        reached = sum(bool(key) for key in run.examples.keys)
        if run.stopped:
            notes.append(f"the {name} was stopped after {reached} of {len(run.examples.keys)} examples: {run.stopped}")
    return tuple(notes)
