"""A run read back from its JSON result: what was required of each trial, or measured of each example."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from simeval.core.direction import Direction
from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_experiment, encode_suite
from simeval.results.experiment import ExperimentResult
from simeval.results.screen.page import ShownCut
from simeval.results.suite import EvaluationResult, SuiteResult

AS_WRITTEN = "give what `--json PATH` writes, made by this version of simeval"

Met = Mapping[int, bool | None]  # of each trial by its index: whether it met the requirement, None where it is missing
Key = tuple[str, str, str]  # title, label and evaluator of a requirement, in words
Name = TypeVar("Name", bound=Hashable)


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class _Chart(_Saved):
    n_max: int
    stop: Literal["gate", "verdict", "never"]
    met: tuple[StrictBool | None, ...]
    excluded: frozenset[int] = frozenset()


class SavedCut(_Saved):
    """Where a score begins to speak for a requirement."""

    sign: Literal[">=", "<=", ">", "<"]
    score: float

    def holds(self, score: float) -> bool:
        """Return whether a score is on the good side."""
        return ShownCut(self.sign, self.score).holds(score)


class _Verdict(_Saved):
    evaluator: str
    chart: _Chart | None
    cut: SavedCut | None = None
    why: str = ""


class _Expectation(_Saved):
    label: str
    verdicts: tuple[_Verdict, ...]
    expected_behavior: str | None = None


class _Score(_Saved):
    score: float | None
    reasoning: str = ""


class _Turn(_Saved):
    role: str
    content: str
    tool_calls: tuple[dict[str, Any], ...] = ()


class SavedTrial(_Saved):
    """One trial of a run's JSON result."""

    index: int
    seed: int | None = None  # older results have none
    scores: dict[str, _Score]
    turns: tuple[_Turn, ...] = ()
    ended: str = ""


class SavedScenario(_Saved):
    """One scenario of a run's JSON result."""

    title: str
    given: str | None = None
    when: str | None = None
    sample_size: int
    trials: int
    expectations: tuple[_Expectation, ...]
    conversations: tuple[SavedTrial, ...]
    outcome: str = ""


class SavedRun(_Saved):
    """A run's JSON result, as far as it is read back."""

    simeval: str
    run_id: str
    seed: int
    app: str
    models: dict[str, str]
    judge_repeats: int = 1
    judge_examples: frozenset[str] = frozenset()
    conditions: dict[str, Any] | None = None  # older results have none
    scenarios: tuple[SavedScenario, ...]


class _Dataset(_Saved):
    name: str
    version: str
    repetitions: int


class _Metric(_Saved):
    name: str
    kind: Literal["share", "mean"]
    direction: Direction | None = None


class _Examples(_Saved):
    keys: tuple[str, ...]
    values: dict[str, tuple[float | None, ...]]
    crashed: frozenset[int] = frozenset()


class SavedExperiment(_Saved):
    """An experiment's JSON result, as far as it is read back."""

    simeval: str
    run_id: str
    app: str
    seed: int | None = None
    models: dict[str, str] = {}
    judge_repeats: int = 1
    stopped: str = ""
    dataset: _Dataset
    scorers: tuple[str, ...] = ()
    metrics: tuple[_Metric, ...]
    examples: _Examples

    def kind_of(self, name: str) -> Literal["share", "mean"] | None:
        """Return the kind of a metric; None where the run has no value of it."""
        return next((metric.kind for metric in self.metrics if metric.name == name), None)

    def measured(self, name: str) -> bool:
        """Return whether the scorer of a metric was in the run."""
        return any(name == scorer or name.startswith(f"{scorer}.") for scorer in self.scorers)

    def direction_of(self, name: str) -> Direction | None:
        """Return which way a metric is better, as its scorer declared; None where that is not known.

        Results of versions that did not keep it have that of a scorer of simeval's own by its name.
        """
        metric = next((metric for metric in self.metrics if metric.name == name), None)
        if metric is not None and "direction" in metric.model_fields_set:
            return metric.direction
        from simeval.scorers.registry import direction_by_name  # most results do not need it

        owners = [scorer for scorer in self.scorers if name == scorer or name.startswith(f"{scorer}.")]
        owner = max(owners, key=len, default=None)
        return None if owner is None else direction_by_name(owner, name[len(owner) + 1 :])

    def value(self, name: str, place: int, *, is_share: bool) -> float | None:
        """Return the mean of the answers to the example at a place; None where there is none.

        Of a share, an answer that the app failed on is no.
        """
        times, crashed = self.dataset.repetitions, self.examples.crashed if is_share else frozenset()
        found = self.examples.values.get(name)
        places = range(place * times, (place + 1) * times)
        values = [0.0 if at in crashed else found[at] if found else None for at in places]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    def crashes(self, place: int) -> float:
        """Return the share of the answers to the example at a place that the app failed on."""
        times = self.dataset.repetitions
        return sum(at in self.examples.crashed for at in range(place * times, (place + 1) * times)) / times

    def places(self) -> dict[str, int]:
        """Return the places of examples by their keys, numbered where one has come before; not of those not reached."""
        return {key: place for place, key in _numbered((at, key) for at, key in enumerate(self.examples.keys) if key)}


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
    cut: SavedCut | None = None


