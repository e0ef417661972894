"""The runs of a database: found, listed, read back, deleted."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, ScalarSelect, case, delete, func, select

from simeval.core.run_records import ResumableRun, TrialKey
from simeval.core.serialization import Json
from simeval.core.trial import OF_THE_APP, UNNEEDED, Failure, Kept, Outcome, TrialResult
from simeval.core.validation import first_of
from simeval.errors import DefinitionError
from simeval.store.database import Database, as_open
from simeval.store.owners import describe, is_alive
from simeval.store.reading import (
    Part,
    count_set_aside,
    find_text,
    lacks_scores,
    read_begun,
    read_controls,
    read_conversations,
    read_cuts,
    read_failures,
    read_measured,
    read_rubrics,
    read_scores,
    read_spent,
)
from simeval.store.run_summaries import RunSummary, ScenarioProgress, Status, estimate_of
from simeval.store.schema import ATTEMPTS, JUDGEMENTS, METADATA, RUNS, SCENARIOS, TRIALS
from simeval.store.text_encoding import as_written, from_json

if TYPE_CHECKING:
    from simeval.results.document import Document, ScenarioDocument
    from simeval.store.journal import RunResult

LAST = "last"

LOOKED_AT = 20  # runs
_UNDECIDED = ("suite_settled", "run_stopped")


def has_ended(run: RunSummary) -> bool:
    """Return whether a run has a result, which others can be compared with; an experiment may conclude nothing."""
    return run.outcome is not None or bool(run.dataset)


def is_of_a_suite(run: RunSummary) -> bool:
    """Return whether a run has a result with conversations of scenarios, which people can label."""
    return has_ended(run) and not run.dataset


LISTED_AT_ONCE = 50  # runs that are read together
_NOT_LISTED = ("definition", "report")  # the longest columns of a run, which no list shows
MOST_NAMED = 5  # runs that an error names
MOST_COMPARED = 1_000  # newest runs among which close names are looked for


class Runs:
    """The runs that a database keeps."""

    def __init__(self, database: Database) -> None:
        self._database = as_open(database, "Runs")

    def find(self, name: str, wanted: Callable[[RunSummary], bool] | None = None) -> str:
        """Return the id that a name means: an id, how one begins, or "last", the run that was started or resumed last.

        `wanted` restricts this to the runs for which it is true. Raises DefinitionError naming the closest ones if
        there is none, or several.
        """
        if name == LAST and wanted is not None and (fitting := self.recent(1, wanted)):
            return fitting[0].run_id
        return self._database.read(lambda connection: _find(connection, name))

    def recent(self, limit: int = 20, wanted: Callable[[RunSummary], bool] = lambda _: True) -> list[RunSummary]:
        """Return the runs that were started or resumed last and are `wanted`, the newest first, at most `limit`."""
        return list(islice(filter(wanted, self._newest()), limit))

    def _newest(self) -> Iterator[RunSummary]:
        """Return all runs, the newest first, read a part at a time."""
        order = RUNS.c.resumed.desc(), RUNS.c.run_id.desc()
        ids = select(RUNS.c.run_id).order_by(*order).limit(LISTED_AT_ONCE)  # sorted without the long columns
        shown = select(*(column for column in RUNS.c if column.name not in _NOT_LISTED), *_counts()).order_by(*order)
        for first in count(0, LISTED_AT_ONCE):
            query = shown.where(RUNS.c.run_id.in_(ids.offset(first)))
            rows = self._database.read(partial(_summaries, query=query))
            yield from (self._summary(as_written(row)) for row in rows)
            if len(rows) < LISTED_AT_ONCE:
                return

    def load(self, run_id: str) -> ResumableRun:
        """Return the state of a run that is to be resumed. Raises DefinitionError if there is none."""
        return self._database.read(lambda connection: self._load(connection, run_id))

    def document(self, run_id: str, kept: Kept = "every") -> "Document":
        """Return the document of a run, by default with every trial. Raises DefinitionError if it has not ended.

        That of an experiment has its worst answers, and all of them if every trial is to be kept.
        """
        return self._database.read(lambda connection: self._document(connection, run_id, kept))

    def require_ended(self, run_id: str) -> None:
        """Raise DefinitionError if there is no such run, or it has not ended."""
        self._database.read(lambda connection: self._ended(connection, run_id))

    def head(self, run_id: str) -> "Document":
        """Return the document of a run without its trials.

        For a run that has not ended it has the known part: no verdict, and its state as `stopped`.
        """
        return self._database.read(lambda connection: self._head(connection, run_id))

    def labels(self, run_id: str) -> list[list[str]]:
        """Return the labels of each scenario's scores, by their positions."""
        return self._database.read(
            lambda connection: [from_json(each["labels"]) for each in _rows(connection, run_id, "labels")]
        )

    def definition(self, run_id: str) -> Mapping[str, Any]:
        """Return everything that a run's results depend on, apart from chance. Raises DefinitionError without a run."""
        return self._database.read(lambda connection: from_json(_row(connection, run_id)["definition"]))

    def rubrics(self, run_id: str) -> Mapping[str, Mapping[str, str]]:
        """Return the levels of a run's rubrics, by their keys."""
        found = self._database.read(lambda connection: read_rubrics(connection, run_id))
        return {key: rubric.levels for key, rubric in found.items()}

    def trials(
        self,
        run_id: str,
        scenario: int,
        indexes: Sequence[int] | None = None,
        *,
        measures: int,
    ) -> list[TrialResult]:
        """Return the trials of a scenario with their `measures`, in the order dealt, by default all.

        A measure that is not there was not needed, or is not there yet.
        """
        part = Part(scenario, indexes=indexes)
        return self._database.read(lambda found: _trials(found, run_id, part, {scenario: measures}))

    def found(self, run_id: str, text: str) -> Mapping[int, Sequence[int]]:
        """Return the trials of each scenario that contain a text, whatever its case, in order."""
        by_scenario: dict[int, list[int]] = {}
        for scenario, index in sorted(self._database.read(lambda found: find_text(found, run_id, text))):
            by_scenario.setdefault(scenario, []).append(index)
        return by_scenario

    def failures(self, run_id: str) -> Mapping[TrialKey, Mapping[int, Failure]]:
        """Return the failed measurements of a run, by the position of the expectation."""
        return self._database.read(lambda connection: read_failures(connection, run_id))

    def report(self, run_id: str) -> str:
        """Return the report printed at the end of a run. Raises DefinitionError if it has not ended."""
        return str(self._database.read(lambda connection: self._ended(connection, run_id))["report"])

    def progress_of(self, run_id: str) -> list[ScenarioProgress]:
        """Return how far each scenario of a run has come, in the suite's order."""
        return self._database.read(lambda connection: _progress(connection, run_id))

    def amend(self, result: "RunResult") -> None:
        """Update the result of a run that has ended, if more is known by now. Raises StoreError."""
        from simeval.store.lifecycle import amend  # the results of runs, which one that only reads does without

        self._database.write(lambda connection: amend(connection, result))

    def delete(self, run_id: str) -> None:
        """Remove everything of a run. Raises DefinitionError if a process is running it, or there is none."""
        self._database.write(lambda connection: self._delete(connection, run_id))

    def _load(self, connection: Connection, run_id: str) -> ResumableRun:
        run = _row(connection, run_id)
        seconds, usage = read_spent(connection, run_id)
        return ResumableRun(
            run_id=run_id,
            seed=int(run["seed"]),
            started=datetime.fromisoformat(run["started"]),
            definition=from_json(run["definition"]),
            seconds=seconds,
            usage=usage,
            owner=describe(run["owner"]) if self._is_owned(run) else "",
            held=read_conversations(connection, run_id),
            scores=read_scores(connection, run_id),
            rubrics=read_rubrics(connection, run_id),
            controls=read_controls(connection, run_id),
            begun=read_begun(connection, run_id),
            cuts=read_cuts(connection, run_id),
            set_aside=count_set_aside(connection, run_id),
            has_finished=run["status"] == "finished" and not lacks_scores(_rows(connection, run_id, "result")),
        )

    def _ended(self, connection: Connection, run_id: str) -> Mapping[str, Any]:
        run = _row(connection, run_id)
        if run["status"] == "running":
            if self._is_running(run):
                found = f"it is being run by {describe(run['owner'])}"
                raise DefinitionError(f"run {run_id}", found=found, do="wait for its end")
            do = f"add --resume {run_id} to the command that began it (in Python resume={run_id!r})"
            raise DefinitionError(f"run {run_id}", found="it was interrupted", do=do)
        return run

    def _delete(self, connection: Connection, run_id: str) -> None:
        run = _row(connection, run_id)
        if self._is_owned(run):
            found = f"it is being run by {describe(run['owner'])}"
            raise DefinitionError(f"run {run_id}", found=found, do="stop that first")
        for table in METADATA.sorted_tables:
            if "run_id" in table.c:
                connection.execute(delete(table).where(table.c.run_id == run_id))

    def _is_owned(self, run: Mapping[str, Any]) -> bool:
        """Return whether a process is running it; this database's own runs do not count."""
        owner, heartbeat = run["owner"], datetime.fromisoformat(run["heartbeat"])
        is_open = run["status"] == "running" and owner not in self._database.owners
        return is_open and is_alive(owner, heartbeat=heartbeat, now=datetime.now(UTC))

    def _is_running(self, run: Mapping[str, Any]) -> bool:
        return run["owner"] in self._database.owners or self._is_owned(run)

    def _summary(self, run: Mapping[str, Any]) -> RunSummary:
        is_interrupted = run["status"] == "running" and not self._is_running(run)
        status = "interrupted" if is_interrupted else run["status"]
        head: Json = from_json(run["result"] or "{}")
        dataset = head.get("dataset") or {}
        return RunSummary(
            run_id=run["run_id"],
            started=datetime.fromisoformat(run["started"]),
            status=cast("Status", status),
            outcome=run["outcome"],
            app=run["app"],
            scenarios=run["scenarios"],
            trials=run["trials"],
            calls=run["calls"] or 0,
            cost_usd=run["cost_usd"],
            seconds=run["seconds"] or 0.0,
            baseline_met=(head.get("baseline") or {}).get("met") if run["outcome"] else None,
            dataset=dataset.get("name", ""),
            version=dataset.get("version", ""),
            metadata=head.get("metadata", {}),
            metrics={each["name"]: estimate_of(each) for each in head.get("metrics", ())},
        )

    def _head(self, connection: Connection, run_id: str) -> "Document":
        from simeval.store.documents import begun_document, ended_document  # the results of runs, which no list needs

        run, scenarios = _row(connection, run_id), _rows(connection, run_id)
        if run["status"] != "running":
            return ended_document(run, scenarios)
        status: Status = "running" if self._is_running(run) else "interrupted"
        return begun_document(run, status, scenarios, _progress(connection, run_id), read_spent(connection, run_id))

    def _document(self, connection: Connection, run_id: str, kept: Kept) -> "Document":
        from simeval.store.documents import with_trials

        self._ended(connection, run_id)
        labels = [from_json(each["labels"]) for each in _rows(connection, run_id, "labels")]
        trials = _trials(connection, run_id, None, dict(enumerate(map(len, labels))))
        return with_trials(self._head(connection, run_id), labels, trials, kept)


