"""The remote executor: has trials held and measured by workers.

A trial whose worker is lost is missing, and counts against both conclusions, so that both error rates hold. To hold it
again would favour apps whose failures are slow: those are lost more often (see engine/plans/resume).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from simeval.core.conversation import Conversation
from simeval.core.run_records import Ledger, Start, TrialKey
from simeval.core.trial import CUT, UNNEEDED, Failure, RubricRecord, Score, Trial, TrialConversation, TrialResult
from simeval.engine.executors import Assignment, Delivery, TrialLost, Workers
from simeval.engine.flow import Demand
from simeval.engine.plans.scenario_plan import RunPlan, rubric_requests
from simeval.errors import ModelUnusable
from simeval.models.protocol.prompt_texts import Prompt
from simeval.scorers.llm.judge import rubric_key

LOST = Failure(stage="run", error="the worker was lost in this trial", cause=CUT)
Rubrics = Mapping[str, RubricRecord]


@dataclass(slots=True)
class RemoteExecutor:
    """Has trials done by workers, each once.

    `rubrics` are those that the run judges by; more come as scenarios are prepared. The usage of workers is added to
    `ledger`. Conversations in `begun` continue.
    """

    workers: Workers
    plans: Sequence[RunPlan]
    demand: Demand
    ledger: Ledger
    begun: Mapping[TrialKey, Start]
    rubrics: Rubrics
    judge_name: str
    rubric_prompt: Prompt
    _results: dict[Trial, tuple[Score | Failure, ...]] = field(default_factory=dict, init=False)

    @property
    def notes(self) -> Sequence[str]:
        return ()

    async def recall(self, held: TrialConversation) -> TrialConversation:
        return held

    async def hold(self, trial: Trial) -> TrialConversation:
        """Return the conversation of a trial; its scores come with it, and are kept until they are asked for."""
        await self.demand.has_begun(trial)
        assignment = Assignment(trial=trial, begun=self.begun.get((trial.scenario, trial.index)))
        try:
            found = await self._done(assignment)
        except TrialLost:
            return TrialConversation(trial, Conversation(ended="cut"), LOST)
        if found is None:
            return TrialConversation(trial, Conversation(ended="settled"), UNNEEDED)
        self._results[trial] = found.results
        columns = self.plans[trial.scenario].trial_columns(trial.index)
        return TrialConversation(trial, found.conversation, found.failure, columns)

    async def judge(self, held: TrialConversation, known: Mapping[int, Score]) -> TrialResult:
        """Return the scores delivered with a conversation; one that was held before is measured now."""
        trial, measures = held.trial, len(self.plans[held.trial.scenario].measures)
        results = self._results.pop(trial, None)
        if held.failure is not None:
            results = (held.failure,) * measures
        elif results is None:
            results = await self._measured(held, known)
        return TrialResult(
            trial=trial,
            conversation=held.conversation,
            results=tuple(known.get(place, result) for place, result in enumerate(results)),
            failure=held.failure,
            columns=held.columns,
        )

    async def _measured(self, held: TrialConversation, known: Mapping[int, Score]) -> tuple[Score | Failure, ...]:
        measures = len(self.plans[held.trial.scenario].measures)
        if len(known) == measures:
            return (UNNEEDED,) * measures
        try:
            found = await self._done(Assignment(trial=held.trial, held=held, known=frozenset(known)))
        except TrialLost:
            return (LOST,) * measures
        return (UNNEEDED,) * measures if found is None else found.results

    async def _done(self, assignment: Assignment) -> TrialResult | None:
        """Have a trial done; None if it is not needed any more. Raises TrialLost and ModelUnusable."""
        scenario = assignment.trial.scenario
        places = range(len(self.plans[scenario].measures))
        settled = {place for place in places if self.demand.is_settled(scenario, place)}
        whole = replace(assignment, settled=assignment.settled | settled, rubrics=self._rubrics(scenario))
        delivery: Delivery | None = None
        with self.demand.scope(assignment.trial):
            delivery = await self.workers.do(whole)
        if delivery is None:
            return None
        for role, used in delivery.usage.items():
            self.ledger.roles[role] = self.ledger.of(role) + used
        if delivery.unusable is not None:
            name, kind, problem = delivery.unusable
            raise ModelUnusable(name, kind=kind, problem=problem)
        return delivery.judgement

    def _rubrics(self, scenario: int) -> Rubrics:
        """Return the rubrics of a scenario that a model wrote."""
        requests = rubric_requests([self.plans[scenario]], self.rubric_prompt)
        keys = [rubric_key(self.judge_name, request) for request in requests]
        return {key: self.rubrics[key] for key in keys if key in self.rubrics}
