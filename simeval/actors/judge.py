"""The judge's pool: measures a finished conversation by every expectation of its scenario."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
from structlog.contextvars import bound_contextvars

from simeval.actors.plan import Measure, ScenarioPlan, shared_columns
from simeval.actors.wanted import Wanted
from simeval.capture import Caught, capture, place_of
from simeval.errors import SimevalError
from simeval.models.redact import clean_values
from simeval.outcome import UNNEEDED, Failure, Held, Judgement, Score, failure_of
from simeval.scorers.scorer import select

NOTHING: Mapping[int, Score] = {}


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores conversations. Expectations of one conversation are measured at once, each on its own."""

    plans: Sequence[ScenarioPlan]
    wanted: Wanted
    clean: Callable[[str], str]

    async def prepare(self) -> None:
        """Let the scorers of each scenario prepare, one after another, unless it has ended by then.

        What fails here fails again, and is recorded, where the score is made.
        """
        for plan in self.plans:
            for measure in plan.measures:
                if plan.position not in self.wanted.closed:
                    await capture(partial(measure.scorer.prepare, shared_columns(plan)))

    async def judge(self, held: Held, known: Mapping[int, Score] = NOTHING) -> Judgement:
        """Give a score or a failure for each expectation; all fail where the conversation did, or is unwanted now.

        `known` are scores, by the position of their expectation, that there are already.
        """
        plan = self.plans[held.trial.scenario]
        results: list[Score | Failure]
        if held.failure is not None:
            results = [held.failure] * len(plan.measures)
        else:
            results = [known.get(position, UNNEEDED) for position in range(len(plan.measures))]
            with bound_contextvars(scenario=plan.scenario.title, trial=held.trial.index), self.wanted.stay(held.trial):
                results = await self._measure_all(plan, held, known)
        return Judgement(trial=held.trial, conversation=held.conversation, results=tuple(results), failure=held.failure)

    async def _measure_all(self, plan: ScenarioPlan, held: Held, known: Mapping[int, Score]) -> list[Score | Failure]:
        conversation = held.conversation
        columns = {
            **shared_columns(plan),
            "seed": held.trial.seed,
            "conversation": conversation,
            "output": conversation.output,
            "input": conversation.input,
        }
        found: dict[int, Score | Failure] = dict.fromkeys(range(len(plan.measures)), UNNEEDED)
        found.update(known)
        settled = self.wanted.settled
        needed = [place for place in found if place not in known and (plan.position, place) not in settled]

        async def measure(position: int) -> None:
            found[position] = await self._measure(plan.measures[position], columns)

        if len(needed) == 1:
            await measure(needed[0])
        else:
            async with anyio.create_task_group() as measuring:
                for position in needed:
                    measuring.start_soon(measure, position)
        return [found[position] for position in range(len(plan.measures))]

    async def _measure(self, measure: Measure, columns: Mapping[str, object]) -> Score | Failure:
        own = {**columns, "expected_behavior": measure.expectation.expected_behavior}
        made = await capture(partial(_score, measure, own, self.clean))
        if not isinstance(made, Caught):
            return made
        failure = failure_of(made.error, "scorer", clean=self.clean)
        if isinstance(made.error, SimevalError):
            return failure
        return replace(failure, error=f"{measure.scorer.name}: {failure.error}{place_of(made.error)}")


async def _score(measure: Measure, columns: Mapping[str, object], clean: Callable[[str], str]) -> Score:
    score = select(await measure.scorer.measure(columns), measure.path, name=measure.scorer.name)
    measure.require_usable(score.value)
    return replace(score, reasoning=clean(score.reasoning), details=clean_values(score.details, clean))
