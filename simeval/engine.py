"""The engine: checks a suite, wires the line of pools, and gives the results.

schedule ──Trial──► conversations ──Held──► judges ──Judgement──► statistician
    ▲                     └────────────► recorder ◄────┘              │
    └───────────────────────────── credits ◄──────────────────────────┘
"""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, overload

import anyio
import anyio.to_thread

from simeval.actors.app import App, Handler, model_handler
from simeval.actors.conversations import Conversations
from simeval.actors.judge import Judge
from simeval.actors.plan import ScenarioPlan, make_plans
from simeval.actors.recorder import Recorder
from simeval.actors.schedule import Places, deal
from simeval.actors.statistician import Statistician
from simeval.actors.wanted import Wanted
from simeval.capture import first_leaf
from simeval.conversation import Conversation
from simeval.errors import RunStopped
from simeval.logs import log
from simeval.models.model import Model
from simeval.models.offline import NOTICE, PREFIX
from simeval.models.registry import Models
from simeval.models.retries import Caller
from simeval.outcome import Held, Judgement, Trial, failure_of
from simeval.pool import run_pool
from simeval.progress import progress_bar
from simeval.results import EvaluationResult, RunRecord, SuiteResult
from simeval.rubric import RubricBook
from simeval.scenario import ScenarioTest
from simeval.scorers.rubric import RubricScorer
from simeval.settings import EarlyStopping, Gate, OnAppError, RetryConfig, Settings, Stop, WritingStyleConfig
from simeval.store.journal import Journal, JsonLinesJournal
from simeval.usage import Ledger

DEFAULT_JUDGE, DEFAULT_USER, DEFAULT_APP = "offline/judge", "offline/user", "offline/app"
RUBRIC_FOLDER = Path(".simeval/rubrics")
CLOSING_SECONDS = 5.0  # how long connections and files may take to close, cancelled or not

AppHandler = Callable[..., Any] | str
DEFAULTS = Settings()


