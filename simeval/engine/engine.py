"""The engine: checks a suite, wires the line of one run, stores its results, and returns them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

import anyio
import anyio.to_thread

from simeval.core.app_handler import AppHandler, ExampleApp
from simeval.core.capture import first_leaf
from simeval.core.conversation import Message
from simeval.core.event_loops import advised, require_asyncio, require_no_loop
from simeval.core.faces import PAGE, load
from simeval.core.licences import CanaryFinding, JudgeForm, JudgeLicence
from simeval.core.logs import Level, set_log_level
from simeval.core.originals import OF_ENGINES
from simeval.core.run_records import Journal
from simeval.core.setting_field import RayExecutor, meant_setting, other_names
from simeval.core.setting_overrides import SettingOverrides
from simeval.core.settings import DEFAULTS, Settings
from simeval.core.validation import originals_among, require
from simeval.datasets.dataset import Dataset
from simeval.engine.actors.dialogue import Listener
from simeval.engine.flow import StopSignal
from simeval.engine.pipeline import END_SECONDS
from simeval.engine.rubrics import ExpectationRubric, rubrics_of
from simeval.engine.run_context import EngineResources, RemoteWorkers, RunContext
from simeval.engine.suite_run import selection, simulate
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Model
from simeval.models.registry import redactor_of
from simeval.results.suite import ScenarioResult, SuiteResult
from simeval.store.opening import open_journal
from simeval.suites.apps.named import as_app, name_of
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.scenario import Expectation, ScenarioTest, by_case

if TYPE_CHECKING:
    from simeval.results.experiment import ExperimentResult
    from simeval.results.selection import Selection

T = TypeVar("T")

DEFAULT_APP = "offline/app"
CLOSING_SECONDS = 5.0  # how long connections and files may take to close, cancelled or not


class ExperimentOptions(TypedDict, total=False):
    """The arguments that a dataset takes beside the app."""

    scorers: Sequence[object]
    then: Expectation | Sequence[Expectation]
    repetitions: int
    metadata: Mapping[str, Any] | None


class Engine:
    """Evaluates scenarios, and datasets, against an app.

    Models are LiteLLM names ("openai/gpt-5-nano"), embedded ones ("offline/judge", "offline/user") or Model objects;
    without any, the embedded heuristics are used, with a note in the result. The simulator's model defaults to the
    judge's. `judge_model` may be a list of models, a panel: the first writes the rubrics, and the mean of their ratings
    is compared with the bar.

    `log_level` ("DEBUG", "INFO", "WARNING", "ERROR") sets how much of simeval's log is shown in this process: by the
    handlers that the program has, else on standard error, as `configure_logging` does. Without it nothing is changed.

    All else is in `settings`; any field of Settings may also be given by its name, or that of its option, and then
    comes before it: `Engine("openai/gpt-5-nano", samples=100, max_cost=5)`.

    Everything that is finished is in the store before it is counted, and a run that ended early can be resumed. Raises
    DefinitionError for an argument that cannot be used.
    """

    def __init__(
        self,
        judge_model: str | Model | Sequence[str | Model] | None = None,
        user_simulator_model: str | Model | None = None,
        *,
        settings: Settings | None = None,
        user_model: str | Model | None = None,
        log_level: Level | None = None,
        **overrides: Unpack[SettingOverrides],
    ) -> None:
        if log_level is not None:
            set_log_level(log_level)
        if told := originals_among(overrides, SettingOverrides.__annotations__, OF_ENGINES):
            raise DefinitionError("Engine", found=f"it takes no argument {told}", do=f"see {PAGE}")
        do = "give Settings, such as suite.settings, or each setting by its name"
        require(settings is None or isinstance(settings, Settings), "Engine.settings", found=settings, do=do)
        self.settings = (settings or DEFAULTS).overridden(overrides, beside=("judge_model", "user_simulator_model"))
        is_twice = user_model is not None and user_simulator_model is not None
        require(not is_twice, "Engine.user_model", found=user_model, do="leave it out, or user_simulator_model")
        elsewhere, user = _workers_of(self.settings.executor), user_simulator_model or user_model
        self._engine_resources = EngineResources.of(judge_model, user, self.settings, elsewhere)
        self._models = self._engine_resources.models
        self._signals: list[StopSignal] = []
        self._journals: list[Journal] = []  # the open ones of our own

    @overload
    async def evaluate(self, scenarios: ScenarioTest, app_handler: AppHandler) -> ScenarioResult: ...
    @overload
    async def evaluate(self, scenarios: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult: ...
    @overload
    async def evaluate(
        self,
        scenarios: Dataset,
        app_handler: ExampleApp | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> "ExperimentResult": ...
    @advised("evaluate was not awaited: write `await engine.evaluate(...)`, or `engine.evaluate_sync(...)`")
    async def evaluate(
        self,
        scenarios: ScenarioTest | Sequence[ScenarioTest] | Dataset,
        app_handler: ExampleApp | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> "ScenarioResult | SuiteResult | ExperimentResult":
        """Simulate, judge and conclude. One scenario gives an ScenarioResult, a list a SuiteResult.

        `app_handler` is the app: a function of (message, state) or (messages, state), sync or async, that
        returns an AppResponse, a text or (text, state); an agent of the OpenAI Agents SDK, pydantic-ai or Google's ADK,
        or a LangGraph graph; an ASGI app with one route for POST; or a model's name, to talk to the model itself.
        A Dataset is taken as `experiment` takes it, with its arguments.

        Several evaluations of one engine may run at once and share its limits. Raises DefinitionError before any call
        is made, ModelUnusable when no call to a model can succeed, AppUnusable when the app has refused every message
        for `outage_seconds`, RunStopped when `on_app_error` is "stop" and the app fails, StoreError when the store
        cannot be written; all but the first carry, as `partial`, the conclusions by then. Finished trials are in the
        store and can be resumed.
        """
        if isinstance(scenarios, Dataset):
            return await self.experiment(scenarios, app_handler, **options)
        for option in options:
            raise DefinitionError("evaluate", found=f"found the argument {option!r}", do=_place_of(option))
        suite = _scenarios_of(scenarios, app_handler)
        if app_handler is None:
            do = "give it behind the scenarios: evaluate(scenarios, app_handler)"
            raise DefinitionError("evaluate", found="no app is given", do=do)
        async with _open(app_handler) as app:
            title = "" if isinstance(scenarios, ScenarioTest) else getattr(scenarios, "title", "")
            result = await self._run(partial(simulate, suite=suite, app_handler=app, title=title))
        return result[0] if isinstance(scenarios, ScenarioTest) else result

    @overload
    def evaluate_sync(self, scenarios: ScenarioTest, app_handler: AppHandler) -> ScenarioResult: ...
    @overload
    def evaluate_sync(self, scenarios: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult: ...
    @overload
    def evaluate_sync(
        self,
        scenarios: Dataset,
        app_handler: ExampleApp | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> "ExperimentResult": ...
    def evaluate_sync(
        self,
        scenarios: ScenarioTest | Sequence[ScenarioTest] | Dataset,
        app_handler: ExampleApp | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> "ScenarioResult | SuiteResult | ExperimentResult":
        """Do as `evaluate`, from a program without an event loop; raises DefinitionError if one is running."""
        require_no_loop("evaluate_sync", do="write `await engine.evaluate(...)`")
        evaluate: Callable[..., Awaitable[ScenarioResult | SuiteResult | ExperimentResult]] = self.evaluate
        return anyio.run(partial(evaluate, scenarios, app_handler, **options))

    @advised("experiment was not awaited: write `await engine.experiment(...)`, or `engine.experiment_sync(...)`")
    async def experiment(
        self,
        dataset: Dataset | Sequence[Mapping[str, Any]],
        app_handler: ExampleApp | None = None,
        *,
        scorers: Sequence[object] = (),
        then: Expectation | Sequence[Expectation] = (),
        repetitions: int = 1,
        metadata: Mapping[str, Any] | None = None,
    ) -> "ExperimentResult":
        """Put each example of a dataset to the app `repetitions` times, measure the answers, and conclude.

        Without an app, the recorded answers are measured. The app may be any that `evaluate` takes, or a function of
        the inputs by their names, which returns a text or any value JSON has. All `scorers` measure, `then` holds the
        expectations, and the run keeps `metadata` with the dataset's version.

        Raises as `evaluate`, and DatasetChanged if a dataset is no longer as it was.
        """
        from simeval.datasets.files import dataset_of
        from simeval.engine.experiment_run import experiment
        from simeval.engine.plans.dataset_plan import Experiment

        do = "give a Dataset, or a list of mappings; simeval.read_dataset(PATH) reads one"
        require(isinstance(dataset, (Dataset, list, tuple)), "experiment", found=dataset, do=do)
        dataset = dataset if isinstance(dataset, Dataset) else dataset_of(dataset)
        async with _open(app_handler) as app:
            asked = Experiment(dataset, app, scorers, then, repetitions, metadata or {})
            return await self._run(partial(experiment, asked=asked))

    def experiment_sync(
        self,
        dataset: Dataset | Sequence[Mapping[str, Any]],
        app_handler: ExampleApp | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> "ExperimentResult":
        """Do as `experiment`, from a program without an event loop; raises DefinitionError if one is running."""
        require_no_loop("experiment_sync", do="write `await engine.experiment(...)`")
        return anyio.run(partial(self.experiment, dataset, app_handler, **options))

    @advised("select was not awaited: write `await engine.select(...)`")
    async def select(
        self, scenarios: ScenarioTest | Sequence[ScenarioTest], app_handlers: Sequence[AppHandler]
    ) -> "Selection":
        """Find out which of several apps meets the requirements of these scenarios most often.

        All get the same seeds, in rounds, and an app that is proven not to be the best is dropped; the best app is
        dropped with a probability of at most the significance level. Requirements count if they have a yes or no for
        each trial. Raises as `evaluate`.
        """
        from simeval.results.selection import selection_of

        are_several = isinstance(app_handlers, (list, tuple)) and len(app_handlers) > 1
        do = "give two or more apps, in a list"
        require(are_several, "select: apps", found=app_handlers, do=do)

        async def work(context: RunContext, suite: Sequence[ScenarioTest], apps: Sequence[Any]) -> "Selection":
            result = await simulate(context, suite, apps[0], selection(apps[1:]))
            settings = self.settings
            clean = redactor_of(settings)
            names = [each if isinstance(each, str) else clean.name(name_of(each)) for each in apps]
            return selection_of(result, names, alpha=settings.significance_level, on_app_error=settings.on_app_error)

        return await self.held("select", scenarios, app_handlers, work)

    async def held(
        self,
        where: str,
        scenarios: ScenarioTest | Sequence[ScenarioTest],
        app_handlers: Sequence[AppHandler],
        work: Callable[..., Awaitable[T]],
        *,
        keeps: bool = True,
    ) -> T:
        """Do the work of a feature, which takes the run's context, the scenarios and the apps, with all of them open.

        `where` names it in errors; what it does is in the store only if it `keeps` that. Raises as `evaluate`.
        """
        suite = _scenarios_of(scenarios, None, where)
        async with AsyncExitStack() as stack:
            apps = [await stack.enter_async_context(_open(each)) for each in app_handlers]
            return await self._run(lambda context: work(context, suite, apps), keeps=keeps)

    async def rubrics(
        self, scenarios: ScenarioTest | Sequence[ScenarioTest], *, write: bool = False
    ) -> tuple[ExpectationRubric, ...]:
        """Return the rubric of each expectation of these scenarios; no conversation is held.

        With `write`, rubrics that are neither given nor kept are asked for, and kept. Raises ModelUnusable if the judge
        cannot be asked, and DefinitionError.
        """
        suite = _scenarios_of(scenarios, None, "rubrics")
        return await self._run(partial(rubrics_of, suite=suite, write=write), keeps=False)

    async def test_judge(self, form: JudgeForm = "rating", *, language: str = "en") -> JudgeLicence:
        """Test whether the judge separates near misses from right answers, asked as in a run, and store the result.

        `form` is how it judges: by rating, or by ruling on criteria; `language` is that of the answers, en, de or es.
        Reports of runs whose judge, prompt, options, form and language are the same name the result. Raises
        DefinitionError; ModelUnusable or ModelError if the judge cannot be asked.
        """
        work: Callable[..., Awaitable[JudgeLicence]] = load("simeval.extras.judge_test.licensing:license_judge")
        keep, asked = (load(f"simeval.extras.judge_test.licences:{name}") for name in ("keep_in", "Form"))
        found = await self._run(partial(work, form=asked(form, language)), keeps=False)
        async with self._resources(StopSignal(), self.settings.store) as store:
            await anyio.to_thread.run_sync(keep, store, found)
        return found

    async def ask_canaries(self) -> Sequence[CanaryFinding]:
        """Return whether each judge answers as it did, where `canary_folder` is set. Raises as `test_judge`."""
        work: Callable[[RunContext], Awaitable[Sequence[CanaryFinding]]]
        work = load("simeval.extras.judge_test.canaries:canaries_of")
        return await self._run(work, keeps=False)

    async def _run(self, work: Callable[[RunContext], Awaitable[T]], *, keeps: bool = True) -> T:
        """Do the work of an evaluation with the models open, and the store if it `keeps` anything.

        A group of errors is raised as its first.
        """
        require_asyncio("evaluate")
        shared = self._engine_resources
        if not keeps:  # a run that is not stored has no cache, and nothing to continue
            shared = replace(shared, settings=replace(self.settings, cache=False, resume=None))
        stop = StopSignal()
        self._signals.append(stop)
        with self._models.trying():
            try:
                async with self._resources(stop, self.settings.store if keeps else None) as store:
                    result = await work(await RunContext.open(shared, store, stop))
            except ExceptionGroup as group:
                raise first_leaf(group) from group
            finally:
                self._signals.remove(stop)
        return result

    def __repr__(self) -> str:
        judges = ", ".join(model.name for model in self._engine_resources.panel)
        return f"<Engine: judge {judges}, user {self._engine_resources.user.name}>"

    def stop(self, reason: str = "it was asked to") -> None:
        """Start no more trials in the evaluations under way; those in flight are finished, and all give results."""
        for signal in self._signals:
            signal.stop(reason)

    def end(self, reason: str = "it was asked to") -> None:
        """End the evaluations under way at once; they give the results that are reached by then."""
        for signal in self._signals:
            signal.end(reason)

    def close_stores(self) -> None:
        """Close the stores of the evaluations under way, from any thread; nothing is kept from then on."""
        for journal in [*self._journals]:
            journal.close()

    def listen(self, on_message: Callable[[Message], None] | None) -> None:
        """Call `on_message` with every message of simulated conversations, as it is sent; None ends that.

        It is a plain function; its failure is a warning, and the evaluation goes on. Raises DefinitionError.
        """
        listener = None if on_message is None else Listener(on_message)
        self._engine_resources = replace(self._engine_resources, listener=listener)

    @property
    def trials_in_flight(self) -> int:
        """How many trials are under way now, over all evaluations of this engine."""
        return self.settings.concurrency - self._engine_resources.in_flight.value

    @property
    def seconds_in_flight(self) -> float | None:
        """Return the time until the trials in progress have ended, judging by others; None if none has ended yet."""
        found = [signal.under_way.seconds_left() for signal in self._signals]
        return max((seconds for seconds in found if seconds is not None), default=None)

    @asynccontextmanager
    async def _resources(self, stop: StopSignal, store: "Path | str | Journal | None") -> AsyncIterator[Journal | None]:
        """Hold the journal and the models open; close them whatever happens."""
        is_ours = isinstance(store, (str, Path))
        journal = await anyio.to_thread.run_sync(_journal, store, self.settings.resume is not None)
        self._models.open()
        ours = [journal] if is_ours and journal is not None else []
        self._journals += ours
        try:
            yield journal
        finally:
            seconds = END_SECONDS if stop.line.cancel_called else CLOSING_SECONDS
            with anyio.CancelScope(shield=True), anyio.move_on_after(seconds):
                await self._models.close()
                for each in ours:
                    await anyio.to_thread.run_sync(each.close, abandon_on_cancel=True)
                    self._journals.remove(each)


def _workers_of(executor: str | RayExecutor) -> RemoteWorkers | None:
    """Return the workers of a setting; None if trials run in this process."""
    if executor == "local":
        return None
    options = executor if isinstance(executor, RayExecutor) else RayExecutor()
    workers: RemoteWorkers = load("simeval.extras.cluster.ray_workers:RayWorkers")(options)
    return workers


def _place_of(option: str) -> str:
    """Say where an argument belongs that scenarios do not take."""
    if option in ("metadata", "repetitions"):
        return "leave it out: it is for a Dataset"
    if option in ExperimentOptions.__annotations__:
        return "give it with a Dataset; scenarios bring their own"
    setting = other_names(fields(Settings)).get(option, option)
    if setting in SettingOverrides.__annotations__:
        return f"give it to the engine: Engine({setting}=...)"
    return meant_setting(option, fields(Settings)) or "leave it out"


def _scenarios_of(found: object, app_handler: object, where: str = "evaluate") -> list[ScenarioTest]:
    """Return the scenarios that are to be evaluated. Raises DefinitionError for anything else."""
    several = list(found) if isinstance(found, Iterable) and not isinstance(found, (str, Mapping)) else [found]
    scenarios = [each for each in several if isinstance(each, ScenarioTest)]
    if len(scenarios) == len(several):
        if isinstance(found, ScenarioTest) and found.per_case:
            do = "give a list, [scenario]: each case has a result of its own"
            raise DefinitionError(where, found="a scenario with a verdict for each case (per_case)", do=do)
        return by_case(scenarios)
    others = app_handler if isinstance(app_handler, (list, tuple)) else [app_handler]
    if any(isinstance(each, ScenarioTest) for each in others):
        raise DefinitionError("evaluate", found="the app stands before the scenarios", do="give the scenarios first")
    [other, *_] = [each for each in several if not isinstance(each, ScenarioTest)]
    do = "give ScenarioTests; simeval.suites.load_suite(PATH) reads a file of them"
    inner = isinstance(other, Sequence) and any(isinstance(each, ScenarioTest) for each in other)
    shown = "a list of scenarios in a list" if inner else f"{other!r:.80}"
    raise DefinitionError(where, found=f"found {shown}", do=do)


def _open(app_handler: object) -> AbstractAsyncContextManager[Any]:
    """Return a context that gives the app, held open if it is reached by a protocol; an agent is one."""
    app = as_app(app_handler)
    return app if isinstance(app, ProtocolApp) else nullcontext(app)


def _journal(store: Path | str | Journal | None, must_exist: bool) -> Journal | None:
    return open_journal(store, must_exist=must_exist) if isinstance(store, (str, Path)) else store
