"""The plan of a run, checked before the first call: one plan for each scenario.

The order of trials: a rank for each scenario. The lowest is dealt first, those of one rank in rounds.

A rank decides when a trial is held, and never which or its result: seeds derive from a scenario's title, and its test
takes its own trials in their order. So results of the past may choose ranks, though they may not enter a test.
"""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

from simeval.core import seeds
from simeval.core.direction import UNIT
from simeval.core.judging import Controls, RubricTemplate
from simeval.core.run_records import Journal
from simeval.core.setting_field import Order, StopAt
from simeval.core.settings import POWER, Settings
from simeval.core.terminal import counted_of
from simeval.core.trial import Outcome, Score, Trial
from simeval.core.validation import first_of
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import NotWorseEvaluator
from simeval.evaluators.scores import RATING_BOUNDS, is_of_ratings
from simeval.evaluators.stopping import RunningTest
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import RubricRequest
from simeval.results.signs import Signs
from simeval.scorers.base import COLUMNS, Callers, Scorer, as_scorer
from simeval.scorers.returned import reason_at, select, whole
from simeval.store.opening import as_database
from simeval.suites.fitting import require_in_time
from simeval.suites.planning import show_chance, sufficient_for
from simeval.suites.scenario import PROPOSED, Expectation, ScenarioTest, count_requirements

if TYPE_CHECKING:
    from simeval.models.caller import Caller
    from simeval.store.runs import PastOutcome

JudgeScorer = Callable[..., Scorer]  # makes the scorer of an expectation; of a case's by the `template` of its rubric

