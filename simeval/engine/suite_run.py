"""A run of scenarios with simulated users: their plans, the app that they ask, and the conclusions."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import anyio.to_thread

from simeval.core.app_handler import ExampleHandler
from simeval.core.escalation import judges_said
from simeval.core.faces import load
from simeval.core.shard import Shard
from simeval.core.validation import require
from simeval.engine.actors.selector import Selector
from simeval.engine.actors.statistician import Statistician
from simeval.engine.executors.executor import Executor
from simeval.engine.executors.paired import PairedExecutor
from simeval.engine.flow.demand import Demand
from simeval.engine.other_run import OtherRun, other_run
from simeval.engine.plans.cost_forecast import CostForecast, forecast
from simeval.engine.plans.order import earlier_runs, ranks_of
from simeval.engine.plans.pairing import pairing_warnings
from simeval.engine.plans.preview import preview
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.run_notes import roles_asked
from simeval.engine.plans.scenario_plan import ScenarioPlan
from simeval.engine.plans.shards import ShardPlan, plan_shard
from simeval.engine.run import carry_out
from simeval.engine.run_context import RemoteRun, RunContext
from simeval.engine.run_spec import RunSpec
from simeval.engine.simulation import Simulation
from simeval.errors import DefinitionError, SimevalError
from simeval.models.prices import Price
from simeval.results.suite import RunRecord, SuiteResult
from simeval.suites.apps.protocol_app import session_warnings
from simeval.suites.scenario import ScenarioTest


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
        spec = await _spec_of(context, simulation, suite, app_handler, other)
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
