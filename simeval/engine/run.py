"""One run, from its definition to its result: scenarios with simulated users, or a dataset put to an app."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

import anyio.to_thread

from simeval.core.app_handler import ExampleHandler
from simeval.core.escalation import judges_said
from simeval.core.logs import details, log
from simeval.core.redaction import clean_values
from simeval.core.serialization import plain
from simeval.core.shard import Shard
from simeval.core.usage import total
from simeval.core.validation import require
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.examples import ExampleReader, Examples
from simeval.engine.actors.judge import Judge
from simeval.engine.actors.selector import Selector
from simeval.engine.actors.statistician import Statistician
from simeval.engine.actors.tabulator import Tabulator, record_of
from simeval.engine.actors.targets import Target, require_one_input, require_texts
from simeval.engine.display.progress import Look, progress_of
from simeval.engine.executors.executor import Executor, LocalExecutor
from simeval.engine.executors.paired import PairedExecutor
from simeval.engine.executors.remote import RemoteExecutor
from simeval.engine.flow.demand import Demand
from simeval.engine.garbage import collected_seldom
from simeval.engine.other_run import OtherRun, other_run
from simeval.engine.parts import RunParts
from simeval.engine.pipeline import Conclusion, Pipeline
from simeval.engine.plans.budget import Spending
from simeval.engine.plans.cost_forecast import CostForecast, ExperimentForecast, forecast, forecast_experiment
from simeval.engine.plans.dataset_plan import Experiment, make_dataset_plan
from simeval.engine.plans.order import earlier_runs, ranks_of
from simeval.engine.plans.pairing import pairing_warnings
from simeval.engine.plans.preview import preview, warnings_of
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.run_notes import embedded_notes, replaced_notes, roles_asked, too_long, untested_notes
from simeval.engine.plans.scenario_plan import RunPlan, ScenarioPlan, rubric_requests
from simeval.engine.plans.shards import ShardPlan, plan_shard
from simeval.engine.run_context import RemoteRun, RunContext
from simeval.engine.simulation import Simulation
from simeval.engine.watchdog import watching
from simeval.errors import DefinitionError, SimevalError
from simeval.models.prices import Price
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import RunRecord, SuiteResult
from simeval.store.journal import RunResult
from simeval.suites.apps.protocol_app import session_warnings
from simeval.suites.scenario import ScenarioTest

R = TypeVar("R", bound=RunResult)
Forecast = CostForecast | ExperimentForecast

OpenExecutor = Callable[  # of the run, the demand on it, and the known results
    [RunRecord, Demand, RestoredTrials], AbstractAsyncContextManager[Executor]
]

RECORDED = "what was recorded"  # the name of the app if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work(Generic[R]):
    """The specification of a run: the source of its conversations, its conclusions, and their cost.

    Without a `target` the answers are the recorded ones. `roles` are those that models play besides the app, each with
    its model's name; `fields` are further ones of the run's record. `part` is the shard of a suite that the plans are.
    `kind`, `summary`, `preview` and `requirements`, each with a description of a pass, are for the log. If `quick`,
    scores cost nothing and are counted before they are stored. `ranks` order the trials; `warnings` are added to those
    of the plans.
    """

    kind: str
    summary: Mapping[str, Any]
    plans: Sequence[RunPlan]
    ranks: Sequence[int]
    target: Target | None
    roles: Sequence[tuple[str, str]]
    forecast: Callable[..., Forecast]  # of `canaries`
    executor: OpenExecutor
    conclusion: Callable[..., Conclusion[R]]  # of `demand`, `on_trial` and `known`
    preview: Callable[[Any], str] = str  # of the forecast
    requirements: Mapping[tuple[str, str], int] = field(default_factory=dict)
    user: str = ""
    part: ShardPlan | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    warnings: Sequence[str] = ()


async def simulate(
    context: RunContext,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    others: Sequence[ExampleHandler] = (),
) -> SuiteResult:
    """Simulate users of every scenario, judge, and conclude; with `others`, which of the apps is the best.

    Raises DefinitionError before any call is made.
    """
    settings = context.settings
    do = 'use "local": spans are joined where trials are held'
    require(not (settings.trace_in and context.shared.elsewhere), "trace_in", found=settings.executor, do=do)
    simulation = Simulation.of(context, suite, app_handler)
    simulation = simulation.among(others) if others else simulation
    async with other_run(context, simulation) as other:
        if context.shared.elsewhere is not None:
            context.shared.elsewhere.check(settings)
        work = await _work_of(context, simulation, suite, app_handler, other)
        try:
            result = await _run(context, work)
        except SimevalError as error:
            if other is not None and isinstance(error.partial, SuiteResult):
                await other.end(error.partial)
            raise
        if other is not None:
            await other.end(result)
    return result


async def _work_of(
    context: RunContext,
    simulation: Simulation,
    suite: Sequence[ScenarioTest],
    app_handler: ExampleHandler,
    other: OtherRun | None,
) -> _Work[SuiteResult]:
    """Return the work of a suite, all of it or a shard's. Raises DefinitionError."""
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

    return _Work(
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
        preview=partial(preview, plans, settings, len(simulation.entrants)),
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
        conclusion=partial(_conclusion(simulation, other), plans, settings, stop=context.stop, begun=begun),
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


def _conclusion(simulation: Simulation, other: OtherRun | None) -> Callable[..., Statistician]:
    if simulation.entrants:
        return partial(Selector, apps=len(simulation.entrants))
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
        yield RemoteExecutor(
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


async def experiment(context: RunContext, asked: Experiment) -> ExperimentResult:
    """Answer, measure and conclude. Raises DefinitionError before any call is made."""
    asked = replace(asked, then=[each.dated(context.today) for each in asked.expectations])
    settings, judges, clean = context.settings, context.judge_names, context.clean
    context.learn(asked.target)
    do = "leave it out: only suites of scenarios are shared out"
    require(settings.shard is None, "shard", found=asked.dataset.name, do=do)
    do = 'use "local": only trials of scenarios are run elsewhere'
    require(context.shared.elsewhere is None, "executor", found=settings.executor, do=do)
    plan = make_dataset_plan(
        asked,
        settings=settings,
        seed=context.seed,
        judge_scorer=context.judge_scorer,
        callers=context.scorer_caller,
        clean=clean,
    )
    target = None if asked.target is None else context.target(asked.target, asked.dataset)
    if target is not None and not target.takes_columns:
        require_one_input(asked.dataset)
        require_texts(asked.dataset, target.app)
    reader = ExampleReader(asked.dataset, asked.repetitions, clean)

    @asynccontextmanager
    async def executor(run: RunRecord, demand: Demand, known: RestoredTrials) -> AsyncIterator[Executor]:  # noqa: ARG001
        examples = Examples(
            reader=reader,
            title=plan.title,
            clean=clean,
            dialogue=Dialogue(target.app, demand, clean) if target else None,
            takes_columns=target is not None and target.takes_columns,
        )
        yield LocalExecutor(examples, Judge([plan], demand, clean))

    work = _Work(
        kind="experiment",
        summary={
            "dataset": asked.dataset.name,
            "version": asked.dataset.version,
            "answers": plan.sample_size,
            "target": target.name if target else RECORDED,
            "seed": context.seed,
        },
        plans=[plan],
        ranks=[0],
        target=target,
        roles=[("judge", name) for name in judges if plan.judged],
        fields={
            "dataset": record_of(plan),
            "metadata": clean_values(plain(asked.metadata), clean),
            "doubt": "" if target else asked.dataset.doubt,
        },
        forecast=partial(
            forecast_experiment,
            plan,
            settings,
            judges=judges,
            app_model=target.model if target else None,
            prices=context.models.price,
        ),
        executor=executor,
        conclusion=partial(Tabulator, plan, settings, reader=reader, clean=clean, stored=context.stored_rows),
        quick=all(measure.scorer.quick for measure in plan.measures),
    )
    return await _run(context, work)


async def _run(context: RunContext, work: _Work[R]) -> R:
    """Check, forecast and announce the run; then let the pipeline work."""
    shared, meter, plans = context.shared, context.meter, work.plans
    app_name = work.target.name if work.target else RECORDED
    await context.models.check()
    parts = await RunParts.of(context, plans)
    foreseen = await anyio.to_thread.run_sync(partial(work.forecast, canaries=parts.requests()))
    contexts = await context.models.contexts(foreseen.longest)
    noted = [*work.warnings, *too_long(foreseen.longest, contexts)]
    warnings = [*noted, *warnings_of(plans)]
    graders = [("scorer", name) for name in sorted(context.embedded_graders)]
    embedded = embedded_notes([*work.roles, *graders, ("app", app_name)])
    notes = [
        *embedded,
        *parts.notes(),
        *replaced_notes(shared.prompts),
        *untested_notes(plans, context.judge_names),
        *noted,
        *warnings_of(plans, noted=True),
    ]
    notes += [work.part.note] if work.part else []
    fields, is_recorded = {**work.fields, "part": work.part}, work.target is None
    run, known = context.begin(plans, app_name, user=work.user, notes=notes, recorded=is_recorded, **fields)
    spending = await _spending(context, plans, foreseen, parts)
    is_over = f"run {run.run_id} had finished: nothing is left to do"
    log.info(is_over if known.is_finished else await anyio.to_thread.run_sync(work.preview, foreseen))
    details.info(f"{work.kind} started", run=run.run_id, **work.summary)
    details.info(str(foreseen))
    for (requirement, acceptance), times in work.requirements.items():
        details.info(f"{requirement}: {acceptance}" + (f"  ({times} requirements)" if times > 1 else ""))
    for warning in warnings:
        log.warning(warning)
    trials = sum(plan.sample_size for plan in plans)
    async with AsyncExitStack() as stack:
        stack.enter_context(collected_seldom())
        progress = stack.enter_context(progress_of(trials, context.settings.display))
        demand = stack.enter_context(Demand(len(plans), largest=trials, shared=shared.in_flight))
        executor = await stack.enter_async_context(work.executor(run, demand, known))
        executor = await stack.enter_async_context(parts.around(executor, run, demand))
        pipeline = Pipeline(
            plans=plans,
            demand=demand,
            executor=executor,
            statistician=work.conclusion(demand=demand, on_trial=progress.advance, known=known),
            recorder=context.recorder,
            stop=context.stop,
            spending=spending,
            known=known,
            on_app_error=context.settings.on_app_error,
            clean=context.clean,
            before_trials=partial(parts.before_trials, spending),
            ranks=work.ranks,
            recorded=is_recorded,
            quick=work.quick,
        )
        look = Look(
            usage=lambda: total(meter.usage()),
            in_flight=lambda: demand.slots.taken,
            standings=partial(pipeline.statistician.standings, run),
            waits=context.models.waits,
            heading=f"simeval  run {run.run_id}  app {app_name}  {run.judge_model and f'judge {run.judge_model}'}",
            most_calls=context.settings.model_concurrency,
        )
        async with watching(), progress.watched(look):
            result = await pipeline.run(run, min(context.settings.concurrency, trials), meter.measured)
        parts.end(result)
        return result


async def _spending(context: RunContext, plans: Sequence[RunPlan], foreseen: Forecast, parts: RunParts) -> Spending:
    """Return the spending that budgets limit. Raises DefinitionError if it cannot pay for one trial."""
    shared = context.shared
    spending = Spending(
        budget=shared.budget,
        trial=foreseen.trial,
        rubric=foreseen.rubric,
        control=foreseen.control,
        controls_left=context.controls.unrated,
        rubrics_left=await context.book.unwritten(rubric_requests(plans, shared.prompts["rubric"])),
        usage=context.meter.usage,
        seconds=context.meter.seconds,
        canary=foreseen.canary,
        is_canary_asked=lambda: parts.are_begun,
    )
    spending.check([name for name in foreseen.unpriced if not context.models.tells_cost(name)])
    return spending