_SUSPICION: dict[Outcome, int] = {"fail": 0, "error": 0, "inconclusive": 1}
_CHANGED, _TRUSTED = 2, 3  # it passes, but did not the time before, or is new; it passed both times
MOST_NAMED = 3  # titles in a warning


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """A weakness of a verdict, and its scenario; of one requirement alone with its `label`.

    If there are too few trials for a proof, `needed` is how many it takes; the verdict mentions that, too. With
    `sufficient` trials a good app most likely passes.
    """

    about: str
    said: str
    label: str = ""
    needed: int | None = None
    sufficient: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One expectation, ready to run: its scorer, the number to take, the evaluators at their levels.

    Without evaluators it is only measured.
    """

    label: str
    scorer: Scorer
    path: str | None
    evaluators: tuple[Evaluator, ...] = ()
    expected_behavior: str | None = None
    own_rubric: Mapping[str, str] | None = None
    controls: Controls | None = None
    criteria: Sequence[str] | None = None
    reference: str | None = None
    keeps_details: bool = True

    def take(self, measured: object) -> Score:
        """Return the score of a scorer's result: one number if it is concluded on, else all values.

        Raises DefinitionError if that number is missing, or no value for an evaluator.
        """
        if not self.evaluators:
            return whole(measured, self.path, name=self.scorer.name, keeps_any=self.scorer.summarizes)
        score = select(measured, self.path, name=self.scorer.name)
        self.require_usable(score.value)
        if self.keeps_details:
            return score if type(score.value) is float else replace(score, value=float(score.value))
        why = score.reasoning or reason_at(score.details, self.path or "")
        return Score(value=float(score.value), reasoning=why)

    def require_usable(self, value: float) -> None:
        """Raise DefinitionError for a value that an evaluator cannot conclude on, NaN among them."""
        for evaluator in self.evaluators:
            if isinstance(value, bool) and is_of_ratings(evaluator):
                found = f"it returned {value}, and {type(evaluator).__name__} is for ratings from 1 to 10"
                do = "use a ProportionEvaluator (in files proportion)"
                raise DefinitionError(f"scorer {self.scorer.name}", found=found, do=do)
            if isinstance(value, bool) and (misfit := Evaluator.misfit(evaluator, *UNIT)):
                do = f"put the bar of {type(evaluator).__name__} between them; yes is 1 and no is 0"
                raise DefinitionError(f"scorer {self.scorer.name}", found=f"it returned {value}, and {misfit}", do=do)
            if not evaluator.accepts(value):
                low, high = getattr(evaluator, "bounds", RATING_BOUNDS)
                do = "return a number" if not isfinite(value) else f"return a number from {low:g} to {high:g}"
                found = f"it returned {value:g}, which {type(evaluator).__name__} cannot take"
                raise DefinitionError(f"scorer {self.scorer.name}", found=found, do=do)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan(ABC):
    """The trials to run, each measured in the same ways.

    `seed` is the base of their seeds; `seeds` are those of the trials of a run it is compared with, by their places,
    None if there is none. With a table of cases, `cases` are the plans of its rows.
    """

    position: int
    measures: tuple[Measure, ...]
    sample_size: int
    seed: int
    seeds: Sequence[int | None] = ()
    cases: "tuple[RunPlan, ...]" = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """Return its name."""

    @property
    def key(self) -> str:
        """Return its identity when a run is resumed."""
        return self.title

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, object]:
        """The columns that all of its trials share."""

    @abstractmethod
    def warnings(self) -> list[PlanWarning]:
        """Return the weaknesses of its verdicts.

        That is a missing proof, if there are too few trials for it even with perfect scores, or a missing author of the
        scenario.
        """

    @property
    def judged(self) -> "list[Measure]":
        """The measures that judges make, by an expected behaviour or criteria."""
        return [measure for measure in self.measures if measure.expected_behavior is not None]

    def of_trial(self, index: int) -> "RunPlan":  # noqa: ARG002
        """Return the plan by which a trial is held and measured: of its case, if it has a table of them."""
        return self

    def trial_columns(self, index: int) -> Mapping[str, object]:  # noqa: ARG002
        """Return the columns that are stored with a trial: the row of its case, if it has one."""
        return {}

    def signs(self, place: int) -> Signs | None:
        """Return a collector of the signs of an expectation's judges, by its place; None if none rates it.

        Rulings on criteria rest on quotes, which are compared with the conversation.
        """
        measure = self.measures[place]
        if measure.expected_behavior is None or measure.criteria is not None:
            return None
        return Signs([measure.expected_behavior, *(str(self.columns[name]) for name in ("given", "when"))])

    def trial(self, index: int, times_dealt: int = 0) -> Trial:
        """Return the trial that has this place in the order dealt; one that was dealt before gets fresh draws.

        The first time it is that of the run that this one is compared with, which may have dealt it more than once.
        """
        seed = self.seeds[index] if index < len(self.seeds) else None
        if seed is not None:
            return Trial(self.position, index, seeds.derive(seed, times_dealt) if times_dealt else seed)
        path = (index, times_dealt) if times_dealt else (index,)
        return Trial(self.position, index, seeds.derive(self.seed, *path))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan(RunPlan):
    """One scenario, ready to run; with a table of cases, `cases` are the plans of its rows, and `case` is one's row.

    That of one of several apps is in a contest: nothing is proven by it.
    """

    scenario: ScenarioTest
    is_in_contest: bool = False
    cases: "tuple[ScenarioPlan, ...]" = ()
    case: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.scenario.title

    @property
    def columns(self) -> Mapping[str, object]:
        return {
            **({**self.case, "inputs": self.case} if self.case else {}),
            "title": self.scenario.title,
            "given": self.scenario.given,
            "when": self.scenario.when,
            "facts": self.scenario.facts or "",
        }

    def at(self, position: int) -> "ScenarioPlan":
        """Return the same plan, and those of its cases, at another place of a run."""
        return replace(self, position=position, cases=tuple(replace(each, position=position) for each in self.cases))

    def of_trial(self, index: int) -> "ScenarioPlan":
        place = self.scenario.case_at(index, self.seed) if self.cases else None
        return self if place is None else self.cases[place]

    def trial_columns(self, index: int) -> Mapping[str, object]:
        return {"inputs": self.of_trial(index).case} if self.cases else {}

    @property
    def longest(self) -> "ScenarioPlan":
        """The plan of the case with the longest texts, for a forecast; itself without a table."""
        return max(self.cases, key=lambda each: sum(map(len, map(str, each.columns.values()))), default=self)

    def tests(self, stop: StopAt | None) -> tuple[tuple[RunningTest, ...], ...]:
        """Return a running test for each evaluator of each expectation."""
        return tuple(
            tuple(evaluator.running_test(self.sample_size, stop=stop) for evaluator in measure.evaluators)
            for measure in self.measures
        )

    def acceptance(self, stop: StopAt | None) -> list[tuple[str, str]]:
        """Return each requirement with a description of a pass, before the first trial."""
        return [
            (f"{measure.label}: {test.name}, at most {counted_of(test.n_max, 'trial')}", said)
            for measure, tests in zip(self.measures, self.tests(stop), strict=True)
            for test in tests
            if (said := test.acceptance())
        ]

    def warnings(self) -> list[PlanWarning]:
        title, found = self.scenario.title, []
        for measure in () if self.is_in_contest else self.measures:
            for evaluator in measure.evaluators:
                if short := evaluator.shortfall(self.sample_size):
                    trials, needed = short
                    said = evaluator.too_few(counted_of(trials, "trial"))
                    found.append(PlanWarning(title, said, measure.label, needed, sufficient_for(evaluator)))
                found += [PlanWarning(title, said, measure.label) for said in evaluator.warnings(self.sample_size)]
        rows = len(self.cases)
        if self.sample_size < rows and self.scenario.case_weights is None:
            some = f"{counted_of(self.sample_size, 'trial')} can try {self.sample_size} of {rows} cases"
            found.append(PlanWarning(title, f"{some}; a multiple of {rows} tries each as often"))
        unread = f"proposed by a model and read by nobody yet, as the tag {PROPOSED!r} says"
        return [*found, *([PlanWarning(title, unread)] if PROPOSED in self.scenario.tags else [])]


def rubric_requests(plans: Iterable[RunPlan], prompt: Prompt) -> list[RubricRequest]:
    """Return the requests for the rubrics that conversations are judged by and no suite gives, each once."""
    found = {
        (str(plan.columns["given"]), str(plan.columns["when"]), measure.expected_behavior): None
        for plan in plans
        for measure in plan.measures
        if measure.expected_behavior is not None and measure.own_rubric is None and measure.criteria is None
    }
    return [
        RubricRequest(given=given, when=when, expected_behavior=behaviour, prompt=prompt)
        for given, when, behaviour in found
    ]


class ScorerBinder:
    """The scorers of a run, each made ready once: one that several expectations use measures once for all of them.

    `asked` names the models that those made ready by now ask.
    """

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self.asked: set[str] = set()
        self._bound: dict[int, tuple[object, Scorer]] = {}  # the given object is kept, so that its id stays its own

    def bound(self, candidate: object, where: str = "Expectation.scorer") -> Scorer:
        """Return a scorer, or a function's, ready for use; itself if it is ready.

        Raises DefinitionError, which names `where` the scorer was given.
        """
        if id(candidate) not in self._bound:
            scorer = as_scorer(candidate, where).bind(self._caller)
            self._bound[id(candidate)] = (candidate, scorer)
            self._bound[id(scorer)] = (scorer, scorer)
        return self._bound[id(candidate)][1]

    def _caller(self, named: Any) -> "Caller":
        caller = self._callers(named)
        self.asked.add(caller.model.name)
        return caller


_NO_CONTROLS: Mapping[str, Any] = {"controls": False, "example": None, "counterexample": None}


def make_plans(
    scenarios: Sequence[ScenarioTest],
    *,
    settings: Settings,
    seed: int,
    judge_scorer: JudgeScorer,
    callers: Callers,
) -> tuple[ScenarioPlan, ...]:
    """Check every scenario and return its plan; `judge_scorer` makes that of an expected behaviour.

    `callers` give a model's caller, for scorers that need one.

    Raises DefinitionError. A scenario's seed depends on its title alone, so a suite can grow without changing the
    trials it had.
    """
    if not scenarios:
        raise DefinitionError("evaluate", found="found no scenario", do="give one or more ScenarioTests")
    for scenario in scenarios:
        if not isinstance(scenario, ScenarioTest):
            raise DefinitionError("evaluate", found=f"found {scenario!r}", do="give ScenarioTests")
    [(title, count), *_] = Counter(scenario.title for scenario in scenarios).most_common(1)
    if count > 1:
        do = "give each its own: results are told by titles"
        raise DefinitionError("evaluate", found=f"{count} scenarios have the title {title!r}", do=do)
    requirements = count_requirements(scenarios) if settings.joint else 1
    binder = ScorerBinder(callers)
    measures_of = partial(
        _measures, settings=settings, judge_scorer=judge_scorer, binder=binder, requirements=requirements
    )
    return tuple(
        _with_measures(
            ScenarioPlan(
                position=position,
                scenario=scenario,
                measures=(),
                sample_size=scenario.sample_size or settings.sample_size,
                seed=seeds.derive(seed, scenario.title, 0),
                seeds=_seeds_of_pairs(scenario),
            ),
            measures_of,
        )
        for position, scenario in enumerate(scenarios)
    )


def _with_measures(plan: ScenarioPlan, measures_of: Callable[..., tuple[Measure, ...]]) -> ScenarioPlan:
    """Return a plan with its measures and, where its scenario has a table of cases, the plans of these.

    Judges rate all cases by one rubric, and are shown controls of one, that of the first trial: near misses are made of
    texts without places.
    """
    scenario = plan.scenario
    if not scenario.rows:
        return replace(plan, measures=measures_of(scenario))
    shown = scenario.case_at(0, plan.seed)
    cases = []
    for place, row in enumerate(scenario.rows):
        own = scenario.of_case(row)
        if place != shown:
            own = replace(own, then=[replace(each, **_NO_CONTROLS) for each in own.expectations])
        cases.append(replace(plan, scenario=own, measures=measures_of(own, template=scenario, case=row), case=row))
    measures = [
        replace(
            measure,
            label=label,
            expected_behavior=each.judged,
            own_rubric=each.levels,
            criteria=each.criteria,
            reference=each.reference,
        )
        for measure, label, each in zip(cases[shown or 0].measures, scenario.labels, scenario.expectations, strict=True)
    ]
    return replace(plan, measures=tuple(measures), cases=tuple(cases))


def _seeds_of_pairs(scenario: ScenarioTest) -> Sequence[int | None]:
    """Return the seeds of the trials of the run that a scenario is compared with; empty without one."""
    evaluators = [each for expectation in scenario.expectations for each in expectation.evaluators]
    return next((each.seeds for each in evaluators if isinstance(each, NotWorseEvaluator)), ())


def _measures(
    scenario: ScenarioTest,
    settings: Settings,
    judge_scorer: JudgeScorer,
    binder: ScorerBinder,
    requirements: int,
    template: ScenarioTest | None = None,
    case: Mapping[str, Any] = {},
) -> tuple[Measure, ...]:
    """Return the measures of a scenario; of the case of another one, its `template`, with that one's rubrics."""
    level = scenario.significance_level or settings.significance_level

    def scorer_for(written: Expectation) -> JudgeScorer:
        if template is None:
            return judge_scorer
        if written.behaviour is None:
            return partial(judge_scorer, labelled_as=written.judged)
        rubric = RubricTemplate(template.given, template.when, written.behaviour, case)
        return partial(judge_scorer, template=rubric, labelled_as=written.judged)

    written = (template or scenario).expectations
    return tuple(
        make_measure(
            label,
            expectation,
            settings,
            scorer_for(written),
            binder,
            level=level,
            requirements=requirements,
            columns=(*COLUMNS, "inputs", *case) if case else COLUMNS,
        )
        for label, expectation, written in zip(scenario.labels, scenario.expectations, written, strict=True)
    )


