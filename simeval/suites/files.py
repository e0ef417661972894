"""Suites from YAML files and Python modules; a mistake is reported with file, line and field."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from simeval.core.yaml_files import Problem, located, read_yaml
from simeval.errors import DefinitionError, SuiteFileError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.ratings import RatingAverageEvaluator, RatingProportionEvaluator, SuccessRateEvaluator
from simeval.evaluators.scores import MeanEvaluator, ProportionEvaluator, QuantileEvaluator
from simeval.scorers.metrics import BOUNDED, TURN_METRICS, find_metric
from simeval.scorers.registry import NAMED, NAMES, named_scorer
from simeval.suites.scenario import MAX_TURNS, Expectation, ScenarioTest, shorten

SUFFIXES = (".yaml", ".yml")

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Level = Annotated[float, Field(gt=0, lt=0.5)]
Whole = Annotated[int, Field(ge=1, strict=True)]


class _Record(BaseModel):
    """A mapping in a suite file. What it describes is made at once, so that a mistake is found at its line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        self.make()
        return self

    def make(self) -> Any:
        """Return what this record describes."""


class _Evaluator(_Record):
    significance_level: Level | None = None
    early_stopping: bool | Literal["anytime"] | None = None

    def make(self) -> Evaluator:
        """Return the evaluator this record describes."""
        return _EVALUATORS[type(self)](**self.model_dump(exclude={"type"}, exclude_none=True))


class _SuccessRate(_Evaluator):
    type: Literal["success_rate"]
    min_proportion: float


class _RatingProportion(_Evaluator):
    type: Literal["rating_proportion"]
    min_rating: float
    min_proportion: float


class _RatingAverage(_Evaluator):
    type: Literal["rating_average"]
    min_median_rating: float


class _Proportion(_Evaluator):
    type: Literal["proportion"]
    threshold: float = 1.0
    min_proportion: float | None = None
    max_proportion: float | None = None
    at_least: bool = True


class _Quantile(_Evaluator):
    type: Literal["quantile"]
    quantile: float = 0.5
    at_least: float | None = None
    at_most: float | None = None


class _Mean(_Evaluator):
    type: Literal["mean"]
    at_least: float | None = None
    at_most: float | None = None
    bounds: tuple[float, float] = (0.0, 1.0)


_EVALUATORS: dict[type[_Evaluator], Callable[..., Evaluator]] = {
    _SuccessRate: SuccessRateEvaluator,
    _RatingProportion: RatingProportionEvaluator,
    _RatingAverage: RatingAverageEvaluator,
    _Proportion: ProportionEvaluator,
    _Quantile: QuantileEvaluator,
    _Mean: MeanEvaluator,
}
_AnyEvaluator = Annotated[
    _SuccessRate | _RatingProportion | _RatingAverage | _Proportion | _Quantile | _Mean, Field(discriminator="type")
]


class _Expectation(_Record):
    evaluator: _AnyEvaluator | list[_AnyEvaluator]
    expected_behavior: Text | None = None
    scorer: Text | None = None
    score: Text | None = None
    label: Text | None = None

    def make(self) -> Expectation:
        evaluators = self.evaluator if isinstance(self.evaluator, list) else [self.evaluator]
        return Expectation(
            expected_behavior=self.expected_behavior,
            scorer=_scorer(self.scorer) if self.scorer else None,
            score=self.score,
            label=self.label,
            evaluator=[evaluator.make() for evaluator in evaluators],
        )


class _Scenario(_Record):
    title: Text
    given: Text
    when: Text
    then: _Expectation | list[_Expectation]
    sample_size: Whole | None = None
    significance_level: Level | None = None
    max_turns: Whole | None = None

    def make(self) -> ScenarioTest:
        expectations = self.then if isinstance(self.then, list) else [self.then]
        return ScenarioTest(
            title=self.title,
            given=self.given,
            when=self.when,
            then=[expectation.make() for expectation in expectations],
            sample_size=self.sample_size,
            significance_level=self.significance_level,
            max_turns=self.max_turns or MAX_TURNS,
        )


class _Suite(_Record):
    scenarios: Annotated[list[_Scenario], Field(min_length=1)]
    sample_size: Whole | None = None
    significance_level: Level | None = None
    max_turns: Whole | None = None

    def make(self) -> list[ScenarioTest]:
        defaults = {"sample_size": self.sample_size, "significance_level": self.significance_level}
        defaults["max_turns"] = self.max_turns
        return [
            scenario.model_copy(update={k: v for k, v in defaults.items() if getattr(scenario, k) is None}).make()
            for scenario in self.scenarios
        ]


