"""The plan of an experiment, checked before the first call: a dataset, its scorers, its expectations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from simeval.core import seeds
from simeval.core.conversation import CONTEXT
from simeval.core.redaction import unused_name
from simeval.core.settings import Settings
from simeval.core.terminal import counted_of
from simeval.core.validation import require, require_whole
from simeval.datasets.dataset import REFERENCE, Dataset
from simeval.engine.plans.cost_forecast import Cost, canary_work, dearest_of, judge_calls
from simeval.engine.plans.scenario_plan import Measure, PlanWarning, RunPlan, ScorerBinder, make_measure
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Request
from simeval.models.registry import Price, price_of
from simeval.scorers.base import REPLAYED, Callers, Scorer, as_scorer
from simeval.scorers.each_turn import EachTurn
from simeval.suites.scenario import Expectation

TRIAL_COLUMNS = (
    *("output", "outputs", "input", "first_input", "inputs", "reference_outputs", "conversation"),
    *("response", "responses", "seed"),
)
SITUATION = {  # for a judge, who sees a scenario if there is one
    "given": "Someone who uses the assistant.",
    "when": "What they say in the conversation.",
}

CALL_TOKENS = 800  # of a scorer's call, prompt and reply: a guess for the first trials of a run with a budget


@dataclass(frozen=True, slots=True)
class Experiment:
    """The request of `evaluate` with a dataset; without a `target` its answers are the recorded ones.

    Raises DefinitionError for an invalid one.
    """

    dataset: Dataset
    target: Callable[..., Any] | str | None
    scorers: Sequence[object]
    then: Expectation | Sequence[Expectation]
    repetitions: int
    metadata: Mapping[str, Any]

    def __post_init__(self) -> None:
        require_whole(self.repetitions, "repetitions")
        require(
            isinstance(self.scorers, Sequence) and not isinstance(self.scorers, str),
            "experiment: scorers",
            found=self.scorers,
            do="give a list of scorers",
        )
        for each in self.expectations:
            require(isinstance(each, Expectation), "experiment: then", found=each, do="give Expectations")
        require(isinstance(self.metadata, Mapping), "experiment: metadata", found=self.metadata, do="give a mapping")
        if self.target is None and not self.dataset.recorded:
            raise DefinitionError(
                f"dataset {self.dataset.name!r}",
                found="there is no app, and some of its examples hold no recorded conversation",
                do="give the app, or say which column holds what was answered (--recorded; in Python recorded=...)",
            )
        if self.target is None and self.repetitions > 1:
            raise DefinitionError(
                "repetitions", found=f"found {self.repetitions} of what was recorded", do="leave it out"
            )
        if not self.scorers and not self.expectations:
            do = "give scorers=[...], or then=[Expectation(...)]"
            raise DefinitionError("experiment", found="found no scorer", do=do)

    @property
    def expectations(self) -> Sequence[Expectation]:
        """The expectations, always as a list; anything else is one item that is no Expectation."""
        return self.then if isinstance(self.then, (list, tuple)) else [cast("Expectation", self.then)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan(RunPlan):
    """A dataset, ready to run: each example so many times, measured by every scorer, then concluded on.

    `asked` names the models that its scorers ask.
    """

    dataset: Dataset
    repetitions: int
    asked: frozenset[str]

    @property
    def title(self) -> str:
        return self.dataset.name

    @property
    def key(self) -> str:
        return f"{self.dataset.name}, version {self.dataset.version}, {self.repetitions} times"

    @property
    def columns(self) -> Mapping[str, object]:
        return {"title": self.dataset.name, **SITUATION}

    def warnings(self) -> list[PlanWarning]:
        n = self.dataset.size
        return [
            PlanWarning(
                measure.label,
                f"{evaluator.describe()} cannot be proven on {counted_of(n, 'example')}, even if every one meets it; "
                f"at least {least} are needed (significance level {evaluator.alpha:g})",
            )
            for measure in self.measures
            for evaluator in measure.evaluators
            for least in [evaluator.minimum_trials()]
            if least > n
        ]


def make_dataset_plan(
    asked: Experiment,
    *,
    settings: Settings,
    seed: int,
    judge_scorer: Callable[[Expectation], Scorer],
    callers: Callers,
    clean: Callable[[str], str],
) -> DatasetPlan:
    """Return the plan of an experiment. Raises DefinitionError.

    A scorer has one name in it, numbered where another has the same; an expectation names one of them by its name or
    by itself, or brings its own. Each is bound once, and measures once for all that is taken from it. `clean` takes
    secrets out of names.
    """
    dataset, then = asked.dataset, asked.expectations
    columns = (*dataset.columns, *TRIAL_COLUMNS, *([CONTEXT] if _may_have_context(asked) else []), *SITUATION)
    binder = ScorerBinder(callers)
    if asked.target is not None and dataset.recorded and REFERENCE not in dataset.columns:
        columns, binder = (*columns, *REPLAYED), _TurnBinder(callers)
    named: dict[str, Scorer] = {}
    for candidate in asked.scorers:
        scorer = binder.bound(candidate, "experiment: scorers")
        scorer.check(columns)
        named[unused_name(clean(scorer.name), named)] = scorer
    measures = [Measure(label=label, scorer=scorer, path=scorer.default_score) for label, scorer in named.items()]
    listed = {id(scorer) for scorer in named.values()}
    requirements = sum(len(each.evaluators) for each in then) if settings.joint else 1
    concluded: list[str] = []
    for expectation in then:
        concluded.append(unused_name(clean(_title(expectation)), concluded))
        made = make_measure(
            concluded[-1],
            _with_scorer(expectation, named),
            settings,
            judge_scorer,
            binder,
            level=settings.significance_level,
            requirements=requirements,
            columns=columns,
            has_app=asked.target is not None,
        )
        measures.append(replace(made, keeps_details=id(made.scorer) not in listed))
    return DatasetPlan(
        position=0,
        measures=tuple(measures),
        sample_size=dataset.size * asked.repetitions,
        seed=seeds.derive(seed, dataset.name),
        dataset=replace(dataset, name=clean(dataset.name)),
        repetitions=asked.repetitions,
        asked=frozenset(binder.asked),
    )


class _TurnBinder(ScorerBinder):
    """The scorers of a replay: those that need the reference measure each turn, which has one of its own."""

    def __init__(self, callers: Callers) -> None:
        super().__init__(callers)
        self._by_turn: dict[int, tuple[object, object]] = {}  # the given object is kept, so that its id stays its own

    def bound(self, candidate: object, where: str = "Expectation.scorer") -> Scorer:
        if id(candidate) not in self._by_turn:
            made = as_scorer(candidate, where)
            is_of_a_turn = REFERENCE in made.required_columns and not made.summarizes and not isinstance(made, EachTurn)
            self._by_turn[id(candidate)] = (candidate, EachTurn(made, name=made.name) if is_of_a_turn else candidate)
        return super().bound(self._by_turn[id(candidate)][1], where)


def _may_have_context(asked: Experiment) -> bool:
    """Return whether an app may give context with its answers, or the first of the recorded ones has one."""
    if asked.target is not None:
        return True
    recorded = next(iter(asked.dataset), None)
    said = recorded.conversation.messages if recorded and recorded.conversation else ()
    return any(CONTEXT in message.metadata for message in said)


def _with_scorer(expectation: Expectation, named: Mapping[str, Scorer]) -> Expectation:
    """Return an expectation with the scorer that it names. Raises DefinitionError if there is none."""
    if not isinstance(expectation.scorer, str):
        return expectation
    if expectation.scorer not in named:
        there = ", ".join(repr(name) for name in named) or "none"
        found = f"found {expectation.scorer!r}"
        raise DefinitionError("Expectation.scorer", found=found, do=f"name one of the scorers: {there}")
    return replace(expectation, scorer=named[expectation.scorer])


def _title(expectation: Expectation) -> str:
    if isinstance(expectation.scorer, str) and not expectation.label:
        return f"{expectation.scorer}.{expectation.score}" if expectation.score else expectation.scorer
    return expectation.title


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentForecast:
    """The forecast of an experiment, retries apart; `trial`, `rubric` and all else as in a CostForecast.

    How long examples are is not known before they are read, so each call is guessed to take as many tokens.
    """

    answers: int
    trial: Cost
    rubric: Cost
    control: Cost
    unpriced: tuple[str, ...]
    longest: Mapping[str, float] = field(default_factory=dict)  # nothing is known of examples before they are read
    canary: Cost = field(default_factory=Cost)

    def __str__(self) -> str:
        calls = self.answers * self.trial.calls + self.canary.calls
        return f"forecast: {self.answers:,} answers, {calls:,.0f} model calls (without retries)"


def forecast_experiment(
    plan: DatasetPlan,
    settings: Settings,
    *,
    judges: Sequence[str],
    app_model: str | None,
    prices: Callable[[str], Price | None] = price_of,
    canaries: Sequence[Request] = (),
) -> ExperimentForecast:
    """Forecast an experiment: for each answer, the calls of its scorers, its judges and the app, if it is a model.

    `app_model`, `prices` and `canaries` are those of `forecast`.
    """
    scorers = {id(measure.scorer): measure.scorer.calls for measure in plan.measures}
    each = sum(judge_calls(measure, settings) for measure in plan.judged)
    judged = each * len(judges) * settings.judge_repeats
    calls = sum(scorers.values()) + judged + (app_model is not None)
    names = {*plan.asked, *([app_model] if app_model else []), *(judges if plan.judged else [])}
    price = {name: prices(name) for name in names}
    dearest = max((each.of(CALL_TOKENS, 0) for each in price.values() if each), default=0.0)
    return ExperimentForecast(
        answers=plan.sample_size,
        trial=Cost(calls=calls, tokens=calls * CALL_TOKENS, cost_usd=calls * dearest),
        rubric=Cost(calls=1, tokens=CALL_TOKENS, cost_usd=dearest),
        control=Cost(calls=1, tokens=CALL_TOKENS, cost_usd=dearest),
        unpriced=tuple(name for name in sorted(names) if price[name] is None),
        canary=dearest_of([canary_work(canaries, judges)], price) if plan.judged else Cost(),
    )
