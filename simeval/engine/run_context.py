"""The context of one evaluation: its resources, the run it resumes, and its record."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, Self

import anyio
import anyio.to_thread

from simeval.core.app_handler import ExampleHandler
from simeval.core.feedback import LabelledExample, expectation_key, read_examples
from simeval.core.judging import WHEN_UNTOLD, EscalationRule, RubricTemplate, judges_said, require_two
from simeval.core.network import allow_bytes
from simeval.core.redaction import clean_values
from simeval.core.run_records import Heartbeat, Journal, Ledger, ResumableRun, Usage, merged
from simeval.core.setting_field import ModelRole, day_of
from simeval.core.settings import Settings
from simeval.core.trial import RubricRecord
from simeval.datasets.dataset import Dataset
from simeval.engine.actors.app import AlteredApp, App, model_handler
from simeval.engine.actors.app_line import AT_ONCE_AT_A_URL, AppLine, Blocking, Silence, gate_of
from simeval.engine.actors.dialogue import Listener
from simeval.engine.actors.handler import Handler
from simeval.engine.actors.targets import Target, column_handler, takes_columns
from simeval.engine.executors import Workers
from simeval.engine.flow import Recorder, StopSignal
from simeval.engine.plans.fingerprint import CRITERIA_PROMPTS, JUDGE_PROMPTS, as_begun, define
from simeval.engine.plans.resume import RestoredTrials, ShardPlan, restore, shared_out
from simeval.engine.plans.scenario_plan import RunPlan
from simeval.engine.users.audit import Auditor
from simeval.errors import DefinitionError
from simeval.models.caller import Caller, ReplyCache
from simeval.models.limits.traffic import Allowances, Gate
from simeval.models.protocol.model import Model, SharedModel, is_embedded
from simeval.models.protocol.prompt_texts import Prompt, all_prompts
from simeval.models.providers.offline import NOTICE
from simeval.models.registry import Models, address_of, road_of
from simeval.results.guarantee import doubt_of, earlier_of, with_history
from simeval.results.rows import Row
from simeval.results.suite import RunRecord
from simeval.scorers.llm.criteria import ALL_MET, NOT_ALL_MET, CriteriaScorer, EscalatingScorer
from simeval.scorers.llm.judge import ControlBook, ExpectationControls, RubricBook, RubricScorer
from simeval.store.opening import as_database, load_run, rows_at
from simeval.suites.apps.http_request import AddressedApp
from simeval.suites.apps.named import code_of, name_of, require_model_name, secrets_of
from simeval.suites.scenario import Expectation, ScenarioTest

DEFAULT_JUDGE, DEFAULT_USER = "offline/judge", "offline/user"


@dataclass(slots=True)
class Meter:
    """Counts from its creation; `before` is the total of the attempts before this one.

    Its clock stops with `measured`, so that the stored run has the seconds that were printed.
    """

    ledger: Ledger = field(default_factory=Ledger)
    before: ResumableRun | None = None
    _started: float = field(default_factory=lambda: perf_counter())
    _ended: float | None = None

    def heartbeat(self) -> Heartbeat:
        """Return the totals of this attempt."""
        return Heartbeat(seconds=self._elapsed(), usage=self.ledger.by_role())

    def seconds(self) -> float:
        """Return the seconds of the whole run."""
        return self._elapsed() + (self.before.seconds if self.before else 0.0)

    def usage(self) -> Mapping[str, Usage]:
        """Return the usage of the whole run, by role."""
        now = self.ledger.by_role()
        return merged(self.before.usage, now) if self.before else now

    def measured(self) -> dict[str, Any]:
        """Return the fields that complete the record of a run at its end."""
        self._ended = perf_counter()
        return {"seconds": round(self.seconds(), 3), "usage": self.usage()}  # as documents have them

    def _elapsed(self) -> float:
        """Return the seconds of this attempt."""
        return (perf_counter() if self._ended is None else self._ended) - self._started


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineResources:
    """The resources that an engine's evaluations share: settings, models, limits, places, and gates of apps by name.

    `budget` are the settings with the limits on spending, a shard's own. `elsewhere` are workers that hold and measure
    trials outside this process.
    """

    settings: Settings
    models: Models
    panel: tuple[SharedModel, ...]
    user: SharedModel
    budget: Settings
    prompts: Mapping[str, Prompt]
    examples: Mapping[str, Sequence[LabelledExample]]
    rubric_folder: Path | None
    in_flight: anyio.Semaphore
    gates: dict[str, Gate]
    elsewhere: "RemoteWorkers | None" = None
    listener: Listener | None = None

    @classmethod
    def of(
        cls,
        judge_model: str | Model | Sequence[str | Model] | None,
        user_model: str | Model | None,
        settings: Settings,
        elsewhere: "RemoteWorkers | None" = None,
    ) -> Self:
        """Return the resources of an engine with these models and settings. Raises DefinitionError."""
        bounded = shared_out(settings)
        models = Models(bounded, elsewhere.limits if elsewhere else None)
        panel = models.panel(DEFAULT_JUDGE if judge_model is None else judge_model)
        require_two([model.name for model in panel], settings.escalate)
        embedded_judge = is_embedded(panel[0].name)
        if user_model is None and not embedded_judge and _can_share(panel[0].name, settings):
            user = panel[0]  # at the judge's address
        else:
            user = models.get(user_model or (DEFAULT_USER if embedded_judge else panel[0].name), "user")
        folder, concurrency, examples = settings.rubric_folder, settings.concurrency, settings.judge_examples
        return cls(
            settings=settings,
            models=models,
            panel=panel,
            user=user,
            budget=bounded,
            prompts=all_prompts(settings.prompts),
            examples={} if examples is None else read_examples(Path(examples)),
            rubric_folder=Path(folder) if folder is not None and not embedded_judge else None,
            in_flight=anyio.Semaphore(concurrency, fast_acquire=True),
            gates={},
            elsewhere=elsewhere,
        )


def _can_share(judge: str, settings: Settings) -> bool:
    """Return whether the user can be asked as the judge is: at its address, and on its road."""
    roads = [road_of(judge, settings.options_of(role)) for role in ("judge", "user")]
    return not address_of(settings.user_options or {}) and roads[0] == roads[1]


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A run whose trials are to be held and measured elsewhere."""

    record: RunRecord
    shared: EngineResources
    suite: Sequence[ScenarioTest]
    app_handler: ExampleHandler