def make_measure(
    label: str,
    expectation: Expectation,
    settings: Settings,
    judge_scorer: JudgeScorer,
    binder: ScorerBinder,
    *,
    level: float,
    requirements: int,
    columns: Collection[str] = COLUMNS,
    has_app: bool = True,
) -> Measure:
    """Return an expectation ready to run, its evaluators at their share of the level. Raises DefinitionError."""
    if expectation.judged is not None:
        scorer = judge_scorer(expectation)
    else:
        for evaluator in expectation.evaluators if has_app else ():
            require_in_time(expectation, evaluator, settings.app_timeout_seconds)
        scorer = binder.bound(expectation.measured_by)
        scorer.check(columns)
    return Measure(
        label=label,
        scorer=scorer,
        path=expectation.score or scorer.default_score,
        evaluators=tuple(
            each.with_defaults(
                significance_level=level,
                early_stopping=settings.early_stopping,
                min_trials=settings.min_trials,
                requirements=requirements,
            )
            for each in expectation.evaluators
        ),
        expected_behavior=expectation.judged,
        own_rubric=expectation.levels,
        controls=None if settings.on_failed_control == "off" else expectation.shown_controls,
        criteria=expectation.criteria,
        reference=expectation.reference,
    )


def ranks_of(plans: Sequence[RunPlan], order: Order, store: Journal | None) -> list[int]:
    """Return the rank of each plan; may block. Raises DefinitionError if history is wanted and there is no database.

    By history the worse a scenario was at its last decision, the lower its rank; those that passed the last two times
    share the last rank.
    """
    if order != "history":
        return [place if order == "file" else 0 for place in range(len(plans))]
    from simeval.store.runs import past_outcomes  # SQLAlchemy takes a while to load

    past: dict[str, list[PastOutcome]] = defaultdict(list)
    for title, found in chain.from_iterable(each.items() for each in past_outcomes(as_database(store, "order"))):
        past[title].append(found)
    return _ranks([_suspicion([each.outcome for each in past[plan.title] if each.is_decided]) for plan in plans])


