"""Comparison of two runs: for each requirement or metric of both, whether it is better, worse, or proven not to be.

A share gets two one-sided tests at the level alpha: "worse" is tested against no difference, "not worse" against a loss
of exactly the margin. A "not worse" is wrong only if the share fell by the margin or more, a "worse" only if it did not
fall, so the two errors never meet and alpha is not split. "Better" is tested against no difference, too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from simeval.analysis.changes import (
    Change,
    ChangeReason,
    Finding,
    Gate,
    PairChange,
    Side,
    finding_of,
    kind_changes,
    proves,
)
from simeval.analysis.comparison_report import Comparison, show_side
from simeval.analysis.matching import (
    Evidence,
    Matched,
    Values,
    about_trials,
    known_pairs,
    least_trials,
    match_experiments,
    match_suites,
    mean_evidence,
    paired_evidence,
    rise,
    share_interval,
    unpaired_evidence,
)
from simeval.analysis.saved_run import Source, read_result, require_different
from simeval.core.settings import ALPHA, MARGIN
from simeval.core.terminal import counted_of, say_p
from simeval.core.validation import require_level, require_one_of, require_share
from simeval.errors import DefinitionError
from simeval.results.document import ExperimentDocument, RunDocument
from simeval.results.estimates import student_interval

MOST_ADVISED = 1_000_000  # trials, beyond which more of them are no advice
STOPPED_EARLY = (
    "a run stopped early on its data, so only the trials it had can be compared and the error rates are no longer "
    "exact; run both with --no-early-stopping for exact error rates"
)
ASYMPTOTIC = (
    "there are too many trials for the exact test of the margin, so its asymptotic form is used (of more than 1,000 "
    "pairs up to 5.5% were wrongly found not worse where 5% is said)"
)


def compare(
    baseline: Source,
    candidate: Source,
    *more: Source,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    gate: Gate = "not_worse",
    higher_is_better: Collection[str] = (),
    lower_is_better: Collection[str] = (),
) -> Comparison:
    """Compare two runs of a suite, requirement by requirement, or two experiments, metric by metric.

    Each run is a result of an engine, or one that `--json` wrote, as a dict. Trials of runs with the same seed are
    pairs, because trials of the same index share their simulated user and seed; of runs with different seeds they are
    independent samples. Examples are pairs if their ids are the same, or else their inputs, each with the mean of its
    repetitions. `Change` has the finding on each requirement or metric, `Comparison` that on the whole, and whether it
    meets the `gate`. `margin` is the loss of a share that is tolerated, `alpha` the chance of a wrong finding.

    A metric's scorer declares its direction; `higher_is_better` and `lower_is_better` set it for those they name.
    Several candidates are compared by `simeval.analysis.compare_many`. Raises DefinitionError for runs that cannot be
    compared, such as a run with itself.
    """
    if more:
        do = "write simeval.analysis.compare_many(baseline, [candidate, ...])"
        raise DefinitionError("compare", found=f"found {len(more) + 2} runs, and it compares two", do=do)
    require_share(margin, "margin", such_as=0.05)
    require_level(alpha, "alpha")
    require_one_of(gate, get_args(Gate), "gate")
    old, new = read_result(baseline, "baseline"), read_result(candidate, "candidate")
    require_different([old, new], "compare")
    if isinstance(old, RunDocument) and isinstance(new, RunDocument):
        require_measured(old, "baseline")
        require_measured(new, "candidate")
        if higher_is_better or lower_is_better:
            where = "higher_is_better" if higher_is_better else "lower_is_better"
            raise DefinitionError(where, found="these are runs of suites", do="leave it out: their evaluators say it")
        match = match_suites(old, new)
        kinds = kind_changes(old, new, paired=match.paired, alpha=alpha)
    elif isinstance(old, ExperimentDocument) and isinstance(new, ExperimentDocument):
        match, kinds = match_experiments(old, new, higher=higher_is_better, lower=lower_is_better), ()
    else:
        found = "one is an experiment, the other a run of a suite"
        raise DefinitionError("compare", found=found, do="compare two of a kind")
    rules = _Rules(margin=margin, alpha=alpha, unit="trial" if isinstance(old, RunDocument) else "example")
    return Comparison(
        kind="suites" if isinstance(old, RunDocument) else "experiments",
        changes=tuple(_compare(row, rules) for row in match.rows),
        baseline=match.baseline,
        candidate=match.candidate,
        paired=match.paired,
        margin=margin,
        alpha=alpha,
        gate=gate,
        pairs=match.pairs,
        notes=match.notes,
        kinds=kinds,
    )


def require_measured(run: RunDocument, where: str) -> None:
    """Raise DefinitionError where every scenario of a run is an error: nothing is known of its app."""
    if not run.scenarios or any(each.outcome != "error" for each in run.scenarios):
        return
    said = [verdict.why for each in run.scenarios for one in each.expectations for verdict in one.verdicts]
    why = next(filter(None, said), "")
    found = f"run {run.run_id} is an error, so nothing is known of its app" + (f": {why}" if why else "")
    raise DefinitionError(where, found=found, do="run it again")


@dataclass(frozen=True, slots=True)
class _Rules:
    """How requirements or metrics of two runs are compared; `unit` is the unit of their values."""

    margin: float
    alpha: float
    unit: str

    @property
    def points(self) -> str:
        """The margin in words."""
        return f"{100 * self.margin:.4g} percentage points"

    def proves(self, p: float | None) -> bool:
        """Whether a p-value is small enough."""
        return proves(p, self.alpha)


def _compare(row: Matched, rules: _Rules) -> Change:
    evidence = _evidence(row, rules)
    finding = _finding(row, evidence, rules)
    baseline, candidate = _sides(row)
    title, label, evaluator = row.key
    difference = None
    if baseline.value is not None and candidate.value is not None:
        difference = candidate.value - baseline.value
    change = Change(
        title=title,
        label=label,
        evaluator=evaluator,
        kind=row.kind,
        direction=row.direction,
        baseline=baseline,
        candidate=candidate,
        finding=finding,
        reason="",
        explanation="",
        method=evidence.method,
        difference=difference,
        interval=evidence.interval,
        p_better=evidence.p_better,
        p_worse=evidence.p_worse,
        p_not_worse=evidence.p_not_worse,
        pairs=None if row.places is None else len(known_pairs(row.before, row.now)),
        left_out=row.left_out,
        approximate="; ".join([STOPPED_EARLY] * row.stopped_early + [ASYMPTOTIC] * (not evidence.exact)),
        **_turned(row),
    )
    reason, conclusion = _conclude(change, row, evidence, rules)
    return replace(change, reason=reason, explanation=f"{_seen(change, row, rules)}: {conclusion}")


def _evidence(row: Matched, rules: _Rules) -> Evidence:
    """Test a metric with a direction; other pairs get an interval at most."""
    sign = {"higher": 1, "lower": -1}.get(row.direction or "")
    if sign is None or (row.places is None and not row.is_binary):
        return Evidence(interval=_described(row, rules), method="difference, without a test")
    if not row.is_binary:
        return mean_evidence(row.before, row.now, sign=sign, alpha=rules.alpha, missing=row.missing)
    good = 1.0 if sign == 1 else 0.0
    before, now = _are(good, row.before), _are(good, row.now)
    if row.places is None:
        return unpaired_evidence(before, now, margin=rules.margin, alpha=rules.alpha)
    found = paired_evidence(before, now, margin=rules.margin, alpha=rules.alpha, missing=row.missing)
    turned = found.interval if sign == 1 or found.interval is None else (-found.interval[1], -found.interval[0])
    return replace(found, interval=turned)


def _described(row: Matched, rules: _Rules) -> tuple[float, float] | None:
    if row.places is None:
        return None
    if row.is_binary:
        return share_interval(_are(1.0, row.before), _are(1.0, row.now), alpha=rules.alpha)
    return student_interval([rise(old, new) for old, new in known_pairs(row.before, row.now)], rules.alpha)


def _are(wanted: float, values: Values) -> list[bool | None]:
    return [None if value is None else value == wanted for value in values]


def _finding(row: Matched, evidence: Evidence, rules: _Rules) -> Finding:
    if row.direction not in ("higher", "lower"):
        return "unchanged" if _is_same(row) else "changed"
    return finding_of(
        p_better=evidence.p_better, p_worse=evidence.p_worse, p_not_worse=evidence.p_not_worse, alpha=rules.alpha
    )


def _is_same(row: Matched) -> bool:
    """Whether no value that is known in both runs is another now; without pairs, whether they have the same values."""
    if row.places is None:
        old, new = ([value for value in values if value is not None] for values in (row.before, row.now))
        return sorted(old) == sorted(new)
    return not any(rise(old, new) for old, new in known_pairs(row.before, row.now))


def _sides(row: Matched) -> tuple[Side, Side]:
    """Return each run's figures; if missing values are left out, on those with a value in both."""
    known = known_pairs(row.before, row.now) if row.missing == "left out" else None
    return (
        _side(row, row.before, None if known is None else [old for old, _ in known]),
        _side(row, row.now, None if known is None else [new for _, new in known]),
    )


