"""A run of scenarios with simulated users: their plans, the app that they ask, and the conclusions.

The run of the app compared with: it answers the same trials, and is stored as a run of its own.

Its results go to the tests of the comparison as soon as they are known. Afterwards it is a run like others, a baseline
for further apps. Its calls are counted in the run that it belongs to.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from math import prod

import anyio.to_thread

from simeval.core.app_handler import ExampleHandler
from simeval.core.faces import load
from simeval.core.judging import judges_said
from simeval.core.run_records import SUITE, Cut, Heartbeat, ResumableRun, Start, TrialKey, total
from simeval.core.setting_field import Shard
from simeval.core.settings import Settings
from simeval.core.terminal import counted_of
from simeval.core.trial import Trial, TrialConversation, TrialResult, Verdict
from simeval.core.validation import require
from simeval.engine.actors.app import AlteredApp
from simeval.engine.actors.app_line import Unanswered
from simeval.engine.actors.statistician import Statistician, outcome_of, without_conclusion
from simeval.engine.executors import Executor, LocalExecutor, PairedExecutor
from simeval.engine.flow import Demand, Recorder
from simeval.engine.pipeline import RunSpec
from simeval.engine.plans.cost_forecast import CostForecast, about, forecast, roles_asked, show_dollars
from simeval.engine.plans.resume import (
    SIDE_OF,
    RestoredTrials,
    ShardPlan,
    other_app,
    pairing_warnings,
    plan_shard,
    restore,
    without_comparison,
)
from simeval.engine.plans.scenario_plan import ScenarioPlan, earlier_runs, ranks_of
from simeval.engine.run import carry_out
from simeval.engine.run_context import RemoteRun, RunContext
from simeval.engine.simulation import Simulation
from simeval.errors import DefinitionError, SimevalError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.evaluators.stopping import EXCLUDED, Taken, is_met
from simeval.evaluators.verdicts import NO_TIME
from simeval.models.registry import Price
from simeval.results.suite import ExpectationResult, RunRecord, ScenarioResult, SuiteResult, with_shares
from simeval.results.text import combine
from simeval.store.opening import as_database, load_run
from simeval.suites.apps.named import as_app, session_warnings
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.planning import RequirementForecast, plan_suite, show_chance
from simeval.suites.scenario import ScenarioTest

WORTH_SAYING = 0.95  # of the maximum: an expectation beyond it is as good as all


def other_id(run_id: str) -> str:
    """Return the id of the run that keeps the other side of a run: of the same second, and always the same."""
    return f"{run_id[:15]}-{blake2b(run_id.encode(), digest_size=3).hexdigest()}"


class OtherRun:
    """The other side of a run's trials: holds, measures and keeps them. Known ones cost nothing."""

    def __init__(self, context: RunContext, simulation: Simulation, recorder: Recorder) -> None:
        self._context, self._simulation, self._recorder = context, simulation, recorder
        self.name, self.model = simulation.target.name, simulation.target.model
        self.apps = simulation.apps
        self._plans = without_comparison(simulation.plans)
        self._known, self._begun = RestoredTrials(), dict[TrialKey, Start]()
        self._held: dict[TrialKey, TrialConversation] = {}
        self._judged: dict[TrialKey, TrialResult] = {}
        self._run: RunRecord | None = None
        self.unanswered = Unanswered(f"the app {self.name}")

    @property
    def notes(self) -> Sequence[str]:
        if self._run is None:
            return []
        kept = f"; run {self._run.run_id} has them" if self._context.store is not None else ""
        return [f"{self.name} was asked in the same trials{kept}"]

    async def begin(self, run: RunRecord, demand: Demand, known: RestoredTrials) -> None:
        """Store its record, beside that of the `run` that it belongs to, with the `known` part."""
        context = self._context
        definition = {SIDE_OF: run.run_id, **context.define(self._plans, self.name, user=run.user_model)}
        past = await anyio.to_thread.run_sync(self._past)
        if past is not None:
            self._known = restore(
                past,
                self._plans,
                definition,
                on_app_error=context.settings.on_app_error,
                accept_changes=True,  # where something has changed, the run that it belongs to is another one
                recorded=True,  # a cut of that run is one of this
            )
        note = f"asked in the trials of run {run.run_id}, which has its calls; where these ended, its trials did"
        self._run = replace(run, run_id=other_id(run.run_id), app=self.name, notes=(note,), definition=definition)
        self._begun = dict(self._known.begun)
        self._executor: LocalExecutor = self._simulation.executor(demand, self._begun, self._recorder)
        await self._recorder.begin(self._run)
        for scenario, cuts in known.cuts.items():
            for place, index in enumerate(cuts):
                await self._recorder.record(Cut(self._plans[scenario].trial(index, place)))

    async def hold(self, trial: Trial) -> None:
        """Hold the conversation of a trial, unless it exists."""
        key = trial.scenario, trial.index
        held = self._known.held.get(key)
        if held is None or held.trial.seed != trial.seed:  # it was dealt again since
            begun = self._begun.get(key)
            if begun is None or begun.trial.seed != trial.seed:
                self._begun.pop(key, None)
                await self._recorder.record(Start(trial))
            held = await self._recorder.recorded(await self._executor.hold(trial))
        elif self._known.from_another:
            await self._recorder.record(held)
        self._held[key] = held

    async def judge(self, trial: Trial) -> None:
        """Measure it, and pass it to the tests of the comparison; nothing if the run was interrupted in it."""
        key = trial.scenario, trial.index
        held = self._held.pop(key, None)
        if held is None:
            return
        is_known = held is self._known.held.get(key)
        made = await self._executor.judge(held, self._known.scores_of(trial) if is_known else {})
        if not is_known or self._known.from_another or not self._is_whole(trial):
            await self._recorder.record(made)
        self._judged[key] = made
        self.unanswered.take(made)
        for result, measure in zip(made.results, self._simulation.plans[trial.scenario].measures, strict=True):
            outcome = outcome_of(result, self._context.settings.on_app_error)
            for each in measure.evaluators:
                if isinstance(each, NotWorseEvaluator) and each.other is not None:
                    met = None if outcome == EXCLUDED else is_met(outcome, each.meets)
                    each.other.outcomes[trial.index] = met

    async def end(self, result: SuiteResult) -> None:
        """Store its results in the trials that the `result` of the run that it belongs to rests on."""
        if self._run is None:
            return
        run = replace(self._run, seconds=result.run.seconds, stopped=result.run.stopped)
        found = [self._result(position, each, run) for position, each in enumerate(result)]
        await self._recorder.record(SuiteResult(tuple(found), run), is_last=True)

    def _is_whole(self, trial: Trial) -> bool:
        return self._known.is_whole(trial, len(self._plans[trial.scenario].measures))

    def _past(self) -> ResumableRun | None:
        """Return the other side of the resumed run; None without one."""
        if self._context.past is None:
            return None
        beside = self._context.past.run_id
        try:
            past = load_run(as_database(self._context.store, "resume"), other_id(beside))
        except DefinitionError:  # it was cut off before it was kept
            return None
        return replace(past, definition={SIDE_OF: beside, **past.definition})  # older ones lack this

    def _result(self, position: int, beside: ScenarioResult, run: RunRecord) -> ScenarioResult:
        plan = self._plans[position]
        judgements = tuple(self._judged.get((position, each.trial.index), each) for each in beside.judgements)
        expectations = tuple(
            self._expectation(each, plan, place, judgements) for place, each in enumerate(beside.expectations)
        )
        outcome = combine([each.outcome for each in expectations])
        return with_shares(
            replace(beside, outcome=outcome, expectations=expectations, judgements=judgements, extras=(), run=run)
        )

    def _expectation(
        self, beside: ExpectationResult, plan: ScenarioPlan, place: int, judgements: Sequence[TrialResult]
    ) -> ExpectationResult:
        evaluators = plan.measures[place].evaluators
        results = tuple(judgement.results[place] for judgement in judgements)
        outcomes = [outcome_of(each, self._context.settings.on_app_error) for each in results]
        return replace(
            beside,
            evaluators=evaluators,
            verdicts=tuple(self._verdict(each, outcomes, plan.sample_size) for each in evaluators),
            results=results,
            signs=(),
        )

    def _verdict(self, evaluator: Evaluator, outcomes: Sequence[Taken], sample_size: int) -> Verdict:
        """Return the verdict of a requirement's own test: trials that were not held count against both sides."""
        test = evaluator.running_test(sample_size)
        for outcome in outcomes:
            test.take(outcome)
        verdict = test.verdict()
        if said := self.unanswered.said:
            return without_conclusion(verdict, said, n=verdict.n, missing=verdict.missing)
        if test.settled or verdict.chart is None:
            return verdict
        verdict = replace(verdict, chart=replace(verdict.chart, stop="verdict"))  # the comparison ended it, by its data
        said = f"{len(outcomes)} of {sample_size} trials were held when the comparison ended"
        return verdict if verdict.passed else replace(verdict, reason="scenario_settled", explanation=said, why=NO_TIME)