def _summaries(connection: Connection, query: Any) -> Sequence[Mapping[Any, Any]]:
    return connection.execute(query).mappings().all()


def _row(connection: Connection, run_id: str) -> Mapping[str, Any]:
    row = connection.execute(select(RUNS).where(RUNS.c.run_id == run_id)).mappings().one_or_none()
    if row is None:
        raise DefinitionError("store", found=f"there is no run {run_id!r}", do="see `simeval runs`")
    return as_written(row)


def _find(connection: Connection, name: str) -> str:
    newest = select(RUNS.c.run_id).order_by(RUNS.c.resumed.desc(), RUNS.c.run_id.desc())
    if name == LAST:
        last = connection.execute(newest.limit(1)).scalar()
        if last is None:
            do = "hold one with `simeval run`, or name the store of one with --store"
            raise DefinitionError("store", found="there is no run yet", do=do)
        return str(last)
    same = newest.where(RUNS.c.run_id.startswith(name, autoescape=True))
    found = [str(each) for each in connection.execute(same).scalars()]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        raise DefinitionError(
            "store",
            found=f"{name!r} begins the ids of {len(found)} runs: {first_of(found, MOST_NAMED)}",
            do="give more of the id",
        )
    known = [str(each) for each in connection.execute(newest.limit(MOST_COMPARED)).scalars()]
    close = get_close_matches(name, known, MOST_NAMED) or known[:MOST_NAMED]
    do = f"give one of {first_of(close, MOST_NAMED)}" if close else "`simeval runs` lists those there are"
    raise DefinitionError("store", found=f"there is no run {name!r}", do=do)


