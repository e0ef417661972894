"""The common part of two runs: the same requirements or metrics, their values side by side.

Evidence on one requirement or metric in two runs: is the new one better, is it worse, is it not worse by a margin.

For every finding a missing value (None) of a share is taken for whatever speaks against it: for "better" and "not
worse" it is bad in the new run and good in the old one, for "worse" the other way round. So the error rates hold
whatever made values missing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isclose, log
from statistics import NormalDist
from typing import Literal, TypeVar

from simeval.analysis.changes import ComparedRun
from simeval.analysis.saved_run import Key, RequirementOutcomes, requirements_of, scenarios_of
from simeval.core.direction import Direction, by_path
from simeval.core.validation import first_of
from simeval.errors import DefinitionError
from simeval.evaluators.verdicts import POWER, ROUNDING
from simeval.results.document import ExperimentDocument, RunDocument, ScoreCut
from simeval.results.estimates import student_interval
from simeval.results.guarantee import changed_conditions, not_kept
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse, sign_flip
from simeval.stats.two_sample import fisher, newcombe_interval, not_worse

Outcomes = Sequence[bool | None]  # whether each met the requirement, None if it is missing
Values = Sequence[float | None]
Interval = tuple[float, float]
Value = TypeVar("Value", bound=float)  # a bool is one, too
Missing = Literal["filled in", "left out"]
"""The handling of missing values besides the tests of shares: in the interval of a share, and in means.

"filled in": with the values most against each finding. "left out": the interval of shares is that of the known pairs;
means have no finding if more than a tenth is missing.
"""

SAME = 1e-12  # at most between values that differ by rounding only: as a share of the larger, or as it is below 1
MOST_MISSING = 0.1  # the largest share of values left out that still allows a finding on a mean

CRASHES = "(the app failed)"
MOST_NAMED = 3  # scenarios in a note

Place = tuple[str, int]  # the key of an example or trial, and its place in the candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results of the tests and the interval of new - old; p-values are None if there is no such test.

    `exact` is whether the tests are, `incomplete` whether too much is missing for any finding. `spread` is n times the
    estimated variance of a difference of shares.
    """

    method: str
    p_better: float | None = None
    p_worse: float | None = None
    p_not_worse: float | None = None
    interval: Interval | None = None
    exact: bool = True
    incomplete: bool = False
    spread: float = 0.0


def paired_evidence(
    before: Outcomes, now: Outcomes, *, margin: float, alpha: float, missing: Missing = "filled in"
) -> Evidence:
    """Test pairs: the outcomes of both runs in the same order of trials."""
    pessimistic = _four(_filled(before, True), _filled(now, False))
    optimistic = _four(_filled(before, False), _filled(now, True))
    against_margin = paired_not_worse(*pessimistic, margin=margin)
    known = known_pairs(before, now)
    gains = [bool(new) - bool(old) for old, new in known]
    n = max(1, len(gains))
    interval: Interval | None = (
        paired_difference_interval(*pessimistic, alpha=alpha)[0],
        paired_difference_interval(*optimistic, alpha=alpha)[1],
    )
    return Evidence(
        p_better=mcnemar(*pessimistic[1:3]).p_new_better,
        p_worse=mcnemar(*optimistic[1:3]).p_new_worse,
        p_not_worse=against_margin.p_value,
        interval=interval if missing == "filled in" else share_interval(before, now, alpha=alpha),
        exact=against_margin.exact,
        method=f"exact McNemar test; {_kind(against_margin.exact)} score test of the margin; Tango interval",
        spread=sum(gain * gain for gain in gains) / n - (sum(gains) / n) ** 2,
    )