def earlier_runs(plans: Sequence[ScenarioPlan], app: str, store: Journal | None) -> Mapping[str, int]:
    """Return how often each scenario was run since it last passed, as far as a database knows; may block."""
    if not callable(getattr(store, "read", None)):
        return {}
    from simeval.store.runs import Asked, runs_since_pass  # SQLAlchemy takes a while to load

    asked = {
        plan.title: Asked(
            plan.scenario.given,
            plan.scenario.when,
            frozenset((one.label, *_asked(each)) for one in plan.measures for each in one.evaluators),
        )
        for plan in plans
    }
    return runs_since_pass(as_database(store, "earlier runs"), app, asked)


def _asked(evaluator: Evaluator) -> tuple[str, str]:
    """Return a requirement in words, and the other side if it is compared with one."""
    if isinstance(evaluator, NotWorseEvaluator):
        return evaluator.requirement.describe(), evaluator.run_id
    return evaluator.describe(), ""


def _suspicion(outcomes: Sequence[Outcome]) -> int:
    """Return how suspect a scenario is by its past outcomes, the newest first."""
    if not outcomes:
        return _CHANGED
    if outcomes[0] != "pass":
        return _SUSPICION[outcomes[0]]
    return _CHANGED if any(outcome != "pass" for outcome in outcomes[1:2]) else _TRUSTED


