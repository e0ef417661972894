"""A run read back from its JSON result: what was required of each trial, or measured of each example."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from simeval.direction import Direction
from simeval.encode import encode_experiment, encode_suite
from simeval.errors import DefinitionError
from simeval.experiment_results import ExperimentResult
from simeval.results import EvaluationResult, SuiteResult
from simeval.version import __version__

AS_WRITTEN = "give what `simeval run --json PATH` writes, made by this version of simeval"

Met = Mapping[int, bool | None]  # of each trial by its index: whether it met the requirement, None where it is missing
Key = tuple[str, str, str]  # title, label and evaluator of a requirement, in words
Name = TypeVar("Name", bound=Hashable)


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class _Chart(_Stored):
    n_max: int
    stop: Literal["gate", "verdict", "never"]
    met: tuple[StrictBool | None, ...]
    excluded: frozenset[int] = frozenset()


class Cut(_Stored):
    """Where a score begins to speak for a requirement."""

    sign: Literal[">=", "<=", ">", "<"]
    score: float

    def holds(self, score: float) -> bool:
        """Whether a score is on the good side."""
        return {
            ">=": score >= self.score,
            "<=": score <= self.score,
            ">": score > self.score,
            "<": score < self.score,
        }[self.sign]


class _Verdict(_Stored):
    evaluator: str
    chart: _Chart | None
    cut: Cut | None = None


class _Expectation(_Stored):
    label: str
    verdicts: tuple[_Verdict, ...]
    expected_behavior: str | None = None


class _Score(_Stored):
    score: float | None
    reasoning: str = ""


class _Turn(_Stored):
    role: str
    content: str


class StoredTrial(_Stored):
    """One trial of a run's JSON result."""

    index: int
    scores: dict[str, _Score]
    turns: tuple[_Turn, ...] = ()
    ended: str = ""


class StoredScenario(_Stored):
    """One scenario of a run's JSON result."""

    title: str
    sample_size: int
    trials: int
    expectations: tuple[_Expectation, ...]
    conversations: tuple[StoredTrial, ...]


class StoredRun(_Stored):
    """A run's JSON result, as far as it is read back."""

    simeval: str
    run_id: str
    seed: int
    app: str
    models: dict[str, str]
    judge_repeats: int = 1
    scenarios: tuple[StoredScenario, ...]


class _Dataset(_Stored):
    name: str
    version: str
    repetitions: int


class _Metric(_Stored):
    name: str
    kind: Literal["share", "mean"]
    direction: Direction | None = None


class _Examples(_Stored):
    keys: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]
    crashed: frozenset[int] = frozenset()


