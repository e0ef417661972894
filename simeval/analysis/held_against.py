"""A suite compared with another run, or app: its verdicts are on being worse, and not on meeting its bars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simeval.analysis.comparison import require_measured
from simeval.analysis.matching import Outcomes
from simeval.analysis.saved_run import RequirementOutcomes, Source, read_suite, requirements_of, scenarios_of
from simeval.core.app_handler import AppHandler
from simeval.core.logs import log
from simeval.core.settings import MARGIN
from simeval.errors import DefinitionError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.not_worse import OUTCOMES, NotWorseEvaluator, OtherApp
from simeval.results.document import ExperimentDocument, RunDocument, ScenarioDocument
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import ScenarioResult, SuiteResult
from simeval.suites.apps.named import app_of, name_of
from simeval.suites.scenario import Expectation, ScenarioTest

SIGN = {met: sign for sign, met in OUTCOMES.items()}


def against(
    scenarios: ScenarioTest | Sequence[ScenarioTest], baseline: Source | AppHandler, *, margin: float = MARGIN
) -> tuple[ScenarioTest, ...]:
    """Return scenarios whose requirements are to be met no less often than in the `baseline`, but for a margin.

    The baseline is a run or an app. Against a run, an engine that runs them asks the new app alone: the baseline's
    results stay, and trials with the same place and seed are pairs. So its seed has to be the baseline's. Against an
    app, an engine asks both in each trial, and stores the baseline's results as a run of its own.

    Each requirement ends as soon as it is proven not to be worse by the `margin`, which is a pass, or to be worse,
    which is a fail. A requirement that the baseline lacks, or that has no yes or no for each trial (a mean), is left
    out; the log reports it.

    Raises DefinitionError if nothing is in common, or a scenario has another user now.
    """
    scenarios = [scenarios] if isinstance(scenarios, ScenarioTest) else scenarios
    if not isinstance(
        baseline, (RunDocument, ExperimentDocument, SuiteResult, ScenarioResult, ExperimentResult, Mapping)
    ):
        return _against_app(scenarios, app_of(baseline), margin)
    run = read_suite(baseline, "against")
    require_measured(run, "against")
    side = _Side(run, margin)
    found = tuple(each for each in map(side.held, scenarios) if each is not None)
    if not found:
        raise DefinitionError(
            f"against run {run.run_id}",
            found="it has no requirement of this suite with a yes or no for each trial",
            do="give a run of this suite",
        )
    return found


def _against_app(
    scenarios: Sequence[ScenarioTest], app: Callable[..., Any] | str, margin: float
) -> tuple[ScenarioTest, ...]:
    name = app if isinstance(app, str) else name_of(app)
    found = [_held_against_app(each, OtherApp(app), name, margin) for each in scenarios]
    if not any(found):
        do = "require a share of the trials, such as a success rate"
        raise DefinitionError(f"against app {name}", found="no requirement has a yes or no for each trial", do=do)
    return tuple(filter(None, found))


def _held_against_app(scenario: ScenarioTest, app: OtherApp, name: str, margin: float) -> ScenarioTest | None:
    """Return a scenario ready to run; None if none of its requirements has a yes or no for each trial."""
    then = []
    for label, expectation in zip(scenario.labels, scenario.expectations, strict=True):
        held = [
            NotWorseEvaluator(
                requirement=each,
                run_id=name,
                seed=None,
                before="",
                margin=margin,
                other=app,
                **_as_it_is_tested(each),
            )
            for each in expectation.evaluators
            if each.has_outcomes
        ]
        for each in expectation.evaluators:
            if not each.has_outcomes:
                why = "it has no yes or no for each trial"
                log.warning(f"left out, against app {name}: {scenario.title}: {label}: {each.describe()}: {why}")
        if held:
            then.append(replace(expectation, evaluator=tuple(held), label=label))
    return replace(scenario, then=tuple(then)) if then else None


def _as_it_is_tested(evaluator: Evaluator) -> dict[str, Any]:
    """Return the settings of an evaluator that a comparison takes over."""
    return {name: getattr(evaluator, name) for name in ("significance_level", "early_stopping", "min_trials")}


@dataclass(frozen=True, slots=True)
class _Side:
    """The run that a suite is compared with."""

    run: RunDocument
    margin: float

    def held(self, scenario: ScenarioTest) -> ScenarioTest | None:
        """Return a scenario ready to run; None if it has nothing in common with the run."""
        saved = scenarios_of(self.run).get(scenario.title)
        for name in ("given", "when") if saved else ():
            before = getattr(saved, name)
            if before not in (None, getattr(scenario, name)):
                do = f"give a run of the scenario as it is now, or --only the others; it was {before!r}"
                raise DefinitionError(
                    f"against run {self.run.run_id}: {scenario.title}: {name}", found="changed", do=do
                )
        then = [
            held
            for label, expectation in zip(scenario.labels, scenario.expectations, strict=True)
            if (held := self._expectation(scenario.title, label, expectation)) is not None
        ]
        return replace(scenario, then=tuple(then)) if then else None

    def _expectation(self, title: str, label: str, expectation: Expectation) -> Expectation | None:
        known = requirements_of(self.run)
        held = []
        for evaluator in expectation.evaluators:
            requirement = known.get((title, label, evaluator.describe()))
            if requirement is None or not requirement.met:
                why = "it is not there" if requirement is None else "it has no yes or no for each trial"
                log.warning(f"left out, against run {self.run.run_id}: {title}: {label}: {evaluator.describe()}: {why}")
                continue
            held.append(self._evaluator(evaluator, requirement, scenarios_of(self.run)[title]))
        return replace(expectation, evaluator=tuple(held), label=label) if held else None

    def _evaluator(
        self, evaluator: Evaluator, requirement: RequirementOutcomes, scenario: ScenarioDocument
    ) -> NotWorseEvaluator:
        met = _in_order(requirement, scenario)
        seeds = {each.trial.index: each.trial.seed or None for each in scenario.judgements}  # older results have none
        return NotWorseEvaluator(
            requirement=evaluator,
            run_id=self.run.run_id,
            seed=self.run.seed,
            judge=self.run.models.get("judge", ""),
            user=self.run.models.get("user", ""),
            conditions=self.run.conditions,
            before="".join(SIGN[each] for each in met),
            seeds=[seeds.get(index) for index in range(len(met))],
            margin=self.margin,
            stopped_early=requirement.stopped_early,
            **_as_it_is_tested(evaluator),
        )


def _in_order(requirement: RequirementOutcomes, scenario: ScenarioDocument) -> Outcomes:
    """Return the outcome of each trial of a requirement by its place; one that was left out is missing.

    Older results lack the seeds of trials: those after a cut were dealt again, with another, and are missing, too.
    """
    met = requirement.met or {}
    ended = ((each.trial, each.conversation.ended) for each in scenario.judgements)
    cuts = [trial.index for trial, how in ended if how == "cut" and not trial.seed]
    known = min(cuts, default=max(met) + 1)
    return [met.get(index) if index < known else None for index in range(max(met) + 1)]