def sized(scenarios: list[ScenarioTest], samples: int | None) -> list[ScenarioTest]:
    """Return scenarios with so many trials each, whatever they say; with None, as they are."""
    return scenarios if samples is None else [replace(each, sample_size=samples) for each in scenarios]


def load_suite(source: str) -> list[ScenarioTest]:
    """Load scenarios from a YAML file, a folder of them (in the order of their names), or `module:object`.

    Raises SuiteFileError for a mistake in a file and DefinitionError for anything else that cannot be used.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not files:
            raise DefinitionError(
                f"suite {source!r}", found="the folder holds no .yaml file", do="name a folder with suites"
            )
        return [scenario for file in files for scenario in load_file(file)]
    if path.suffix == ".py":
        raise DefinitionError(
            f"suite {source!r}", found="this is a Python file", do="name what it holds as module:object"
        )
    if path.is_file():
        return load_file(path)
    if path.suffix in SUFFIXES or ":" not in source:
        raise DefinitionError(
            f"suite {source!r}",
            found="there is no such file or folder",
            do="name a YAML file, a folder of them, or module:object",
        )
    return _scenarios_of(load_object(source, what="suite"), source)


def load_object(reference: str, *, what: str) -> Any:
    """Import `module:object`, also from the current folder. Raises DefinitionError."""
    module_name, _, attribute = reference.partition(":")
    do = f"name the {what} as MODULE:OBJECT, importable from the current folder"
    if not all(part.isidentifier() for part in [*module_name.split("."), *attribute.split(".")]):
        raise DefinitionError(f"{what} {reference!r}", found="this is not of the form MODULE:OBJECT", do=do)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever the module raises while it is imported
        raise DefinitionError(
            f"{what} {reference!r}", found=f"importing it failed ({type(error).__name__}: {error})", do=do
        ) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise DefinitionError(f"{what} {reference!r}", found=f"{module_name} has no {attribute!r}", do=do)
        found = getattr(found, name)
    return found


def load_file(path: Path) -> list[ScenarioTest]:
    """Load the scenarios of one YAML file. Raises SuiteFileError."""
    node, data = read_yaml(path)
    if data is None:
        raise SuiteFileError(str(path), line=1, field="", found="the file is empty", do="see simeval init for a suite")
    listed = isinstance(data, list)
    try:
        return _Suite.model_validate({"scenarios": data} if listed else data).make()
    except ValidationError as error:
        raise located(path, node, error, fields=_FIELDS, skip=1 if listed else 0, told=_told) from error


def _scorer(name: str) -> Any:
    metric = named_scorer(name) if name in NAMED else find_metric(name)
    if metric is not None:
        return metric
    if ":" in name:
        return load_object(name, what="scorer")
    raise DefinitionError(
        "scorer",
        found=f"found {name!r}",
        do=f"use one of {', '.join(NAMES)}, or {BOUNDED} (for {TURN_METRICS}), or a scorer of yours as MODULE:OBJECT",
    )


def _told(error: Mapping[str, Any], place: Sequence[int | str]) -> Problem | None:
    """Say a mistake in an evaluator in better words than pydantic has; None for another."""
    kind, field = error["type"], ".".join(map(str, place))
    if kind == "union_tag_invalid":
        return field, f"found the type {error['ctx']['tag']!r}", f"use one of {error['ctx']['expected_tags']}"
    if kind == "union_tag_not_found":
        return ".".join(map(str, [*place, "type"])), "the field is missing", f"add it: one of {_TYPES}"
    if place and place[-1] == "early_stopping":
        return field, f"found {shorten(repr(error['input']), 80)}", "use true, false or anytime"
    return None


_RECORDS: tuple[type[_Record], ...] = (_Suite, _Scenario, _Expectation, *_EVALUATORS)
_TYPES = ", ".join(repr(get_args(record.model_fields["type"].annotation)[0]) for record in _EVALUATORS)
_FIELDS = {name for record in _RECORDS for name in record.model_fields}


def _scenarios_of(found: Any, source: str) -> list[ScenarioTest]:
    scenarios = [found] if isinstance(found, ScenarioTest) else found
    if callable(scenarios) and not signature(scenarios).parameters:
        scenarios = scenarios()
    if not isinstance(scenarios, Sequence) or not all(isinstance(each, ScenarioTest) for each in scenarios):
        raise DefinitionError(
            f"suite {source!r}",
            found=f"found {type(found).__name__}",
            do="give a ScenarioTest, a list of them, or a function of none",
        )
    return list(scenarios)