class RemoteWorkers(Protocol):
    """The connection to workers in other places: a value of the setting `executor` that is no name."""

    @property
    def limits(self) -> Allowances:
        """The limits of models, which all share."""

    def check(self, settings: Settings) -> None:
        """Raise DefinitionError if the settings cannot reach them."""

    def open(self, run: RemoteRun) -> AbstractAsyncContextManager[Workers]:
        """Let them work for a run until this is left."""


class RunContext:
    """The context of one evaluation. `past` is the run that it resumes, if any."""

    def __init__(
        self, shared: EngineResources, store: Journal | None, stop: StopSignal, past: ResumableRun | None
    ) -> None:
        self.shared, self.stop, self.past = shared, stop, past
        self.settings = as_begun(shared.settings, past.definition) if past else shared.settings
        self.models, self.store = shared.models, store
        allow_bytes(self.settings.max_answer_bytes)
        self.embedded_graders: set[str] = set()
        self._redactor = self.models.redactor()
        self.clean = self._redactor.clean
        begun = day_of(past.started if past else datetime.now(UTC))
        self.today = date.fromisoformat(self.settings.date) if self.settings.date else begun
        self._codes: dict[str, str] = {}  # of the apps, by their names
        self.meter = Meter()
        self.recorder = Recorder(store, self.meter.heartbeat, stop.under_way)
        self.seed = self._seed()
        self.judge_names = [model.name for model in shared.panel]
        self._cache = self._reply_cache(store) if shared.settings.cache else None
        self.judges = [self.caller(model, "judge") for model in shared.panel]
        self.known_rubrics = dict(past.rubrics) if past else {}
        self.rubrics: dict[str, RubricRecord] = {}  # the rubrics this run judges by, as they are prepared
        self.controls = ControlBook(past.controls if past else {}, self.recorder.record)
        self.book = RubricBook(
            self.judges[0],
            shared.rubric_folder,
            known=self.known_rubrics,
            record=self._record_rubric,
            prompt=shared.prompts["rubric"],
        )

    @classmethod
    async def open(cls, shared: EngineResources, store: Journal | None, stop: StopSignal) -> "RunContext":
        """Return an evaluation with the run it resumes, if it does one."""
        if shared.settings.resume is None:
            return cls(shared, store, stop, None)
        database = as_database(store, "resume")
        past = await anyio.to_thread.run_sync(load_run, database, shared.settings.resume)
        return cls(shared, store, stop, past)

    def learn(self, app_handler: object, suite: Sequence[ScenarioTest] = ()) -> None:
        """Mask the secrets of an app, and of the worlds of a suite, in everything that is shown or kept."""
        self._redactor.learn(secrets_of(app_handler, suite))

    async def _record_rubric(self, rubric: RubricRecord) -> None:
        await self.recorder.record(rubric)
        self.rubrics[rubric.key] = rubric

    def caller(self, model: SharedModel, role: ModelRole) -> Caller:
        """Return a caller of a model in a role, within its limits and counted; the cache never answers for the app."""
        cache = None if role == "app" else self._cache
        return self.models.caller(model, self.meter.ledger, cache, role=role, redactor=self._redactor)

    def scorer_caller(self, named: Any) -> Caller:
        """Return the caller of a scorer's model; without one, the judge. Raises DefinitionError.

        The embedded judge grades only for a scorer that names it.
        """
        model = self.shared.panel[0] if named is None else self.models.get(named, "judge")
        if model.name == DEFAULT_JUDGE and named is not None:
            self.embedded_graders.add(model.name)
        elif is_embedded(model.name):
            do = "name the engine's judge_model, or the scorer's own model, such as openai/gpt-5-nano"
            raise DefinitionError("scorer", found=f"it would ask {model.name}, which cannot grade answers", do=do)
        return self.caller(model, "judge")

    def auditor(self) -> Auditor | None:
        """Return an auditor of simulated users, if the settings ask for one. Raises DefinitionError."""
        share = self.settings.audit_users
        if not share:
            return None
        if is_embedded(self.judge_names[0]):
            do = "name the engine's judge_model, such as openai/gpt-5-nano, or leave audit_users out"
            raise DefinitionError("audit_users", found=f"it would ask {self.judge_names[0]}, which cannot audit", do=do)
        return Auditor(self.judges[0], share, self.clean, self.shared.prompts["audit"])

    def judge_scorer(
        self, expectation: Expectation, *, template: RubricTemplate | None = None, labelled_as: str | None = None
    ) -> RubricScorer | CriteriaScorer | EscalatingScorer:
        """Return the scorer of an expectation that judges rate, or on whose criteria they rule. Raises DefinitionError.

        Judges are a panel, or the first escalates to the second. A case's expectation has the rubric of its `template`,
        and the conversations that are `labelled_as` its text before it was filled.
        """
        return _escalating(self._panel_scorer(expectation, template, labelled_as), self.settings)

    def _panel_scorer(
        self, expectation: Expectation, template: RubricTemplate | None, labelled_as: str | None
    ) -> RubricScorer | CriteriaScorer:
        settings, prompts = self.settings, self.shared.prompts
        examples = self._examples(labelled_as or expectation.judged)
        if expectation.criteria is not None:
            return CriteriaScorer(
                judges=self.judges,
                criteria=expectation.criteria,
                reference=expectation.reference or "",
                repeats=settings.judge_repeats,
                asked=settings.criteria_calls,
                reply=settings.judge_reply,
                most_tokens=settings.judge_context_tokens,
                held_on=settings.date,
                prompt=prompts[CRITERIA_PROMPTS[settings.judge_reply]],
                examples=examples,
                controls=self._shown(expectation),
            )
        return RubricScorer(
            self.judges,
            self.book,
            expectation.behaviour or "",
            settings.judge_repeats,
            prompts[JUDGE_PROMPTS[settings.judge_reply]],
            expectation.levels,
            expectation.reference or "",
            settings.judge_context_tokens,
            examples,
            settings.judge_reply,
            self._shown(expectation),
            held_on=settings.date,
            template=template,
        )

    def _examples(self, judged: str | None) -> Sequence[LabelledExample]:
        """Return the labelled conversations of an expectation, which is judged by this text."""
        examples = self.shared.examples
        return examples.get(expectation_key(judged or ""), ()) if examples else ()

    def _shown(self, expectation: Expectation) -> ExpectationControls | None:
        """Return the controls for the judges of an expectation; None without any."""
        shown, on_failed = expectation.shown_controls, self.settings.on_failed_control
        if shown is None or on_failed == "off":
            return None
        each = self.settings.criteria_calls == "each" or self.settings.judge_reply == "label"
        calls = len(expectation.criteria or [""]) if each else 1
        return ExpectationControls(self.controls, shown, self.judges, on_failed, expectation.judged or "", calls)

    def target(self, handler: ExampleHandler | AlteredApp, dataset: Dataset | None = None) -> Target:
        """Return the target: an app's handler or a model; with a `dataset`, also a function of its columns."""
        if isinstance(handler, AlteredApp):
            target = self.target(handler.app, dataset)
            return replace(target, app=replace(target.app, alter=handler.alter), name=handler.name)
        if isinstance(handler, str):
            require_model_name(handler)
            caller = self.caller(self.models.get(handler, "app"), "app")
            answering = Handler.of(model_handler(caller, timeout_seconds=self.settings.app_timeout_seconds))
            return Target(app=self._app(answering), name=handler, model=handler)
        by_columns = dataset is not None and takes_columns(handler, dataset)
        self.learn(handler)
        name = self._redactor.name(name_of(handler))
        self._codes[name] = code_of(handler)
        app = self._app(column_handler(handler) if by_columns else Handler.of(handler), name)
        return Target(app=app, name=name, takes_columns=by_columns)

    def _app(self, handler: Handler, name: str = "") -> App:
        """Return the app that a handler is; one without a name is a model."""
        settings, seconds = self.settings, self.settings.app_timeout_seconds
        threads = anyio.CapacityLimiter(settings.app_concurrency or settings.concurrency)
        return App(
            handler,
            self._line(handler, name),
            threads,
            seconds,
            is_model=not name,
            silence=Silence(name, seconds) if name else None,
            blocking=Blocking(name) if name and handler.may_block else None,
            waits=self.models.waits,
        )

    def _line(self, handler: Handler, name: str) -> AppLine:
        """Return the line before an app; all evaluations of an engine share its limits and its pace."""
        settings, is_at_url = self.settings, isinstance(handler.function, AddressedApp)
        most = settings.app_concurrency or (AT_ONCE_AT_A_URL if is_at_url else settings.concurrency)
        gate = self.shared.gates.get(name)
        if gate is None:
            gate = self.shared.gates[name] = gate_of(most, shared_out(settings).app_requests_per_minute)
        return AppLine(name or "the app", gate, settings.outage_seconds, self.models.waits)

    def define(
        self, plans: Sequence[RunPlan], app_name: str, *, user: str, part: ShardPlan | None = None
    ) -> Mapping[str, Any]:
        """Return all inputs of a run's results; `part` is the shard of a suite that these plans are."""
        definition = define(
            part.suite if part else plans,
            self.settings,
            prompts=self.shared.prompts,
            examples=self.shared.examples,
            seed=self.seed,
            app=app_name,
            code=self._codes.get(app_name, ""),
            judges=self.judge_names,
            user=user,
        )
        definition = clean_values(definition, self.clean)
        return part.definition(definition) if part else definition

    def begin(
        self,
        plans: Sequence[RunPlan],
        app_name: str,
        *,
        user: str,
        notes: Sequence[str] = (),
        recorded: bool = False,
        part: ShardPlan | None = None,
        earlier: Mapping[str, int] | None = None,
        doubt: str = "",
        **more: Any,
    ) -> tuple[RunRecord, RestoredTrials]:
        """Return the record of the run, new or resumed, and its known results. Raises DefinitionError.

        `recorded` means that there is no app, `part` is the shard of a suite that these plans are, `earlier` how often
        each scenario was run since it last passed, `doubt` why recorded answers may be no fair sample; `more` are
        further fields of the record.
        """
        defined = self.define(plans, app_name, user=user, part=part)
        past, known = self.past, RestoredTrials()
        if past is not None:
            known = restore(
                past,
                plans,
                with_history(defined, earlier_of(past.definition), doubt_of(past.definition)),
                on_app_error=self.settings.on_app_error,
                accept_changes=self.settings.accept_changes,
                recorded=recorded,
            )
        now = datetime.now(UTC)
        resumed = None if known.from_another else past
        if resumed is not None:
            earlier, doubt = earlier_of(resumed.definition), doubt_of(resumed.definition)
            self.meter.before = resumed
        return RunRecord(
            run_id=resumed.run_id if resumed else f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            seed=self.seed,
            judge_model=judges_said(self.judge_names, self.settings.escalate),
            judge_repeats=self.settings.judge_repeats,
            user_model=user,
            app=app_name,
            gate=self.settings.gate,
            joint=self.settings.joint,
            started=resumed.started if resumed else now,
            scenarios=tuple((p.title, p.sample_size, tuple(each.label for each in p.measures)) for p in plans),
            notes=(*notes, *known.notes),
            definition=with_history(defined, earlier or {}, known.doubt or doubt),
            **more,
        ), known

    def _seed(self) -> int:
        if self.settings.seed is not None:
            return self.settings.seed
        return secrets.randbelow(2**31) if self.past is None else self.past.seed

    @property
    def stored_rows(self) -> Callable[[str], Iterator[Row]] | None:
        """Return a reader of stored rows, or None if the store cannot be read."""
        is_database = callable(getattr(self.store, "read", None))
        store = self.settings.store
        if isinstance(store, (str, Path)) and "://" not in str(store):
            store = Path(store).absolute()  # an app may change the folder
        return partial(rows_at, store) if is_database else None

    def _reply_cache(self, store: Journal | None) -> ReplyCache:
        return ReplyCache(
            shelf=as_database(store, "cache"),
            note=self.recorder.note,
            ledger=self.meter.ledger,
            clean=self.clean,
        )


