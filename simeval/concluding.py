"""From counts and values to a Verdict: two opposite one-sided tests, and the words that explain them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from simeval.outcome import Outcome, Reason, Verdict
from simeval.stats import binomial, mean

ROUNDING = 1e-12  # a p-value that equals the level may be rounded above it: 0.1**2 > 0.01
POWER = 0.8  # the chance of a pass for which the "trials needed" of an explanation are computed


@dataclass(frozen=True, slots=True)
class Counts:
    """How many trials met the requirement, how many did not (crashes of the app among them), how many are missing."""

    good: int
    bad: int
    missing: int = 0
    crashes: int = 0

    @classmethod
    def of(cls, met: Iterable[bool], *, missing: int, misses: int) -> Self:
        """Count which of the measured trials met the requirement; `misses` more did not."""
        outcomes = list(met)
        return cls(sum(outcomes), len(outcomes) - sum(outcomes) + misses, missing, misses)

    @property
    def n(self) -> int:
        return self.good + self.bad + self.missing


def share_verdict(
    counts: Counts,
    *,
    bar: float,
    alpha: float,
    evaluator: str,
    method: str,
    estimate: float | None,
    interval: tuple[float, float],
) -> Verdict:
    """Conclude whether the share of good trials is at least `bar`, by the exact binomial test.

    Missing trials count as bad for a pass and as good for a fail, so both error rates hold whatever made
    them missing. `estimate` and `interval` are shown in the evaluator's own terms.
    """
    p_pass = binomial.p_at_least(counts.good, counts.n, bar)
    p_fail = binomial.p_at_most(counts.good + counts.missing, counts.n, bar)
    outcome = _decide(p_pass, p_fail, alpha)
    reason, explanation = _explain_share(outcome, counts, bar=bar, alpha=alpha, p_fail=p_fail)
    return Verdict(
        outcome=outcome,
        evaluator=evaluator,
        method=method,
        n=counts.n,
        significance_level=alpha,
        p_value=p_pass,
        p_value_fail=p_fail,
        estimate=estimate,
        confidence_interval=interval,
        missing=counts.missing,
        reason=reason,
        explanation=explanation,
    )


def mean_verdict(
    values: Sequence[float],
    missing: int,
    *,
    bar: float,
    at_least: bool,
    bounds: tuple[float, float],
    alpha: float,
    evaluator: str,
) -> Verdict:
    """Conclude whether the mean is at least (or at most) `bar`, by Gaffke's bound in both directions.

    A missing trial counts as the lower bound of the score where "above" is tested and as the upper bound
    where "below" is.
    """
    low, high = bounds
    lowest, highest = [*values, *[low] * missing], [*values, *[high] * missing]
    p_above = mean.p_above(lowest, bar, low=low)
    p_below = mean.p_below(highest, bar, high=high)
    p_pass, p_fail = (p_above, p_below) if at_least else (p_below, p_above)
    outcome = _decide(p_pass, p_fail, alpha)
    estimate = sum(values) / len(values) if values else None
    reason: Reason = ""
    explanation = ""
    if outcome != "pass":
        reason = "proven_below" if outcome == "fail" else "budget_exhausted"
        lost = f" ({missing} more are missing)" if missing else ""
        seen = "no value was measured" if estimate is None else f"the mean of {len(values)} values is {estimate:.3g}"
        observed = f"{seen}{lost}"
        explanation = (
            f"{observed}: the requirement is disproven ({say_p(p_fail)})"
            if outcome == "fail"
            else f"{observed}, which proves neither side; more trials are needed"
        )
    return Verdict(
        outcome=outcome,
        evaluator=evaluator,
        method="Gaffke bound on the mean (not proven in general, no counterexample known)",
        n=len(values) + missing,
        significance_level=alpha,
        p_value=p_pass,
        p_value_fail=p_fail,
        estimate=estimate,
        confidence_interval=(
            mean.lower_bound(lowest, alpha, low=low),
            mean.upper_bound(highest, alpha, high=high),
        ),
        missing=missing,
        reason=reason,
        explanation=explanation,
    )


def show_p(p: float) -> str:
    """Write a p-value with three digits, never as a bare zero."""
    return "< 0.0001" if p < 0.0001 else f"{p:.3f}" if p >= 0.001 else f"{p:.4f}"


def say_p(p: float) -> str:
    """Write a p-value into a sentence."""
    shown = show_p(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def show_share(share: float) -> str:
    """Write a share as a percentage, with a decimal only where it is needed."""
    return f"{100 * share:.4g}%"


def _decide(p_pass: float, p_fail: float, alpha: float) -> Outcome:
    limit = alpha * (1 + ROUNDING)
    return "pass" if p_pass <= limit else "fail" if p_fail <= limit else "inconclusive"


def _explain_share(outcome: Outcome, counts: Counts, *, bar: float, alpha: float, p_fail: float) -> tuple[Reason, str]:
    if outcome == "pass":
        return "", ""
    measured = counts.good + counts.bad
    crashed = f" (the app failed in {counts.crashes})" if counts.crashes else ""
    seen = f"{counts.good} of {measured} trials met the requirement{crashed}"
    lost = f" and {counts.missing} more are missing" if counts.missing else ""
    if outcome == "fail":
        chance = f"an app that meets the bar of {show_share(bar)} gives so few with {say_p(p_fail)}"
        return "proven_below", f"{seen}{lost}: {chance}"
    least = binomial.minimum_n(bar, alpha)
    if counts.n < least:
        found = f"{seen}{lost}; " if measured else ""
        return "never_possible", (
            f"{found}{counts.n} trials cannot prove {show_share(bar)} even if every one is met: "
            f"at least {least} are needed"
        )
    needed = binomial.n_for_power(bar, counts.good / measured, alpha=alpha, power=POWER) if measured else None
    if needed is None:
        way_out = "the observed rate is not above the bar, so more trials are unlikely to prove it"
    else:
        way_out = f"if the true rate is the observed one, about {needed} trials would prove it (4 times in 5)"
    return "budget_exhausted", f"{seen}{lost}, which proves neither side of {show_share(bar)}; {way_out}"
