"""A run's records as the page that a screen shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simeval.core.breaches import first_answer
from simeval.core.trial import Judgement, Score
from simeval.evaluators.base import Evaluator
from simeval.results.gates import are_trusted, meets_gates
from simeval.results.guarantee import guaranteed
from simeval.results.outcomes import decided
from simeval.results.repeatability import repeatability_of
from simeval.results.screen.page import (
    Page,
    ShownExpectation,
    ShownFailure,
    ShownScenario,
    ShownScore,
    ShownTrial,
    roles_of,
    shown_verdict,
)
from simeval.results.text import show_rubrics

if TYPE_CHECKING:  # results show themselves by what is here
    from simeval.results.suite import EvaluationResult, ExpectationResult, RunRecord


def page_of(results: "Sequence[EvaluationResult]", run: "RunRecord", *, every: bool = False) -> Page:
    """Return what a screen shows of these results; with `every`, with all conversations."""
    outcome = decided(results)
    prepared = [each.prepared for result in results for each in result.expectations]
    authors = [each.rubric.model for each in prepared if each and each.rubric]
    return Page(
        run_id=run.run_id,
        outcome=outcome,
        seed=run.seed,
        roles=(*roles_of(run.app, run.played, run.judge_repeats), *show_rubrics(authors)),
        gate=run.gate,
        gate_met=meets_gates(outcome, run.gate, run.baseline, trusted=are_trusted(results)),
        stopped=run.stopped,
        seconds=run.seconds,
        usage=run.usage,
        guarantee=guaranteed(results, run),
        repeatability=repeatability_of(results),
        scenarios=[_shown(result, every=every) for result in results],
        notes=run.notes,
        fidelity=run.fidelity,
        baseline=run.baseline,
    )


def _shown(result: "EvaluationResult", *, every: bool) -> ShownScenario:
    expectations = [_shown_expectation(result, each) for each in result.expectations]
    worst = {each.worst for each in expectations}
    return ShownScenario(
        title=result.title,
        outcome=result.outcome,
        decides=result.decides,
        quarantine=result.quarantine,
        sample_size=result.sample_size,
        trials=result.trials,
        expectations=expectations,
        users=result.users,
        claims=result.claims,
        errors=[ShownFailure(index=i, stage=each.stage, error=each.error) for i, each in result.failures],
        conversations={
            each.trial.index: _shown_trial(result, each)
            for each in result.judgements
            if every or each.trial.index in worst
        },
    )


def _shown_expectation(result: "EvaluationResult", expectation: "ExpectationResult") -> ShownExpectation:
    worst = result.worst(expectation)
    return ShownExpectation(
        label=expectation.label,
        outcome=expectation.outcome,
        verdicts=[
            shown_verdict(
                expectation.label,
                evaluator,
                verdict,
                expectation.first_scores(),
                missed=missed_scores(expectation, evaluator),
            )
            for evaluator, verdict in zip(expectation.evaluators, expectation.verdicts, strict=True)
        ],
        warnings=expectation.warnings,
        distrusted=expectation.distrusted,
        described=expectation.described,
        worst=worst.trial.index if worst else None,
    )


def missed_scores(expectation: "ExpectationResult", evaluator: Evaluator) -> frozenset[float]:
    """Return the scores that do not meet a requirement that is no matter of one cut."""
    scores = () if evaluator.cut else (each.value for each in expectation.results if isinstance(each, Score))
    return frozenset(score for score in scores if not evaluator.meets(score))


def _shown_trial(result: "EvaluationResult", judgement: Judgement) -> ShownTrial:
    return ShownTrial(
        index=judgement.trial.index,
        conversation=judgement.conversation,
        scores={
            expectation.label: ShownScore(found.value, found.reasoning, first_answer(found.details))
            for expectation, found in zip(result.expectations, judgement.results, strict=True)
            if isinstance(found, Score)
        },
        failures=[str(failure.error) for failure in judgement.failures],
    )