def _counts() -> list[Any]:
    """Count the records of a run, as columns beside it."""

    def of(found: Any, table: Any, *conditions: Any) -> ScalarSelect[Any]:
        return select(found).select_from(table).where(table.c.run_id == RUNS.c.run_id, *conditions).scalar_subquery()

    spent = {name: of(func.sum(ATTEMPTS.c[name]), ATTEMPTS) for name in ("calls", "cost_usd", "seconds")}
    held, concluded = of(func.count(), TRIALS, _is_finished()), of(func.sum(SCENARIOS.c.trials), SCENARIOS)
    return [
        of(func.count(), SCENARIOS).label("scenarios"),
        case((RUNS.c.status == "running", held), else_=func.coalesce(concluded, held)).label("trials"),
        *(column.label(name) for name, column in spent.items()),
    ]


def _is_finished() -> Any:
    return TRIALS.c.stage.is_(None) | TRIALS.c.stage.in_(OF_THE_APP)


def _progress(connection: Connection, run_id: str) -> list[ScenarioProgress]:
    _row(connection, run_id)
    finished = func.sum(case((_is_finished(), 1), else_=0))
    is_judged, is_of_app = _is_finished() & (JUDGEMENTS.c.failures == 0), TRIALS.c.stage.in_(OF_THE_APP)
    judged = func.sum(case((is_judged, 1), (is_of_app, 1), else_=0))
    same = [TRIALS.c[name] == JUDGEMENTS.c[name] for name in ("run_id", "trial", "scenario")]
    joined = TRIALS.outerjoin(JUDGEMENTS, same[0] & same[1] & same[2])
    query = select(TRIALS.c.scenario, finished, judged).select_from(joined).where(TRIALS.c.run_id == run_id)
    counts = {scenario: counted for scenario, *counted in connection.execute(query.group_by(TRIALS.c.scenario))}
    return [
        ScenarioProgress(
            title=row["title"],
            sample_size=row["sample_size"],
            finished=int(counts.get(row["scenario"], (0, 0))[0]),
            judged=int(counts.get(row["scenario"], (0, 0))[1]),
        )
        for row in _rows(connection, run_id)
    ]


