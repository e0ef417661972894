"""The document of a run from the rows of its store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from simeval.core.run_records import Usage
from simeval.core.serialization import Json
from simeval.core.trial import Kept, TrialResult
from simeval.errors import DefinitionError
from simeval.results.document import (
    Document,
    ExpectationDocument,
    ExperimentDocument,
    RunDocument,
    ScenarioDocument,
)
from simeval.results.reading import read_document
from simeval.store.run_summaries import ScenarioProgress, Status
from simeval.store.text_encoding import from_json

Row = Mapping[str, Any]


class UnreadableResult(DefinitionError):
    """The stored result of a run is not one that this version reads."""


def ended_document(run: Row, scenarios: Sequence[Row]) -> Document:
    """Return the document of a run that has ended, without its trials. Raises UnreadableResult."""
    result: Json = from_json(run["result"])
    if "metrics" not in result:
        result["scenarios"] = [from_json(row["result"]) for row in scenarios]
    try:
        return read_document(result)
    except (ValueError, KeyError, TypeError) as error:  # pydantic's ValidationError is a ValueError
        do = "look at it with the version that wrote it"
        found = f"this version cannot read its result, of simeval {result.get('simeval', '?')}"
        raise UnreadableResult(f"run {run['run_id']}", found=found, do=do) from error


def begun_document(
    run: Row,
    status: Status,
    scenarios: Sequence[Row],
    progress: Sequence[ScenarioProgress],
    spent: tuple[float, Mapping[str, Usage]],
) -> RunDocument:
    """Return the known part of a run that has not ended."""
    seconds, usage = spent
    return RunDocument(
        run_id=run["run_id"],
        app=run["app"],
        seed=int(run["seed"]),
        models={"judge": run["judge_model"], "user": run["user_model"]},
        started=datetime.fromisoformat(run["started"]),
        seconds=seconds,
        usage=usage,
        status=status,
        stopped=f"{'it is going on' if status == 'running' else 'it was interrupted'}: nothing is concluded yet",
        scenarios=[
            ScenarioDocument(
                title=row["title"],
                sample_size=row["sample_size"],
                trials=each.finished,
                expectations=[ExpectationDocument(label=label, verdicts=()) for label in from_json(row["labels"])],
            )
            for row, each in zip(scenarios, progress, strict=True)
        ],
    )


def with_trials(
    document: Document, labels: Sequence[Sequence[str]], trials: Sequence[TrialResult], kept: Kept
) -> Document:
    """Return a document with its trials; `labels` name the results of each scenario's trials."""
    worst = [{one.worst for one in each.expectations} for each in document.scenarios]
    found: list[list[TrialResult]] = [[] for _ in labels]
    for each in trials:
        if kept == "every" or each.trial.index in worst[each.trial.scenario]:
            found[each.trial.scenario].append(each)
    if isinstance(document, ExperimentDocument):
        [answered], [names] = found, labels
        places = [names.index(each.label) for each in document.expectations]
        of_worst = [each for each in answered if each.trial.index in worst[0]]
        return replace(
            document,
            judgements=[replace(each, results=tuple(each.results[place] for place in places)) for each in of_worst],
            answered=answered if kept == "every" else (),
            labels=names,
        )
    scenarios = [
        replace(scenario, judgements=[each for each in of_it if each.trial.index < scenario.trials])
        for scenario, of_it in zip(document.scenarios, found, strict=True)
    ]
    return replace(document, scenarios=scenarios)
