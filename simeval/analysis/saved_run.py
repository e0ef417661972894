"""A run read back from its JSON result: the requirements it tested, and what each trial had to say on them."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from simeval.core.version import __version__
from simeval.errors import DefinitionError
from simeval.results.encoding import encode_suite
from simeval.results.suite import EvaluationResult, SuiteResult

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
        """Return whether a score is on the good side."""
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


def read_result(source: Source, where: str) -> StoredRun:
    """Return the run that a result holds, or raise DefinitionError naming `where` and the key that is at fault."""
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


def read_file(path: Path, where: str) -> StoredRun:
    """Return the run of a file that `simeval run --json` wrote. Raises DefinitionError where it is none."""
    return read_result(read_json(path, where), where)


def read_json(path: Path, where: str) -> Any:
    """Return what a file of JSON holds. Raises DefinitionError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(where, found=f"it cannot be read ({error.strerror})", do=AS_WRITTEN) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or endlessly nested
        raise DefinitionError(where, found=f"it is not JSON ({error})", do=AS_WRITTEN) from error


def scenarios_of(run: StoredRun) -> dict[str, StoredScenario]:
    """Return the scenarios of a run by their titles; titles that come again are numbered."""
    return {title: scenario for scenario, title in _numbered((each, each.title) for each in run.scenarios)}


def requirements_of(run: StoredRun) -> dict[Key, Requirement]:
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
    """Return each trial's outcome by its index; trials that a fixed sample did not get are missing."""
    length = len(chart.met) + len(chart.excluded)
    counted = [index for index in range(length) if index not in chart.excluded]
    taken: dict[int, bool | None] = dict(zip(counted, chart.met, strict=False))
    unseen = range(length, chart.n_max) if chart.stop == "never" else ()
    return taken | dict.fromkeys(unseen)
