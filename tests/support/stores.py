"""Runs for tests of stores: their records, and a process that writes one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import sleep
from typing import Any

from simeval.core.run_records import Start
from simeval.core.trial import Failure, Score, Trial, TrialConversation, TrialResult
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.suite import ExpectationResult, RunRecord, ScenarioResult, SuiteResult
from simeval.store.database import Database
from simeval.store.journal import Entry
from simeval.testing import MemoryJournal
from tests.support.records import RUN, conversation

RULE = SuccessRateEvaluator(min_proportion=0.5)
APP_FAILED = Failure(stage="app", error="the app failed at turn 1", cause="app")
MODEL_FAILED = Failure(stage="simulator", error="HTTP 500", cause="server")
STOPPING_SECONDS = 30.0


class SlowJournal(MemoryJournal):
    """A journal that takes a while over the beginnings of trials: an app that did not wait would answer meanwhile."""

    def append(self, run_id: str, entries: Sequence[Entry]) -> None:
        if any(isinstance(entry, Start) for entry in entries):
            sleep(0.05)
        super().append(run_id, entries)

    @property
    def begun(self) -> set[Trial]:
        """Return the trials that are kept to have begun."""
        return {entry.trial for entry in self.entries if isinstance(entry, Start)}


def begun(run_id: str = "run-1", *, titles: Sequence[str] = ("A", "B"), **changes: Any) -> RunRecord:
    """Return the record of a run that begins, with scenarios of 5 trials."""
    scenarios = tuple((title, 5, ("works", "is polite")) for title in titles)
    changes = {"definition": {"seed": 7}, "seconds": 0.0, "usage": {}, **changes}
    return replace(RUN, run_id=run_id, scenarios=scenarios, **changes)


def held(
    index: int, scenario: int = 0, *, said: Sequence[str] = ("hi", "hello"), failure: Failure | None = None
) -> TrialConversation:
    return TrialConversation(Trial(scenario, index, 2**62 + index), conversation(*said), failure)


def judged(index: int, scenario: int = 0, *, ratings: Sequence[float | Failure] = (8.0, 7.5)) -> TrialResult:
    one = held(index, scenario)
    results = tuple(
        each if isinstance(each, Failure) else Score(value=each, reasoning=f"rated {each}") for each in ratings
    )
    return TrialResult(trial=one.trial, conversation=one.conversation, results=results)


def ended(run: RunRecord, trials: Sequence[Sequence[TrialResult]]) -> SuiteResult:
    """Return what a run came to whose scenarios have these trials."""
    found = tuple(_result(run, position, judgements) for position, judgements in enumerate(trials))
    return SuiteResult(found, run)


def whole_run(run: RunRecord) -> tuple[list[Entry], SuiteResult]:
    """Return the entries of a run of two scenarios with three trials each, and what it came to."""
    judgements = [[judged(index, scenario) for index in range(3)] for scenario in range(2)]
    entries: list[Entry] = [run]
    for scenario in judgements:
        for judgement in scenario:
            entries += [TrialConversation(judgement.trial, judgement.conversation), judgement]
    return entries, ended(run, judgements)


def version_one(where: str) -> None:
    """Make a store as the first version did."""
    database = Database(where)
    for statement in (
        "DROP TABLE datasets",
        "DROP TABLE dataset_tags",
        "DROP TABLE examples",
        "DROP TABLE feedback",
        "DROP TABLE starts",
        "DROP TABLE cuts",
        "DROP TABLE set_aside",
        "DROP TABLE controls",
        "ALTER TABLE attempts RENAME TO sittings",
        "ALTER TABLE runs RENAME COLUMN heartbeat TO pulse",
        "ALTER TABLE messages DROP COLUMN metadata",
        "ALTER TABLE trials DROP COLUMN example",
        "ALTER TABLE rubrics DROP COLUMN near_misses",
        "UPDATE schema_version SET version = 1",
    ):
        run_sql(database, statement)
    database.close()


def run_sql(database: Database, statement: str) -> None:
    database.write(lambda connection: connection.exec_driver_sql(statement))


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    return database.read(lambda connection: [tuple(row) for row in connection.exec_driver_sql(query)])


@dataclass(slots=True)
class Writer:
    """A process that writes a run trial by trial, and says the index of each that is safe."""

    process: BaseProcess
    said: "Connection[None, int]"

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self.process.kill()
        self.process.join(timeout=STOPPING_SECONDS)

    def heard(self) -> Iterator[int]:
        """Return what it says until it ends."""
        with suppress(EOFError):
            while True:
                yield self.said.recv()


@contextmanager
def writers(where: str, counts: Sequence[int]) -> Iterator[list[Writer]]:
    """Let a process write run-0 with so many trials, one write run-1, and so on; none is left over."""
    context = get_context("forkserver")  # loads what they need once
    context.set_forkserver_preload([__name__])
    started: list[Writer] = []
    try:
        for number, count in enumerate(counts):
            said, says = context.Pipe(duplex=False)
            process = context.Process(target=_write, args=(says, where, f"run-{number}", count))
            process.start()
            says.close()
            started.append(Writer(process, said))
        yield started
    finally:
        for writer in started:
            writer.kill()
            writer.said.close()


def _write(says: "Connection[int, None]", where: str, run_id: str, count: int) -> None:
    database = Database(where)
    database.append(run_id, [begun(run_id)])
    for index in range(count):
        database.append(run_id, [held(index), judged(index)])
        says.send(index)
    database.close()


def _result(run: RunRecord, position: int, judgements: Sequence[TrialResult]) -> ScenarioResult:
    labels = run.scenarios[position][2]
    expectations = tuple(
        ExpectationResult(
            label=label,
            evaluators=(RULE,),
            verdicts=(RULE.evaluate([_value(judgement, place) for judgement in judgements]),),
            results=tuple(judgement.results[place] for judgement in judgements),
        )
        for place, label in enumerate(labels)
    )
    return ScenarioResult(
        title=run.scenarios[position][0],
        outcome=expectations[0].outcome,
        expectations=expectations,
        judgements=tuple(judgements),
        run=run,
        sample_size=5,
        given="a user",
        when="asks",
    )


def _value(judgement: TrialResult, place: int) -> float:
    result = judgement.results[place]
    return result.value if isinstance(result, Score) else float("nan")