@asynccontextmanager
async def other_run(context: RunContext, simulation: Simulation) -> AsyncIterator[OtherRun | None]:
    """Hold open the run of the app that a suite is compared with; None if it is compared with none.

    Raises DefinitionError if both cannot answer the same trials.
    """
    app = other_app(simulation.plans)
    if app is None:
        yield None
        return
    settings, shared = context.settings, context.shared
    do = "hold it against a stored run, which can be made in the same way"
    require(shared.elsewhere is None, "against an app: executor", found=settings.executor, do=do)
    require(settings.shard is None, "against an app: shard", found=settings.shard, do=do)
    recorder = Recorder(context.store, lambda: Heartbeat(seconds=context.meter.seconds()), context.stop.under_way)
    opened = as_app(app)
    async with opened if isinstance(opened, ProtocolApp) else nullcontext(opened) as handler, recorder:
        yield OtherRun(context, simulation.against(handler), recorder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Apps that are asked beside the first, with the same seeds: `where` names the work in errors.

    `conclusion` takes the arguments of a Statistician, and `apps`, how many there are; `preview` describes the run.
    """

    where: str
    others: Sequence[ExampleHandler | AlteredApp]
    conclusion: Callable[..., Statistician]
    preview: Callable[[Sequence[ScenarioPlan], CostForecast], str]


def selection(others: Sequence[ExampleHandler]) -> Contest:
    """Return the contest that finds the best of several apps."""
    from simeval.engine.actors.selector import Selector

    return Contest(where="select", others=others, conclusion=Selector, preview=partial(among, apps=len(others) + 1))


async def simulate(
    context: RunContext,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    contest: Contest | None = None,
    title: str = "",
) -> SuiteResult:
    """Simulate users of every scenario, judge, and conclude; with a `contest`, of several apps. `title` is the suite's.

    Raises DefinitionError before any call is made.
    """
    settings = context.settings
    do = 'use "local": spans are joined where trials are held'
    require(not (settings.trace_in and context.shared.elsewhere), "trace_in", found=settings.executor, do=do)
    simulation = Simulation.of(context, suite, app_handler)
    simulation = simulation.among(contest.others, contest.where) if contest else simulation
    async with other_run(context, simulation) as other:
        if context.shared.elsewhere is not None:
            context.shared.elsewhere.check(settings)
        spec = await _spec_of(context, simulation, suite, app_handler, other, contest)
        spec = replace(spec, fields={**spec.fields, "metadata": {SUITE: title}}) if title else spec
        try:
            result = await carry_out(context, spec)
        except SimevalError as error:
            if other is not None and isinstance(error.partial, SuiteResult):
                await other.end(error.partial)
            raise
        if other is not None:
            await other.end(result)
    return result


async def _spec_of(
    context: RunContext,
    simulation: Simulation,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    other: OtherRun | None,
    contest: Contest | None,
) -> RunSpec[SuiteResult]:
    """Return the specification of a suite, all of it or a shard's. Raises DefinitionError."""
    settings, user, judges = context.settings, context.shared.user, context.judge_names
    target, who_judges = simulation.target, judges_said(judges, settings.escalate)
    foresee = partial(
        forecast,
        settings=settings,
        prompts=context.shared.prompts,
        judges=judges,
        user_model=user.name,
        app_models=[target.model, *([other.model] if other else [])],
    )
    part = await _part(context, simulation.plans, partial(foresee, prices=_nothing))
    simulation = simulation.only(part)
    plans = simulation.plans
    most_turns = max((each.most_turns for each in suite), default=0)
    ranks = await anyio.to_thread.run_sync(ranks_of, plans, settings.order, context.store)
    earlier = await anyio.to_thread.run_sync(earlier_runs, plans, target.name, context.store)
    begun = (context.past.started if context.past else datetime.now(UTC)).date()

    return RunSpec(
        kind="run",
        summary={
            "scenarios": len(plans),
            "trials_at_most": sum(plan.sample_size for plan in plans),
            "app": target.name if other is None else f"{target.name} against {other.name}",
            "judge": who_judges,
            "user": user.name,
            "seed": context.seed,
            "in_flight": settings.concurrency,
        },
        preview=partial(contest.preview if contest else partial(preview, settings=settings), plans),
        requirements=Counter(entry for plan in plans for entry in plan.acceptance(settings.stop_mode)),
        plans=plans,
        ranks=ranks,
        target=target,
        fields={"earlier": earlier},
        user=user.name,
        roles=roles_asked(plans, judges, user.name),
        part=part,
        forecast=partial(foresee, plans, prices=context.models.price),
        executor=partial(_executor, context, simulation, suite, app_handler, other),
        conclusion=partial(_conclusion(simulation, other, contest), plans, settings, stop=context.stop, begun=begun),
        warnings=[
            *session_warnings([*simulation.apps, *(other.apps if other else ())], most_turns),
            *pairing_warnings(
                plans,
                seed=context.seed,
                judge=who_judges,
                user=user.name,
                definition=context.define(plans, target.name, user=user.name),
            ),
        ],
    )


def _conclusion(simulation: Simulation, other: OtherRun | None, contest: Contest | None) -> Callable[..., Statistician]:
    if contest:
        return partial(contest.conclusion, apps=len(simulation.entrants))
    is_here = simulation.context.shared.elsewhere is None  # else workers ask the app
    app = simulation.target.app
    return partial(
        Statistician,
        beside=[other.unanswered] if other else [],
        silence=app.silence if is_here else None,
        line=app.line,
    )


@asynccontextmanager
async def _executor(
    context: RunContext,
    simulation: Simulation,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    other: OtherRun | None,
    run: RunRecord,
    demand: Demand,
    known: RestoredTrials,
) -> AsyncIterator[Executor]:
    """Have trials held and measured where the settings say; paired with those of another app, if there is one."""
    elsewhere = context.shared.elsewhere
    if elsewhere is None:
        if simulation.entrants:
            yield simulation.executors(demand, known.begun)
        elif other is None:
            yield simulation.executor(demand, known.begun)
        else:
            await other.begin(run, demand, known)
            yield PairedExecutor(simulation.executor(demand, known.begun), other)
        return
    task = RemoteRun(run, context.shared, suite, app_handler)
    async with elsewhere.open(task) as workers:
        yield load("simeval.extras.cluster.remote:RemoteExecutor")(
            workers,
            simulation.plans,
            demand,
            context.meter.ledger,
            known.begun,
            context.rubrics,
            context.judge_names[0],
            context.shared.prompts["rubric"],
        )


async def _part(
    context: RunContext, plans: Sequence[ScenarioPlan], foresee: Callable[[Sequence[ScenarioPlan]], CostForecast]
) -> ShardPlan | None:
    """Return the part of a suite that is to be run; None for all of it. Raises DefinitionError."""
    if context.settings.shard is None:
        return None
    if context.settings.seed is None and context.past is None:
        do = "give all shards the same seed (--seed)"
        raise DefinitionError("shard", found="each shard would draw a seed of its own", do=do)
    shard = Shard.read(context.settings.shard)
    return await anyio.to_thread.run_sync(plan_shard, plans, shard, foresee)


def _nothing(name: str) -> Price | None:  # noqa: ARG001
    """Return no price: tables of prices differ from machine to machine."""
    return None


def preview(plans: Sequence[ScenarioPlan], foreseen: CostForecast, *, settings: Settings) -> str:
    """Describe in a line how many conversations there will be, their cost, and whether a good app would pass."""
    size, most, expected = len(plans), foreseen.trials_at_most, foreseen.trials_expected
    each = foreseen.conversations
    typically = (
        "" if expected is None or expected >= most * WORTH_SAYING else f" (about {about(each * expected)} expected)"
    )
    cost = total(foreseen.typical).cost_usd
    return "; ".join(
        [
            f"{counted_of(size, 'scenario')}, up to {each * most:,} conversations{typically}",
            *([] if cost is None else [f"about {show_dollars(cost)}"]),
            *_chance(plans, settings, None if cost is None else cost / (each * (expected or most))),
        ]
    )


def among(plans: Sequence[ScenarioPlan], foreseen: CostForecast, *, apps: int) -> str:
    """Say how many conversations it takes at most to find the best app; its scenarios are there once for each."""
    size, cost = len(plans) // apps, total(foreseen.typical).cost_usd
    conversations = f"up to {foreseen.conversations * foreseen.trials_at_most:,} conversations"
    asked = f"{apps} apps, asked in rounds, {counted_of(size, 'scenario')}, {conversations}"
    spent = [] if cost is None else [f"about {show_dollars(cost)}, if none is dropped"]
    return "; ".join([asked, *spent, "an app that is proven not to be the best is dropped"])


def _chance(plans: Sequence[ScenarioPlan], settings: Settings, dollars: float | None) -> list[str]:
    """Say how likely a good app passes, and with which size it would; a conversation costs so many `dollars`."""
    today = datetime.now(UTC).date()
    deciding = [plan for plan in plans if not (plan.scenario.quarantine and plan.scenario.quarantine.holds(today))]
    evaluators = [each for plan in deciding for measure in plan.measures for each in measure.evaluators]
    if any(isinstance(each, NotWorseEvaluator) for each in evaluators):
        return []  # it depends on how the other app does
    found = plan_suite([plan.scenario for plan in deciding], settings)
    advice = found.advice(lambda trials: "" if dollars is None else f", about {show_dollars(dollars * trials)} at most")
    return [*_good_app(found.forecasts, evaluators), *filter(None, [advice])]


def _good_app(found: Sequence[RequirementForecast], evaluators: Sequence[Evaluator]) -> list[str]:
    """Say how likely an app passes that is half-way from each bar to the best."""
    chances = [each.prob_pass for each in found if each.can_pass]
    known = [chance for chance in chances if chance is not None]
    if not chances:
        return ["no requirement can pass with so few trials"]
    unknown, cannot = len(chances) - len(known), len(found) - len(chances)
    few = f"; {cannot} of {len(found)} requirements cannot pass with so few trials, so the suite cannot"
    last = few if cannot else ""
    if not known:
        return [f"the chance of a pass cannot be told beforehand{last}"]
    best = "100%" if all(each.prefers_high for each in evaluators) else "what is best"
    good = f"if the app is good (half-way from each bar to {best})"
    least, most = (show_chance(each) for each in (min(known), max(known)))
    last = f"; of {'one' if unknown == 1 else unknown} more it cannot be told beforehand{last}" if unknown else last
    if len(known) == 1:
        which = "it" if len(found) == 1 else f"the one {'whose chance is known' if unknown else 'that can pass'}"
        return [f"{good}, {which} passes with a chance of {least}{last}"]
    each = least if least == most else f"{least} to {most}"
    who, together = "each requirement passes", "all together"
    if unknown or cannot:
        which = "whose chance is known passes" if unknown else "that can pass does so"
        who, together = f"each of the {len(known)} requirements {which}", "all of them"
    return [f"{good}, {who} with a chance of {each}, and {together} with {show_chance(prod(known))}{last}"]
