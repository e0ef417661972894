"""An experiment: a dataset put to an app, or taken with what was recorded, measured by scorers and concluded on."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import anyio.to_thread

from simeval.core.logs import log
from simeval.core.redaction import clean_values
from simeval.core.serialization import plain
from simeval.core.usage import total
from simeval.core.validation import require, require_whole
from simeval.datasets.dataset import Dataset
from simeval.engine.actors.app import App
from simeval.engine.actors.dialogue import Dialogue
from simeval.engine.actors.dispatcher import TrialSlots
from simeval.engine.actors.examples import ExampleReader, Examples
from simeval.engine.actors.judge import Judge
from simeval.engine.actors.tabulator import Tabulator, record_of
from simeval.engine.actors.targets import column_handler, takes_columns
from simeval.engine.flow.demand import Demand
from simeval.engine.meter import Meter
from simeval.engine.pipeline import Pipeline
from simeval.engine.plans.budget import Cost, Spending
from simeval.engine.plans.dataset_plan import DatasetPlan, make_dataset_plan
from simeval.engine.progress import progress_bar
from simeval.engine.run_context import AppHandler, RunContext, embedded_notes, name_of
from simeval.engine.watchdog import watching
from simeval.errors import DefinitionError
from simeval.models.protocol.prompts import RubricRequest
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import RunRecord
from simeval.suites.scenario import Expectation

RECORDED = "what was recorded"  # the name of the app where there is none
CALL_TOKENS = 800  # of a scorer's call, prompt and reply: a guess for the first trials of a run with a budget


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment; without a `target` its answers are those that were recorded."""

    dataset: Dataset
    target: AppHandler | None
    scorers: Sequence[object]
    then: Expectation | Sequence[Expectation]
    repetitions: int
    metadata: Mapping[str, Any]

    @property
    def expectations(self) -> Sequence[Expectation]:
        """What is concluded, always as a list; anything else is one thing that is no Expectation."""
        return self.then if isinstance(self.then, (list, tuple)) else [cast("Expectation", self.then)]

    async def run(self, context: RunContext) -> ExperimentResult:
        """Answer, measure and conclude. Raises DefinitionError before any call is made."""
        self._check()
        settings, clean, meter, stop = context.settings, context.clean, context.meter, context.stop
        plan = make_dataset_plan(
            self.dataset,
            self.scorers,
            self.expectations,
            repetitions=self.repetitions,
            settings=settings,
            seed=context.seed,
            judge_scorer=context.judge_scorer,
            callers=context.scorer_caller,
            clean=clean,
        )
        app, app_name, by_columns = self._app(context)
        await context.models.check()
        run, known = context.begin(
            [plan],
            app_name,
            user="",
            notes=[*embedded_notes(_cast(plan, context, app_name)), *_warnings(plan)],
            dataset=record_of(plan),
            metadata=clean_values(plain(self.metadata), clean),
        )
        spending = await self._spending(plan, context, is_model=isinstance(self.target, str))
        log.info(
            "experiment started",
            run=run.run_id,
            dataset=self.dataset.name,
            version=self.dataset.version,
            answers=plan.sample_size,
            target=app_name,
            seed=run.seed,
        )
        demand, keys, masked = Demand(1), [""] * self.dataset.size, set[int]()
        with (
            progress_bar(plan.sample_size, show=context.settings.progress) as progress,
            TrialSlots(context.shared.in_flight) as slots,
        ):
            line = Pipeline(
                plans=[plan],
                conversations=Examples(
                    feed=ExampleReader(self.dataset, self.repetitions),
                    title=plan.title,
                    demand=demand,
                    clean=clean,
                    keys=keys,
                    dialogue=Dialogue(app, demand, clean) if app else None,
                    takes_columns=by_columns,
                    masked=masked,
                ),
                judge=Judge([plan], demand, clean),
                statistician=Tabulator(
                    plan, settings, slots=slots, demand=demand, keys=keys, clean=clean, on_trial=progress.advance
                ),
                recorder=context.recorder,
                slots=slots,
                stop=stop,
                spending=spending,
                known=known,
                on_app_error=settings.on_app_error,
                clean=clean,
                recorded=app is None,
                quick=all(measure.scorer.quick for measure in plan.measures),
            )
            async with watching(), progress.watched(lambda: total(meter.usage()), lambda: slots.taken):
                measured = partial(_measured, meter, run, masked)
                return await line.run(run, min(settings.concurrency, plan.sample_size), measured)

    def _check(self) -> None:
        require_whole(self.repetitions, "repetitions")
        require(
            isinstance(self.scorers, Sequence) and not isinstance(self.scorers, str),
            "evaluate: scorers",
            found=self.scorers,
            do="give a list of scorers",
        )
        for each in self.expectations:
            require(isinstance(each, Expectation), "evaluate: then", found=each, do="give Expectations")
        require(isinstance(self.metadata, Mapping), "evaluate: metadata", found=self.metadata, do="give a mapping")
        if self.target is None and not self.dataset.recorded:
            raise DefinitionError(
                f"dataset {self.dataset.name!r}",
                found="there is no app, and some of its examples hold no recorded conversation",
                do="give the app, or say which column holds what was answered (recorded=...)",
            )
        if self.target is None and self.repetitions > 1:
            raise DefinitionError(
                "repetitions", found=f"found {self.repetitions} of what was recorded", do="leave it out"
            )

    def _app(self, context: RunContext) -> tuple[App | None, str, bool]:
        """Return the app's actor, its name, and whether it takes columns."""
        target = self.target
        if target is None:
            return None, RECORDED, False
        if isinstance(target, str) or not _is_function(target) or not takes_columns(target, self.dataset):
            return (*context.app(target), False)
        return (*context.app(column_handler(target), name_of(target)), True)

    async def _spending(self, plan: DatasetPlan, context: RunContext, *, is_model: bool) -> Spending:
        """Return what a budget is held against: for a trial, the calls of its scorers, its judges and its app."""
        behaviours = [measure.expected_behavior for measure in plan.measures if measure.expected_behavior]
        scorers = {id(measure.scorer): measure.scorer.calls for measure in plan.measures}
        judged = len(behaviours) * len(context.judges) * context.settings.judge_repeats
        calls = sum(scorers.values()) + judged + is_model
        names = {*context.asked, *([str(self.target)] if is_model else [])}
        names |= {caller.model.name for caller in context.judges} if behaviours else set()
        priced = {name: await anyio.to_thread.run_sync(context.models.price, name) for name in names}
        dearest = max((price.of(CALL_TOKENS, 0) for price in priced.values() if price), default=0.0)
        cost = Cost(calls=calls, tokens=calls * CALL_TOKENS, cost_usd=calls * dearest)
        given, when = str(plan.columns["given"]), str(plan.columns["when"])
        requests = [RubricRequest(given=given, when=when, expected_behavior=each) for each in dict.fromkeys(behaviours)]
        spending = Spending(
            budget=context.shared.budget,
            trial=cost,
            rubric=Cost(calls=1, tokens=CALL_TOKENS, cost_usd=dearest),
            rubrics_left=await context.book.unwritten(requests),
            usage=context.meter.usage,
            seconds=context.meter.seconds,
        )
        spending.check([n for n, price in priced.items() if price is None and not context.models.tells_cost(n)])
        log.info(f"forecast: {plan.sample_size:,} answers, {plan.sample_size * calls:,} model calls (without retries)")
        return spending


