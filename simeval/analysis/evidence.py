"""Evidence on a share of good trials in two runs: is the new share lower, and is it not lower by a margin.

Both tests take a missing trial (None) for whatever speaks against their conclusion: for "not worse" it is bad in
the new run and good in the old one, for "worse" the other way round. So both error rates hold whatever made
trials missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from statistics import NormalDist

from simeval.evaluators.verdicts import POWER, ROUNDING
from simeval.stats.paired import mcnemar, paired_difference_interval, paired_not_worse
from simeval.stats.two_sample import fisher, newcombe_interval, not_worse

Outcomes = Sequence[bool | None]  # of trials: whether each met the requirement, None where it is missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the two tests and the interval of new - old share say; `exact` says whether both tests are.

    `spread` is n times the estimated variance of the difference.
    """

    p_not_worse: float
    p_worse: float
    interval: tuple[float, float]
    exact: bool
    method: str
    spread: float


def paired_evidence(before: Outcomes, now: Outcomes, *, margin: float, alpha: float) -> Evidence:
    """Test pairs: the outcomes of both runs in the same order of trials."""
    pessimistic = _four(_filled(before, True), _filled(now, False))
    optimistic = _four(_filled(before, False), _filled(now, True))
    against_margin = paired_not_worse(*pessimistic, margin=margin)
    _, better, worse = optimistic[:3]
    known = [pair for pair in zip(before, now, strict=True) if None not in pair]
    gains = [bool(new) - bool(old) for old, new in known]
    n = max(1, len(gains))
    return Evidence(
        p_not_worse=against_margin.p_value,
        p_worse=mcnemar(better, worse).p_new_worse,
        interval=(
            paired_difference_interval(*pessimistic, alpha=alpha)[0],
            paired_difference_interval(*optimistic, alpha=alpha)[1],
        ),
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
        p_not_worse=against_margin.p_value,
        p_worse=fisher(*optimistic).p_new_worse,
        interval=(newcombe_interval(*pessimistic, alpha)[0], newcombe_interval(*optimistic, alpha)[1]),
        exact=against_margin.exact,
        method=f"Fisher's exact test; {_kind(against_margin.exact)} score test of the margin; Newcombe interval",
        spread=sum(rate * (1 - rate) for rate in rates),
    )


def least_trials(*, margin: float, alpha: float) -> int:
    """Return the fewest trials that prove "not worse" where all are good in both runs: (1 - margin)^n <= alpha."""
    return ceil(log(alpha) / log(1 - margin) * (1 - ROUNDING))


def about_trials(evidence: Evidence, n: int, difference: float, *, margin: float, alpha: float) -> int | None:
    """Return about how many trials of each run prove "not worse" (4 times in 5), if what `n` trials show is the truth.

    None where the loss is the margin or more. The normal approximation with a continuity correction (after J. T.
    Casagrande, M. C. Pike and P. G. Smith 1978, Biometrics 34), rounded up to two digits. At such numbers the
    power was 0.78 or more in simulations of margins of 5 and 10 points.
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
