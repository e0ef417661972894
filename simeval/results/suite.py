"""What an evaluation found: records with everything in them, printed as a table with explanations."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload

from simeval.core.controls import complaints
from simeval.core.conversation import Conversation
from simeval.core.preparation import Preparation
from simeval.core.settings import DEFAULTS, Gate
from simeval.core.tables import indent, render_table
from simeval.core.trial import Failure, Judgement, Outcome, Score, Verdict
from simeval.core.usage import Usage, total
from simeval.evaluators.base import Evaluator
from simeval.results.guarantee import guarantee
from simeval.results.reliability import Reliability, reliability_of
from simeval.results.text import (
    MARKS,
    MOST_EXPLAINED,
    VERDICT_HEADERS,
    at_most_explained,
    badness,
    legend,
    show_failures,
    show_malformed,
    show_rubrics,
    show_trial,
    show_untold,
    speaks_against,
    verdict_row,
)
from simeval.results.turns import TurnShare, turns_of
from simeval.results.users import UserConduct, show_conduct

HEADERS = ("scenario", *VERDICT_HEADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRecord:
    """Which dataset an experiment was run on, in which version, and how often each of its examples."""

    name: str
    kind: str
    version: str
    size: int
    repetitions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What is true of a whole run: its id, seed, models, app, scenarios (title, size, labels), time and usage.

    `judge_model` names a panel's judges with " + " between them; each rates a conversation `judge_repeats` times.
    `definition` holds everything that the results depend on, in the form JSON has: a run can be resumed with the
    same one. `stopped` says why the run ended before its verdicts were settled, if it did. An experiment's
    `dataset` says on what it was run, `metadata` what its user wants kept of it.
    """

    run_id: str
    seed: int
    judge_model: str
    judge_repeats: int = DEFAULTS.judge_repeats
    user_model: str
    app: str
    started: datetime
    gate: Gate = DEFAULTS.gate
    joint: bool = DEFAULTS.joint
    scenarios: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    seconds: float = 0.0
    usage: Mapping[str, Usage] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    definition: Mapping[str, Any] = field(default_factory=dict)
    stopped: str = ""
    dataset: DatasetRecord | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationResult:
    """One expectation: its verdicts, and for each trial a score or a failure, in the order dealt.

    Verdicts stand in the order of their evaluators. `prepared` says by which rubric a judge rated, or why none did,
    `signs` what in their ratings speaks against judges.
    """

    label: str
    evaluators: tuple[Evaluator, ...]
    verdicts: tuple[Verdict, ...]
    results: tuple[Score | Failure, ...]
    expected_behavior: str | None = None
    prepared: Preparation | None = None
    signs: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the verdicts."""
        return combine([verdict.outcome for verdict in self.verdicts])

    @property
    def scores(self) -> tuple[float, ...]:
        """The values of the trials that have one, in the order dealt."""
        return tuple(result.value for result in self.results if isinstance(result, Score))

    @property
    def turns(self) -> TurnShare | None:
        """The turns of all conversations together, where the scorer counts them; else None."""
        return turns_of(self.results)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why its judges may not be worth their ratings, each reason in a sentence; none where it was not judged."""
        if self.prepared is None or self.prepared.failure is not None:
            return ()
        return (*complaints(self.prepared.controls), *self.signs)

    @property
    def reliability(self) -> Reliability | None:
        """How far the judge's ratings agree, where each conversation has two or more; else None."""
        return reliability_of(self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """What one scenario came to. Trials and conversations stand in the order dealt.

    `judgements` are the trials the verdicts rest on, at most `sample_size`; `extras` those that were under way
    when the verdicts were settled: ended early, or finished but not concluded on.
    """

    title: str
    outcome: Outcome
    expectations: tuple[ExpectationResult, ...]
    judgements: tuple[Judgement, ...]
    run: RunRecord
    sample_size: int
    extras: tuple[Judgement, ...] = ()
    given: str = ""
    when: str = ""

    @property
    def passed(self) -> bool:
        """Whether every verdict is a pass."""
        return self.outcome == "pass"

    @property
    def trials(self) -> int:
        """How many trials the verdicts rest on."""
        return len(self.judgements)

    @property
    def finished_extras(self) -> int:
        """How many trials were finished that no verdict needed."""
        return sum(all(not isinstance(r, Failure) for r in extra.results) for extra in self.extras)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all expectations, in order."""
        return tuple(verdict for expectation in self.expectations for verdict in expectation.verdicts)

    @property
    def p_value(self) -> float | None:
        """The p-value of "every requirement is met": the largest of the verdicts'. None where one has none."""
        values = [verdict.p_value for verdict in self.verdicts]
        known = [value for value in values if value is not None]
        return max(known, default=None) if len(known) == len(values) else None

    @property
    def average_score(self) -> float | None:
        """The mean score of the first expectation over the trials that have one."""
        scores = self.expectations[0].scores
        return sum(scores) / len(scores) if scores else None

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversation of each trial, as far as it went."""
        return tuple(judgement.conversation for judgement in self.judgements)

    @property
    def users(self) -> UserConduct:
        """How the simulated users of these trials ended their conversations, and what they did wrong."""
        return UserConduct.of(self.judgements)

    @property
    def failures(self) -> tuple[tuple[int, Failure], ...]:
        """What went wrong, with the index of its trial."""
        return tuple((j.trial.index, failure) for j in self.judgements for failure in j.failures)

    def worst(self, expectation: ExpectationResult) -> Judgement | None:
        """Return the trial that speaks most against an expectation: a crash of the app, else the worst score.

        None where every trial speaks for it.
        """
        at_worst = [
            (badness(result, expectation.evaluators[0].prefers_high), -judgement.trial.index, judgement)
            for judgement, result in zip(self.judgements, expectation.results, strict=True)
            if speaks_against(result, expectation.evaluators)
        ]
        return max(at_worst, key=lambda entry: entry[:2])[2] if at_worst else None

    def show_worst(self, expectation: ExpectationResult) -> str:
        """Write the conversation that speaks most against an expectation; empty where none does."""
        worst = self.worst(expectation)
        return show_trial(worst, worst.results[self.expectations.index(expectation)]) if worst else ""

    def __str__(self) -> str:
        return describe([self], self.run)


@dataclass(frozen=True, slots=True)
class SuiteResult(Sequence[EvaluationResult]):
    """The results of a suite, in the order of its scenarios. It passes when every verdict does.

    No correction is needed for that: if a requirement is truly not met, the suite passes only if that one's
    verdict is wrong (intersection-union).
    """

    results: tuple[EvaluationResult, ...]
    run: RunRecord

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the scenarios."""
        return combine([result.outcome for result in self.results])

    @property
    def passed(self) -> bool:
        """Whether every verdict of every scenario is a pass."""
        return self.outcome == "pass"

    def meets(self, gate: Gate) -> bool:
        """Return whether the suite gets through a gate: "pass", all verdicts are.

        "not_fail", none is a fail or an error.
        """
        return meets_gate(self.outcome, gate)

    @property
    def guarantee(self) -> str:
        """The error bound of the suite, in words; empty where nothing passed."""
        return _guaranteed(self.results, self.run)

    @overload
    def __getitem__(self, index: int) -> EvaluationResult: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[EvaluationResult, ...]: ...
    def __getitem__(self, index: int | slice) -> EvaluationResult | tuple[EvaluationResult, ...]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[EvaluationResult]:
        return iter(self.results)

    def __str__(self) -> str:
        return describe(self.results, self.run)


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several together: error over fail over inconclusive; pass only if all pass."""
    for outcome in ("error", "fail", "inconclusive"):
        if outcome in outcomes:
            return outcome
    return "pass" if outcomes else "inconclusive"


def describe(results: Sequence[EvaluationResult], run: RunRecord) -> str:
    """Write results as a person reads them: one table, then why each non-pass did not pass."""
    rows = [
        [result.title if first else "", *verdict_row(expectation.label, evaluator, verdict, result.sample_size)]
        for result in results
        for number, expectation in enumerate(result.expectations)
        for place, (evaluator, verdict) in enumerate(zip(expectation.evaluators, expectation.verdicts, strict=True))
        for first in [number == 0 and place == 0]
    ]
    table = render_table(HEADERS, rows, widths=(28, 30))
    not_passed = [result for result in results if not result.passed]
    cut = [result for result in not_passed if _is_cut(result)]
    explained = [result for result in not_passed if not _is_cut(result)]
    reasons = [_explain(result) for result in explained[:MOST_EXPLAINED]]
    if len(explained) > MOST_EXPLAINED:
        reasons.append(f"... and {len(explained) - MOST_EXPLAINED} more that did not pass; --json holds them all.")
    if cut:
        said = f"{counted_of(len(cut), 'scenario')} ended without all verdicts, because the run stopped: {run.stopped}"
        reasons.append(indent(said, 0))
    return "\n\n".join(
        part
        for part in (
            "\n".join(indent(f"note: {note}", 0) for note in run.notes),
            "\n".join(
                [
                    table,
                    legend([verdict for result in results for verdict in result.verdicts]),
                    *_show_described(results),
                    *show_conduct([(each.title, each.users) for each in results]),
                ]
            ),
            "\n".join(_show_warnings(results)),
            *reasons,
            show_failures(Counter(f"{f.stage}: {f.error}" for result in results for _, f in result.failures)),
            show_malformed(run.usage),
            "\n".join(part for part in (indent(_guaranteed(results, run), 0), _summary(results, run)) if part),
        )
        if part
    )


def _show_described(results: Sequence[EvaluationResult]) -> list[str]:
    """Say in a line what else is known of an expectation: how far several ratings agree, what all turns are like."""
    lines = [
        indent(f"{what} of {expectation.label!r}{f' ({result.title})' if len(results) > 1 else ''}: {found}", 0)
        for result in results
        for expectation in result.expectations
        for what, found in (
            ("judge", expectation.reliability),
            ("judge", show_untold(expectation.results)),
            ("turns", expectation.turns),
        )
        if found is not None
    ]
    return at_most_explained(lines)


def _show_warnings(results: Sequence[EvaluationResult]) -> list[str]:
    """Say of each expectation why its judges may not be worth their ratings."""
    found = [(result, each, said) for result in results for each in result.expectations for said in each.warnings]
    titles = [f" ({result.title})" if len(results) > 1 else "" for result, _, _ in found]
    lines = [f"warning: {each.label!r}{title}: {said}" for title, (_, each, said) in zip(titles, found, strict=True)]
    return at_most_explained([indent(line, 0) for line in lines])


def _explain(result: EvaluationResult) -> str:
    """Say why a scenario did not pass, with the conversation that speaks most against it."""
    lines = [f"{result.title}: {result.outcome.upper()}"]
    for expectation in result.expectations:
        if expectation.outcome == "pass":
            continue
        lines += [
            indent(f"{expectation.label}: {verdict.evaluator}: {verdict.explanation.rstrip('.')}.", 2)
            for verdict in expectation.verdicts
            if not verdict.passed
        ]
        lines.append(result.show_worst(expectation))
    return "\n".join(line for line in lines if line)


def _is_cut(result: EvaluationResult) -> bool:
    """Return whether a scenario would have gone on if the run had, and has nothing against it by then."""
    return result.outcome == "inconclusive" and any(verdict.reason == "run_stopped" for verdict in result.verdicts)


def _guaranteed(results: Sequence[EvaluationResult], run: RunRecord) -> str:
    return guarantee([v for result in results for v in result.verdicts], gate=run.gate, joint=run.joint)


def meets_gate(outcome: Outcome, gate: Gate) -> bool:
    """Return whether an outcome gets through a gate: "pass", it is one; "not_fail", it is no fail and no error."""
    return outcome == "pass" or (gate == "not_fail" and outcome == "inconclusive")


def counted_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is meant."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(results: Sequence[EvaluationResult], run: RunRecord) -> str:
    outcomes = [result.outcome for result in results]
    is_let_through = combine(outcomes) != "pass" and meets_gate(combine(outcomes), run.gate)
    accepted = f" (accepted by the gate {run.gate})" if is_let_through else ""
    counted = ", ".join(f"{outcomes.count(o)} {o}" for o in MARKS if o in outcomes)
    trials = sum(result.trials for result in results)
    failed = sum(1 for result in results for judgement in result.judgements if judgement.failures)
    lost = f" ({failed} with a failure)" if failed else ""
    times = f" ({run.judge_repeats} ratings each)" if run.judge_repeats > 1 else ""
    prepared = [each.prepared for result in results for each in result.expectations]
    rubrics = show_rubrics([each.rubric for each in prepared if each and each.rubric])
    return (
        f"{combine(outcomes).upper()}{accepted}: {counted_of(len(results), 'scenario')} ({counted}), "
        f"{counted_of(trials, 'trial')}{lost}, {show_spent(run)}\n"
        f"run {run.run_id}, seed {run.seed}, app {run.app}, judge {run.judge_model}{times}, user {run.user_model}"
        f"{rubrics}"
    )


def show_spent(run: RunRecord) -> str:
    """Say what a run has used: calls, tokens, cost where it is known, seconds."""
    usage = total(run.usage)
    cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
    counts = (
        (usage.failed_calls, "failed"),
        (usage.malformed_calls, "of no use"),
        (usage.ended_calls, "ended early"),
    )
    notes = [f"{n} {what}" for n, what in counts if n]
    calls = counted_of(usage.calls, "model call") + (f" ({', '.join(notes)})" if notes else "")
    return f"{calls}, {usage.prompt_tokens + usage.completion_tokens} tokens{cost}, {run.seconds:.1f} s"