Saved = SavedRun | SavedExperiment
RunResult = SuiteResult | EvaluationResult | ExperimentResult | Mapping[str, Any]
Source = RunResult | Saved


def read_result(source: Source, where: str) -> Saved:
    """Return what a result holds, of a suite or of an experiment.

    Raises DefinitionError naming `where` and the key that is at fault.
    """
    if isinstance(source, (SavedRun, SavedExperiment)):
        return source
    if isinstance(source, (str, Path)):
        if len(Path(source).parts) == 1 and not Path(source).suffix:
            do = f"give a result; `simeval show {source} --json PATH` writes that of a stored run, for json.loads"
            raise DefinitionError(where, found=f"found a text, {str(source)!r}", do=do)
        do = "give what the file holds: json.loads(Path(...).read_text())"
        raise DefinitionError(where, found=f"found a path, {str(source)!r}", do=do)
    found = document_of(source)
    kinds: dict[str, type[SavedRun] | type[SavedExperiment]] = {"scenarios": SavedRun, "metrics": SavedExperiment}
    keys = set(found) if isinstance(found, Mapping) else set()
    kind = next((kind for key, kind in kinds.items() if key in keys), None)
    if kind is None or "simeval" not in keys:
        stored = getattr(source, "run_id", None)
        do = f"give what `simeval show {stored} --json PATH` writes, for json.loads" if stored else AS_WRITTEN
        raise DefinitionError(where, found="this is no result of a simeval run", do=do)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        missing = first["type"] == "missing"
        said = f"the key {field} is missing" if missing else f"{field}: {first['msg']} ({first['input']!r:.80})"
        raise DefinitionError(where, found=said, do=AS_WRITTEN) from error


def require_different(runs: Sequence[Saved], where: str) -> None:
    """Raise DefinitionError where two of these runs are one."""
    ids = [run.run_id for run in runs]
    twice = next((each for place, each in enumerate(ids) if each in ids[:place]), None)
    if twice is not None:
        what, which = ("both", "two") if len(ids) == 2 else ("two", "different")
        do = f"give {which} runs: a run is not better or worse than itself"
        raise DefinitionError(where, found=f"{what} are run {twice}", do=do)


def read_suite(source: Source, where: str) -> SavedRun:
    """Return the run of a suite that a result holds. Raises DefinitionError as `read_result`, also for another kind."""
    found = read_result(source, where)
    if isinstance(found, SavedExperiment):
        raise DefinitionError(where, found="this is the result of an experiment", do="give that of a suite")
    return found


def document_of(result: RunResult) -> Mapping[str, Any]:
    """Return a result in the form that JSON has."""
    if isinstance(result, EvaluationResult):
        result = SuiteResult((result,), result.run)
    if isinstance(result, SuiteResult):
        return encode_suite(result.results, result.run, version=__version__)
    return encode_experiment(result, version=__version__) if isinstance(result, ExperimentResult) else result


def read_file(path: Path, where: str) -> SavedRun:
    """Return the run of a file that `simeval run --json` wrote. Raises DefinitionError where it is none."""
    return read_suite(read_json(path, where), where)


def read_json(path: Path, where: str) -> Any:
    """Return what a file of JSON holds. Raises DefinitionError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(where, found=f"it cannot be read ({error.strerror})", do=AS_WRITTEN) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or endlessly nested
        raise DefinitionError(where, found=f"it is not JSON ({error})", do=AS_WRITTEN) from error


def scenarios_of(run: SavedRun) -> dict[str, SavedScenario]:
    """Return the scenarios of a run by their titles; titles that come again are numbered."""
    return {title: scenario for scenario, title in _numbered((each, each.title) for each in run.scenarios)}


def requirements_of(run: SavedRun) -> dict[Key, Requirement]:
    """Return the requirements of a run by their words; words that come again are numbered."""
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


def _requirement(scenario: SavedScenario, label: str, verdict: _Verdict) -> Requirement:
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
    """Return each trial's outcome by its index; trials that a fixed sample did not get are missing."""
    length = len(chart.met) + len(chart.excluded)
    counted = [index for index in range(length) if index not in chart.excluded]
    taken: dict[int, bool | None] = dict(zip(counted, chart.met, strict=False))
    unseen = range(length, chart.n_max) if chart.stop == "never" else ()
    return taken | dict.fromkeys(unseen)
