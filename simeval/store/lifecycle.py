"""The life of a run in a store: its attempts begin, give signs of life, and end."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, select, update

from simeval.core.run_records import Cut, Heartbeat, Usage, total
from simeval.core.serialization import Json
from simeval.core.trial import Trial, TrialConversation, cut_off, encode_result
from simeval.errors import StoreError
from simeval.results.document import RunHead
from simeval.results.encoding import encode_document, encode_head
from simeval.results.suite import RunRecord, SuiteResult
from simeval.store.backends.base import Backend, Batch, Row
from simeval.store.journal import Entry, RunResult, encode_entry
from simeval.store.owners import describe, host_of, is_alive, new_owner, process_of
from simeval.store.reading import Part, read_conversations, read_scores
from simeval.store.rows import result_row, row, rows_of, rows_of_conversations, scenario_rows, verdict_rows
from simeval.store.schema import (
    ATTEMPTS,
    CUTS,
    JUDGEMENTS,
    MESSAGES,
    RUNS,
    SCENARIOS,
    SCORES,
    SET_ASIDE,
    STARTS,
    TRIALS,
    VERDICTS,
)
from simeval.store.text_encoding import from_json, storable, to_json


def apply_cut(connection: Connection, backend: Backend, run_id: str, cut: Cut) -> None:
    """Record that a trial is missing, and set aside all results from it on. Doing it again changes nothing."""
    at = cut.trial
    before = (
        connection.execute(select(CUTS.c.trial).where(CUTS.c.run_id == run_id, CUTS.c.scenario == at.scenario))
        .scalars()
        .all()
    )
    if at.index in before:
        return
    aside = _set_aside(connection, run_id, at, attempt=len(before))
    for table in (STARTS, SCORES, JUDGEMENTS, MESSAGES, TRIALS):
        is_later = (table.c.run_id == run_id, table.c.scenario == at.scenario, table.c.trial >= at.index)
        connection.execute(delete(table).where(*is_later))
    kept = row(CUTS, run_id=run_id, scenario=at.scenario, trial=at.index, set_aside=len(aside))
    found = rows_of_conversations(run_id, [cut_off(at)])
    backend.write(connection, {SET_ASIDE: aside, CUTS: [kept], **found})


def _set_aside(connection: Connection, run_id: str, at: Trial, *, attempt: int) -> list[Row]:
    part = Part(at.scenario, first=at.index)
    held, scores = read_conversations(connection, run_id, part=part), read_scores(connection, run_id, part=part)
    return [
        row(
            SET_ASIDE,
            run_id=run_id,
            trial=index,
            scenario=scenario,
            attempt=attempt,
            seed=each.trial.seed,
            conversation=to_json(encode_entry(each)[0]),
            scores=to_json({place: encode_result(score) for place, score in scores.get((scenario, index), {}).items()}),
        )
        for (scenario, index), each in held.items()
    ]


@dataclass(slots=True)
class RunAttempt:
    """One start of a run, and this process's earlier owner of it."""

    owner: str
    started: str
    before: str = ""


def attempt_of(entries: Sequence[Entry], now: datetime, known: RunAttempt | None) -> RunAttempt | None:
    """Return the attempt that entries belong to: a new one of this process if they begin a run, else the known one."""
    if any(isinstance(entry, RunRecord) for entry in entries):
        return RunAttempt(new_owner(), now.isoformat(), known.owner if known else "")
    return known


def is_end(entries: Sequence[Entry]) -> bool:
    """Return whether entries end a run."""
    return any(isinstance(entry, RunResult) for entry in entries)


def keep(
    connection: Connection,
    *,
    backend: Backend,
    run_id: str,
    entries: Sequence[Entry],
    attempt: RunAttempt | None,
    now: str,
) -> None:
    """Store entries of one run. Raises StoreError if it belongs to another by now."""
    for entry in entries:
        if isinstance(entry, RunRecord) and attempt is not None:
            begin(connection, backend, entry, attempt)
    for entry in entries:
        if isinstance(entry, Cut):
            apply_cut(connection, backend, run_id, entry)
    backend.write(connection, rows_of(run_id, entries, now=now))
    for entry in entries:
        if isinstance(entry, Heartbeat):
            beat(connection, backend, run_id, attempt, entry)
        elif isinstance(entry, RunResult):
            end(connection, backend, entry, attempt)


