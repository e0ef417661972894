"""A run read back from its JSON result: the requirements on each trial, or the measurements of each example."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from simeval.core.settings import DEFAULTS
from simeval.core.trial import Chart, TrialResult
from simeval.errors import DefinitionError
from simeval.results.document import (
    ExperimentDocument,
    PeopleStandard,
    Requirement,
    RunDocument,
    ScenarioDocument,
    ScoreCut,
    numbered,
)
from simeval.results.reading import read_document

AS_WRITTEN = "give what `--json PATH` writes, made by this version of simeval"

Met = Mapping[int, bool | None]  # of each trial by its index: whether it met the requirement, None if it is missing
Key = tuple[str, str, str]  # title, label and evaluator of a requirement, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementOutcomes:
    """The outcomes of one requirement of a run.

    `met` holds for each trial that counts whether it met the requirement; None if the requirement is no yes or no for
    each trial (a mean). `scores` are the scores of the trials that have one, by index, `trials` how many there were.
    `stopped_early` is whether the data ended the sample before its planned size, `sequential` whether they could have;
    `left_out` are the trials that do not count because the app failed on them. `cut` is the lowest score that meets the
    requirement, if known; `by_people` is set if it is on the rate that people would find.
    """

    met: Met | None
    scores: Mapping[int, float]
    trials: int
    stopped_early: bool
    left_out: frozenset[int] = frozenset()
    sequential: bool = False
    cut: ScoreCut | None = None
    by_people: PeopleStandard | None = None
    significance_level: float = DEFAULTS.significance_level
    chart: Chart | None = None


Saved = RunDocument | ExperimentDocument
SavedRun = RunDocument  # the names of older versions
SavedScenario = ScenarioDocument
SavedExperiment = ExperimentDocument
SavedTrial = TrialResult


@runtime_checkable
class _Result(Protocol):
    """The result of a suite, of a scenario or of an experiment."""

    def run_document(self) -> Saved:
        """Return the document of its run."""


RunResult = _Result | Mapping[str, Any] | Path | str
Source = RunResult | Saved


def read_result(source: Source, where: str) -> Saved:
    """Return the contents of a result, of a suite or of an experiment.

    Raises DefinitionError naming `where` and the key that is at fault.
    """
    if isinstance(source, (RunDocument, ExperimentDocument)):
        _require_outcomes(source, where)
        return source
    if isinstance(source, (str, Path)):
        if len(Path(source).parts) == 1 and not Path(source).suffix:
            do = f"give a result; `simeval show {source} --json PATH` writes that of a stored run, for json.loads"
            raise DefinitionError(where, found=f"found a text, {str(source)!r}", do=do)
        return _of_json(read_json(Path(source), f"{where} '{source}'"), where)
    return source.run_document() if isinstance(source, _Result) else _of_json(source, where)


def _of_json(found: Any, where: str) -> Saved:
    """Return the document of a machine-readable result. Raises DefinitionError."""
    keys = set(found) if isinstance(found, Mapping) else set()
    if "simeval" not in keys or not keys & {"scenarios", "metrics"}:
        stored = getattr(found, "run_id", None)
        do = f"give what `simeval show {stored} --json PATH` writes, for json.loads" if stored else AS_WRITTEN
        raise DefinitionError(where, found="this is no result of a simeval run", do=do)
    try:
        read: Saved = read_document(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        missing = first["type"] == "missing"
        said = f"the key {field} is missing" if missing else f"{field}: {first['msg']} ({first['input']!r:.80})"
        raise DefinitionError(where, found=said, do=AS_WRITTEN) from error
    except KeyError as error:
        raise DefinitionError(where, found=f"the key {error.args[0]} is missing", do=AS_WRITTEN) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise DefinitionError(where, found=f"it cannot be read ({error})", do=AS_WRITTEN) from error
    if isinstance(read, ExperimentDocument) and not isinstance(found.get("examples"), Mapping):
        raise DefinitionError(where, found="the key examples is missing", do=AS_WRITTEN)
    _require_outcomes(read, where)
    return read


def _require_outcomes(read: Saved, where: str) -> None:
    """Raise DefinitionError for a suite's verdict without the outcomes of its trials: older results have none."""
    if isinstance(read, ExperimentDocument):
        return
    for place, scenario in enumerate(read.scenarios):
        for number, expectation in enumerate(scenario.expectations):
            for at, verdict in enumerate(expectation.verdicts):
                if verdict.lacks_outcomes:
                    key = f"scenarios.{place}.expectations.{number}.verdicts.{at}.chart"
                    raise DefinitionError(where, found=f"the key {key} is missing", do=AS_WRITTEN)


