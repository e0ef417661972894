"""Verdicts, outcomes, trials and failures as a person reads them: the parts that all printed results share."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from simeval.core.conversation import transcript_lines
from simeval.core.markdown import LONGEST_REPORT, fenced
from simeval.core.run_records import Usage, total
from simeval.core.setting_field import Gate
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

# an app's response, quoted in its failure: it may repeat the request
_SENT = re.compile(r"(?<=HTTP \d{3}): .*|(?<= of its answer) .*|(?<= in its answer) .*|(?<= JSON or text): .*")
# an exception of the app's own code: its kind and the line that raised it, without its message
_RAISED = re.compile(r"^(\w+): .*( \([^()]*:\d+ in [^()]*\))$", re.DOTALL)
_LINE = re.compile(r":\d+ in ")  # of a file of the app that raised it
_TURN = re.compile(r"^the app (?:failed|could not be asked) at turn \d+: ")


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


class Printable(ABC):
    """A result's own display: its report, in a notebook too, and a line in a traceback."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Raise TypeError: an assertion on a result means whether it passed, and a failed one exists, too."""
        raise TypeError("a result is neither true nor false; use result.passed, or result.assert_passed()")

    @abstractmethod
    def text(self) -> str:
        """Return the report, as wide as a page; `print` makes it fit the terminal."""

    def assert_passed(self) -> None:
        """Raise AssertionError with the report as its text, unless every verdict is a pass."""
        if not getattr(self, "passed", False):
            raise AssertionError(self.text())

    def to_markdown(self) -> str:
        """Return the report as Markdown for a pull request or a CI job's summary, of at most 60 kB."""
        return fenced(self.text(), LONGEST_REPORT)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several together: error over fail over inconclusive; pass only if all pass."""
    for outcome in ("error", "fail", "inconclusive"):
        if outcome in outcomes:
            return outcome
    return "pass" if outcomes else "inconclusive"


def shown_outcome(outcome: str, reasons: Iterable[str]) -> str:
    """Return an outcome as it is counted for people: "undecided" where another scenario had ended the whole run."""
    return "undecided" if outcome == "inconclusive" and "suite_settled" in reasons else outcome


def meets_gate(outcome: Outcome, gate: Gate) -> bool:
    """Return whether an outcome gets through a gate: "pass", it is one; "not_fail", it is no fail and no error."""
    return outcome == "pass" or (gate == "not_fail" and outcome == "inconclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRow:
    """A requirement compared with that of the baseline: the finding, whether it meets the gate, and why."""

    title: str
    name: str
    finding: str
    met: bool
    said: str
    p_value: float | None = None

    def __str__(self) -> str:
        return f"{self.title}: {self.name}: {self.said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineGate:
    """Whether a run is proven no worse than its baseline by more than the margin; `said` is the sentence."""

    run_id: str
    margin: float
    met: bool
    said: str
    rows: tuple[BaselineRow, ...] = ()

    @property
    def against(self) -> tuple[str, ...]:
        """Why it is not met, a line for each requirement in the way."""
        return tuple(f"baseline: {row}" for row in self.rows if not row.met)


def meets_gates(outcome: Outcome, gate: Gate, baseline: BaselineGate | None, *, trusted: bool = True) -> bool:
    """Return whether an outcome gets through the gate of its bars, and a run through that of its baseline.

    None gets through if a judge is not to be trusted.
    """
    return trusted and meets_gate(outcome, gate) and (baseline is None or baseline.met)


def gates_told(bars_met: bool, baseline: BaselineGate) -> str:
    """Say in a sentence which gate is met and which is not."""
    stands = {True: "met", False: "not met"}
    return f"gates: the bars are {stands[bars_met]}, the baseline is {stands[baseline.met]}: {baseline.said}"


def kind_of(error: str) -> str:
    """Return the common text of errors of one cause, without the turn, the request and the response."""
    return _RAISED.sub(r"\1\2", _SENT.sub("", without_turn(error)))


def without_turn(error: str) -> str:
    """Return an error without its turn."""
    return _TURN.sub("", error)


def names_line(error: str) -> bool:
    """Return whether an error names the line of a file that raised it."""
    return bool(_LINE.search(error))
