"""Records for tests: messages, conversations, trials, results."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from simeval.core.conversation import Conversation, Message
from simeval.core.run_records import Usage
from simeval.core.trial import Failure, Score, Trial, TrialResult, Verdict
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.suite import ExpectationResult, RunRecord, ScenarioResult
from simeval.results.text import combine

NOON = datetime(2025, 1, 2, 12, 0, tzinfo=UTC)
RUN = RunRecord(
    run_id="run-1",
    seed=7,
    judge_model="offline/judge",
    user_model="offline/user",
    app="app:handle",
    started=NOON,
    seconds=1.5,
    usage={
        "judge": Usage(calls=3, failed_calls=1, prompt_tokens=10, completion_tokens=5, cost_usd=0.25),
        "user": Usage(calls=4),
    },
    notes=("a note",),
)


def message(role: Literal["user", "assistant"], content: str, seconds: float = 0.5) -> Message:
    return Message(role=role, content=content, started=NOON, seconds=seconds)


def conversation(*said: str) -> Conversation:
    """Return a conversation in which user and assistant take turns."""
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    return Conversation(messages=tuple(message(roles[place % 2], text) for place, text in enumerate(said)))


def result(
    *expectations: tuple[str, Sequence[Evaluator], Sequence[Score | Failure]], title: str = "A scenario"
) -> ScenarioResult:
    """Return the result of a scenario whose expectations have these results, and verdicts on them."""
    found = tuple(
        ExpectationResult(
            label=label,
            evaluators=tuple(evaluators),
            verdicts=tuple(_verdict(evaluator, results) for evaluator in evaluators),
            results=tuple(results),
        )
        for label, evaluators, results in expectations
    )
    judgements = tuple(
        TrialResult(
            trial=Trial(0, index, 100 + index),
            conversation=conversation(f"question {index}", f"answer {index}"),
            results=tuple(expectation.results[index] for expectation in found),
        )
        for index in range(len(found[0].results))
    )
    outcome = combine([expectation.outcome for expectation in found])
    return ScenarioResult(
        title=title,
        outcome=outcome,
        expectations=found,
        judgements=judgements,
        run=RUN,
        sample_size=len(judgements),
    )


def rated(*ratings: float, title: str = "A scenario", label: str = "it works") -> ScenarioResult:
    """Return the result of a scenario whose trials were rated so, held against a success rate of 90%."""
    scores = [Score(value=rating, reasoning=f"rated {rating:g}") for rating in ratings]
    return result((label, [SuccessRateEvaluator(min_proportion=0.9)], scores), title=title)


def _verdict(evaluator: Evaluator, results: Sequence[Score | Failure]) -> Verdict:
    values = [result.value if isinstance(result, Score) else float("nan") for result in results]
    return evaluator.evaluate(values)
