"""The rows of a run that has ended, read from its store a part at a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from sqlalchemy import Connection, func, select

from simeval.core.feedback import PERSON, Feedback
from simeval.datasets.dataset import REFERENCE, Dataset, Example, check_dataset, own_ids
from simeval.errors import DefinitionError
from simeval.results.document import Document, ExperimentDocument, RunDocument
from simeval.results.guarantee import doubt_of
from simeval.results.rows import Row, Rows, row_of
from simeval.store.database import Database
from simeval.store.feedback import FeedbackBook
from simeval.store.reading import Part, read_measured
from simeval.store.runs import Runs
from simeval.store.schema import RUNS, SCENARIOS, TRIALS
from simeval.store.text_encoding import as_written, from_json

Place = tuple[str, int]  # a scenario's title and a trial

READ_AT_ONCE = 200  # trials


def said_by_people(feedback: Iterable[Feedback], keys: Sequence[str]) -> Mapping[Place, Mapping[str, Any]]:
    """Return people's feedback under all these keys, for the trials that have every one of them.

    Each key has the mean `score`, how many `people` gave one, and `said`, each person's score. The last score of a
    person counts; feedback by models and programs does not, nor any without a score. Raises DefinitionError if nothing
    is left, and if trials were drawn with different probabilities: a mean over these is none over the run.
    """
    counted = [each for each in feedback if each.labeller == PERSON and each.score is not None and each.key in keys]
    drawn = {each.inclusion for each in counted}
    if None in drawn and len(drawn) > 1:
        found = "some of its trials were drawn by `simeval people label`, and others chosen by those who scored them"
        do = "use a key of its own for each, or `simeval people agree` for what was drawn"
        raise DefinitionError("feedback", found=found, do=do)
    if len(drawn) > 1:
        found = "its trials were drawn with different probabilities, which a plain mean does not know of"
        raise DefinitionError("feedback", found=found, do="use `simeval people agree`, which weighs them")
    by_trial: defaultdict[Place, defaultdict[str, list[Feedback]]]
    by_trial = defaultdict(lambda: defaultdict(list))
    for each in counted:
        by_trial[each.scenario, each.trial or 0][each.key].append(each)
    whole = {place: _means(found) for place, found in by_trial.items() if len(found) == len(set(keys))}
    if not whole:
        do = "give it with `simeval people feedback --labeller person`, or label trials with `simeval people label`"
        raise DefinitionError("feedback", found=f"no person has scored a trial under {', '.join(keys)}", do=do)
    return whole


def _means(found: Mapping[str, Sequence[Feedback]]) -> Mapping[str, Any]:
    return {key: _mean(given) for key, given in found.items()}


def _mean(given: Sequence[Feedback]) -> Mapping[str, Any]:
    last = {each.source or each.feedback_id: each for each in given}  # an unnamed person is someone else each time
    scores = [each.score for each in last.values() if each.score is not None]
    said = "; ".join(f"{each.source or 'someone'}: {each.score}" for each in last.values())
    return {"score": scores[0] if len(scores) == 1 else fmean(scores), "people": len(scores), "said": said}


def stored_rows(database: Database, run_id: str) -> Rows:
    """Return the rows of a run. Raises DefinitionError if there is none, or it has not ended."""
    runs = Runs(database)
    runs.require_ended(run_id)  # of another it is not known which examples its trials are of
    head = runs.head(run_id)
    scenarios = database.read(partial(_scenarios, run_id=run_id, head=head))
    return Rows(lambda: iterate(database, run_id, scenarios), sum(each.size for each in scenarios))


def answers_of(database: Database, run_id: str, *, feedback: Sequence[str] = ()) -> Dataset:
    """Return the answers in a run as a dataset of recorded conversations, with inputs and references.

    Where the app failed, the recording ends with that, and counts as a failure again. With keys of `feedback` it has
    only those that people scored under all of them, and their feedback is the column "feedback". Raises DefinitionError
    as `stored_rows` and `said_by_people`, and if there is none.
    """
    rows = stored_rows(database, run_id)
    said = said_by_people(FeedbackBook(database).of_run(run_id), feedback) if feedback else None

    def source() -> Iterator[Example]:
        for row in filter(_is_whole, rows):
            if said is None:
                yield _example(row)
            elif (row.title, row.trial) in said:
                yield _example(row, feedback=said[row.title, row.trial])

    found = check_dataset(lambda: own_ids(source()), name=f"run {run_id}")  # examples of equal inputs share one
    return replace(found, doubt=_doubt(database, run_id))


def _doubt(database: Database, run_id: str) -> str:
    """Return why the trials of a run may be no fair sample of the app; empty if they are one."""
    query = select(RUNS.c.definition).where(RUNS.c.run_id == run_id)
    definition = from_json(database.read(lambda connection: connection.execute(query).scalar_one()))
    if doubt := doubt_of(definition):
        return doubt
    head = Runs(database).head(run_id)
    is_short = isinstance(head, RunDocument) and any(each.trials < each.sample_size for each in head.scenarios)
    return f"run {run_id} ended before its last trial, so its trials may be no fair sample" if is_short else ""


def _is_whole(row: Row) -> bool:
    if row.failure is None:
        return bool(row.conversation.responses)
    return row.failure.stage == "app" and row.conversation.ended == "app_error"


def _example(row: Row, **columns: Any) -> Example:
    where = (row.example, row.repetition) if row.example else (row.title, row.trial)
    return Example(
        inputs=row.inputs if row.example else {},
        outputs={} if row.reference is None else {REFERENCE: row.reference},
        conversation=row.conversation,
        metadata=columns if row.example else {"scenario": row.title, **columns},
        example_id=f"{where[0]} {where[1]}" if where[1] or not row.example else str(where[0]),
    )


@dataclass(frozen=True, slots=True)
class _Scenario:
    """The common values of all rows of a scenario, or of an experiment."""

    position: int
    title: str
    labels: tuple[str, ...]
    size: int  # trials that were held
    end: int  # above the index of the last
    concluded: frozenset[str]
    keys: tuple[str, ...]  # of the examples of an experiment, each answered so many times
    times: int


def iterate(database: Database, run_id: str, scenarios: list[_Scenario]) -> Iterator[Row]:
    """Return the rows one after the other, in the order of scenarios and trials."""
    for scenario in scenarios:
        for first in range(0, scenario.end, READ_AT_ONCE):
            yield from database.read(partial(_part, run_id=run_id, scenario=scenario, first=first))


def _part(connection: Connection, *, run_id: str, scenario: _Scenario, first: int) -> list[Row]:
    part = Part(scenario.position, indexes=range(first, min(first + READ_AT_ONCE, scenario.end)))
    rows = []
    for each, measured in read_measured(connection, run_id, part=part):
        results = [(label, measured[place]) for place, label in enumerate(scenario.labels) if place in measured]
        place, again = divmod(each.trial.index, scenario.times)
        which = {"example": scenario.keys[place], "repetition": again} if scenario.keys else {}
        rows.append(row_of(each, results, title=scenario.title, concluded=scenario.concluded, **which))
    return rows


def _scenarios(connection: Connection, *, run_id: str, head: Document) -> list[_Scenario]:
    query = select(TRIALS.c.scenario, func.count(), func.max(TRIALS.c.trial)).where(TRIALS.c.run_id == run_id)
    counts = {place: (size, last + 1) for place, size, last in connection.execute(query.group_by(TRIALS.c.scenario))}
    rows = connection.execute(select(SCENARIOS).where(SCENARIOS.c.run_id == run_id).order_by(SCENARIOS.c.scenario))
    experiment = head if isinstance(head, ExperimentDocument) else None
    found = []
    for row in map(as_written, rows.mappings()):
        labels = tuple(from_json(row["labels"]))
        size, end = counts.get(row["scenario"], (0, 0))
        if experiment is None:  # trials beside those of the verdicts are left out
            size = end = head.scenarios[row["scenario"]].trials
        found.append(
            _Scenario(
                position=row["scenario"],
                title=row["title"],
                labels=labels,
                size=size,
                end=end,
                concluded=frozenset(labels).difference(experiment.scorers if experiment else ()),
                keys=tuple(experiment.keys) if experiment else (),
                times=experiment.dataset.repetitions if experiment else 1,
            )
        )
    return found