def require_different(runs: Sequence[Saved], where: str) -> None:
    """Raise DefinitionError where two of these runs are one."""
    ids = [run.run_id for run in runs]
    twice = next((each for place, each in enumerate(ids) if each in ids[:place]), None)
    if twice is not None:
        what, which = ("both", "two") if len(ids) == 2 else ("two", "different")
        do = f"give {which} runs: a run is not better or worse than itself"
        raise DefinitionError(where, found=f"{what} are run {twice}", do=do)


def read_suite(source: Source, where: str) -> RunDocument:
    """Return the run of a suite that a result holds. Raises DefinitionError as `read_result`, also for another kind."""
    found = read_result(source, where)
    if isinstance(found, ExperimentDocument):
        raise DefinitionError(where, found="this is the result of an experiment", do="give that of a suite")
    return found


def read_file(path: Path, where: str) -> RunDocument:
    """Return the run of a file that `simeval run --json` wrote. Raises DefinitionError for anything else."""
    return read_suite(read_json(path, where), where)


def read_json(path: Path, where: str) -> Any:
    """Return the contents of a JSON file. Raises DefinitionError for anything else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(where, found=f"it cannot be read ({error.strerror})", do=AS_WRITTEN) from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or endlessly nested
        raise DefinitionError(where, found=f"it is not JSON ({error})", do=AS_WRITTEN) from error


def scenarios_of(run: RunDocument) -> dict[str, ScenarioDocument]:
    """Return the scenarios of a run by their titles; titles that come again are numbered."""
    return {title: scenario for scenario, title in numbered((each, each.title) for each in run.scenarios)}


def requirements_of(run: RunDocument) -> dict[Key, RequirementOutcomes]:
    """Return the requirements of a run by their words; words that come again are numbered."""
    return {
        (title, expectation.label, evaluator): _outcomes(scenario, expectation.label, verdict)
        for title, scenario in scenarios_of(run).items()
        for expectation in scenario.expectations
        for verdict, evaluator in numbered((each, each.evaluator) for each in expectation.verdicts)
    }


def _outcomes(scenario: ScenarioDocument, label: str, verdict: Requirement) -> RequirementOutcomes:
    found = ((trial.trial.index, scenario.scores(trial).get(label)) for trial in scenario.judgements)
    scores = {index: score.value for index, score in found if score}
    chart = verdict.chart
    if chart is None:
        early = scenario.trials < scenario.sample_size
        return RequirementOutcomes(
            met=None, scores=scores, trials=scenario.trials, stopped_early=early, cut=verdict.cut
        )
    met = _by_index(chart)
    return RequirementOutcomes(
        met=met,
        scores=scores,
        trials=len(met),
        stopped_early=chart.stop != "never" and len(chart.met) + len(chart.excluded) < chart.n_max,
        left_out=frozenset(chart.excluded),
        sequential=chart.stop != "never",
        cut=verdict.cut,
        by_people=verdict.by_people,
        significance_level=verdict.significance_level,
        chart=chart,
    )


def _by_index(chart: Chart) -> Met:
    """Return each trial's outcome by its index; trials that a fixed sample did not get are missing."""
    length = len(chart.met) + len(chart.excluded)
    excluded = frozenset(chart.excluded)
    counted = [index for index in range(length) if index not in excluded]
    taken: dict[int, bool | None] = dict(zip(counted, chart.met, strict=False))
    unseen = range(length, chart.n_max) if chart.stop == "never" else ()
    return taken | dict.fromkeys(unseen)
