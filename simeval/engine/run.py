"""One run, from its specification to its result: checked, forecast, announced, and then held by the pipeline."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from simeval.core.event_loops import watching
from simeval.core.garbage import collected_seldom
from simeval.core.logs import details, log
from simeval.core.run_records import total
from simeval.engine.display import Look, Progress
from simeval.engine.executors import Executor
from simeval.engine.flow import Demand
from simeval.engine.parts import RunParts
from simeval.engine.pipeline import RECORDED, Conclusion, Forecast, Pipeline, RunSpec
from simeval.engine.plans.cost_forecast import Spending, too_long
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.plans.scenario_plan import RunPlan, rubric_requests, warnings_of
from simeval.engine.run_context import RunContext, embedded_notes, replaced_notes

if TYPE_CHECKING:
    from simeval.results.suite import RunRecord
    from simeval.store.journal import RunResult

R = TypeVar("R", bound="RunResult")


async def carry_out(context: RunContext, spec: RunSpec[R]) -> R:
    """Check, forecast and announce the run; then let the pipeline work."""
    plans = spec.plans
    app_name = spec.target.name if spec.target else RECORDED
    await context.models.check()
    parts = await RunParts.of(context, plans)
    foreseen = await anyio.to_thread.run_sync(partial(spec.forecast, canaries=parts.requests()))
    noted = [*spec.warnings, *too_long(foreseen.longest, await context.models.contexts(foreseen.longest))]
    notes = _notes(context, spec, app_name, [*parts.notes()], noted)
    fields = {**spec.fields, "part": spec.part, "recorded": spec.target is None}
    run, known = context.begin(plans, app_name, user=spec.user, notes=notes, **fields)
    spending = await _spending(context, plans, foreseen, parts)
    is_over = f"run {run.run_id} had finished: nothing is left to do"
    log.info(is_over if known.is_finished else await anyio.to_thread.run_sync(spec.preview, foreseen))
    _announce(spec, run, foreseen, [*noted, *warnings_of(plans)])
    trials = sum(plan.sample_size for plan in plans)
    async with AsyncExitStack() as stack:
        stack.enter_context(collected_seldom())
        progress = Progress(trials, context.settings.display)
        demand = stack.enter_context(Demand(len(plans), largest=trials, shared=context.shared.in_flight))
        executor = await stack.enter_async_context(spec.executor(run, demand, known))
        executor = await stack.enter_async_context(parts.around(executor, run, demand))
        conclusion = spec.conclusion(demand=demand, on_trial=progress.advance, known=known)
        pipeline = _pipeline(context, spec, demand, executor, conclusion, known, spending, parts)
        async with watching(), progress.watched(_look(context, pipeline, run, app_name)):
            result = await pipeline.run(run, min(context.settings.concurrency, trials), context.meter.measured)
        parts.end(result)
        return result


def _pipeline(
    context: RunContext,
    spec: RunSpec[R],
    demand: Demand,
    executor: Executor,
    conclusion: Conclusion[R],
    known: RestoredTrials,
    spending: Spending,
    parts: RunParts,
) -> Pipeline[R]:
    """Return the line of the run's trials."""
    return Pipeline(
        plans=spec.plans,
        demand=demand,
        executor=executor,
        statistician=conclusion,
        recorder=context.recorder,
        stop=context.stop,
        spending=spending,
        known=known,
        on_app_error=context.settings.on_app_error,
        clean=context.clean,
        before_trials=partial(parts.before_trials, spending),
        ranks=spec.ranks,
        recorded=spec.target is None,
        quick=spec.quick,
    )


def _look(context: RunContext, pipeline: Pipeline[R], run: "RunRecord", app_name: str) -> Look:
    """Return the view of the run for its display."""
    return Look(
        usage=lambda: total(context.meter.usage()),
        in_flight=lambda: pipeline.demand.slots.taken,
        standings=partial(pipeline.statistician.standings, run),
        waits=context.models.waits,
        heading=f"simeval  run {run.run_id}  app {app_name}  {run.judge_model and f'judge {run.judge_model}'}",
        most_calls=context.settings.model_concurrency,
    )


def _notes(
    context: RunContext, spec: RunSpec[R], app_name: str, of_parts: Sequence[str], noted: Sequence[str]
) -> Sequence[str]:
    """Return the lines that the record of the run has from the start."""
    graders = [("scorer", name) for name in sorted(context.embedded_graders)]
    notes = [
        *embedded_notes([*spec.roles, *graders, ("app", app_name)]),
        *of_parts,
        *replaced_notes(context.shared.prompts),
        *noted,
        *warnings_of(spec.plans, noted=True),
        *([spec.part.note] if spec.part else []),
    ]
    return [context.clean(note) for note in notes]


def _announce(spec: RunSpec[R], run: "RunRecord", foreseen: Forecast, warnings: Sequence[str]) -> None:
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
