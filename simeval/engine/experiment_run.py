"""A run of a dataset that is put to an app, or of recorded answers: its measurements and conclusions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from simeval.core.redaction import clean_values
from simeval.core.serialization import plain
from simeval.core.validation import require
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.examples import ExampleReader, Examples
from simeval.engine.actors.tabulator import Tabulator, record_of
from simeval.engine.actors.targets import require_one_input, require_texts
from simeval.engine.executors import Executor, LocalExecutor
from simeval.engine.flow import Demand
from simeval.engine.pipeline import RECORDED, RunSpec
from simeval.engine.plans.dataset_plan import Experiment, forecast_experiment, make_dataset_plan
from simeval.engine.plans.resume import RestoredTrials
from simeval.engine.run import carry_out
from simeval.engine.run_context import RunContext
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import RunRecord


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
        yield LocalExecutor(examples, [plan], demand, clean)

    spec = RunSpec(
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
    return await carry_out(context, spec)
