"""Comparison of two experiments: for each metric of both, what is proven on the examples they share."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from scipy.special import stdtrit

from simeval.analysis.experiment_comparison_report import ExampleChange, ExperimentComparison, Finding, MetricChange
from simeval.core.settings import DEFAULTS, MARGIN
from simeval.core.validation import require_level, require_share
from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_experiment
from simeval.results.experiment import ExperimentResult
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip

ALPHA = DEFAULTS.significance_level
AS_WRITTEN = "give the result of an experiment, made by this version of simeval"
ROUNDING = 1e-12  # between values that are the same
MOST_MISSING = 0.1  # the share of examples that may lack a number where something is concluded on the others
CRASHES = "(the app failed)"

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
    models: dict[str, str] = {}
    stopped: str = ""
    dataset: _Dataset
    scorers: tuple[str, ...] = ()
    metrics: tuple[_Metric, ...]
    examples: _Examples

    def __str__(self) -> str:
        times = f" x {self.dataset.repetitions}" if self.dataset.repetitions > 1 else ""
        return f"run {self.run_id}, target {self.app}, dataset {self.dataset.name} ({self.dataset.version}){times}"

    def kind_of(self, name: str) -> Literal["share", "mean"] | None:
        """Return the kind of a metric; None where the run has no value of it."""
        return next((metric.kind for metric in self.metrics if metric.name == name), None)

    def measured(self, name: str) -> bool:
        """Return whether the scorer of a metric was in the run."""
        return any(name == scorer or name.startswith(f"{scorer}.") for scorer in self.scorers)

    def value(self, name: str, place: int, *, is_share: bool) -> float:
        """Return the mean of the answers to the example at a place, NaN where there is none.

        Of a share, an answer that the app failed on is no.
        """
        times, crashed = self.dataset.repetitions, self.examples.crashed if is_share else frozenset()
        found = self.examples.values.get(name)
        places = range(place * times, (place + 1) * times)
        values = [0.0 if at in crashed else found[at] if found else None for at in places]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else nan

    def crashes(self, place: int) -> float:
        """Return the share of the answers to the example at a place that the app failed on."""
        times = self.dataset.repetitions
        return sum(at in self.examples.crashed for at in range(place * times, (place + 1) * times)) / times


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """One metric of the examples that both experiments have; NaN is a value that is missing."""

    name: str
    kind: Literal["share", "mean"]
    higher: bool
    keys: tuple[str, ...]
    places: tuple[int, ...]
    before: tuple[float, ...]
    now: tuple[float, ...]

    @property
    def known(self) -> list[ExampleChange]:
        """The examples that have a value in both."""
        rows = zip(self.keys, self.places, self.before, self.now, strict=True)
        return [
            ExampleChange(key=key, index=place, before=before, now=now)
            for key, place, before, now in rows
            if not isnan(before) and not isnan(now)
        ]

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
    """Return whether something is the result of an experiment."""
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
    where a loss of `margin` (of a share) is ruled out, each wrong with a probability of at most `alpha`. How often the
    app failed is a metric of its own. A share that is missing counts against every finding; of numbers with more than
    a tenth missing nothing is found. Higher values are better but of the metrics `lower_is_better` names. Raises
    DefinitionError for what cannot be compared.
    """
    require_share(margin, "margin")
    require_level(alpha, "alpha")
    old, new = _read(baseline, "baseline"), _read(candidate, "candidate")
    before, now = _by_key(old), _by_key(new)
    common = {key: (before[key], now[key]) for key in now if key in before}
    if not common:
        raise DefinitionError("compare", found="they have no example in common", do="compare runs of one dataset")
    names = _names(old, new)
    for name in lower_is_better:
        if name not in names:
            raise DefinitionError(
                "lower_is_better", found=f"found {name!r}", do=f"name a metric of both: {', '.join(names)}"
            )
    pairs = [_pairs(name, old, new, common, higher=name not in lower_is_better) for name in names]
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
        notes=_notes(old, new),
    )


def _names(old: StoredExperiment, new: StoredExperiment) -> list[str]:
    """Return the metrics of both; one that a run has no value of, although its scorer was in it, is missing there."""
    found = dict.fromkeys(metric.name for metric in (*new.metrics, *old.metrics))
    return [name for name in found if all(run.kind_of(name) or run.measured(name) for run in (old, new))]


def _read(source: Experimental, where: str) -> StoredExperiment:
    found = encode_experiment(source, version=__version__) if isinstance(source, ExperimentResult) else source
    try:
        return StoredExperiment.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(where, found=f"{field}: {first['msg']}", do=AS_WRITTEN) from error


def _by_key(run: StoredExperiment) -> dict[str, int]:
    """Return the places of examples by their keys, numbered where one has come before.

    What was not reached has none.
    """
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    for index, key in enumerate(run.examples.keys):
        if key:
            seen[key] = number = seen.get(key, 0) + 1
            found[key if number == 1 else f"{key} ({number})"] = index
    return found


def _pairs(name: str, old: StoredExperiment, new: StoredExperiment, places: _Places, *, higher: bool) -> _Pairs:
    is_share = {old.kind_of(name), new.kind_of(name)} <= {"share", None}
    return _Pairs(
        name=name,
        kind="share" if is_share else "mean",
        higher=higher,
        keys=tuple(places),
        places=tuple(now for _, now in places.values()),
        before=tuple(old.value(name, before, is_share=is_share) for before, _ in places.values()),
        now=tuple(new.value(name, now, is_share=is_share) for _, now in places.values()),
    )


def _crashes(old: StoredExperiment, new: StoredExperiment, places: _Places) -> list[_Pairs]:
    """Return how often the app failed, where it did: numbers do not show it."""
    if not old.examples.crashed and not new.examples.crashed:
        return []
    return [
        _Pairs(
            name=CRASHES,
            kind="share",
            higher=False,
            keys=tuple(places),
            places=tuple(now for _, now in places.values()),
            before=tuple(old.crashes(before) for before, _ in places.values()),
            now=tuple(new.crashes(now) for _, now in places.values()),
        )
    ]


def _change(pairs: _Pairs, *, margin: float, alpha: float) -> MetricChange:
    """Conclude on a metric. What is missing counts against every finding, or, of numbers, allows none if it is much."""
    known = pairs.known
    gains = [(each.now - each.before) * (1 if pairs.higher else -1) for each in known]
    better = [each for each, gain in zip(known, gains, strict=True) if gain > ROUNDING]
    worse = [each for each, gain in zip(known, gains, strict=True) if gain < -ROUNDING]
    n, missing = len(known), len(pairs.keys) - len(known)
    p_not_worse: float | None = None
    is_binary = {value for value in (*pairs.before, *pairs.now) if not isnan(value)} <= {0.0, 1.0}
    if pairs.kind == "share" and is_binary:
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
        higher_is_better=pairs.higher,
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


def _share_interval(known: Sequence[ExampleChange], higher: bool, alpha: float) -> tuple[float, float] | None:
    """Return the interval of the difference of shares over the pairs that are known."""
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