class Engine:
    """Evaluates scenarios against an app.

    Models are LiteLLM names ("openai/gpt-5-nano"), embedded ones ("offline/judge", "offline/user") or Model
    objects; without any, the embedded heuristics are used and the result says so. The simulator's model
    defaults to the judge's. `model_options` go into every LiteLLM call (api_base, api_key, ...).

    `judge_model` may be a list of models, a panel, of which the first writes the rubrics. Each of them rates
    each conversation `judge_repeats` times, and the mean of all ratings is held against the bar: so panel and
    repeats are part of the criterion.

    With `early_stopping` a scenario ends as soon as its verdicts are settled: True, by exact sequential tests
    of at most `sample_size` trials; "anytime", by tests that need no largest size; False, never. `gate` says
    what a suite must reach, "pass" or only "not_fail", and so what a scenario may end at: at a gate of passes
    also where no pass can be reached any more, else only at a proven side; `stop` ("gate" or "verdict") says it
    outright. With `joint`, `significance_level` is the chance that any pass of a suite is wrong, and each of its
    requirements is tested at its share of it; without, it is the chance for each.

    `concurrency` bounds the trials in flight over all evaluations of this engine, `model_concurrency` the
    calls under way to one model, `app_concurrency` the turns the app answers at once. `seed` fixes writing
    styles and trial seeds; without it one is drawn, and reported. `on_app_error` says what an app's error
    is: "fail", a trial that did not meet its expectations; "exclude", a trial that does not count; "stop",
    the end of the run. Past `max_error_rate` (the share of a sample that was lost) a scenario's outcome is
    "error". `store` is the path of a JSON-lines file, or a Journal; `rubric_folder` keeps LLM-written
    rubrics between runs (None: only in memory).

    Raises DefinitionError for an argument that cannot be used.
    """

    def __init__(
        self,
        judge_model: str | Model | Sequence[str | Model] | None = None,
        user_simulator_model: str | Model | None = None,
        *,
        sample_size: int = DEFAULTS.sample_size,
        significance_level: float = DEFAULTS.significance_level,
        early_stopping: EarlyStopping = DEFAULTS.early_stopping,
        gate: Gate = DEFAULTS.gate,
        stop: Stop | None = DEFAULTS.stop,
        joint: bool = DEFAULTS.joint,
        judge_repeats: int = DEFAULTS.judge_repeats,
        seed: int | None = None,
        concurrency: int = DEFAULTS.concurrency,
        model_concurrency: int = DEFAULTS.model_concurrency,
        app_concurrency: int | None = None,
        model_timeout_seconds: float = DEFAULTS.model_timeout_seconds,
        app_timeout_seconds: float = DEFAULTS.app_timeout_seconds,
        on_app_error: OnAppError = "fail",
        max_error_rate: float = DEFAULTS.max_error_rate,
        retry_config: RetryConfig | None = None,
        writing_style_config: WritingStyleConfig | None = None,
        model_options: Mapping[str, Any] | None = None,
        rubric_folder: Path | str | None = RUBRIC_FOLDER,
        store: Path | str | Journal | None = None,
        progress: bool | None = None,
    ) -> None:
        self.settings = Settings(
            sample_size=sample_size,
            significance_level=significance_level,
            early_stopping=early_stopping,
            gate=gate,
            stop=stop,
            joint=joint,
            judge_repeats=judge_repeats,
            seed=seed,
            concurrency=concurrency,
            model_concurrency=model_concurrency,
            app_concurrency=app_concurrency,
            model_timeout_seconds=model_timeout_seconds,
            app_timeout_seconds=app_timeout_seconds,
            on_app_error=on_app_error,
            max_error_rate=max_error_rate,
            retry=retry_config or RetryConfig(),
            writing_style=writing_style_config or WritingStyleConfig(),
        )
        self._models = Models(self.settings, model_options or {})
        self._panel = self._models.panel(DEFAULT_JUDGE if judge_model is None else judge_model)
        self._judge = self._panel[0]  # writes the rubrics
        embedded_judge = self._judge.name.startswith(PREFIX)
        if user_simulator_model is not None:
            self._user = self._models.get(user_simulator_model)
        else:
            self._user = self._models.get(DEFAULT_USER) if embedded_judge else self._judge
        self._rubric_folder = Path(rubric_folder) if rubric_folder is not None and not embedded_judge else None
        self._store = store
        self._progress = progress
        self._in_flight = anyio.Semaphore(concurrency)
        self._app_slots = anyio.Semaphore(app_concurrency or concurrency)

    @overload
    async def evaluate(self, scenarios: ScenarioTest, app_handler: AppHandler) -> EvaluationResult: ...
    @overload
    async def evaluate(self, scenarios: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult: ...
    async def evaluate(
        self, scenarios: ScenarioTest | Sequence[ScenarioTest], app_handler: AppHandler
    ) -> EvaluationResult | SuiteResult:
        """Simulate, judge and conclude. One scenario gives an EvaluationResult, a list a SuiteResult.

        `app_handler` is the app: a function of (message, state) or (messages, state), sync or async, that
        returns an AppResponse, a text or (text, state); or a model's name, to talk to the model itself.
        Several evaluations of one engine may run at once and share its limits. Raises DefinitionError
        before any call is made, ModelUnusable when no call to a model can succeed, RunStopped when
        `on_app_error` is "stop" and the app fails, StoreError when the store cannot be written. What was
        finished by then is in the store.
        """
        suite = [scenarios] if isinstance(scenarios, ScenarioTest) else list(scenarios)
        seed = secrets.randbelow(2**31) if self.settings.seed is None else self.settings.seed
        ledger = Ledger()
        user, *judges = (self._models.caller(model, ledger) for model in (self._user, *self._panel))
        book = RubricBook(judges[0], self._rubric_folder)
        plans = make_plans(
            suite,
            settings=self.settings,
            seed=seed,
            judge_scorer=lambda behavior: RubricScorer(judges, book, behavior, self.settings.judge_repeats),
        )
        app, app_name = self._app(app_handler, ledger)
        await self._models.check()
        run = RunRecord(
            run_id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            seed=seed,
            judge_model=" + ".join(model.name for model in self._panel),
            judge_repeats=self.settings.judge_repeats,
            user_model=self._user.name,
            app=app_name,
            gate=self.settings.gate,
            joint=self.settings.joint,
            started=datetime.now(UTC),
            scenarios=tuple((plan.scenario.title, plan.sample_size, plan.scenario.labels) for plan in plans),
            notes=(*self._notes(app_name), *(warning for plan in plans for warning in plan.warnings())),
        )
        _announce(run, plans, self.settings)
        clock = perf_counter()
        trials = sum(plan.sample_size for plan in plans)
        with progress_bar(trials, show=self._progress) as progress, Places(self._in_flight) as places:
            wanted = Wanted(len(plans))
            statistician = Statistician(plans, self.settings, places=places, wanted=wanted, on_trial=progress.advance)
            clean = self._models.redactor().clean
            line = Line(plans, self.settings, user, app, places, wanted, statistician, clean)
            async with self._resources() as journal:
                try:
                    results, run = await line.run(
                        journal, run, lambda: {"seconds": perf_counter() - clock, "usage": ledger.by_role()}
                    )
                except ExceptionGroup as group:
                    raise first_leaf(group) from group
        return results[0] if isinstance(scenarios, ScenarioTest) else SuiteResult(results, run)

    @property
    def trials_in_flight(self) -> int:
        """How many trials are under way now, over all evaluations of this engine."""
        return self.settings.concurrency - self._in_flight.value

    def _app(self, app: AppHandler, ledger: Ledger) -> tuple[App, str]:
        """Give the actor of an app and the name reports show for it."""
        settings = self.settings
        if isinstance(app, str):
            handler, name = Handler.of(model_handler(self._models.caller(self._models.get(app), ledger))), app
        else:
            handler, module = Handler.of(app), getattr(app, "__module__", None) or type(app).__module__
            name = f"{module}:{getattr(app, '__qualname__', type(app).__qualname__)}"
        threads = anyio.CapacityLimiter(settings.app_concurrency or settings.concurrency)
        starts_with_seed = isinstance(app, str)
        return App(handler, self._app_slots, threads, settings.app_timeout_seconds, starts_with_seed), name

    def _notes(self, app_name: str) -> list[str]:
        names = [*(("judge", model.name) for model in self._panel), ("user", self._user.name), ("app", app_name)]
        embedded = [f"{role} {name}" for role, name in names if name.startswith(PREFIX)]
        return [f"{' and '.join(embedded)}: {NOTICE}"] if embedded else []

    @asynccontextmanager
    async def _resources(self) -> AsyncIterator[Journal | None]:
        """Hold the journal and the models open; close them whatever happens."""
        journal, ours = await self._open_journal()
        self._models.open()
        try:
            yield journal
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
                await self._models.close()
                if ours and journal is not None:
                    await anyio.to_thread.run_sync(journal.close)

    async def _open_journal(self) -> tuple[Journal | None, bool]:
        if isinstance(self._store, (str, Path)):
            return await anyio.to_thread.run_sync(JsonLinesJournal, Path(self._store)), True
        return self._store, False


@dataclass(frozen=True, slots=True)
class Line:
    """The line of pools of one run."""

    plans: Sequence[ScenarioPlan]
    settings: Settings
    user: Caller
    app: App
    places: Places
    wanted: Wanted
    statistician: Statistician
    clean: Callable[[str], str]

    async def run(
        self, journal: Journal | None, run: RunRecord, measured: Callable[[], Mapping[str, Any]]
    ) -> tuple[tuple[EvaluationResult, ...], RunRecord]:
        """Run every trial; give the results and the run's record, completed by what `measured` gives at the end."""
        settings, total = self.settings, sum(plan.sample_size for plan in self.plans)
        workers = min(settings.concurrency, total)
        judge = Judge(self.plans, self.wanted, self.clean)
        conversations = Conversations(self.plans, self.user, self.app, settings, self.wanted, self.clean)
        credit, credits = anyio.create_memory_object_stream[int](total)
        dealt, trials = anyio.create_memory_object_stream[Trial](0)
        said, held = anyio.create_memory_object_stream[Held](workers)
        judged, judgements = anyio.create_memory_object_stream[Judgement](workers)

        async with AsyncExitStack() as ends:
            recorder = await ends.enter_async_context(Recorder(journal, run.run_id))
            for stream in (credit, credits, dealt, trials, said, held, judged, judgements):
                await ends.enter_async_context(stream)

            async def hold(trial: Trial) -> Held:
                made = await recorder.recorded(await conversations.hold(trial))
                failed = made.failure is not None and made.failure.stage == "app"
                needed = self.wanted.needs(trial.scenario, trial.index)
                if made.failure and failed and needed and settings.on_app_error == "stop":
                    title = self.plans[trial.scenario].scenario.title
                    raise RunStopped(title, trial.index, made.failure.error)
                return made

            async def give_judgement(one: Held) -> Judgement:
                return await recorder.recorded(await judge.judge(one))

            pool = partial(run_pool, workers=workers)
            await recorder.record(run)
            async with anyio.create_task_group() as line:
                dealing = partial(deal, credits=credits, outbox=dealt, wanted=self.wanted)
                line.start_soon(partial(dealing, self.plans, places=self.places))
                line.start_soon(judge.prepare)
                line.start_soon(partial(pool, hold, inbox=trials, outbox=said, on_error=self._unheld))
                line.start_soon(partial(pool, give_judgement, inbox=held, outbox=judged, on_error=self._unjudged))
                await self.statistician.conclude(inbox=judgements, credits=credit)
            run = replace(run, **measured())
            results = self.statistician.results(run)
            for result in results:
                await recorder.record(result)
            await recorder.record(run)
        return results, run

    def _unheld(self, trial: Trial, error: Exception) -> Held:
        return Held(trial, Conversation(ended="model_error"), failure_of(error, "engine", clean=self.clean))

    def _unjudged(self, held: Held, error: Exception) -> Judgement:
        failure = failure_of(error, "engine", clean=self.clean)
        results = (failure,) * len(self.plans[held.trial.scenario].measures)
        return Judgement(trial=held.trial, conversation=held.conversation, results=results, failure=failure)


def _announce(run: RunRecord, plans: Sequence[ScenarioPlan], settings: Settings) -> None:
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
    tables = Counter(entry for plan in plans for entry in plan.acceptance(settings.stop_mode))
    for (requirement, acceptance), times in tables.items():
        log.info(f"{requirement}: {acceptance}" + (f"  ({times} requirements)" if times > 1 else ""))
    for plan in plans:
        for warning in plan.warnings():
            log.warning(warning)