def _measured(meter: Meter, run: RunRecord, masked: Collection[int]) -> dict[str, Any]:
    """Return what completes the record of a run, and say how many answers were measured with secrets taken out."""
    said = [f"secrets were masked in {len(masked)} answers before they were measured"] if masked else []
    return {**meter.measured(), "notes": (*run.notes, *said)}


def _is_function(target: Callable[..., Any]) -> bool:
    return callable(target) and not isinstance(target, type)


def _cast(plan: DatasetPlan, context: RunContext, app_name: str) -> list[tuple[str, str]]:
    """Name the models that the experiment asks, each with its role."""
    judged = any(measure.expected_behavior for measure in plan.measures)
    judges = [("judge", model.name) for model in context.shared.panel] if judged else []
    return [*judges, *(("scorer", name) for name in sorted(context.asked)), ("app", app_name)]


def _warnings(plan: DatasetPlan) -> list[str]:
    """Name the requirements that cannot be proven on so few examples, even by perfect scores."""
    n = plan.dataset.size
    return [
        f"{measure.label}: {evaluator.describe()} cannot be proven on {n} examples, even if every one meets it; at "
        f"least {least} are needed (significance level {evaluator.alpha:g})"
        for measure in plan.measures
        for evaluator in measure.evaluators
        for least in [evaluator.minimum_trials()]
        if least > n
    ]
