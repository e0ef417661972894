"""Comparison of two runs: for each requirement of both, whether the candidate is worse, or proven not to be.

Each share gets two one-sided tests at the level alpha: "worse" is tested against no difference, "not worse"
against a loss of exactly the margin. A pass is wrong only where the share fell by the margin or more, a fail
only where it did not fall, so the two errors never meet and alpha is not split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from simeval.analysis.evidence import Evidence, Outcomes, about_trials, least_trials, paired_evidence, unpaired_evidence
from simeval.analysis.saved_run import Key, Requirement, Source, StoredRun, read_result, requirements_of
from simeval.analysis.suite_comparison_report import Change, ChangeReason, ComparedRun, Comparison, Side
from simeval.core.settings import DEFAULTS, MARGIN
from simeval.core.validation import require_level, require_share
from simeval.errors import DefinitionError
from simeval.evaluators.verdicts import decide, say_p
from simeval.stats.paired import sign_flip

ALPHA = DEFAULTS.significance_level
STOPPED_EARLY = (
    "a run stopped early on its data, so only the trials it had can be compared and the error rates are no longer "
    "exact; run both with --no-early-stopping for exact error rates"
)
ASYMPTOTIC = "there are too many trials for the exact test of the margin, so its asymptotic form is used"


def compare(baseline: Source, candidate: Source, *, margin: float = MARGIN, alpha: float = ALPHA) -> Comparison:
    """Compare two runs, requirement by requirement.

    Each run is what an engine gave, or the JSON result of `simeval run --json` as a dict. Runs with the same
    seed are compared trial by trial, because trials of the same index share their simulated user and seed;
    others as independent samples. A requirement passes when it is proven not worse by more than `margin` (a
    difference of shares), and fails when it is proven worse, each wrong with a probability of at most `alpha`.
    Missing trials count against both conclusions. Raises DefinitionError for what cannot be compared.
    """
    require_share(margin, "margin")
    require_level(alpha, "alpha")
    old, new = read_result(baseline, "baseline"), read_result(candidate, "candidate")
    before, now = requirements_of(old), requirements_of(new)
    common = [key for key in before if key in now]
    if not common:
        raise DefinitionError(
            "compare",
            found="the runs have no requirement (scenario title, expectation label and evaluator) in common",
            do="give two runs of the same suite",
        )
    rules = _Rules(paired=old.seed == new.seed, margin=margin, alpha=alpha)
    return Comparison(
        changes=tuple(_compare(key, before[key], now[key], rules) for key in common),
        baseline=ComparedRun(old.run_id, old.seed, old.app, tuple(key for key in before if key not in now)),
        candidate=ComparedRun(new.run_id, new.seed, new.app, tuple(key for key in now if key not in before)),
        paired=rules.paired,
        margin=margin,
        alpha=alpha,
        notes=tuple(_notes(old, new)),
    )


def _notes(old: StoredRun, new: StoredRun) -> Iterator[str]:
    if old.run_id == new.run_id:
        yield f"both are the same run, {old.run_id}"
    if old.seed != new.seed:
        yield (
            f"the runs have different seeds ({old.seed} and {new.seed}), so their trials are no pairs; with the same "
            "--seed fewer trials usually show as much"
        )
    for role in sorted(old.models.keys() & new.models.keys()):
        if old.models[role] != new.models[role]:
            yield (
                f"the {role} model was {old.models[role]} and is {new.models[role]} now, so what changed may be the "
                f"{role}, not the app"
            )
    if old.judge_repeats != new.judge_repeats:
        yield (
            f"the ratings of each conversation by a judge were {old.judge_repeats} and are {new.judge_repeats} now, "
            "which is another criterion"
        )
    if old.simeval != new.simeval:
        yield f"different versions of simeval made the results, {old.simeval} and {new.simeval}"


@dataclass(frozen=True, slots=True)
class _Rules:
    """How the requirements of two runs are compared."""

    paired: bool
    margin: float
    alpha: float

    @property
    def points(self) -> str:
        """The margin in words."""
        return f"{100 * self.margin:.4g} percentage points"


def _compare(key: Key, old: Requirement, new: Requirement, rules: _Rules) -> Change:
    by_share = old.met is not None and new.met is not None
    change = _compare_shares(key, old, new, rules) if by_share else _compare_means(key, old, new, rules)
    if not (old.stopped_early or new.stopped_early):
        return change
    caveats = [STOPPED_EARLY, change.approximate] if change.approximate else [STOPPED_EARLY]
    return replace(change, approximate="; ".join(caveats))


def _compare_shares(key: Key, old: Requirement, new: Requirement, rules: _Rules) -> Change:
    before, now = old.met or {}, new.met or {}
    if rules.paired:
        common = sorted(before.keys() & now.keys())
        before, now = {index: before[index] for index in common}, {index: now[index] for index in common}
    outcomes = list(before.values()), list(now.values())
    test = paired_evidence if rules.paired else unpaired_evidence
    evidence = test(*outcomes, margin=rules.margin, alpha=rules.alpha)
    baseline, candidate = _share(outcomes[0]), _share(outcomes[1])
    pairs = list(zip(*outcomes, strict=True)) if rules.paired else None
    turned = None if pairs is None else (pairs.count((False, True)), pairs.count((True, False)))
    stopped_early = old.stopped_early or new.stopped_early
    reason, conclusion = _conclude(evidence, (baseline, candidate), rules, stopped_early=stopped_early)
    seen = _seen(baseline, candidate, turned, left_out=len(old.left_out | new.left_out))
    title, label, evaluator = key
    return Change(
        title=title,
        label=label,
        evaluator=evaluator,
        kind="share",
        paired=rules.paired,
        baseline=baseline,
        candidate=candidate,
        outcome=decide(evidence.p_not_worse, evidence.p_worse, rules.alpha),
        reason=reason,
        explanation=f"{seen}: {conclusion}",
        method=evidence.method,
        difference=_difference(baseline, candidate),
        interval=evidence.interval,
        p_not_worse=evidence.p_not_worse,
        p_worse=evidence.p_worse,
        better=turned[0] if turned else None,
        worse=turned[1] if turned else None,
        approximate="" if evidence.exact else ASYMPTOTIC,
    )


def _share(outcomes: Outcomes) -> Side:
    met, missing = outcomes.count(True), outcomes.count(None)
    known = len(outcomes) - missing
    return Side(trials=len(outcomes), missing=missing, value=met / known if known else None, met=met)


def _difference(baseline: Side, candidate: Side) -> float | None:
    return None if baseline.value is None or candidate.value is None else candidate.value - baseline.value


def _conclude(
    evidence: Evidence, sides: tuple[Side, Side], rules: _Rules, *, stopped_early: bool
) -> tuple[ChangeReason, str]:
    """Say what the tests of a share prove, `sides` being the baseline and the candidate."""
    outcome = decide(evidence.p_not_worse, evidence.p_worse, rules.alpha)
    worse, not_worse = say_p(evidence.p_worse), say_p(evidence.p_not_worse)
    if outcome == "pass":
        if decide(1.0, evidence.p_worse, rules.alpha) == "fail":
            return "worse_within_margin", f"worse ({worse}), but by less than {rules.points} ({not_worse})"
        return "", f"not worse by more than {rules.points} ({not_worse})"
    if outcome == "fail":
        return "proven_worse", f"proven worse: an app that is no worse gives so bad a result with {worse}"
    difference = _difference(*sides)
    if difference is None:
        return "no_common_trials", "nothing can be compared"
    n = min(side.trials for side in sides)
    way_out = _left_by_stopping(*sides, rules) if stopped_early else _way_out(evidence, n, difference, rules)
    neither = f"neither worse ({worse}) nor not worse by more than {rules.points} ({not_worse}) is proven"
    return "not_proven", f"{neither}; {way_out}"


def _left_by_stopping(baseline: Side, candidate: Side, rules: _Rules) -> str:
    pairs = "1 pair" if candidate.trials == 1 else f"{candidate.trials} pairs"
    left = pairs if rules.paired else f"{baseline.trials} and {candidate.trials} trials"
    return f"early stopping left {left}; run both with --no-early-stopping"


def _way_out(evidence: Evidence, n: int, difference: float, rules: _Rules) -> str:
    """Say what more trials would do, if the observed rates are the true ones; the smaller run has `n`."""
    least = least_trials(margin=rules.margin, alpha=rules.alpha)
    about = about_trials(evidence, n, difference, margin=rules.margin, alpha=rules.alpha)
    if about is None:
        return "the loss seen is not below that margin, so more trials are unlikely to prove the second"
    if n < least and evidence.spread == 0:  # `about` is that number too
        return f"even without any change at least {least} trials of each run are needed to prove the second"
    prospect = f"about {about:,} trials of each run would prove the second (4 times in 5), if the rates seen are true"
    return f"{prospect}; even without any change at least {least} are needed" if n < least else prospect


def _compare_means(key: Key, old: Requirement, new: Requirement, rules: _Rules) -> Change:
    trials = [min(old.trials, new.trials)] * 2 if rules.paired else [old.trials, new.trials]
    before, now = _scores(old, trials[0]), _scores(new, trials[1])
    baseline, candidate = _mean(before), _mean(now)
    title, label, evaluator = key
    change = Change(
        title=title,
        label=label,
        evaluator=evaluator,
        kind="mean",
        paired=rules.paired,
        baseline=baseline,
        candidate=candidate,
        outcome=None,
        reason="unpaired",
        explanation=f"{_seen(baseline, candidate, None)}: means are compared only where both runs have the same seed",
        method="difference of the means, without a test",
        difference=_difference(baseline, candidate),
    )
    if not rules.paired:
        return change
    if new.cut is None:
        unknown = f"{_seen(baseline, candidate, None)}: the result does not say whether a higher score is better"
        return replace(change, reason="no_direction", explanation=unknown)
    return _test_means(change, before, now, 1 if new.cut.sign in (">=", ">") else -1, rules)


def _test_means(
    change: Change, before: Sequence[float | None], now: Sequence[float | None], sign: int, rules: _Rules
) -> Change:
    """Test pairs of scores for "worse"; for a missing score stands the one of both runs that speaks most against it."""
    known = [sign * score for score in (*before, *now) if score is not None]
    worst, best = (min(known), max(known)) if known else (0.0, 0.0)
    gains = [
        (best if new is None else sign * new) - (worst if old is None else sign * old)
        for old, new in zip(before, now, strict=True)
    ]
    p_worse = sign_flip(gains).p_new_worse
    complete = [gain for gain, old, new in zip(gains, before, now, strict=True) if old is not None and new is not None]
    better, worse = sum(gain > 0 for gain in complete), sum(gain < 0 for gain in complete)
    seen = _seen(change.baseline, change.candidate, (better, worse))
    is_worse = decide(1.0, p_worse, rules.alpha) == "fail"
    proven = "" if is_worse else "not "
    no_margin = "" if is_worse else '; "not worse" cannot be proven, because a mean has no margin here'
    return replace(
        change,
        outcome="fail" if is_worse else None,
        reason="proven_worse" if is_worse else "no_margin",
        explanation=f"{seen}: {proven}proven worse ({say_p(p_worse)}){no_margin}",
        method="sign-flip permutation test of the differences",
        p_worse=p_worse,
        better=better,
        worse=worse,
    )


def _scores(requirement: Requirement, trials: int) -> list[float | None]:
    return [requirement.scores.get(index) for index in range(trials)]


def _mean(scores: Sequence[float | None]) -> Side:
    known = [score for score in scores if score is not None]
    return Side(trials=len(scores), missing=len(scores) - len(known), value=fmean(known) if known else None)


def _seen(baseline: Side, candidate: Side, turned: tuple[int, int] | None, *, left_out: int = 0) -> str:
    """Say what was observed; `turned` are the pairs that got better, and worse."""
    parts = [f"{_say(baseline)} before, {_say(candidate)} now"]
    if turned is not None:
        better, worse = turned
        parts.append(f"{worse} {'trial' if worse == 1 else 'trials'} got worse, {better} better")
    if baseline.missing or candidate.missing:
        lost = f"{baseline.missing} before and {candidate.missing} now are missing"
        parts.append(f"{lost}, which counts against both conclusions")
    if left_out:
        parts.append(f"{left_out} left out, because the app failed on them")
    return "; ".join(parts)


def _say(side: Side) -> str:
    return str(side) if side.met is not None else f"a mean of {side} in {side.trials - side.missing}"
