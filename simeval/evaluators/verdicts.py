"""From counts and values to a Verdict: two opposite one-sided tests, and the words that explain them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import floor, log10
from typing import Literal

from simeval.core.terminal import counted_of, say_p, show_share
from simeval.core.trial import Outcome, Reason, Verdict
from simeval.stats import binomial

Ended = Literal["full", "boundary", "cut"]  # the whole sample was taken; a boundary was reached; neither

ROUNDING = 1e-12  # a p-value that equals the level may be rounded above it: 0.1**2 > 0.01
POWER = 0.8  # the chance of a pass used for the "trials needed" of an explanation
PEOPLE = "exact test of the rate that people would find, from their labels of some trials"
NO_TIME = "not concluded: the scenario ended first"
MOST_COUNTED = 1_000  # "trials needed" above this are worked out by approximation


@dataclass(frozen=True, slots=True)
class Counts:
    """How many trials met the requirement, how many did not (crashes of the app among them), how many are missing."""

    good: int
    bad: int
    missing: int = 0
    crashes: int = 0

    @property
    def n(self) -> int:
        return self.good + self.bad + self.missing


def share_verdict(
    counts: Counts,
    *,
    bar: float,
    alpha: float,
    method: str,
    estimate: float | None,
    interval: tuple[float, float],
    evaluator: str = "",
    evidence: tuple[float, float] | None = None,
    ended: Ended = "full",
    n_max: int | None = None,
    least: int | None = None,
    is_open: bool = False,
    chance_left: float | None = None,
) -> Verdict:
    """Conclude whether the share of good trials is at least `bar`.

    `evidence` holds the p-values of a pass and of a fail; without it they are those of the exact binomial test, with
    missing trials as bad for a pass and as good for a fail, so both error rates hold whatever made them missing.
    `estimate` and `interval` are shown in the evaluator's own terms. `ended` and `n_max`, the most trials there might
    have been, describe how the sample ended, `least` how many trials can pass at all, `is_open` that more may be added,
    `chance_left` how likely a pass still was if the run ended because it had become unlikely.
    """
    p_pass, p_fail = evidence or (
        binomial.p_at_least(counts.good, counts.n, bar),
        binomial.p_at_most(counts.good + counts.missing, counts.n, bar),
    )
    outcome = decide(p_pass, p_fail, alpha)
    reason, explanation, why = _explain_share(
        outcome,
        counts,
        bar=bar,
        p_fail=p_fail,
        ended=ended,
        n_max=n_max or counts.n,
        least=least or binomial.minimum_n(bar, alpha),
        way_out=partial(_way_out, bar, alpha=alpha, is_open=is_open),
        chance_left=chance_left,
    )
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
        why=why,
    )


def mean_verdict(
    values: Sequence[float],
    missing: int,
    *,
    evidence: tuple[float, float],
    interval: tuple[float, float],
    alpha: float,
    method: str,
    evaluator: str = "",
    ended: Ended = "full",
) -> Verdict:
    """Conclude on a mean from the p-values of a pass and of a fail; `missing` trials have no value."""
    p_pass, p_fail = evidence
    outcome = decide(p_pass, p_fail, alpha)
    estimate = sum(values) / len(values) if values else None
    seen = "no value was measured" if estimate is None else f"the mean of {len(values)} values is {estimate:.3g}"
    observed = f"{seen} ({missing} more are missing)" if missing else seen
    reason, explanation, why = _explain_mean(outcome, observed, p_fail, ended)
    return Verdict(
        outcome=outcome,
        evaluator=evaluator,
        method=method,
        n=len(values) + missing,
        significance_level=alpha,
        p_value=p_pass,
        p_value_fail=p_fail,
        estimate=estimate,
        confidence_interval=interval,
        missing=missing,
        reason=reason,
        explanation=explanation,
        why=why,
    )


def _explain_mean(outcome: Outcome, observed: str, p_fail: float, ended: Ended) -> tuple[Reason, str, str]:
    if outcome == "pass":
        return "", "", ""
    if outcome == "fail":
        return "proven_below", f"{observed}: the requirement is disproven ({say_p(p_fail)})", ""
    if ended == "cut":
        return "scenario_settled", f"{observed} when its trials ended, before this requirement had its verdict", NO_TIME
    if ended == "boundary":
        why = "with the trials that were left no pass was possible, so the run stopped"
        return "pass_unreachable", f"{observed}: {why}", why
    why = "which proves neither side; more trials are needed"
    return "budget_exhausted", f"{observed}, {why}", why.replace("which", "that", 1)


def unlabelled(verdict: Verdict, labels: int) -> Verdict:
    """Return the verdict of a judge as that of people who have not labelled its trials yet: it is open."""
    why = f"people decide: label {labels} of its conversations with `simeval people label`"
    return replace(
        verdict,
        outcome="inconclusive",
        method=PEOPLE,
        p_value=None,
        p_value_fail=None,
        reason="unlabelled",
        explanation=f"the judge's ratings prove nothing about people: {why.removeprefix('people decide: ')}",
        why=why,
    )


def decide(p_pass: float, p_fail: float, alpha: float) -> Outcome:
    """Return the outcome of two opposite tests at the level alpha."""
    limit = alpha * (1 + ROUNDING)
    return "pass" if p_pass <= limit else "fail" if p_fail <= limit else "inconclusive"


def _explain_share(
    outcome: Outcome,
    counts: Counts,
    *,
    bar: float,
    p_fail: float,
    ended: Ended,
    n_max: int,
    least: int,
    way_out: Callable[[float | None], str],
    chance_left: float | None,
) -> tuple[Reason, str, str]:
    """Return the reason: a sentence with the observed share, and the missing proof if it is no pass."""
    if outcome == "pass":
        return "", "", ""
    measured = counts.good + counts.bad
    crashed = f" ({counts.crashes} failed before their end)" if counts.crashes else ""
    lost = f" and {counts.missing} more are missing" if counts.missing else ""
    seen = f"{counts.good} of {counted_of(measured, 'trial')} met the requirement{crashed}{lost}"
    if outcome == "fail":
        so_few = f"an app that meets the bar of {show_share(bar)} gives so few with {say_p(p_fail)}"
        why = f"{counts.crashes} of them failed before their end" if counts.crashes else ""
        return "proven_below", f"{seen}: {so_few}", why
    if n_max < least:
        found = f"{seen}; " if measured else ""
        cannot = (
            f"{counted_of(n_max, 'trial')} cannot prove it even if every one is met: "
            f"at least {least} are needed, all of them met, and more to allow for a miss"
        )
        return "never_possible", f"{found}{cannot}", cannot
    if ended == "cut":
        return "scenario_settled", f"{seen} when its trials ended, before this requirement had its verdict", NO_TIME
    rate = counts.good / measured if measured else None
    if counts.missing and (rate is None or rate > bar):
        why = "the missing trials count against both sides, so neither is proven"
        return "budget_exhausted", f"{seen}; {why}", why
    if ended == "boundary" and chance_left:
        shown = "under 0.1%" if chance_left < 0.0005 else f"{100 * chance_left:.2g}%"
        why = f"a pass had become too unlikely ({shown}), so the run stopped; {way_out(rate)}"
        return "pass_unlikely", f"{seen}: {why}", why
    if ended == "boundary":
        why = f"with at most {counted_of(n_max, 'trial')} it can no longer be proven, so the run stopped; "
        why += way_out(rate)
        return "pass_unreachable", f"{seen}: {why}", why
    why = f"proves neither side of the bar; {way_out(rate)}"
    return "budget_exhausted", f"{seen}, which {why}", f"that {why}"


def _way_out(bar: float, rate: float | None, *, alpha: float, is_open: bool) -> str:
    """Describe the effect of more trials, if the observed rate is the true one."""
    if is_open and rate is not None and rate > bar:
        return "more trials may still prove it"
    needed = None if rate is None else trials_to_prove(bar, rate, alpha=alpha)
    if needed is None:
        return "what was observed is no better than the bar, so more trials are unlikely to prove it"
    return f"if the true rate is the observed one, about {needed:,} trials would prove it (4 times in 5)"


@lru_cache(maxsize=1024)
def trials_to_prove(bar: float, rate: float, *, alpha: float) -> int | None:
    """Return how many trials prove a bar 4 times in 5 at this true rate, roughly if they are many; None for none."""
    about = binomial.about_n_for_power(bar, rate, alpha=alpha, power=POWER)
    if about is None or about <= MOST_COUNTED:
        return about and (binomial.n_for_power(bar, rate, alpha=alpha, power=POWER) or about)
    unit = 10 ** (floor(log10(about)) - 1)
    return int(-(-about // unit) * unit)
