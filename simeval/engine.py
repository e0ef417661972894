"""The engine: checks a suite, wires the line of one run, keeps what it finds, and gives the results."""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, overload

import anyio
import anyio.to_thread

from simeval.actors.app import App, Handler, model_handler
from simeval.actors.conversations import Conversations
from simeval.actors.judge import Judge
from simeval.actors.plan import ScenarioPlan, make_plans
from simeval.actors.recorder import Recorder
from simeval.actors.schedule import Places
from simeval.actors.statistician import Statistician
from simeval.actors.wanted import Wanted
from simeval.budget import Budget, Spending
from simeval.capture import first_leaf
from simeval.definition import NOT_OF_A_CALL, define
from simeval.forecast import Forecast, forecast, rubric_requests
from simeval.line import END_SECONDS, Line
from simeval.logs import log
from simeval.meter import Meter
from simeval.models.cache import ReplyCache
from simeval.models.model import Model
from simeval.models.offline import NOTICE, PREFIX
from simeval.models.redact import clean_values
from simeval.models.registry import Models
from simeval.progress import progress_bar
from simeval.records import PastRun
from simeval.results import EvaluationResult, RunRecord, SuiteResult
from simeval.resuming import Known, take_up
from simeval.rubric import RubricBook
from simeval.scenario import ScenarioTest
from simeval.scorers.rubric import RubricScorer
from simeval.settings import EarlyStopping, Gate, OnAppError, RetryConfig, Settings, Stop, WritingStyleConfig
from simeval.stop import StopSignal
from simeval.store.journal import Journal
from simeval.store.opening import DEFAULT_STORE, as_database, load_run, open_journal
from simeval.usage import Ledger, total
from simeval.watchdog import watching

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
    "error". `rubric_folder` keeps LLM-written rubrics between runs (None: only in memory).

    Everything that is finished is in `store` before it is counted: a file for SQLite, the URL of a PostgreSQL
    database, a path that ends in .jsonl, a Journal, or None. `resume` names a run in it: what it has is not
    done, nor paid for, again. Where something its results depend on has changed, that is refused; with
    `accept_changes` a new run takes over what there is, as it is. With `cache`, calls of the judge and the
    simulated user that were answered before, in any run, are answered from the store.

    A run stops in order at `max_cost_usd`, `max_calls`, `max_tokens` and `max_seconds`: trials in flight are
    finished, what has no verdict is inconclusive, and it can be resumed with more. `requests_per_minute` and
    `tokens_per_minute` hold for each model; a model that fails every call pauses the run for at most
    `outage_seconds`. What `secret_patterns` (regular expressions) match is taken out of all that is kept or shown.

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
        store: Path | str | Journal | None = DEFAULT_STORE,
        resume: str | None = None,
        accept_changes: bool = False,
        cache: bool = False,
        max_cost_usd: float | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_seconds: float | None = None,
        requests_per_minute: int | None = DEFAULTS.requests_per_minute,
        tokens_per_minute: int | None = DEFAULTS.tokens_per_minute,
        outage_seconds: float = DEFAULTS.outage_seconds,
        secret_patterns: Sequence[str] = (),
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
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            outage_seconds=outage_seconds,
            retry=retry_config or RetryConfig(),
            writing_style=writing_style_config or WritingStyleConfig(),
        )
        self._budget = Budget(
            max_cost_usd=max_cost_usd, max_calls=max_calls, max_tokens=max_tokens, max_seconds=max_seconds
        )
        self._models = Models(self.settings, model_options or {}, secret_patterns)
        self._panel = self._models.panel(DEFAULT_JUDGE if judge_model is None else judge_model)
        self._judge = self._panel[0]  # writes the rubrics
        embedded_judge = self._judge.name.startswith(PREFIX)
        if user_simulator_model is not None:
            self._user = self._models.get(user_simulator_model)
        else:
            self._user = self._models.get(DEFAULT_USER) if embedded_judge else self._judge
        self._rubric_folder = Path(rubric_folder) if rubric_folder is not None and not embedded_judge else None
        self._store, self._resume, self._accept_changes, self._cache = store, resume, accept_changes, cache
        self._signals: list[StopSignal] = []
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
        `on_app_error` is "stop" and the app fails, StoreError when the store cannot be written; the last three
        carry, as `partial`, what was concluded by then. What was finished is in the store and can be resumed.
        """
        suite = [scenarios] if isinstance(scenarios, ScenarioTest) else list(scenarios)
        stop = StopSignal()
        self._signals.append(stop)
        try:
            async with self._resources(stop) as store:
                result = await self._evaluate(suite, app_handler, store, stop)
        except ExceptionGroup as group:
            raise first_leaf(group) from group
        finally:
            self._signals.remove(stop)
        return result[0] if isinstance(scenarios, ScenarioTest) else result

    def stop(self, reason: str = "it was asked to") -> None:
        """Start no more trials in the evaluations under way; those in flight are finished, and all give results."""
        for signal in self._signals:
            signal.stop(reason)

    def end(self, reason: str = "it was asked to") -> None:
        """End the evaluations under way at once; they give the results that are reached by then."""
        for signal in self._signals:
            signal.end(reason)

    async def _evaluate(
        self, suite: Sequence[ScenarioTest], app_handler: AppHandler, store: Journal | None, stop: StopSignal
    ) -> SuiteResult:
        settings, clean = self.settings, self._models.redactor().clean
        past = await self._past(store)
        meter = Meter()
        recorder = Recorder(store, meter.pulse)
        cache = self._reply_cache(store, recorder, meter.ledger)
        user, *judges = (self._models.caller(model, meter.ledger, cache) for model in (self._user, *self._panel))
        book = RubricBook(judges[0], self._rubric_folder, known=past.rubrics if past else {}, record=recorder.record)
        seed = self._seed(past)
        plans = make_plans(
            [each.cleaned(clean) if isinstance(each, ScenarioTest) else each for each in suite],
            settings=settings,
            seed=seed,
            judge_scorer=lambda behavior: RubricScorer(judges, book, behavior, settings.judge_repeats),
        )
        app, app_name = self._app(app_handler, meter.ledger)
        await self._models.check()
        run, known = self._begin(plans, past, seed, app_name)
        if past is not None and run.run_id == past.run_id:
            meter.before = past
        foreseen = await self._forecast(plans, app_name if isinstance(app_handler, str) else None)
        spending = Spending(
            budget=self._budget,
            trial=foreseen.trial,
            rubric=foreseen.rubric,
            rubrics_left=await book.unwritten(rubric_requests(plan.scenario for plan in plans)),
            usage=meter.usage,
            seconds=meter.seconds,
        )
        spending.check([name for name in foreseen.unpriced if not self._models.tells_cost(name)])
        _announce(run, plans, settings, foreseen)
        trials, wanted = sum(plan.sample_size for plan in plans), Wanted(len(plans))
        with progress_bar(trials, show=self._progress) as progress, Places(self._in_flight) as places:
            line = Line(
                plans=plans,
                conversations=Conversations(plans, user, app, settings, wanted, clean, suite),
                judge=Judge(plans, wanted, clean),
                statistician=Statistician(
                    plans, settings, places=places, wanted=wanted, stop=stop, on_trial=progress.advance
                ),
                recorder=recorder,
                places=places,
                stop=stop,
                spending=spending,
                known=known,
                on_app_error=settings.on_app_error,
                clean=clean,
            )
            workers = min(settings.concurrency, trials)
            async with watching(), progress.watched(lambda: total(meter.usage()), lambda: places.taken):
                return await line.run(run, workers, meter.measured)

    def _seed(self, past: PastRun | None) -> int:
        if self.settings.seed is not None:
            return self.settings.seed
        return secrets.randbelow(2**31) if past is None else past.seed

    async def _past(self, store: Journal | None) -> PastRun | None:
        """Load the run that is to be resumed, if one is."""
        if self._resume is None:
            return None
        return await anyio.to_thread.run_sync(load_run, as_database(store, "resume"), self._resume)

    def _reply_cache(self, store: Journal | None, recorder: Recorder, ledger: Ledger) -> ReplyCache | None:
        if not self._cache:
            return None
        clean = self._models.redactor().clean
        options = {name: value for name, value in self._models.options.items() if name not in NOT_OF_A_CALL}
        return ReplyCache(
            shelf=as_database(store, "cache"), note=recorder.note, options=options, ledger=ledger, clean=clean
        )

    def _begin(
        self, plans: Sequence[ScenarioPlan], past: PastRun | None, seed: int, app_name: str
    ) -> tuple[RunRecord, Known]:
        """Give the record of the run, new or resumed, and what of it is known."""
        definition = define(
            plans,
            self.settings,
            seed=seed,
            app=app_name,
            judges=[model.name for model in self._panel],
            user=self._user.name,
            model_options=clean_values(self._models.options, self._models.redactor().clean),
        )
        known = Known()
        if past is not None:
            on_app_error, accept = self.settings.on_app_error, self._accept_changes
            known = take_up(past, plans, definition, on_app_error=on_app_error, accept_changes=accept)
        now = datetime.now(UTC)
        is_new = past is None or known.from_another
        return RunRecord(
            run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}" if past is None or is_new else past.run_id,
            seed=seed,
            judge_model=" + ".join(model.name for model in self._panel),
            judge_repeats=self.settings.judge_repeats,
            user_model=self._user.name,
            app=app_name,
            gate=self.settings.gate,
            joint=self.settings.joint,
            started=now if past is None or is_new else past.started,
            scenarios=tuple((plan.scenario.title, plan.sample_size, plan.scenario.labels) for plan in plans),
            notes=(
                *self._notes(app_name),
                *known.notes,
                *(warning for plan in plans for warning in plan.warnings()),
            ),
            definition=definition,
        ), known

    async def _forecast(self, plans: Sequence[ScenarioPlan], app_model: str | None) -> Forecast:
        make = partial(
            forecast,
            plans,
            self.settings,
            judges=[model.name for model in self._panel],
            user_model=self._user.name,
            app_model=app_model,
            prices=self._models.price,
        )
        return await anyio.to_thread.run_sync(make)

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
    async def _resources(self, stop: StopSignal) -> AsyncIterator[Journal | None]:
        """Hold the journal and the models open; close them whatever happens."""
        is_ours = isinstance(self._store, (str, Path))
        journal = await anyio.to_thread.run_sync(_journal, self._store, self._resume is not None)
        self._models.open()
        try:
            yield journal
        finally:
            seconds = END_SECONDS if stop.line.cancel_called else CLOSING_SECONDS
            with anyio.CancelScope(shield=True), anyio.move_on_after(seconds):
                await self._models.close()
                if is_ours and journal is not None:
                    await anyio.to_thread.run_sync(journal.close, abandon_on_cancel=True)


def _journal(store: Path | str | Journal | None, is_there: bool) -> Journal | None:
    return open_journal(store, is_there=is_there) if isinstance(store, (str, Path)) else store


def _announce(run: RunRecord, plans: Sequence[ScenarioPlan], settings: Settings, foreseen: Forecast) -> None:
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