def _side(row: Matched, values: Values, known: Sequence[float] | None) -> Side:
    there = [value for value in values if value is not None]
    counted = there if known is None else known
    value = sum(counted) / len(counted) if counted else None
    met = sum(map(bool, counted)) if row.is_binary else None
    return Side(size=len(values), missing=len(values) - len(there), n=len(counted), value=value, met=met)


def _turned(row: Matched) -> dict[str, tuple[PairChange, ...]]:
    """Return the pairs whose value is another now, by the direction, the greatest change first."""
    found = [
        PairChange(key=key, index=index, before=float(old), now=float(new))
        for (key, index), old, new in zip(row.places or (), row.before, row.now, strict=row.places is not None)
        if old is not None and new is not None and rise(old, new)
    ]
    found.sort(key=lambda each: (-abs(each.now - each.before), each.index))
    if row.direction not in ("higher", "lower"):
        return {"changed": tuple(found)}
    rose = tuple(each for each in found if each.now > each.before)
    fell = tuple(each for each in found if each.now < each.before)
    return {"improved": rose, "regressed": fell} if row.direction == "higher" else {"improved": fell, "regressed": rose}


def _conclude(change: Change, row: Matched, evidence: Evidence, rules: _Rules) -> tuple[ChangeReason, str]:
    """Return the finding of the tests, and why it is not more."""
    if change.direction is None:
        return "unknown_direction", "not tested, because it is not known whether a higher value is better"
    if change.direction == "none":
        return "no_direction", "not tested, because it is better neither way"
    if change.finding == "better":
        return "", f"better ({_p(change.p_better)})"
    if change.finding == "not worse":
        if rules.proves(change.p_worse):
            worse, not_worse = _p(change.p_worse), _p(change.p_not_worse)
            return "within_margin", f"worse ({worse}), but by less than {rules.points} ({not_worse})"
        return "", f"not worse by more than {rules.points} ({_p(change.p_not_worse)})"
    if change.finding == "worse":
        return "", f"proven worse: an app that is no worse gives so bad a result with {_p(change.p_worse)}"
    return _unclear(change, row, evidence, rules)