def unpaired_evidence(before: Outcomes, now: Outcomes, *, margin: float, alpha: float) -> Evidence:
    """Test two independent samples."""
    old_n, new_n = len(before), len(now)
    pessimistic = sum(_filled(now, False)), new_n, sum(_filled(before, True)), old_n
    optimistic = sum(_filled(now, True)), new_n, sum(_filled(before, False)), old_n
    against_margin = not_worse(*pessimistic, margin=margin)
    rates = [outcomes.count(True) / max(1, len(outcomes) - outcomes.count(None)) for outcomes in (before, now)]
    return Evidence(
        p_better=fisher(*pessimistic).p_new_better,
        p_worse=fisher(*optimistic).p_new_worse,
        p_not_worse=against_margin.p_value,
        interval=(newcombe_interval(*pessimistic, alpha)[0], newcombe_interval(*optimistic, alpha)[1]),
        exact=against_margin.exact,
        method=f"Fisher's exact test; {_kind(against_margin.exact)} score test of the margin; Newcombe interval",
        spread=sum(rate * (1 - rate) for rate in rates),
    )


def mean_evidence(before: Values, now: Values, *, sign: int, alpha: float, missing: Missing) -> Evidence:
    """Test pairs of numbers; higher ones are better if `sign` is 1, lower ones if it is -1."""
    differences = [rise(old, new) for old, new in known_pairs(before, now)]
    interval, lost = student_interval(differences, alpha), len(before) - len(differences)
    if missing == "left out" and lost > MOST_MISSING * len(before):
        method = f"none: {lost} of {len(before)} examples lack a value in one of the runs"
        return Evidence(p_better=1.0, p_worse=1.0, interval=interval, incomplete=True, method=method)
    if missing == "left out" or not lost:
        least, most = ([sign * difference for difference in differences],) * 2
    else:
        least, most = _gains(before, now, sign)
    better, worse = sign_flip(least), sign_flip(most)
    drawn = "" if better.exact and worse.exact else ", of flips drawn at random"
    return Evidence(
        p_better=better.p_new_better,
        p_worse=worse.p_new_worse,
        interval=interval,
        method=f"sign-flip permutation test of the differences{drawn}; Student's interval",
    )


def share_interval(before: Outcomes, now: Outcomes, *, alpha: float) -> Interval | None:
    """Return Tango's interval of new - old share over the pairs that are known; None without any."""
    known = known_pairs(before, now)
    if not known:
        return None
    return paired_difference_interval(*_four([old for old, _ in known], [new for _, new in known]), alpha=alpha)


def known_pairs(before: Sequence[Value | None], now: Sequence[Value | None]) -> list[tuple[Value, Value]]:
    """Return the pairs that have a value in both runs."""
    return [(old, new) for old, new in zip(before, now, strict=True) if old is not None and new is not None]


def rise(old: float, new: float) -> float:
    """Return new - old; 0 if only rounding separates them, as a mean of equal values may differ from each."""
    return 0.0 if isclose(new, old, rel_tol=SAME, abs_tol=SAME) else new - old


def least_trials(*, margin: float, alpha: float) -> int:
    """Return the fewest trials that prove "not worse" where all are good in both runs: (1 - margin)^n <= alpha."""
    return ceil(log(alpha) / log(1 - margin) * (1 - ROUNDING))


