"""Comparison of two experiments: for each metric of both, what is proven on the examples they share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from scipy.special import stdtrit

from simeval.encode import encode_experiment
from simeval.errors import DefinitionError
from simeval.experiment_results import ExperimentResult
from simeval.metric_changes import ExampleChange, ExperimentComparison, Finding, MetricChange
from simeval.settings import require_level, require_share
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip
from simeval.version import __version__

MARGIN, ALPHA = 0.05, 0.05
AS_WRITTEN = "give the result of an experiment, made by this version of simeval"
ROUNDING = 1e-12  # between values that are the same

Experimental = ExperimentResult | Mapping[str, Any]
_Places = Mapping[str, tuple[int, int]]  # of the examples that both have, by key: before and now


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Dataset(_Stored):
    name: str
    version: str
    repetitions: int


class _Metric(_Stored):
    name: str
    kind: Literal["share", "mean"]


class _Examples(_Stored):
    keys: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]
    crashed: frozenset[int] = frozenset()


class StoredExperiment(_Stored):
    """An experiment's JSON result, as far as it is read back."""

    run_id: str
    app: str
    dataset: _Dataset
    metrics: tuple[_Metric, ...]
    examples: _Examples

    def __str__(self) -> str:
        times = f" x {self.dataset.repetitions}" if self.dataset.repetitions > 1 else ""
        return f"run {self.run_id}, target {self.app}, dataset {self.dataset.name} ({self.dataset.version}){times}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """One metric of the examples that both experiments have: values before and now, and where they stand."""

    examples: tuple[ExampleChange, ...]
    left_out: int
    is_binary: bool

    @property
    def differences(self) -> list[float]:
        return [each.now - each.before for each in self.examples]


def is_experiment(found: object) -> bool:
    """Whether something is the result of an experiment."""
    return isinstance(found, ExperimentResult) or (isinstance(found, Mapping) and "metrics" in found)


def compare_experiments(
    baseline: Experimental,
    candidate: Experimental,
    *,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    lower_is_better: Collection[str] = (),
) -> ExperimentComparison:
    """Compare two experiments, metric by metric, on the examples that both have.

    Each is what an engine gave, or its JSON result as a dict. An example is the same where its id is, or else its
    inputs; its value is the mean of its repetitions. A metric is found "better" or "worse" where that is proven
    against no change (McNemar's exact test of shares without repetitions, else sign flips by example), "not worse"
    where a loss of `margin` (of a share) is ruled out, each wrong with a probability of at most `alpha`.
    Higher values are better but of the metrics `lower_is_better` names. Raises DefinitionError for what cannot be
    compared.
    """
    require_share(margin, "margin")
    require_level(alpha, "alpha")
    old, new = _read(baseline, "baseline"), _read(candidate, "candidate")
    before, now = _by_key(old), _by_key(new)
    common = {key: (before[key], now[key]) for key in now if key in before}
    if not common:
        raise DefinitionError("compare", found="they have no example in common", do="compare runs of one dataset")
    kinds = {metric.name: metric.kind for metric in old.metrics}
    shared = [metric for metric in new.metrics if metric.name in kinds]
    for name in lower_is_better:
        if name not in {metric.name for metric in shared}:
            there = ", ".join(metric.name for metric in shared)
            raise DefinitionError("lower_is_better", found=f"found {name!r}", do=f"name a metric of both: {there}")
    names = {metric.name for metric in (*old.metrics, *new.metrics)} - {metric.name for metric in shared}
    return ExperimentComparison(
        changes=tuple(
            _change(
                _pairs(metric, old, new, common),
                metric,
                kind="share" if metric.kind == kinds[metric.name] == "share" else "mean",
                higher=metric.name not in lower_is_better,
                margin=margin,
                alpha=alpha,
            )
            for metric in shared
        ),
        baseline=str(old),
        candidate=str(new),
        common=len(common),
        only_baseline=len(before) - len(common),
        only_candidate=len(now) - len(common),
        only=tuple(sorted(names)),
        margin=margin,
        alpha=alpha,
        notes=_notes(old, new),
    )


def _read(source: Experimental, where: str) -> StoredExperiment:
    found = encode_experiment(source, version=__version__) if isinstance(source, ExperimentResult) else source
    try:
        return StoredExperiment.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(where, found=f"{field}: {first['msg']}", do=AS_WRITTEN) from error


def _by_key(run: StoredExperiment) -> dict[str, int]:
    """Give the places of examples by their keys, numbered where one has come before; what was not reached has none."""
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    for index, key in enumerate(run.examples.keys):
        if key:
            seen[key] = number = seen.get(key, 0) + 1
            found[key if number == 1 else f"{key} ({number})"] = index
    return found


def _pairs(metric: _Metric, old: StoredExperiment, new: StoredExperiment, places: _Places) -> _Pairs:
    examples = []
    for key, (before, now) in places.items():
        values = (_value(old, before, metric), _value(new, now, metric))
        if not any(map(isnan, values)):
            examples.append(ExampleChange(key=key, index=now, before=values[0], now=values[1]))
    is_binary = old.dataset.repetitions == new.dataset.repetitions == 1 and all(
        {each.before, each.now} <= {0.0, 1.0} for each in examples
    )
    return _Pairs(examples=tuple(examples), left_out=len(places) - len(examples), is_binary=is_binary)


def _value(run: StoredExperiment, place: int, metric: _Metric) -> float:
    """Give the mean of the answers to the example at a place; of a share, one that the app failed on is no."""
    times, examples = run.dataset.repetitions, run.examples
    crashed = examples.crashed if metric.kind == "share" else ()
    found = examples.values[metric.name]
    values = [0.0 if at in crashed else found[at] for at in range(place * times, (place + 1) * times)]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else nan


def _change(
    pairs: _Pairs, metric: _Metric, *, kind: Literal["share", "mean"], higher: bool, margin: float, alpha: float
) -> MetricChange:
    sign = 1 if higher else -1
    gains = [sign * difference for difference in pairs.differences]
    better = [each for each, gain in zip(pairs.examples, gains, strict=True) if gain > ROUNDING]
    worse = [each for each, gain in zip(pairs.examples, gains, strict=True) if gain < -ROUNDING]
    n, p_not_worse = len(gains), None
    exact = kind == "share" and pairs.is_binary
    if exact:
        counts = _counts(pairs, higher=higher)
        tested, method = mcnemar(len(better), len(worse)), "McNemar's exact test"
        p_not_worse = paired_not_worse(*counts, margin=margin).p_value
        low, high = paired_difference_interval(*counts, alpha=alpha)
        interval: tuple[float, float] | None = (low, high) if higher else (-high, -low)
    else:
        tested = sign_flip(gains)
        method = "sign flips by example" + ("" if tested.exact else ", drawn")
        interval = _t_interval(pairs.differences, alpha)
    finding = _finding(tested.p_new_better, tested.p_new_worse, p_not_worse, alpha)
    return MetricChange(
        name=metric.name,
        kind=kind,
        higher_is_better=higher,
        finding=finding,
        pairs=n,
        left_out=pairs.left_out,
        before=sum(each.before for each in pairs.examples) / n if n else None,
        now=sum(each.now for each in pairs.examples) / n if n else None,
        interval=interval if n else None,
        p_better=tested.p_new_better,
        p_worse=tested.p_new_worse,
        p_not_worse=p_not_worse,
        improved=_by_size(better),
        regressed=_by_size(worse),
        method=method,
    )


def _counts(pairs: _Pairs, *, higher: bool) -> tuple[int, int, int, int]:
    """Count the pairs that are good in both, now only, before only, and in neither."""
    good = 1.0 if higher else 0.0
    found = [(each.before == good, each.now == good) for each in pairs.examples]
    both, neither = found.count((True, True)), found.count((False, False))
    return both, found.count((False, True)), found.count((True, False)), neither


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
    half = float(stdtrit(n - 1, 1 - alpha)) * spread
    return mean - half, mean + half


def _by_size(examples: Sequence[ExampleChange]) -> tuple[ExampleChange, ...]:
    return tuple(sorted(examples, key=lambda each: (-abs(each.now - each.before), each.index)))


def _notes(old: StoredExperiment, new: StoredExperiment) -> tuple[str, ...]:
    notes = []
    if old.dataset.version != new.dataset.version:
        notes.append("the runs are of different versions of the dataset; only the examples of both are compared")
    return tuple(notes)