def begin(connection: Connection, backend: Backend, run: RunRecord, attempt: RunAttempt) -> None:
    """Record a run that begins, or claim an existing one for this attempt. Doing it again changes nothing.

    Raises StoreError if another process is running it.
    """
    there = connection.execute(
        select(RUNS.c.owner, RUNS.c.heartbeat, RUNS.c.status).where(RUNS.c.run_id == run.run_id).with_for_update()
    ).one_or_none()
    if there is None:
        backend.write(connection, {RUNS: [_run_row(run, attempt)], SCENARIOS: scenario_rows(run)})
    elif there.owner != attempt.owner:
        now = datetime.fromisoformat(attempt.started)
        heartbeat = datetime.fromisoformat(there.heartbeat)
        is_open = there.status == "running" and there.owner != attempt.before
        if is_open and is_alive(there.owner, heartbeat=heartbeat, now=now):
            problem = f"run {run.run_id} is being run by {describe(there.owner)}"
            raise StoreError(backend.name, problem=problem, do="wait for that, or stop it")
        _take_over(connection, run, attempt)
    backend.write(connection, {ATTEMPTS: [_attempt_row(run.run_id, attempt, Heartbeat(seconds=0.0))]})


def beat(
    connection: Connection, backend: Backend, run_id: str, attempt: RunAttempt | None, heartbeat: Heartbeat
) -> None:
    """Keep a sign of life. Raises StoreError if the run belongs to another by now."""
    _update_own(connection, backend, run_id, attempt, {"heartbeat": datetime.now(UTC).isoformat()})
    if attempt is not None:
        backend.write(connection, {ATTEMPTS: [_attempt_row(run_id, attempt, heartbeat)]})


def end(connection: Connection, backend: Backend, result: RunResult, attempt: RunAttempt | None) -> None:
    """Store the result of a run. Raises StoreError if it belongs to another by now."""
    run = result.run
    values = {
        "status": "stopped" if run.stopped else "finished",
        "outcome": result.outcome,
        "stopped": run.stopped,
        "heartbeat": datetime.now(UTC).isoformat(),
        **_told(result),
    }
    _update_own(connection, backend, run.run_id, attempt, values)
    connection.execute(delete(VERDICTS).where(VERDICTS.c.run_id == run.run_id))
    if not run.stopped:  # nothing goes on any more
        bookmarks = (STARTS.c.run_id == run.run_id, STARTS.c.said.is_not(None))
        connection.execute(update(STARTS).where(*bookmarks).values(said=None, state=None, exact=None))
    if isinstance(result, SuiteResult):
        backend.write(connection, _suite_rows(connection, result))
    else:
        backend.write(connection, {VERDICTS: verdict_rows(run.run_id, 0, result)})


def amend(connection: Connection, result: RunResult) -> None:
    """Update the result of a run that has ended, if more is known by now; a run in progress is left alone."""
    ended = (RUNS.c.run_id == result.run.run_id, RUNS.c.status != "running")
    there = connection.execute(select(RUNS.c.exact).where(*ended).with_for_update()).one_or_none()
    if there is not None:
        _set(connection, result.run.run_id, _told(result), there.exact)


def _told(result: RunResult) -> Json:
    """Return the record of a run as a whole, for machines and in words."""
    if isinstance(result, SuiteResult):
        encoded = encode_head(RunHead(**result.head()))  # its scenarios have rows of their own
    else:
        encoded = encode_document(result.document())
    return {"result": to_json(encoded), "report": result.text()}


