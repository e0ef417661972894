"""What an experiment will run, worked out and checked before the first call: a dataset, its scorers, what follows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from simeval.core import seeds
from simeval.core.settings import Settings
from simeval.datasets.dataset import Dataset
from simeval.engine.plans.scenario_plan import Measure, RunPlan, ScorerBinder, make_measure
from simeval.errors import DefinitionError
from simeval.scorers.base import Callers, Scorer
from simeval.suites.scenario import Expectation

TRIAL_COLUMNS = ("output", "input", "conversation", "seed")
SITUATION = {  # for a judge, who is told of a scenario where there is one
    "given": "Someone who uses the assistant.",
    "when": "What they say in the conversation.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan(RunPlan):
    """A dataset, ready to run: each example so many times, measured by every scorer, then concluded on."""

    dataset: Dataset
    repetitions: int

    @property
    def title(self) -> str:
        return self.dataset.name

    @property
    def key(self) -> str:
        return f"{self.dataset.name}, version {self.dataset.version}, {self.repetitions} times"

    @property
    def columns(self) -> Mapping[str, object]:
        return {"title": self.dataset.name, **SITUATION}


def make_dataset_plan(
    dataset: Dataset,
    scorers: Sequence[object],
    then: Sequence[Expectation],
    *,
    repetitions: int,
    settings: Settings,
    seed: int,
    judge_scorer: Callable[[str], Scorer],
    callers: Callers,
    clean: Callable[[str], str],
) -> DatasetPlan:
    """Check an experiment and give its plan. Raises DefinitionError.

    A scorer has one name in it, numbered where another has the same; an expectation names one of them by its name or
    by itself, or brings its own. Each is bound once, and measures once for all that is taken from it. `clean` takes
    secrets out of names.
    """
    if not scorers and not then:
        raise DefinitionError("evaluate", found="found no scorer", do="give scorers=[...], or then=[Expectation(...)]")
    columns = (*dataset.columns, *TRIAL_COLUMNS, *SITUATION)
    binder = ScorerBinder(callers)
    named: dict[str, Scorer] = {}
    for candidate in scorers:
        scorer = binder.bound(candidate)
        scorer.check(columns)
        named[_unique(clean(scorer.name), named)] = scorer
    measures = [Measure(label=label, scorer=scorer, path=scorer.default_score) for label, scorer in named.items()]
    listed = {id(scorer) for scorer in named.values()}
    requirements = sum(len(each.evaluators) for each in then) if settings.joint else 1
    concluded: list[str] = []
    for expectation in then:
        concluded.append(_unique(clean(_title(expectation)), concluded))
        made = make_measure(
            concluded[-1],
            _with_scorer(expectation, named),
            settings,
            judge_scorer,
            binder,
            where=f"dataset {dataset.name!r}",
            level=settings.significance_level,
            requirements=requirements,
            columns=columns,
        )
        measures.append(replace(made, keeps_details=id(made.scorer) not in listed))
    return DatasetPlan(
        position=0,
        measures=tuple(measures),
        sample_size=dataset.size * repetitions,
        seed=seeds.derive(seed, dataset.name),
        dataset=replace(dataset, name=clean(dataset.name)),
        repetitions=repetitions,
    )


def _with_scorer(expectation: Expectation, named: Mapping[str, Scorer]) -> Expectation:
    """Return an expectation with the scorer that it names. Raises DefinitionError where there is none."""
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


def _unique(label: str, taken: Collection[str]) -> str:
    number, name = 1, label
    while name in taken:
        number += 1
        name = f"{label} ({number})"
    return name
