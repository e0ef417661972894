"""Verdicts, trials and failures as a person reads them: the parts that all printed results share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simeval.core.conversation import transcript_lines
from simeval.core.run_records import Usage, total
from simeval.core.terminal import PLAIN, counted_of, indent, show_number
from simeval.core.trial import CANNOT_TELL, Failure, Outcome, Score, TrialResult
from simeval.scorers.returned import reason_at

if TYPE_CHECKING:
    from simeval.evaluators.base import Evaluator

MARKS: Mapping[Outcome, str] = {
    "pass": "PASS",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "error": "ERROR",
}
MOST_CAUSES = 10
MALFORMED_SHARE = 0.05  # of a role's replies; fewer are the odd slip that is asked for again


def speaks_against(result: Score | Failure, evaluators: "Sequence[Evaluator]") -> bool:
    """Return whether a result is no evidence for the requirement."""
    if isinstance(result, Failure):
        return not result.is_unneeded
    return not all(evaluator.meets(result.value) for evaluator in evaluators)


def badness(result: Score | Failure, evaluator: "Evaluator") -> tuple[int, float]:
    """Order results from harmless to damning: missing data, good scores, bad scores, app failures."""
    if isinstance(result, Failure):
        return (3, 0.0) if result.is_of_app else (0, 0.0)
    return 1 if evaluator.meets(result.value) else 2, -result.value if evaluator.prefers_high else result.value


def show_trial(judgement: TrialResult, result: Score | Failure) -> str:
    """Write a conversation that speaks against an expectation."""
    said = transcript_lines(judgement.conversation, PLAIN, margin=" " * 6)
    return "\n".join([indent(head_of_trial(judgement, result), 4), *said])


def head_of_trial(judgement: TrialResult, result: Score | Failure) -> str:
    """Say which conversation speaks most against an expectation, and why."""
    if isinstance(result, Failure):
        return f"worst conversation (trial {judgement.trial.index}): {result.error}"
    why = result.reasoning or reason_at(result.details, "")
    reasoning = f": {why}" if why else ""
    return f"worst conversation (trial {judgement.trial.index}), score {show_number(result.value)}{reasoning}"


def show_untold(results: Sequence[Score | Failure]) -> str | None:
    """Return in how many conversations judges could not decide; None if they always could."""
    asked = [each for each in results if isinstance(each, Score) or each.cause == CANNOT_TELL]
    untold = len(asked) - sum(isinstance(each, Score) for each in asked)
    share = untold / len(asked) if asked else 0.0
    return f"it cannot be told in {untold} of {len(asked)} conversations ({share:.0%})" if untold else None


def show_malformed(usage: Mapping[str, Usage]) -> str:
    """Return the roles with more than a twentieth of malformed replies; usually none."""
    return "\n".join(
        f"{each.malformed_calls} of {each.calls} replies of the {role} were of no use: its model does not keep to the "
        "form it is asked for; one that takes JSON schemas does"
        for role, each in usage.items()
        if each.malformed_calls > MALFORMED_SHARE * each.calls
    )


def show_rubrics(authors: Sequence[str | None]) -> list[str]:
    """Say whose the rubrics are that were judged by: the models that wrote them, "" for the suite's own."""
    counted = Counter(f"written by {author}" if author else "given by the suite" for author in authors)
    return [f"{counted_of(number, 'rubric')} {how}" for how, number in sorted(counted.items())]


def interval_header(alpha: float) -> str:
    """Return the header of intervals that have `alpha` on each side."""
    return f"{100 - 200 * alpha:g}% interval"


def show_composite(usage: Mapping[str, Usage]) -> str:
    """Return each judge's requests and cost if the first escalates to the second; empty otherwise."""
    used = [(which, usage[role]) for which, role in (("first", "judge"), ("second", "escalation")) if role in usage]
    if "escalation" not in usage:
        return ""
    costs = ["" if each.cost_usd is None else f", ${each.cost_usd:.4f}" for _, each in used]
    said = [f"the {which} {each.calls} calls{cost}" for (which, each), cost in zip(used, costs, strict=True)]
    return f"judges: {'; '.join(said)} (its audits among them)"


def show_spent(usage: Mapping[str, Usage], seconds: float) -> str:
    """Return a run's usage: calls, tokens, cost if it is known, seconds."""
    used = total(usage)
    cost = f", ${used.cost_usd:.4f}" if used.cost_usd is not None else ""
    counts = ((used.failed_calls, "failed"), (used.malformed_calls, "of no use"), (used.ended_calls, "ended early"))
    notes = [f"{n} {what}" for n, what in counts if n]
    calls = counted_of(used.calls, "model call") + (f" ({', '.join(notes)})" if notes else "")
    return f"{calls}, {_tokens(used)}{cost}, {seconds:.1f} s"


def _tokens(used: Usage) -> str:
    """Say how many tokens were used, and of them were read from a cache or thought."""
    parts = ((used.cached_tokens, "cached"), (used.reasoning_tokens, "reasoning"))
    notes = [f"{n} {what}" for n, what in parts if n]
    return f"{used.prompt_tokens + used.completion_tokens} tokens" + (f" ({', '.join(notes)})" if notes else "")