def _suite_rows(connection: Connection, suite: SuiteResult) -> Batch:
    run_id, numbered = suite.run.run_id, list(enumerate(suite))
    return {
        SCENARIOS: [result_row(run_id, position, result) for position, result in numbered],
        VERDICTS: [each for position, result in numbered for each in verdict_rows(run_id, position, result)],
        **rows_of_conversations(run_id, _never_kept(connection, suite)),
    }


def release(connection: Connection, *, attempts: Mapping[str, RunAttempt]) -> None:
    """Release the runs of these attempts that have not ended: nobody continues them."""
    for run_id, attempt in attempts.items():
        own = (RUNS.c.run_id == run_id, RUNS.c.owner == attempt.owner, RUNS.c.status == "running")
        connection.execute(update(RUNS).where(*own).values(owner=""))


def _run_row(run: RunRecord, attempt: RunAttempt) -> tuple[Any, ...]:
    return row(
        RUNS,
        run_id=run.run_id,
        started=run.started.astimezone(UTC).isoformat(),
        **_present(run, attempt),
    )


def _present(run: RunRecord, attempt: RunAttempt) -> Json:
    """Return the data that every attempt repeats about its run."""
    return {
        "status": "running",
        "stopped": "",
        "app": run.app,
        "judge_model": run.judge_model,
        "user_model": run.user_model,
        "seed": str(run.seed),
        "resumed": attempt.started,
        "heartbeat": attempt.started,
        "owner": attempt.owner,
        "definition": to_json(run.definition),
    }


def _take_over(connection: Connection, run: RunRecord, attempt: RunAttempt) -> None:
    values = storable({**_present(run, attempt), "outcome": None, "exact": None})
    connection.execute(update(RUNS).where(RUNS.c.run_id == run.run_id).values(values))
    connection.execute(delete(VERDICTS).where(VERDICTS.c.run_id == run.run_id))


def _attempt_row(run_id: str, attempt: RunAttempt, heartbeat: Heartbeat) -> tuple[Any, ...]:
    spent = total(heartbeat.usage)
    return row(
        ATTEMPTS,
        run_id=run_id,
        owner=attempt.owner,
        host=host_of(attempt.owner),
        process=process_of(attempt.owner),
        started=attempt.started,
        seconds=heartbeat.seconds,
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost_usd=spent.cost_usd,
        usage=to_json(_by_role(heartbeat.usage)),
    )


def _by_role(usage: Mapping[str, Usage]) -> Json:
    return {role: asdict(each) for role, each in usage.items()}


def _update_own(
    connection: Connection, backend: Backend, run_id: str, attempt: RunAttempt | None, values: Mapping[str, Any]
) -> None:
    there = connection.execute(
        select(RUNS.c.owner, RUNS.c.exact).where(RUNS.c.run_id == run_id).with_for_update()
    ).one_or_none()
    if there is None or attempt is None or there.owner != attempt.owner:
        by = "deleted" if there is None else f"taken over by {describe(there.owner)}"
        raise StoreError(backend.name, problem=f"run {run_id} was {by}", do="see `simeval runs`")
    _set(connection, run_id, values, there.exact)


def _set(connection: Connection, run_id: str, values: Mapping[str, Any], exact: str | None) -> None:
    """Change values of a run; `exact` keeps the parts its columns cannot hold."""
    new = storable(values)
    if "exact" in new and exact:
        new["exact"] = to_json({**from_json(exact), **from_json(new["exact"])})
    connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(new))


def _never_kept(connection: Connection, suite: SuiteResult) -> list[TrialConversation]:
    """Return the trials that verdicts rest on but whose conversation was not recorded: a fault ended them before."""
    query = select(TRIALS.c.trial, TRIALS.c.scenario).where(TRIALS.c.run_id == suite.run.run_id)
    kept = {tuple(each) for each in connection.execute(query)}
    return [
        TrialConversation(judgement.trial, judgement.conversation, judgement.failure)
        for position, result in enumerate(suite)
        for judgement in result.judgements
        if (judgement.trial.index, position) not in kept
    ]