def _rows(connection: Connection, run_id: str, *names: str) -> list[Mapping[str, Any]]:
    """Return the rows of a run's scenarios, in the suite's order; all columns if none are named."""
    columns = [SCENARIOS.c[each] for each in (*names, "exact")] if names else SCENARIOS.c
    query = select(*columns).where(SCENARIOS.c.run_id == run_id).order_by(SCENARIOS.c.scenario)
    return [as_written(row) for row in connection.execute(query).mappings()]


def _trials(connection: Connection, run_id: str, part: Part | None, measures: Mapping[int, int]) -> list[TrialResult]:
    """Return the trials of a run, or a part of it, with as many results as each scenario has measures."""
    return [
        TrialResult(
            trial=each.trial,
            conversation=each.conversation,
            results=tuple(
                each.failure or measured.get(place, UNNEEDED) for place in range(measures[each.trial.scenario])
            ),
            failure=each.failure,
            columns=each.columns,
        )
        for each, measured in read_measured(connection, run_id, part=part)
    ]


@dataclass(frozen=True, slots=True)
class PastOutcome:
    """The result of a scenario in a run, and whether that was by its own verdicts: the run may have ended before."""

    outcome: Outcome
    is_decided: bool


def past_outcomes(database: Database) -> Iterator[Mapping[str, PastOutcome]]:
    """Yield the result of each scenario, by its title, in the newest runs of suites that have ended, newest first."""
    runs = Runs(database)
    for run in runs.recent(LOOKED_AT, lambda each: each.status in ("finished", "stopped")):
        yield {each.title: _past(each) for each in _scenarios(runs, run.run_id)}


@dataclass(frozen=True, slots=True)
class Asked:
    """The identity of a scenario: user, goal, and each requirement with its label and its other side, if any."""

    given: str
    when: str
    requirements: frozenset[tuple[str, str, str]]


def runs_since_pass(database: Database, app: str, asked: Mapping[str, Asked]) -> Mapping[str, int]:
    """Count, by title, an app's runs since a scenario's last pass that concluded on it without a pass.

    A scenario that has changed since, or was in error, is not counted. Only the newest runs are looked at.
    """
    runs, counts, open_titles = Runs(database), Counter[str](), set(asked)
    for run in runs.recent(LOOKED_AT, lambda each: each.status in ("finished", "stopped")):
        if not open_titles:
            break
        if run.app != app:
            continue
        for each in _scenarios(runs, run.run_id):
            if (title := each.title) not in open_titles or _asked(each) != asked[title]:
                continue
            if each.outcome == "pass":
                open_titles.remove(title)
            elif each.outcome != "error" and each.trials:
                counts[title] += 1
    return counts


def _scenarios(runs: Runs, run_id: str) -> "Sequence[ScenarioDocument]":
    """Return the scenarios of a run; none of an experiment, and none if an older version kept too little."""
    from simeval.results.document import RunDocument
    from simeval.store.documents import UnreadableResult  # most runs do not look back

    try:
        found = runs.head(run_id)
    except UnreadableResult:
        return ()
    return found.scenarios if isinstance(found, RunDocument) else ()


def _asked(scenario: "ScenarioDocument") -> Asked:
    found = frozenset(
        (each.label, verdict.evaluator, verdict.against or "")
        for each in scenario.expectations
        for verdict in each.verdicts
    )
    return Asked(scenario.given or "", scenario.when or "", found)


def _past(scenario: "ScenarioDocument") -> PastOutcome:
    undecided = scenario.outcome == "inconclusive" and any(each.reason in _UNDECIDED for each in scenario.verdicts)
    return PastOutcome(scenario.outcome, not undecided)
