"""A simulation: scenarios evaluated against an app by simulated users."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from simeval.core.logs import log
from simeval.core.settings import Settings
from simeval.core.usage import total
from simeval.engine.actors.conversations import Conversations
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.dispatcher import TrialSlots
from simeval.engine.actors.judge import Judge
from simeval.engine.actors.statistician import Statistician
from simeval.engine.flow.demand import Demand
from simeval.engine.pipeline import Pipeline
from simeval.engine.plans.budget import Spending
from simeval.engine.plans.cost_forecast import CostForecast, forecast, rubric_requests
from simeval.engine.plans.scenario_plan import ScenarioPlan, make_plans
from simeval.engine.progress import progress_bar
from simeval.engine.run_context import AppHandler, RunContext, embedded_notes
from simeval.engine.watchdog import watching
from simeval.results.suite import RunRecord, SuiteResult
from simeval.suites.scenario import ScenarioTest


async def simulate(context: RunContext, suite: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult:
    """Simulate users of every scenario, judge, and conclude. Raises DefinitionError before any call is made."""
    settings, clean, meter = context.settings, context.clean, context.meter
    user = context.shared.user
    plans = make_plans(
        [each.cleaned(clean) if isinstance(each, ScenarioTest) else each for each in suite],
        settings=settings,
        seed=context.seed,
        judge_scorer=context.judge_scorer,
        callers=context.scorer_caller,
    )
    app, app_name = context.app(app_handler)
    await context.models.check()
    judges = [("judge", model.name) for model in context.shared.panel]
    cast = [*judges, ("user", user.name), ("app", app_name)]
    notes = [*embedded_notes(cast), *(warning for plan in plans for warning in plan.warnings())]
    run, known = context.begin(plans, app_name, user=user.name, notes=notes)
    foreseen = await _forecast(context, plans, app_name if isinstance(app_handler, str) else None)
    spending = Spending(
        budget=context.shared.budget,
        trial=foreseen.trial,
        rubric=foreseen.rubric,
        rubrics_left=await context.book.unwritten(rubric_requests(plan.scenario for plan in plans)),
        usage=meter.usage,
        seconds=meter.seconds,
    )
    spending.check([name for name in foreseen.unpriced if not context.models.tells_cost(name)])
    _announce(run, plans, settings, foreseen)
    trials, demand, stop = sum(plan.sample_size for plan in plans), Demand(len(plans)), context.stop
    dialogue = Dialogue(app, demand, clean)
    with (
        progress_bar(trials, show=context.settings.progress) as progress,
        TrialSlots(context.shared.in_flight) as slots,
    ):
        line = Pipeline(
            plans=plans,
            conversations=Conversations(plans, context.caller(user), dialogue, settings.writing_style, suite),
            judge=Judge(plans, demand, clean),
            statistician=Statistician(
                plans, settings, slots=slots, demand=demand, stop=stop, on_trial=progress.advance
            ),
            recorder=context.recorder,
            slots=slots,
            stop=stop,
            spending=spending,
            known=known,
            on_app_error=settings.on_app_error,
            clean=clean,
        )
        async with watching(), progress.watched(lambda: total(meter.usage()), lambda: slots.taken):
            return await line.run(run, min(settings.concurrency, trials), meter.measured)


async def _forecast(context: RunContext, plans: Sequence[ScenarioPlan], app_model: str | None) -> CostForecast:
    shared = context.shared
    make = partial(
        forecast,
        plans,
        context.settings,
        judges=[model.name for model in shared.panel],
        user_model=shared.user.name,
        app_model=app_model,
        prices=context.models.price,
    )
    return await anyio.to_thread.run_sync(make)


def _announce(run: RunRecord, plans: Sequence[ScenarioPlan], settings: Settings, foreseen: CostForecast) -> None:
    """Log what will be run, before the first call."""
    log.info(
        "run started",
        run=run.run_id,
        scenarios=len(plans),
        trials_at_most=sum(plan.sample_size for plan in plans),
        app=run.app,
        judge=run.judge_model,
        user=run.user_model,
        seed=run.seed,
        in_flight=settings.concurrency,
    )
    log.info(str(foreseen))
    tables = Counter(entry for plan in plans for entry in plan.acceptance(settings.stop_mode))
    for (requirement, acceptance), times in tables.items():
        log.info(f"{requirement}: {acceptance}" + (f"  ({times} requirements)" if times > 1 else ""))
    for plan in plans:
        for warning in plan.warnings():
            log.warning(warning)
