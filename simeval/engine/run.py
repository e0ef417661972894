"""One run, from its definition to its result: scenarios with simulated users, or a dataset put to an app."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio.to_thread

from simeval.core.logs import details, log
from simeval.core.redaction import clean_values
from simeval.core.run_records import Start, TrialKey
from simeval.core.serialization import plain
from simeval.core.usage import total
from simeval.engine.actors.conversations import Conversations
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.examples import ExampleReader, Examples
from simeval.engine.actors.statistician import Statistician
from simeval.engine.actors.tabulator import Tabulator, record_of
from simeval.engine.actors.targets import Target
from simeval.engine.flow.demand import Demand
from simeval.engine.judge_test.run_canaries import RunCanaries
from simeval.engine.pipeline import Conclusion, Pipeline, Source
from simeval.engine.plans.budget import Spending
from simeval.engine.plans.cost_forecast import CostForecast, ExperimentForecast, forecast, forecast_experiment
from simeval.engine.plans.dataset_plan import Experiment, make_dataset_plan
from simeval.engine.plans.preview import preview, warnings_of
from simeval.engine.plans.scenario_plan import RunPlan, make_plans, rubric_requests
from simeval.engine.progress import progress_bar
from simeval.engine.run_context import AppHandler, RunContext, embedded_notes, replaced_notes, too_long
from simeval.engine.watchdog import watching
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import SuiteResult
from simeval.store.journal import RunResult
from simeval.suites.scenario import ScenarioTest

R = TypeVar("R", bound=RunResult)
Forecast = CostForecast | ExperimentForecast

RECORDED = "what was recorded"  # the name of the app where there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work(Generic[R]):
    """What tells one run from another: where its conversations come from, what is concluded, and what that costs.

    Without a `target` the answers are those that were recorded. `roles` are those that models play beside the app,
    each with its model's name; `fields` are further ones of the run's record. `kind`, `summary`, `preview` and
    `requirements`, each with what passes it, are for the log. Where `quick`, scores cost nothing and are counted
    before they are kept.
    """

    kind: str
    summary: Mapping[str, Any]
    plans: Sequence[RunPlan]
    target: Target | None
    roles: Sequence[tuple[str, str]]
    forecast: Callable[..., Forecast]  # of `canaries`
    source: Callable[[Demand, Mapping[TrialKey, Start]], Source]  # of what is needed, and the trials that go on
    conclusion: Callable[..., Conclusion[R]]  # of `demand`, `on_trial` and `recalled`
    preview: Callable[[Any], str] = str  # of what is foreseen
    requirements: Mapping[tuple[str, str], int] = field(default_factory=dict)
    user: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False


async def simulate(context: RunContext, suite: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult:
    """Simulate users of every scenario, judge, and conclude. Raises DefinitionError before any call is made."""
    settings, user, judges = context.settings, context.shared.user, context.judge_names
    plans = make_plans(
        [each.cleaned(context.clean) if isinstance(each, ScenarioTest) else each for each in suite],
        settings=settings,
        seed=context.seed,
        judge_scorer=context.judge_scorer,
        callers=context.scorer_caller,
    )
    target = context.target(app_handler)

    auditor = context.auditor()

    def source(demand: Demand, begun: Mapping[TrialKey, Start]) -> Source:
        dialogue = Dialogue(target.app, demand, context.clean, context.shared.on_message)
        return Conversations(
            plans=plans,
            caller=context.caller(user, "user"),
            dialogue=dialogue,
            settings=settings,
            scenarios=suite,
            recorder=context.recorder,
            begun=begun,
            prompt=context.shared.prompts["user"],
            auditor=auditor,
        )

    work = _Work(
        kind="run",
        summary={
            "scenarios": len(plans),
            "trials_at_most": sum(plan.sample_size for plan in plans),
            "app": target.name,
            "judge": " + ".join(judges),
            "user": user.name,
            "seed": context.seed,
            "in_flight": settings.concurrency,
        },
        preview=partial(preview, plans, settings),
        requirements=Counter(entry for plan in plans for entry in plan.acceptance(settings.stop_mode)),
        plans=plans,
        target=target,
        user=user.name,
        roles=[*(("judge", name) for name in judges), ("user", user.name)],
        forecast=partial(
            forecast,
            plans,
            settings,
            prompts=context.shared.prompts,
            judges=judges,
            user_model=user.name,
            app_model=target.model,
            prices=context.models.price,
        ),
        source=source,
        conclusion=partial(Statistician, plans, settings, stop=context.stop),
    )
    return await _run(context, work)


async def experiment(context: RunContext, asked: Experiment) -> ExperimentResult:
    """Answer, measure and conclude. Raises DefinitionError before any call is made."""
    settings, judges, clean = context.settings, context.judge_names, context.clean
    plan = make_dataset_plan(
        asked,
        settings=settings,
        seed=context.seed,
        judge_scorer=context.judge_scorer,
        callers=context.scorer_caller,
        clean=clean,
    )
    target = None if asked.target is None else context.target(asked.target, asked.dataset)
    reader = ExampleReader(asked.dataset, asked.repetitions, clean)

    def source(demand: Demand, begun: Mapping[TrialKey, Start]) -> Source:  # noqa: ARG001
        return Examples(
            reader=reader,
            title=plan.title,
            clean=clean,
            dialogue=Dialogue(target.app, demand, clean) if target else None,
            takes_columns=target is not None and target.takes_columns,
        )

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
        target=target,
        roles=[("judge", name) for name in judges if plan.judged],
        fields={"dataset": record_of(plan), "metadata": clean_values(plain(asked.metadata), clean)},
        forecast=partial(
            forecast_experiment,
            plan,
            settings,
            judges=judges,
            app_model=target.model if target else None,
            prices=context.models.price,
        ),
        source=source,
        conclusion=partial(Tabulator, plan, settings, reader=reader, clean=clean),
        quick=all(measure.scorer.quick for measure in plan.measures),
    )
    return await _run(context, work)


async def _run(context: RunContext, work: _Work[R]) -> R:
    """Check, forecast and announce what will be run; then let the pipeline work."""
    shared, meter, plans = context.shared, context.meter, work.plans
    app_name = work.target.name if work.target else RECORDED
    await context.models.check()
    canaries = _canaries(context, plans)
    await canaries.check()
    foreseen = await anyio.to_thread.run_sync(partial(work.forecast, canaries=canaries.requests()))
    contexts = await context.models.contexts(foreseen.longest)
    warnings = [*too_long(foreseen.longest, contexts), *warnings_of(plans)]
    notes = [*embedded_notes([*work.roles, ("app", app_name)]), *replaced_notes(shared.prompts), *warnings]
    is_recorded = work.target is None
    run, known = context.begin(plans, app_name, user=work.user, notes=notes, recorded=is_recorded, **work.fields)
    spending = await _spending(context, plans, foreseen, canaries)
    log.info(await anyio.to_thread.run_sync(work.preview, foreseen))
    details.info(f"{work.kind} started", run=run.run_id, **work.summary)
    details.info(str(foreseen))
    for (requirement, acceptance), times in work.requirements.items():
        details.info(f"{requirement}: {acceptance}" + (f"  ({times} requirements)" if times > 1 else ""))
    for warning in warnings:
        log.warning(warning)
    trials = sum(plan.sample_size for plan in plans)
    with (
        progress_bar(trials, show=context.settings.progress) as progress,
        Demand(len(plans), largest=trials, shared=shared.in_flight) as demand,
    ):
        pipeline = Pipeline(
            plans=plans,
            demand=demand,
            conversations=work.source(demand, known.begun),
            statistician=work.conclusion(
                demand=demand, on_trial=progress.advance, recalled=[known.first_whole(plan) for plan in plans]
            ),
            recorder=context.recorder,
            stop=context.stop,
            spending=spending,
            known=known,
            on_app_error=context.settings.on_app_error,
            clean=context.clean,
            before_trials=partial(canaries.ask, spending),
            recorded=is_recorded,
            quick=work.quick,
        )
        async with watching(), progress.watched(lambda: total(meter.usage()), lambda: demand.slots.taken):
            return await pipeline.run(run, min(context.settings.concurrency, trials), meter.measured)


def _canaries(context: RunContext, plans: Sequence[RunPlan]) -> RunCanaries:
    """Return what says of each judge whether another model answers by its name than before, where answers are kept."""
    folder = context.settings.canary_folder
    is_wanted = folder is not None and any(plan.judged for plan in plans)
    return RunCanaries(
        judges=context.judges,
        prompt=context.shared.prompts["judge"],
        folder=Path(folder) if folder is not None and is_wanted else None,
    )


async def _spending(
    context: RunContext, plans: Sequence[RunPlan], foreseen: Forecast, canaries: RunCanaries
) -> Spending:
    """Return what a budget is held against. Raises DefinitionError where it cannot pay for one trial."""
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
        is_canary_asked=lambda: canaries.is_over,
    )
    spending.check([name for name in foreseen.unpriced if not context.models.tells_cost(name)])
    return spending