def _ranks(suspicions: Sequence[int]) -> list[int]:
    """Return a rank of its own for each that is suspected, the most first, and one after them for all others."""
    suspects = [place for place in range(len(suspicions)) if suspicions[place] < _TRUSTED]
    order = sorted(suspects, key=lambda place: suspicions[place])
    ranks = dict(zip(order, range(len(order)), strict=True))
    return [ranks.get(place, len(order)) for place in range(len(suspicions))]


def warnings_of(plans: Sequence[RunPlan], *, noted: bool = False) -> list[str]:
    """Return the warnings of all plans; one that concerns several is given once.

    With `noted` only those to repeat with the result, because no verdict contains them.
    """
    found: dict[str, list[PlanWarning]] = {}
    for plan in plans:
        for each in plan.warnings():
            if not (noted and each.needed is not None):
                found.setdefault(each.said, []).append(each)
    return [f"{_named(alike)}: {said}{_needed(alike)}" for said, alike in found.items()]


def _named(alike: Sequence[PlanWarning]) -> str:
    titles = list(dict.fromkeys(each.about for each in alike))
    if len(alike) == 1 and alike[0].label:
        return f"{titles[0]}, {alike[0].label!r}"
    return first_of(titles, MOST_NAMED)


def _needed(alike: Sequence[PlanWarning]) -> str:
    """Say how many trials it takes; of several requirements the least and the most."""
    needed = sorted({each.needed for each in alike if each.needed is not None})
    if not needed:
        return ""
    least = f"; at least {needed[0]}{f' to {needed[-1]}' if len(needed) > 1 else ''} are needed"
    enough = max((each.sufficient for each in alike if each.sufficient is not None), default=None)
    return least if enough is None else f"{least}; with {enough} a good app passes with {show_chance(POWER)}"
