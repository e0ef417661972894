"""One run, from its specification to its result: checked, forecast, announced, and then held by the pipeline."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import anyio.to_thread

from simeval.core.logs import details, log
from simeval.core.usage import total
from simeval.engine.actors.targets import Target
from simeval.engine.display import Look, progress_of
from simeval.engine.executors import Executor
from simeval.engine.flow import Demand
from simeval.engine.parts import RunParts
from simeval.engine.pipeline import Conclusion, Pipeline
from simeval.engine.plans.budget import Spending
from simeval.engine.plans.cost_forecast import (
    CostForecast,
    ExperimentForecast,
    embedded_notes,
    replaced_notes,
    too_long,
    warnings_of,
)
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import RunPlan, rubric_requests
from simeval.engine.plans.shards import ShardPlan
from simeval.engine.run_context import RunContext
from simeval.engine.watchdog import collected_seldom, watching
from simeval.results.suite import RunRecord
from simeval.store.journal import RunResult

R = TypeVar("R", bound=RunResult)


Forecast = CostForecast | ExperimentForecast


OpenExecutor = Callable[  # of the run, the demand on it, and the known results
    [RunRecord, Demand, RestoredTrials], AbstractAsyncContextManager[Executor]
]


RECORDED = "what was recorded"  # the name of the app if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(Generic[R]):
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


async def carry_out(context: RunContext, spec: RunSpec[R]) -> R:
    """Check, forecast and announce the run; then let the pipeline work."""
    plans, meter, settings = spec.plans, context.meter, context.settings
    app_name = spec.target.name if spec.target else RECORDED
    await context.models.check()
    parts = await RunParts.of(context, plans)
    foreseen = await anyio.to_thread.run_sync(partial(spec.forecast, canaries=parts.requests()))
    noted = [*spec.warnings, *too_long(foreseen.longest, await context.models.contexts(foreseen.longest))]
    notes, is_recorded = _notes(context, spec, app_name, [*parts.notes()], noted), spec.target is None
    fields = {**spec.fields, "part": spec.part}
    run, known = context.begin(plans, app_name, user=spec.user, notes=notes, recorded=is_recorded, **fields)
    spending = await _spending(context, plans, foreseen, parts)
    is_over = f"run {run.run_id} had finished: nothing is left to do"
    log.info(is_over if known.is_finished else await anyio.to_thread.run_sync(spec.preview, foreseen))
    _announce(spec, run, foreseen, [*noted, *warnings_of(plans)])
    trials = sum(plan.sample_size for plan in plans)
    async with AsyncExitStack() as stack:
        stack.enter_context(collected_seldom())
        progress = stack.enter_context(progress_of(trials, settings.display))
        demand = stack.enter_context(Demand(len(plans), largest=trials, shared=context.shared.in_flight))
        executor = await stack.enter_async_context(spec.executor(run, demand, known))
        pipeline = Pipeline(
            plans=plans,
            demand=demand,
            executor=await stack.enter_async_context(parts.around(executor, run, demand)),
            statistician=spec.conclusion(demand=demand, on_trial=progress.advance, known=known),
            recorder=context.recorder,
            stop=context.stop,
            spending=spending,
            known=known,
            on_app_error=settings.on_app_error,
            clean=context.clean,
            before_trials=partial(parts.before_trials, spending),
            ranks=spec.ranks,
            recorded=is_recorded,
            quick=spec.quick,
        )
        look = Look(
            usage=lambda: total(meter.usage()),
            in_flight=lambda: demand.slots.taken,
            standings=partial(pipeline.statistician.standings, run),
            waits=context.models.waits,
            heading=f"simeval  run {run.run_id}  app {app_name}  {run.judge_model and f'judge {run.judge_model}'}",
            most_calls=settings.model_concurrency,
        )
        async with watching(), progress.watched(look):
            result = await pipeline.run(run, min(settings.concurrency, trials), meter.measured)
        parts.end(result)
        return result


def _notes(
    context: RunContext, spec: RunSpec[R], app_name: str, of_parts: Sequence[str], noted: Sequence[str]
) -> Sequence[str]:
    """Return the lines that the record of the run has from the start."""
    graders = [("scorer", name) for name in sorted(context.embedded_graders)]
    return [
        *embedded_notes([*spec.roles, *graders, ("app", app_name)]),
        *of_parts,
        *replaced_notes(context.shared.prompts),
        *noted,
        *warnings_of(spec.plans, noted=True),
        *([spec.part.note] if spec.part else []),
    ]


def _announce(spec: RunSpec[R], run: RunRecord, foreseen: Forecast, warnings: Sequence[str]) -> None:
    """Write what will be run to the log."""
    details.info(f"{spec.kind} started", run=run.run_id, **spec.summary)
    details.info(str(foreseen))
    for (requirement, acceptance), times in spec.requirements.items():
        details.info(f"{requirement}: {acceptance}" + (f"  ({times} requirements)" if times > 1 else ""))
    for warning in warnings:
        log.warning(warning)


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