def _escalating(
    both: RubricScorer | CriteriaScorer, settings: Settings
) -> RubricScorer | CriteriaScorer | EscalatingScorer:
    """Return the scorer whose first judge escalates to the second, if the settings ask for that; else the given one.

    Raises DefinitionError for a rule that would never leave anything to the second.
    """
    if settings.escalate is None:
        return both
    rule = EscalationRule.of(settings.escalate)
    if isinstance(both, CriteriaScorer) and not (rule.when_untold or any(map(rule.takes, (ALL_MET, NOT_ALL_MET)))):
        found = f"{settings.escalate!r} takes no ruling on criteria, which are rated {NOT_ALL_MET:g} or {ALL_MET:g}"
        raise DefinitionError("escalate", found=found, do=f'add "or {WHEN_UNTOLD}" to it')
    return EscalatingScorer(both, rule, settings.escalation_audit)


def embedded_notes(cast: Sequence[tuple[str, str]]) -> list[str]:
    """Say which of the models, each with its role, are embedded heuristics."""
    embedded = [f"{role} {name}" for role, name in cast if is_embedded(name)]
    return [f"{' and '.join(embedded)}: {NOTICE}"] if embedded else []


def replaced_notes(prompts: Mapping[str, Prompt]) -> list[str]:
    """Return the prompts that are the user's, each with its identity."""
    ours = [f"{name} ({prompt.identity})" for name, prompt in prompts.items() if not prompt.version]
    return [f"prompts in place of simeval's: {', '.join(ours)}"] if ours else []