def _unclear(change: Change, row: Matched, evidence: Evidence, rules: _Rules) -> tuple[ChangeReason, str]:
    if change.difference is None:
        return "nothing_in_common", "nothing can be compared"
    if change.p_worse is None:
        return "unpaired", "means are compared only where both runs have the same seed"
    if evidence.incomplete:
        return "incomplete", f"nothing is found: {evidence.method.removeprefix('none: ')}"
    if not change.has_margin:
        what = "a mean" if change.kind == "mean" else "a share over repetitions"
        no_margin = f'"not worse" cannot be proven, because {what} has no margin here'
        return "no_margin", f"not proven worse ({_p(change.p_worse)}); {no_margin}"
    not_worse = f"not worse by more than {rules.points} ({_p(change.p_not_worse)})"
    neither = f"neither worse ({_p(change.p_worse)}) nor {not_worse}"
    way_out = _left_by_stopping(change, rules) if row.stopped_early else _way_out(change, evidence, rules)
    return "not_proven", f"{neither} is proven; {way_out}"


def _p(p: float | None) -> str:
    return say_p(1.0 if p is None else p)


def _left_by_stopping(change: Change, rules: _Rules) -> str:
    sizes = change.baseline.size, change.candidate.size
    pairs = counted_of(sizes[1], "pair")
    left = f"{sizes[0]} and {sizes[1]} {rules.unit}s" if change.pairs is None else pairs
    return f"early stopping left {left}; run both with --no-early-stopping"


def _way_out(change: Change, evidence: Evidence, rules: _Rules) -> str:
    """Describe the effect of more trials, if the observed rates are the true ones."""
    n = min(change.baseline.size, change.candidate.size)
    gain = (change.difference or 0.0) * (1 if change.direction == "higher" else -1)
    least = least_trials(margin=rules.margin, alpha=rules.alpha)
    about = about_trials(evidence, n, gain, margin=rules.margin, alpha=rules.alpha)
    if about is None or about > MOST_ADVISED:
        below = "not" if about is None else "hardly"
        return f"the loss seen is {below} below that margin, so more {rules.unit}s are unlikely to prove the second"
    if n < least and evidence.spread == 0:  # `about` is that number too
        needed = f"at least {least} {rules.unit}s of each run are needed"
        return f"even without any change {needed} to prove the second"
    prospect = (
        f"about {about:,} {rules.unit}s of each run would prove the second (4 times in 5), if the rates seen are true"
    )
    return f"{prospect}; even without any change at least {least} are needed" if n < least else prospect


def _seen(change: Change, row: Matched, rules: _Rules) -> str:
    """Describe the observed values."""
    before, now = change.baseline, change.candidate
    parts = [f"{_say(before, change)} before, {_say(now, change)} now"]
    if change.pairs is not None:
        parts.append(_say_turned(change, rules))
    if before.missing or now.missing:
        counts = change.p_worse is not None and (row.is_binary or row.missing == "filled in")
        what = "which counts against every finding" if counts else "and left out"
        parts.append(f"{before.missing} before and {now.missing} now are missing, {what}")
    if change.left_out:
        parts.append(f"{change.left_out} left out, because the app failed on them")
    return "; ".join(parts)


def _say_turned(change: Change, rules: _Rules) -> str:
    if not change.has_direction:
        return f"{len(change.changed)} {rules.unit}s changed"
    worse, better = len(change.regressed), len(change.improved)
    return f"{counted_of(worse, rules.unit)} got worse, {better} better"


def _say(side: Side, change: Change) -> str:
    if side.met is None and side.value is None:
        return "nothing"
    is_mean = side.met is None and change.kind != "share"
    return f"a mean of {show_side(side, change)} in {side.n}" if is_mean else show_side(side, change)
