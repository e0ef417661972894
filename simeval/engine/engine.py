"""The engine: checks a suite, wires the line of one run, keeps what it finds, and gives the results."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import anyio
import anyio.to_thread

from simeval.core.capture import first_leaf
from simeval.core.settings import EarlyStopping, Gate, OnAppError, RetryConfig, Settings, StopAt, WritingStyleConfig
from simeval.core.validation import require
from simeval.datasets.dataset import Dataset
from simeval.engine.flow.stop import StopSignal
from simeval.engine.pipeline import END_SECONDS
from simeval.engine.plans.budget import Budget
from simeval.engine.plans.dataset_plan import Experiment
from simeval.engine.run import experiment, simulate
from simeval.engine.run_context import AppHandler, EngineResources, RunContext
from simeval.models.protocol.model import Model
from simeval.models.provider_table import is_embedded
from simeval.models.registry import Models
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import EvaluationResult, SuiteResult
from simeval.store.journal import Journal
from simeval.store.opening import DEFAULT_STORE, open_journal
from simeval.suites.scenario import Expectation, ScenarioTest

T = TypeVar("T")

DEFAULT_JUDGE, DEFAULT_USER, DEFAULT_APP = "offline/judge", "offline/user", "offline/app"
RUBRIC_FOLDER = Path(".simeval/rubrics")
CLOSING_SECONDS = 5.0  # how long connections and files may take to close, cancelled or not

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
        stop: StopAt | None = DEFAULTS.stop,
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
        budget = Budget(max_cost_usd=max_cost_usd, max_calls=max_calls, max_tokens=max_tokens, max_seconds=max_seconds)
        self._models = Models(self.settings, model_options or {}, secret_patterns)
        panel = self._models.panel(DEFAULT_JUDGE if judge_model is None else judge_model)
        embedded_judge = is_embedded(panel[0].name)
        if user_simulator_model is not None:
            user = self._models.get(user_simulator_model)
        else:
            user = self._models.get(DEFAULT_USER) if embedded_judge else panel[0]
        self._store = store
        self._signals: list[StopSignal] = []
        self._engine_resources = EngineResources(
            settings=self.settings,
            models=self._models,
            panel=panel,
            user=user,
            budget=budget,
            rubric_folder=Path(rubric_folder) if rubric_folder is not None and not embedded_judge else None,
            resume=resume,
            accept_changes=accept_changes,
            caches=cache,
            progress=progress,
            in_flight=anyio.Semaphore(concurrency),
            app_slots=anyio.Semaphore(app_concurrency or concurrency),
        )

    @overload
    async def evaluate(self, scenarios: ScenarioTest, app_handler: AppHandler) -> EvaluationResult: ...
    @overload
    async def evaluate(self, scenarios: Sequence[ScenarioTest], app_handler: AppHandler) -> SuiteResult: ...
    @overload
    async def evaluate(
        self,
        scenarios: Dataset,
        app_handler: AppHandler | None = None,
        *,
        scorers: Sequence[object] = (),
        then: Expectation | Sequence[Expectation] = (),
        repetitions: int = 1,
        metadata: Mapping[str, Any] | None = None,
    ) -> ExperimentResult: ...
    async def evaluate(
        self,
        scenarios: ScenarioTest | Sequence[ScenarioTest] | Dataset,
        app_handler: AppHandler | None = None,
        *,
        scorers: Sequence[object] = (),
        then: Expectation | Sequence[Expectation] = (),
        repetitions: int = 1,
        metadata: Mapping[str, Any] | None = None,
    ) -> EvaluationResult | SuiteResult | ExperimentResult:
        """Simulate, judge and conclude. One scenario gives an EvaluationResult, a list a SuiteResult.

        `app_handler` is the app: a function of (message, state) or (messages, state), sync or async, that
        returns an AppResponse, a text or (text, state); or a model's name, to talk to the model itself.

        A Dataset gives an ExperimentResult: each of its examples is put to the app `repetitions` times (or answered
        by what was recorded, without an app), measured by all `scorers`, and `then` says what is concluded. There the
        app may also be a function of the inputs by their names, which returns a text or any value JSON has. The run
        keeps `metadata` with the dataset's version.

        Several evaluations of one engine may run at once and share its limits. Raises DefinitionError
        before any call is made, ModelUnusable when no call to a model can succeed, RunStopped when
        `on_app_error` is "stop" and the app fails, StoreError when the store cannot be written, DatasetChanged when a
        dataset is not there any more as it was; all but the first carry, as `partial`, what was concluded by then.
        What was finished is in the store and can be resumed.
        """
        if isinstance(scenarios, Dataset):
            asked = Experiment(scenarios, app_handler, scorers, then, repetitions, metadata or {})
            return await self._run(partial(experiment, asked=asked))
        given = {"scorers": scorers, "then": then, "metadata": metadata, "repetitions": repetitions != 1}
        found = [name for name, value in given.items() if value]
        require(not found, "evaluate", found=found, do="give them with a Dataset; scenarios bring their own")
        suite = [scenarios] if isinstance(scenarios, ScenarioTest) else list(scenarios)
        result = await self._run(partial(simulate, suite=suite, app_handler=cast("AppHandler", app_handler)))
        return result[0] if isinstance(scenarios, ScenarioTest) else result

    async def _run(self, work: Callable[[RunContext], Awaitable[T]]) -> T:
        """Do the work of an evaluation with the store and the models open; a group of errors is raised as its first."""
        stop = StopSignal()
        self._signals.append(stop)
        try:
            async with self._resources(stop) as store:
                result = await work(await RunContext.open(self._engine_resources, store, stop))
        except ExceptionGroup as group:
            raise first_leaf(group) from group
        finally:
            self._signals.remove(stop)
        return result

    def stop(self, reason: str = "it was asked to") -> None:
        """Start no more trials in the evaluations under way; those in flight are finished, and all give results."""
        for signal in self._signals:
            signal.stop(reason)

    def end(self, reason: str = "it was asked to") -> None:
        """End the evaluations under way at once; they give the results that are reached by then."""
        for signal in self._signals:
            signal.end(reason)

    @property
    def trials_in_flight(self) -> int:
        """How many trials are under way now, over all evaluations of this engine."""
        return self.settings.concurrency - self._engine_resources.in_flight.value

    @property
    def seconds_in_flight(self) -> float | None:
        """How long the trials under way take until they have ended, as others took; None where none has ended yet."""
        found = [signal.under_way.seconds_left() for signal in self._signals]
        return max((seconds for seconds in found if seconds is not None), default=None)

    @asynccontextmanager
    async def _resources(self, stop: StopSignal) -> AsyncIterator[Journal | None]:
        """Hold the journal and the models open; close them whatever happens."""
        is_ours = isinstance(self._store, (str, Path))
        journal = await anyio.to_thread.run_sync(_journal, self._store, self._engine_resources.resume is not None)
        self._models.open()
        try:
            yield journal
        finally:
            seconds = END_SECONDS if stop.line.cancel_called else CLOSING_SECONDS
            with anyio.CancelScope(shield=True), anyio.move_on_after(seconds):
                await self._models.close()
                if is_ours and journal is not None:
                    await anyio.to_thread.run_sync(journal.close, abandon_on_cancel=True)


def _journal(store: Path | str | Journal | None, must_exist: bool) -> Journal | None:
    return open_journal(store, must_exist=must_exist) if isinstance(store, (str, Path)) else store
