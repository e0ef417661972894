"""What will be run, worked out and checked before the first call: one plan for each scenario."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simeval import seeds
from simeval.courses import Course
from simeval.errors import DefinitionError
from simeval.evaluator import Evaluator
from simeval.outcome import Trial
from simeval.scenario import Expectation, ScenarioTest, count_requirements
from simeval.scorers.scorer import Scorer, as_scorer
from simeval.settings import Settings, Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One expectation, ready to run: its scorer, the number to take, the evaluators at their levels."""

    label: str
    expectation: Expectation
    scorer: Scorer
    path: str | None
    evaluators: tuple[Evaluator, ...]

    def require_usable(self, value: float) -> None:
        """Raise DefinitionError for a value that an evaluator cannot conclude on, NaN among them."""
        for evaluator in self.evaluators:
            if not evaluator.accepts(value):
                raise DefinitionError(
                    f"scorer {self.scorer.name}",
                    found=f"it returned what is no value for {type(evaluator).__name__} (NaN, or out of bounds)",
                    do="return a number within the evaluator's bounds",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan:
    """One scenario, ready to run. `seed` is the scenario's own, from which those of its trials derive."""

    position: int
    scenario: ScenarioTest
    measures: tuple[Measure, ...]
    sample_size: int
    seed: int

    def trial(self, index: int) -> Trial:
        """Give the trial that has this place in the order dealt."""
        return Trial(self.position, index, seeds.derive(self.seed, index))

    def courses(self, stop: Stop | None) -> tuple[tuple[Course, ...], ...]:
        """Give a course for each evaluator of each expectation."""
        return tuple(
            tuple(evaluator.course(self.sample_size, stop=stop) for evaluator in measure.evaluators)
            for measure in self.measures
        )

    def acceptance(self, stop: Stop | None) -> list[tuple[str, str]]:
        """Give each requirement with what passes it, in words, before the first trial."""
        courses = [course for courses in self.courses(stop) for course in courses]
        return [
            (f"{course.name}, at most {course.n_max} trials", said)
            for course in courses
            if (said := course.acceptance())
        ]

    def warnings(self) -> list[str]:
        """Name the requirements that cannot be proven with this sample size, even by perfect scores."""
        return [
            f"{self.scenario.title}: {evaluator.describe()} cannot be proven with {self.sample_size} trials, even if "
            f"every one is met; at least {evaluator.minimum_trials()} are needed (significance level "
            f"{evaluator.alpha:g})"
            for measure in self.measures
            for evaluator in measure.evaluators
            if evaluator.minimum_trials() > self.sample_size
        ]


def make_plans(
    scenarios: Sequence[ScenarioTest],
    *,
    settings: Settings,
    seed: int,
    judge_scorer: Callable[[str], Scorer],
) -> tuple[ScenarioPlan, ...]:
    """Check every scenario and give its plan; `judge_scorer` makes the scorer of an expected behaviour.

    Raises DefinitionError. A scenario's seed depends on its title alone, so a suite can grow without
    changing the trials it had.
    """
    if not scenarios:
        raise DefinitionError("evaluate", found="found no scenario", do="give one or more ScenarioTests")
    for scenario in scenarios:
        if not isinstance(scenario, ScenarioTest):
            raise DefinitionError("evaluate", found=f"found {scenario!r}", do="give ScenarioTests")
    requirements = count_requirements(scenarios) if settings.joint else 1
    plans = []
    times_seen: dict[str, int] = {}
    for position, scenario in enumerate(scenarios):
        repeat = times_seen[scenario.title] = times_seen.get(scenario.title, -1) + 1
        plans.append(
            ScenarioPlan(
                position=position,
                scenario=scenario,
                measures=_measures(scenario, settings, judge_scorer, requirements),
                sample_size=scenario.sample_size or settings.sample_size,
                seed=seeds.derive(seed, scenario.title, repeat),
            )
        )
    return tuple(plans)


def _measures(
    scenario: ScenarioTest, settings: Settings, judge_scorer: Callable[[str], Scorer], requirements: int
) -> tuple[Measure, ...]:
    level = scenario.significance_level or settings.significance_level
    measures = []
    for label, expectation in zip(scenario.labels, scenario.expectations, strict=True):
        if expectation.expected_behavior is not None:
            scorer = judge_scorer(expectation.expected_behavior)
        else:
            scorer = as_scorer(expectation.scorer)
            scorer.check()
            if expectation.score is not None and scorer.paths and expectation.score not in scorer.paths:
                raise DefinitionError(
                    f"{scenario.title!r}: {label}: score",
                    found=f"{scorer.name} gives no {expectation.score!r}",
                    do=f"use one of {', '.join(scorer.paths)}",
                )
        measures.append(
            Measure(
                label=label,
                expectation=expectation,
                scorer=scorer,
                path=expectation.score or scorer.default_score,
                evaluators=tuple(
                    evaluator.with_defaults(
                        significance_level=level, early_stopping=settings.early_stopping, requirements=requirements
                    )
                    for evaluator in expectation.evaluators
                ),
            )
        )
    return tuple(measures)


def shared_columns(plan: ScenarioPlan) -> Mapping[str, object]:
    """Give the columns that all trials of a scenario share."""
    scenario = plan.scenario
    return {"title": scenario.title, "given": scenario.given, "when": scenario.when}
