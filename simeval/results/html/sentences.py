"""The sentences of a report that need no knowledge of statistics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isinf

from simeval.core.terminal import counted_of, say_p, show_share
from simeval.core.trial import Chart, Outcome, Verdict
from simeval.results.document import Requirement
from simeval.results.guarantee import NO_RATE
from simeval.results.screen.report import WORST_FIRST

STANDS: Mapping[Outcome, tuple[str, str]] = {
    "error": ("could not be measured", "could not be measured"),
    "fail": ("is proven not to be met", "are proven not to be met"),
    "inconclusive": ("is open: neither is proven", "are open: neither is proven"),
    "pass": ("is proven to be met", "are proven to be met"),
}
SURE: Mapping[Outcome, str] = {
    "pass": "How sure is a pass? An app that falls short of a bar passes it, by luck,",
    "fail": "How sure is a fail? An app that meets a bar fails it, by bad luck,",
}


def meanings(verdicts: Sequence[Verdict]) -> list[str]:
    """Return each proof and each missing proof."""
    if not verdicts:
        return ["Nothing was required, so nothing was to be proven: the numbers below describe what was seen."]
    found, size = Counter(each.outcome for each in verdicts), len(verdicts)
    said = [f"{found[each]} {STANDS[each][found[each] > 1]}" for each in WORST_FIRST[::-1] if found[each]]
    counted = f"Of {counted_of(size, 'requirement')} {', '.join(said)}."
    lines = [counted if size > 1 else f"The requirement {STANDS[verdicts[0].outcome][0]}."]
    if found["inconclusive"]:
        lines.append("Open does not mean bad: there were too few conversations, or too close a result, to tell.")
    return lines


def error_rates(verdicts: Sequence[Verdict], guarantee: str) -> list[str]:
    """Return how often such proofs are wrong; `guarantee` is that of passes together."""
    lines = []
    for outcome, question in SURE.items():
        if guarantee and (outcome == "pass" or guarantee.startswith(NO_RATE)):
            continue  # it is clear as it is
        levels = [each.significance_level for each in verdicts if each.outcome == outcome]
        if levels:
            lines.append(f"{question} with a chance of at most {show_share(max(levels))}.")
    return [*lines, f"All of it together: {guarantee}"] if guarantee else lines


def meaning(verdict: Requirement) -> str:
    """Return the proof of one verdict in words."""
    sure = show_share(1 - 2 * verdict.significance_level)
    where = {
        "pass": "all of that is on the right side of the bar",
        "fail": "all of that is on the wrong side of the bar",
        "inconclusive": "the bar is within that, so it may be met or not",
    }
    outcome = verdict.outcome
    lead = {"pass": "Proven", "fail": "Proven not to be met", "inconclusive": "Open"}.get(outcome, "Not measured")
    if outcome not in where or not verdict.confidence_interval:
        return f"{lead}."
    ranged = f"the true value {_lies(verdict, verdict.confidence_interval)} ({sure} confidence)"
    return f"{lead}: {ranged}; {where[outcome]}."


def _lies(verdict: Requirement, interval: tuple[float, float]) -> str:
    """Return the interval of the true value, in the unit of the bar if the result has it so."""
    if verdict.range:
        low, _, high = verdict.range.partition(" to ")
    else:
        low, high = ("no bound" if isinf(each) else f"{each:.3g}" for each in interval)
    return f"is {low}" if low == high else f"lies between {low} and {high}"


def proof(verdict: Verdict) -> str:
    """Return the test of the conclusion, for readers who check it."""
    p = verdict.p_value_fail if verdict.failed else verdict.p_value
    tested = "" if p is None else f"{say_p(p)} at the level {verdict.significance_level:g}"
    return "; ".join(each for each in (verdict.evaluator, verdict.method, tested, f"n = {verdict.n}") if each)


def way(chart: Chart, verdict: Verdict) -> str:
    """Say how a run came to its verdict, beside the picture of its way."""
    outcome, reason = verdict.outcome, verdict.reason
    met, n_max, passes = chart.met, chart.n_max, chart.pass_at
    misses, lost, n = met.count(False), met.count(None), len(met)
    seen = f"{_misses(misses + lost)} in {counted_of(n, 'conversation')}"
    gone = f" ({lost} of them without a score, which is evidence for neither side: the dashed line)" if lost else ""
    most = max((f for _, f in passes), default=-1)
    if outcome == "pass":
        allowed = max((f for at, f in passes if at <= n), default=0)
        early = f", so {n_max - n} of {n_max} conversations were not needed" if n < n_max else ""
        return f"Passed: {seen}{gone}; up to {_misses(allowed)} would have been enough there{early}."
    if outcome == "fail":
        return f"Failed: {seen}{gone}. That many are too many to be bad luck."
    if outcome == "error" or reason == "run_stopped":
        return f"No verdict: {seen}{gone}."
    if reason == "suite_settled":
        return f"Open: {seen}{gone} when the run ended, because another scenario had decided it."
    if reason == "scenario_settled":
        return f"Open: {seen}{gone} when the scenario ended, because another of its requirements had decided it."
    if reason == "pass_unlikely":
        why = verdict.why.partition(";")[0]
        return f"Stopped: {seen}{gone}. {why[:1].upper()}{why[1:]}."
    if most < 0:
        return f"Not proven: {seen}{gone}; with {n_max} conversations it cannot be proven at all."
    if n < n_max and misses + lost <= most:
        return f"Stopped: {seen}{gone}. So many, so early, leave no pass in reach."
    if n < n_max:
        return f"Stopped: {seen}{gone}; with more than {_misses(most)} in {n_max} no pass is possible any more."
    return f"Not proven: {seen}{gone}; at most {_misses(most)} in {n_max} would have been a pass."


def _misses(number: int) -> str:
    return "1 miss" if number == 1 else f"{number} misses"
