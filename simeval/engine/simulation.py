"""Everything needed to hold and measure the scenarios of a suite, in any process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from simeval.core.app_handler import ExampleHandler
from simeval.core.run_records import Start, TrialKey
from simeval.core.setting_field import Shard
from simeval.core.validation import require
from simeval.engine.actors.conversations import Conversations
from simeval.engine.actors.dialogue import Dialogue, Mixing
from simeval.engine.actors.recorder import Recorder
from simeval.engine.actors.targets import Target
from simeval.engine.executors import ByApp, Judge, LocalExecutor
from simeval.engine.flow import Demand
from simeval.engine.plans.resume import comparisons
from simeval.engine.plans.scenario_plan import ScenarioPlan, make_plans
from simeval.engine.plans.shards import ShardPlan
from simeval.engine.run_context import RunContext
from simeval.engine.users.audit import Auditor
from simeval.errors import DefinitionError
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.scorers.base import Scorer
from simeval.suites.scenario import Expectation, ScenarioTest
from simeval.suites.script import Step
from simeval.suites.worlds import require_session

SHARED = "give the class of its object, or keep what it remembers in state or by session_id"
ONE_SESSION = "see that each conversation has a session of its own: {session} in its request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The plans of scenarios, these as they were written but for the dates in them, and their target app.

    With `entrants`, the scenarios of each are side by side, and the target names them all.
    """

    context: RunContext
    plans: tuple[ScenarioPlan, ...]
    scenarios: Sequence[ScenarioTest]
    target: Target
    auditor: Auditor | None
    entrants: tuple[Target, ...] = ()

    @classmethod
    def of(cls, context: RunContext, suite: Sequence[ScenarioTest], app_handler: ExampleHandler) -> Self:
        """Check a suite, and plan it. Raises DefinitionError before any call is made."""
        context.learn(app_handler, suite)
        suite = [each.dated(context.today) if isinstance(each, ScenarioTest) else each for each in suite]
        plans = make_plans(
            [each.cleaned(context.clean) if isinstance(each, ScenarioTest) else each for each in suite],
            settings=context.settings,
            seed=context.seed,
            judge_scorer=context.judge_scorer,
            callers=context.scorer_caller,
        )
        target = _target(context, plans, app_handler)
        return cls(context=context, plans=plans, scenarios=suite, target=target, auditor=context.auditor())

    @property
    def apps(self) -> Sequence[object]:
        """The apps that are asked."""
        return [each.app.handler.function for each in self.entrants or [self.target]]

    def against(self, app_handler: ExampleHandler) -> Self:
        """Return the same scenarios, put to another app. Raises DefinitionError."""
        return replace(self, target=_target(self.context, self.plans, app_handler))

    def among(self, others: Sequence[ExampleHandler]) -> Self:
        """Return the same scenarios, put to several apps, under their names. Raises DefinitionError."""
        self._require_comparable()
        entrants = (self.target, *(_target(self.context, self.plans, each) for each in others))
        names = [each.name for each in entrants]
        require(len({*names}) == len(names), "select: apps", found=", ".join(names), do="give each a name of its own")
        plans = [_put_to(plan, name) for name in names for plan in self.plans]
        return replace(
            self,
            plans=tuple(replace(plan, position=position) for position, plan in enumerate(plans)),
            scenarios=[*self.scenarios] * len(entrants),
            target=replace(self.target, name=", ".join(names)),
            entrants=entrants,
        )

    def _require_comparable(self) -> None:
        """Raise DefinitionError if several apps cannot be run at once, or not compared by their results per trial."""
        context = self.context
        do = "leave it out: apps are asked in this process, each in every round"
        require(context.shared.elsewhere is None, "select: executor", found=context.settings.executor, do=do)
        require(context.settings.shard is None, "select: shard", found=context.settings.shard, do=do)
        evaluators = [[one for each in plan.measures for one in each.evaluators] for plan in self.plans]
        is_counted = all(any(one.has_outcomes for one in each) for each in evaluators)
        if not is_counted:
            do = "require a share of the trials in each scenario"
            raise DefinitionError(
                "select", found="a scenario has no requirement with a yes or no for each trial", do=do
            )
        if any(comparisons(self.plans)):
            raise DefinitionError("select", found="found requirements of a comparison", do="give their bars")

    def only(self, part: ShardPlan | None) -> Self:
        """Return the part of it that a shard has; without one, all of it."""
        if part is None:
            return self
        return replace(self, plans=part.plans, scenarios=[self.scenarios[place] for place in part.places])

    def part_in(self, definition: Mapping[str, Any]) -> ShardPlan | None:
        """Return the shard of a run's definition; None if it is of the whole suite."""
        entry = definition.get("shard")
        if entry is None:
            return None
        places = tuple(place for place in entry["places"] if place < len(self.plans))
        return ShardPlan(Shard(entry["number"], entry["of"]), self.plans, places)

    def executor(
        self, demand: Demand, begun: Mapping[TrialKey, Start], recorder: Recorder | None = None
    ) -> LocalExecutor:
        """Return an executor in this process; conversations in `begun` continue.

        The `recorder` stores their progress; without one, the run's does.
        """
        return self._executor(self.target, demand, begun, recorder)

    def executors(self, demand: Demand, begun: Mapping[TrialKey, Start]) -> ByApp:
        """Return the same of several apps."""
        found = [self._executor(each, demand, begun, None) for each in self.entrants]
        return ByApp(found, len(self.plans) // len(found))

    def _executor(
        self, target: Target, demand: Demand, begun: Mapping[TrialKey, Start], recorder: Recorder | None
    ) -> LocalExecutor:
        context = self.context
        source = Conversations(
            plans=self.plans,
            caller=context.caller(context.shared.user, "user"),
            dialogue=Dialogue(target.app, demand, context.clean, context.shared.listener),
            settings=context.settings,
            scenarios=self.scenarios,
            recorder=recorder or context.recorder,
            begun=begun,
            prompt=context.shared.prompts["user"],
            attack_prompt=context.shared.prompts["attack"],
            judge_of=partial(_judge_of, context),
            auditor=self.auditor,
            mixing=None if target.model else Mixing(SHARED if target.app.handler.may_block else ONE_SESSION),
        )
        return LocalExecutor(source, Judge(self.plans, demand, context.clean))


def _target(context: RunContext, plans: Sequence[ScenarioPlan], app_handler: ExampleHandler) -> Target:
    """Return an app that can answer these scenarios. Raises DefinitionError."""
    target = context.target(app_handler)
    for plan in plans:
        require_session(plan.scenario.world, app_handler, f"ScenarioTest {plan.title!r}: world")
        for at, script in plan.scenario.scripts.items():
            _require_usable(script, context, f"ScenarioTest {plan.title!r}: {at}", target)
    return target


def _put_to(plan: ScenarioPlan, app: str) -> ScenarioPlan:
    """Return a plan under an app's name, of whole samples."""
    measures = tuple(
        replace(each, evaluators=tuple(replace(one, early_stopping=False) for one in each.evaluators))
        for each in plan.measures
    )
    return replace(plan, scenario=replace(plan.scenario, title=f"{plan.title} [{app}]"), measures=measures)


def _judge_of(context: RunContext, sentence: str) -> Scorer:
    """Return the scorer of judges' rulings on one sentence, in the middle of a conversation."""
    rule = SuccessRateEvaluator(min_proportion=0.5)  # nothing is concluded by it
    return context.judge_scorer(Expectation(criteria=[sentence], evaluator=rule, controls=False))


def _require_usable(script: Sequence[Step], context: RunContext, where: str, target: Target) -> None:
    """Raise DefinitionError where an app would not know of a given answer, or judges cannot rule on a check."""
    if not target.app.handler.takes_history and any(step.app is not None for step in script):
        found = "it gives an answer by `app:`, and the app handler takes the last message only"
        raise DefinitionError(where, found=found, do="let the handler take (messages, state), or leave `app:` out")
    for step in script:
        if (check := step.checks) is not None and check.judged is not None:
            _judge_of(context, check.judged)