def about_trials(evidence: Evidence, n: int, difference: float, *, margin: float, alpha: float) -> int | None:
    """Return about how many trials of each run prove "not worse" (4 times in 5), if the `n` trials show the truth.

    None if the loss is the margin or more. The normal approximation with a continuity correction (after J. T.
    Casagrande, M. C. Pike and P. G. Smith 1978, Biometrics 34), rounded up to two digits. At such numbers the power was
    0.78 or more in simulations of margins of 5 and 10 points.
    """
    if difference <= -margin:
        return None
    normal = NormalDist()
    reach = (normal.inv_cdf(1 - alpha) + normal.inv_cdf(POWER)) / (difference + margin)
    least = least_trials(margin=margin, alpha=alpha)
    correction = 2 / (difference + margin) if evidence.spread > 0 else 0.0
    needed = max(n + 1, ceil(max(least, evidence.spread * reach**2) + correction))
    unit = 10 ** max(0, len(str(needed)) - 2)
    return int(-(-needed // unit) * unit)


def _kind(exact: bool) -> str:
    return "exact unconditional" if exact else "asymptotic"


def _filled(outcomes: Outcomes, missing: bool) -> list[bool]:
    return [missing if met is None else met for met in outcomes]


def _four(before: Sequence[bool], now: Sequence[bool]) -> tuple[int, int, int, int]:
    """Count the pairs that are good in both runs, in the new one alone, in the old one alone, in neither."""
    pairs = list(zip(before, now, strict=True))
    both, new_only = pairs.count((True, True)), pairs.count((False, True))
    return both, new_only, pairs.count((True, False)), len(pairs) - both - new_only - pairs.count((True, False))


def _gains(before: Values, now: Values, sign: int) -> tuple[list[float], list[float]]:
    """Return the least and the greatest gain of each pair: a missing value counts as the worst, or best, seen."""
    known = [sign * value for value in (*before, *now) if value is not None]
    worst, best = (min(known), max(known)) if known else (0.0, 0.0)

    def gains(old_missing: float, new_missing: float) -> list[float]:
        return [
            rise(old_missing if old is None else sign * old, new_missing if new is None else sign * new)
            for old, new in zip(before, now, strict=True)
        ]

    return gains(best, worst), gains(worst, best)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """One requirement or metric of both runs; None is a value that is missing.

    Where there are `places` the values are pairs. `missing` is the handling of missing values, `left_out` how many
    trials do not count because the app failed on them, `stopped_early` whether the data ended one of the samples.
    """

    key: Key
    kind: Literal["share", "mean"]
    direction: Direction | None
    before: Values
    now: Values
    places: Sequence[Place] | None
    missing: Missing
    left_out: int = 0
    stopped_early: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether each value is a yes or a no."""
        return self.kind == "share" and {*self.before, *self.now} <= {0.0, 1.0, None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Two runs, and their common part; `pairs` counts the examples of both, if they are experiments."""

    rows: tuple[Matched, ...]
    baseline: ComparedRun
    candidate: ComparedRun
    paired: bool
    pairs: int | None
    notes: tuple[str, ...]


def match_suites(old: RunDocument, new: RunDocument) -> Match:
    """Match the requirements of two runs: those with the same scenario title, label and evaluator.

    Trials of runs with the same seed are pairs, by their index. Raises DefinitionError if none is in common.
    """
    before, now = requirements_of(old), requirements_of(new)
    common = [key for key in before if key in now]
    if not common:
        raise DefinitionError(
            "compare",
            found="the runs have no requirement (scenario title, expectation label and evaluator) in common",
            do="give two runs of the same suite",
        )
    paired = old.seed == new.seed
    return Match(
        rows=tuple(_requirement(key, before[key], now[key], paired=paired) for key in common),
        baseline=_run(old, [key for key in before if key not in now]),
        candidate=_run(new, [key for key in now if key not in before]),
        paired=paired,
        pairs=None,
        notes=(*_notes(old, new), *_notes_of_suites(old, new)),
    )


def match_experiments(
    old: ExperimentDocument, new: ExperimentDocument, *, higher: Collection[str] = (), lower: Collection[str] = ()
) -> Match:
    """Match the metrics of two experiments on the examples of both, with the app's failures, if there are any.

    Which way a metric is better its scorer declared, unless `higher` or `lower` names it. Raises DefinitionError if
    there is no common example, or a name is that of no common metric.
    """
    before, now = old.places(), new.places()
    places = {key: (before[key], now[key]) for key in now if key in before}
    if not places:
        raise DefinitionError("compare", found="they have no example in common", do="compare runs of one dataset")
    names = _names(old, new)
    said = _said(names, higher, lower)
    rows = [_metric(name, old, new, places, said.get(name) or _declared(name, old, new)) for name in names]
    rows += _crashes(old, new, places)
    if not rows:
        measured = "; ".join(", ".join(each.scorers) or "no scorers" for each in (old, new))
        found = f"the runs have no metric in common ({measured})"
        do = "give two runs with the same scorers; what is only concluded on is not compared"
        raise DefinitionError("compare", found=found, do=do)
    return Match(
        rows=tuple(rows),
        baseline=_experiment(old, names, len(before) - len(places)),
        candidate=_experiment(new, names, len(now) - len(places)),
        paired=True,
        pairs=len(places),
        notes=(*_notes(old, new), *_notes_of_experiments(old, new, [name for name in names if name not in said])),
    )


def _requirement(key: Key, old: RequirementOutcomes, new: RequirementOutcomes, *, paired: bool) -> Matched:
    is_share = old.met is not None and new.met is not None
    before, now = _values(old, is_share=is_share), _values(new, is_share=is_share)
    common = [index for index in sorted(now) if index in before] if paired else None
    return Matched(
        key=key,
        kind="share" if is_share else "mean",
        direction="higher" if is_share else _direction(new.cut),
        before=list(before.values()) if common is None else [before[index] for index in common],
        now=list(now.values()) if common is None else [now[index] for index in common],
        places=None if common is None else [(str(index), index) for index in common],
        missing="filled in",
        left_out=len(old.left_out | new.left_out) if is_share else 0,
        stopped_early=old.stopped_early or new.stopped_early,
    )


def _values(requirement: RequirementOutcomes, *, is_share: bool) -> Mapping[int, float | None]:
    """Return each trial's value for a requirement, by its index: whether it met it, or its score."""
    if is_share:
        return requirement.met or {}
    return {index: requirement.scores.get(index) for index in range(requirement.trials)}


def _direction(cut: ScoreCut | None) -> Direction | None:
    if cut is None:
        return None
    return "higher" if cut.sign in (">=", ">") else "lower"


def _metric(
    name: str,
    old: ExperimentDocument,
    new: ExperimentDocument,
    places: dict[str, tuple[int, int]],
    direction: Direction | None,
) -> Matched:
    is_share = {old.kind_of(name), new.kind_of(name)} <= {"share", None}
    return Matched(
        key=("", name, ""),
        kind="share" if is_share else "mean",
        direction=direction,
        before=[old.value(name, before, is_share=is_share) for before, _ in places.values()],
        now=[new.value(name, now, is_share=is_share) for _, now in places.values()],
        places=[(key, now) for key, (_, now) in places.items()],
        missing="left out",
    )


def _crashes(old: ExperimentDocument, new: ExperimentDocument, places: dict[str, tuple[int, int]]) -> list[Matched]:
    """Return how often the app failed, if it did: numbers do not show it."""
    if not old.crashed and not new.crashed:
        return []
    return [
        Matched(
            key=("", CRASHES, ""),
            kind="share",
            direction="lower",
            before=[old.crashes(before) for before, _ in places.values()],
            now=[new.crashes(now) for _, now in places.values()],
            places=[(key, now) for key, (_, now) in places.items()],
            missing="left out",
        )
    ]


def _names(old: ExperimentDocument, new: ExperimentDocument) -> list[str]:
    """Return the metrics of both; one whose scorer was in a run without any value is missing there."""
    found = dict.fromkeys(metric.name for metric in (*new.metrics, *old.metrics))
    return [name for name in found if all(run.kind_of(name) or run.measured(name) for run in (old, new))]


def _said(names: Sequence[str], higher: Collection[str], lower: Collection[str]) -> dict[str, Direction]:
    """Return the directions that the caller gives. Raises DefinitionError for names that are no metrics of both."""
    for where, given in (("higher_is_better", higher), ("lower_is_better", lower)):
        for name in given:
            if name not in names:
                raise DefinitionError(where, found=f"found {name!r}", do=f"name a metric of both: {', '.join(names)}")
    if both := [name for name in higher if name in lower]:
        raise DefinitionError("lower_is_better", found=f"{both[0]!r} is in both", do="say one of the two")
    return by_path(higher=higher, lower=lower)


def _declared(name: str, old: ExperimentDocument, new: ExperimentDocument) -> Direction | None:
    """Return which way a metric is better: by the candidate's scorer, else by the baseline's."""
    return new.direction_of(name) or old.direction_of(name)


def _run(run: RunDocument, only_here: Sequence[Key]) -> ComparedRun:
    return ComparedRun(run_id=run.run_id, app=run.app, seed=run.seed, only_here=tuple(only_here))


def _experiment(run: ExperimentDocument, common: Sequence[str], examples_only_here: int) -> ComparedRun:
    dataset = run.dataset
    times = f" x {dataset.repetitions}" if dataset.repetitions > 1 else ""
    return ComparedRun(
        run_id=run.run_id,
        app=run.app,
        seed=run.seed,
        dataset=f"{dataset.name} ({dataset.version}){times}",
        only_here=tuple(("", metric.name, "") for metric in run.metrics if metric.name not in common),
        examples_only_here=examples_only_here,
    )


def _notes(old: RunDocument | ExperimentDocument, new: RunDocument | ExperimentDocument) -> Iterator[str]:
    if old.judge_repeats != new.judge_repeats:
        yield (
            f"the ratings of each conversation by a judge were {old.judge_repeats} and are {new.judge_repeats} now, "
            "which is another criterion"
        )
    if old.simeval != new.simeval:
        yield f"different versions of simeval made the results, {old.simeval} and {new.simeval}"
    roles = ["judge", "user"] if isinstance(old, RunDocument) else ["judge"]
    for role in roles:
        before, now = old.models.get(role, ""), new.models.get(role, "")
        if before != now:
            yield (f"the {role} model was {before} and is {now} now, so what changed may be the {role}, not the app")
    changed = [*_changed_stories(old, new)] if isinstance(old, RunDocument) and isinstance(new, RunDocument) else []
    if old.conditions is not None and new.conditions is not None:
        changed += changed_conditions(old.conditions, new.conditions)
    if changed:
        named = first_of(changed, MOST_NAMED)
        yield f"not the app alone has changed, so what differs may be due to the rest: {named}"


def _notes_of_suites(old: RunDocument, new: RunDocument) -> Iterator[str]:
    if old.seed != new.seed:
        yield (
            f"the runs have different seeds ({old.seed} and {new.seed}), so their trials are no pairs; with the same "
            "--seed fewer trials usually show as much"
        )
    yield from (not_kept(run.run_id) for run in (old, new) if run.conditions is None)


def _changed_stories(old: RunDocument, new: RunDocument) -> Iterator[str]:
    """Yield the scenarios of both with another user; older results lack the texts."""
    before = scenarios_of(old)
    for title, now in scenarios_of(new).items():
        pairs = {name: (getattr(before.get(title), name, None), getattr(now, name)) for name in ("given", "when")}
        if names := [name for name, pair in pairs.items() if None not in pair and pair[0] != pair[1]]:
            yield f"{title!r} ({', '.join(names)})"


def _notes_of_experiments(old: ExperimentDocument, new: ExperimentDocument, undecided: Sequence[str]) -> Iterator[str]:
    if old.dataset.version != new.dataset.version:
        yield (
            "the runs are of different versions of the dataset: only the examples of both are compared, and where a "
            "reference has changed under the same inputs, so may have what is measured by it"
        )
    for side, run in (("baseline", old), ("candidate", new)):
        reached = sum(bool(key) for key in run.keys)
        if run.stopped:
            yield f"the {side} was stopped after {reached} of {len(run.keys)} examples: {run.stopped}"
    for name in undecided:
        before, now = old.direction_of(name), new.direction_of(name)
        if before and now and before != now:
            yield f"which way {name} is better was {before!r} and is {now!r} now, by which it is compared"
