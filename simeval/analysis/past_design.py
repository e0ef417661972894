"""Designs informed by an earlier run: how many trials a scenario may use, and the rates near which they are few.

Only that: the run that is planned counts its own trials alone, so its error rates are as they would be without. A rate
that was seen is a guess, kept from 0 and 1 by half a trial of each kind (Jeffreys 1946).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from simeval.analysis.saved_run import Key, RequirementOutcomes, Source, read_suite, requirements_of
from simeval.core.settings import POWER, Settings
from simeval.evaluators.base import Evaluator, ShareEvaluator
from simeval.stats import planning
from simeval.stats.optimal import LARGEST
from simeval.suites.scenario import Expectation, ScenarioTest, count_requirements

_DIGITS = 3  # of a rate: more would be another definition, and no other design


def planned_from(
    scenarios: Sequence[ScenarioTest], past: Source, settings: Settings, *, power: float = POWER
) -> tuple[ScenarioTest, ...]:
    """Return the scenarios with sizes and designs based on their results in an earlier run.

    Each requirement on a share that was measured there gets its `expected_rate`; with that a scenario may use so many
    trials that each is proven with the chance `power`, up to 1,000. A requirement that was not measured there, or is
    not above its bar, keeps its size. Raises DefinitionError for anything but a result of a suite.
    """
    seen = requirements_of(read_suite(past, "the run to plan from"))
    requirements = count_requirements(scenarios) if settings.joint else 1
    return tuple(_Planner(each, settings, seen, requirements, power).planned() for each in scenarios)


class _Planner:
    """Plans one scenario."""

    def __init__(
        self,
        scenario: ScenarioTest,
        settings: Settings,
        seen: Mapping[Key, RequirementOutcomes],
        requirements: int,
        power: float,
    ) -> None:
        self._scenario, self._settings, self._seen = scenario, settings, seen
        self._requirements, self._power = requirements, power
        self._size = scenario.sample_size or settings.sample_size
        self._sizes: list[int] = []

    def planned(self) -> ScenarioTest:
        """Return the scenario as large as the largest of its requirements."""
        expectations = [
            self._expectation(label, each)
            for label, each in zip(self._scenario.labels, self._scenario.expectations, strict=True)
        ]
        return replace(self._scenario, then=expectations, sample_size=max(self._sizes))

    def _expectation(self, label: str, expectation: Expectation) -> Expectation:
        found = [self._evaluator(label, each) for each in expectation.evaluators]
        return replace(expectation, evaluator=found)

    def _evaluator(self, label: str, evaluator: Evaluator) -> Evaluator:
        used = evaluator.with_defaults(
            significance_level=self._scenario.significance_level or self._settings.significance_level,
            early_stopping=self._settings.early_stopping,
            min_trials=self._settings.min_trials,
            requirements=self._requirements,
        )
        past = self._seen.get((self._scenario.title, label, used.describe()))
        counted = [met for met in (past.met or {}).values() if met is not None] if past else []
        if not counted or not isinstance(used.rule, ShareEvaluator):
            self._sizes.append(self._size)
            return evaluator
        rate = round((sum(counted) + 0.5) / (len(counted) + 1), _DIGITS)
        self._sizes.append(self._size_for(used.rule, rate))
        return replace(evaluator, expected_rate=rate)

    def _size_for(self, rule: ShareEvaluator, rate: float) -> int:
        """Return the trials with which an app of this rate proves the requirement, if that is within reach."""
        bar, level = rule.required_share, rule.alpha
        size: int | None = None
        if rule.early_stopping is False:
            fixed = planning.fixed_sample(bar, rate, alpha=level, power=self._power)
            size = fixed.safe if fixed else None
        elif rule.early_stopping == "anytime":
            size = self._size
        else:
            made = planning.sequential_sample(bar, rate, alpha=level, power=self._power, min_trials=rule.first_verdict)
            size = made.n_max if made else None
        return size if size is not None and size <= LARGEST else self._size