class StoredExperiment(_Stored):
    """An experiment's JSON result, as far as it is read back."""

    run_id: str
    app: str
    models: dict[str, str] = {}
    stopped: str = ""
    dataset: _Dataset
    scorers: tuple[str, ...] = ()
    metrics: tuple[_Metric, ...]
    examples: _Examples

    def __str__(self) -> str:
        times = f" x {self.dataset.repetitions}" if self.dataset.repetitions > 1 else ""
        return f"run {self.run_id}, target {self.app}, dataset {self.dataset.name} ({self.dataset.version}){times}"

    def kind_of(self, name: str) -> Literal["share", "mean"] | None:
        """Give the kind of a metric; None where the run has no value of it."""
        return next((metric.kind for metric in self.metrics if metric.name == name), None)

    def measured(self, name: str) -> bool:
        """Whether the scorer of a metric was in the run."""
        return any(name == scorer or name.startswith(f"{scorer}.") for scorer in self.scorers)

    def direction_of(self, name: str) -> Direction | None:
        """Return which way a metric is better, as its scorer declared; None where that is not known.

        Results of versions that did not keep it have that of a scorer of simeval's own by its name.
        """
        metric = next((metric for metric in self.metrics if metric.name == name), None)
        if metric is not None and "direction" in metric.model_fields_set:
            return metric.direction
        from simeval.scorers.by_name import direction_by_name

        owners = [scorer for scorer in self.scorers if name == scorer or name.startswith(f"{scorer}.")]
        owner = max(owners, key=len, default=None)
        return None if owner is None else direction_by_name(owner, name[len(owner) + 1 :])

    def value(self, name: str, place: int, *, is_share: bool) -> float:
        """Give the mean of the answers to the example at a place, NaN where there is none.

        Of a share, an answer that the app failed on is no.
        """
        times, crashed = self.dataset.repetitions, self.examples.crashed if is_share else frozenset()
        found = self.examples.values.get(name)
        places = range(place * times, (place + 1) * times)
        values = [0.0 if at in crashed else found[at] if found else None for at in places]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else nan

    def crashes(self, place: int) -> float:
        """Give the share of the answers to the example at a place that the app failed on."""
        times = self.dataset.repetitions
        return sum(at in self.examples.crashed for at in range(place * times, (place + 1) * times)) / times


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement of a run.

    `met` says of each trial that counts whether it met the requirement; None where the requirement is no yes or
    no for each trial (a mean). `scores` are the scores of the trials that have one, by index, `trials` how many
    there were. `stopped_early` says whether the data ended the sample before its planned size, `sequential`
    whether they could have; `left_out` are the trials that do not count because the app failed on them. `cut`
    is where a score meets the requirement, where that is known.
    """

    met: Met | None
    scores: Mapping[int, float]
    trials: int
    stopped_early: bool
    left_out: frozenset[int] = frozenset()
    sequential: bool = False
    cut: Cut | None = None


Source = SuiteResult | EvaluationResult | StoredRun | Mapping[str, Any]
Experimental = ExperimentResult | Mapping[str, Any]


def read_result(source: Source, where: str) -> StoredRun:
    """Give the run that a result holds, or raise DefinitionError naming `where` and the key that is at fault."""
    if isinstance(source, StoredRun):
        return source
    if isinstance(source, EvaluationResult):
        source = SuiteResult((source,), source.run)
    if isinstance(source, SuiteResult):
        source = encode_suite(source.results, source.run, version=__version__)
    if not isinstance(source, Mapping) or not {"simeval", "scenarios"} <= set(source):
        raise DefinitionError(where, found="this is no result of a simeval run", do=AS_WRITTEN)
    try:
        return StoredRun.model_validate(source)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        missing = first["type"] == "missing"
        found = f"the key {field} is missing" if missing else f"{field}: {first['msg']} ({first['input']!r:.80})"
        raise DefinitionError(where, found=found, do=AS_WRITTEN) from error


def read_experiment(source: Experimental, where: str) -> StoredExperiment:
    """Return the experiment that a result holds. Raises DefinitionError naming `where` and the key at fault."""
    found = encode_experiment(source, version=__version__) if isinstance(source, ExperimentResult) else source
    try:
        return StoredExperiment.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        do = "give the result of an experiment, made by this version of simeval"
        raise DefinitionError(where, found=f"{field}: {first['msg']}", do=do) from error


def read_file(path: Path, where: str) -> StoredRun:
    """Give the run of a file that `simeval run --json` wrote. Raises DefinitionError where it is none."""
    return read_result(read_json(path, where), where)


def read_json(path: Path, where: str) -> Any:
    """Give what a file of JSON holds. Raises DefinitionError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(where, found=f"it cannot be read ({error.strerror})", do=AS_WRITTEN) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or endlessly nested
        raise DefinitionError(where, found=f"it is not JSON ({error})", do=AS_WRITTEN) from error


def scenarios_of(run: StoredRun) -> dict[str, StoredScenario]:
    """Give the scenarios of a run by their titles; titles that come again are numbered."""
    return {title: scenario for scenario, title in _numbered((each, each.title) for each in run.scenarios)}


def requirements_of(run: StoredRun) -> dict[Key, Requirement]:
    """Give the requirements of a run by their words; words that come again are numbered."""
    return {
        (title, expectation.label, evaluator): _requirement(scenario, expectation.label, verdict)
        for title, scenario in scenarios_of(run).items()
        for expectation in scenario.expectations
        for verdict, evaluator in _numbered((each, each.evaluator) for each in expectation.verdicts)
    }


def _numbered(named: Iterable[tuple[Name, str]]) -> Iterator[tuple[Name, str]]:
    seen = Counter[str]()
    for thing, name in named:
        seen[name] += 1
        yield thing, name if seen[name] == 1 else f"{name} ({seen[name]})"


def _requirement(scenario: StoredScenario, label: str, verdict: _Verdict) -> Requirement:
    known = {trial.index: trial.scores[label].score for trial in scenario.conversations if label in trial.scores}
    scores = {index: score for index, score in known.items() if score is not None}
    chart = verdict.chart
    if chart is None:
        early = scenario.trials < scenario.sample_size
        return Requirement(met=None, scores=scores, trials=scenario.trials, stopped_early=early, cut=verdict.cut)
    met = _by_index(chart)
    return Requirement(
        met=met,
        scores=scores,
        trials=len(met),
        stopped_early=chart.stop != "never" and len(chart.met) + len(chart.excluded) < chart.n_max,
        left_out=chart.excluded,
        sequential=chart.stop != "never",
        cut=verdict.cut,
    )


def _by_index(chart: _Chart) -> Met:
    """Give each trial's outcome by its index; trials that a fixed sample did not get are missing."""
    length = len(chart.met) + len(chart.excluded)
    counted = [index for index in range(length) if index not in chart.excluded]
    taken: dict[int, bool | None] = dict(zip(counted, chart.met, strict=False))
    unseen = range(length, chart.n_max) if chart.stop == "never" else ()
    return taken | dict.fromkeys(unseen)
