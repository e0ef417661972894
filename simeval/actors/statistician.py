"""The statistician: takes judgements in the order dealt and concludes on each scenario."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import nan

from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from simeval.actors.plan import Measure, ScenarioPlan
from simeval.actors.schedule import Places, rounds
from simeval.evaluators import Evaluator
from simeval.order import InOrder
from simeval.outcome import Failure, Judgement, Score, Verdict
from simeval.results import EvaluationResult, ExpectationResult, RunRecord, combine
from simeval.settings import Settings

ROUNDING = 1e-9  # a rate times a size may come out a little under the whole number that is meant


@dataclass(slots=True)
class _Tally:
    """What has been concluded on of one scenario so far. `failed` counts each expectation's lost trials."""

    plan: ScenarioPlan
    failed: list[int]
    order: InOrder[Judgement] = field(default_factory=InOrder)
    judgements: list[Judgement] = field(default_factory=list)


class Statistician:
    """Concludes on scenarios.

    A scenario ends when its sample is complete, or when so many of its trials are lost that each of its
    expectations can only be an "error"; then no more of its trials are dealt. Judgements that come after that
    are recorded but not concluded on.
    """

    def __init__(
        self,
        plans: Sequence[ScenarioPlan],
        settings: Settings,
        *,
        places: Places,
        on_trial: Callable[[int, int], None],
    ) -> None:
        self.closed: set[int] = set()
        self._settings, self._places, self._on_trial = settings, places, on_trial
        self._tallies = [_Tally(plan, [0] * len(plan.measures)) for plan in plans]

    async def conclude(
        self, *, inbox: MemoryObjectReceiveStream[Judgement], credits: MemoryObjectSendStream[int]
    ) -> None:
        """Grant the credits, take every judgement, and close the credits when all scenarios have ended."""
        async with inbox, credits:
            for position in rounds([tally.plan for tally in self._tallies]):
                credits.send_nowait(position)
            async for judgement in inbox:
                self._places.give_back()
                position = judgement.trial.scenario
                if position not in self.closed:
                    self._take(self._tallies[position], judgement)
                if len(self.closed) == len(self._tallies):
                    credits.close()

    def _take(self, tally: _Tally, judgement: Judgement) -> None:
        for released in tally.order.push(judgement.trial.index, judgement):
            tally.judgements.append(released)
            for position, result in enumerate(released.results):
                tally.failed[position] += self._is_lost(result)
            complete = len(tally.judgements) == tally.plan.sample_size
            unspent = 0 if complete else tally.plan.sample_size - len(tally.judgements)
            hopeless = all(self._has_too_many_lost(tally, position) for position in range(len(tally.failed)))
            self._on_trial(1, unspent if hopeless else 0)
            if complete or hopeless:
                self.closed.add(tally.plan.position)
                return

    def _is_lost(self, result: Score | Failure) -> bool:
        if not isinstance(result, Failure):
            return False
        return result.stage != "app" or self._settings.on_app_error == "exclude"

    def _has_too_many_lost(self, tally: _Tally, position: int) -> bool:
        return tally.failed[position] > self._settings.max_error_rate * tally.plan.sample_size + ROUNDING

    def results(self, run: RunRecord) -> tuple[EvaluationResult, ...]:
        """Give the result of every scenario, in the suite's order."""
        return tuple(self._result(tally, run) for tally in self._tallies)

    def _result(self, tally: _Tally, run: RunRecord) -> EvaluationResult:
        expectations = tuple(
            self._expectation(tally, position, measure) for position, measure in enumerate(tally.plan.measures)
        )
        return EvaluationResult(
            title=tally.plan.scenario.title,
            outcome=combine([expectation.outcome for expectation in expectations]),
            expectations=expectations,
            judgements=tuple(tally.judgements),
            run=run,
        )

    def _expectation(self, tally: _Tally, position: int, measure: Measure) -> ExpectationResult:
        results = tuple(judgement.results[position] for judgement in tally.judgements)
        verdicts = [self._verdict(evaluator, results) for evaluator in measure.evaluators]
        if self._has_too_many_lost(tally, position):
            lost = [result for result in results if isinstance(result, Failure) and self._is_lost(result)]
            verdicts = [_in_error(verdict, lost, tally, self._settings) for verdict in verdicts]
        return ExpectationResult(
            label=measure.label, evaluators=measure.evaluators, verdicts=tuple(verdicts), results=results
        )

    def _verdict(self, evaluator: Evaluator, results: Sequence[Score | Failure]) -> Verdict:
        crashed = [isinstance(result, Failure) and result.stage == "app" for result in results]
        values = [
            result.value if isinstance(result, Score) else nan
            for result, crash in zip(results, crashed, strict=True)
            if not crash
        ]
        if self._settings.on_app_error != "exclude" or not any(crashed):
            return evaluator.evaluate(values, misses=sum(crashed))
        verdict = evaluator.evaluate(values)
        left_out = f"{sum(crashed)} trials were left out, because the app failed on them"
        return replace(verdict, explanation=f"{verdict.explanation}; {left_out}" if verdict.explanation else "")


def _in_error(verdict: Verdict, lost: Sequence[Failure], tally: _Tally, settings: Settings) -> Verdict:
    """Turn a verdict into an error: too many trials have no score to conclude on."""
    commonest, times = Counter(f"{failure.stage}: {failure.error}" for failure in lost).most_common(1)[0]
    allowed = f"{settings.max_error_rate:.0%} of {tally.plan.sample_size}"
    explanation = (
        f"{len(lost)} of {len(tally.judgements)} trials have no score, more than the {allowed} that max_error_rate "
        f"allows, so nothing is concluded; {times} x {commonest}"
    )
    return replace(verdict, outcome="error", p_value=None, p_value_fail=None, reason="errors", explanation=explanation)
