"""Conversations, scores and usage read back from a store, as they were written."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from math import nan
from typing import Any

from sqlalchemy import Connection, Select, Table, and_, func, or_, select

from simeval.core.conversation import Conversation, Message, decode_message
from simeval.core.run_records import Start, TrialKey, Usage, merged
from simeval.core.trial import OF_THE_APP, ControlRecord, Failure, RubricRecord, Score, Trial, TrialConversation
from simeval.store.schema import ATTEMPTS, CONTROLS, CUTS, MESSAGES, RUBRICS, SCORES, STARTS, TRIALS
from simeval.store.text_encoding import as_written, exact_values, from_json


@dataclass(frozen=True, slots=True)
class Part:
    """Some trials of one scenario: those with these `indexes`, or all from the one with the index `first` on."""

    scenario: int
    first: int = 0
    indexes: Sequence[int] | None = None


READ_AT_ONCE = 1_000  # rows of a search
SEARCHED = (
    (MESSAGES, ("content", "tool_calls")),
    (SCORES, ("reasoning", "error")),
    (TRIALS, ("error",)),
)

Scores = Mapping[TrialKey, Mapping[int, Score]]


def read_conversations(
    connection: Connection, run_id: str, *, part: Part | None = None
) -> dict[TrialKey, TrialConversation]:
    """Return the conversations of a run, or of a part of it, including interrupted ones."""
    messages = _messages(connection, run_id, part)
    columns = [TRIALS.c[name] for name in ("trial", "scenario", "seed", "ended")]
    texts = [TRIALS.c[name] for name in ("writing_style", "stage", "error", "cause", "exact", "example")]
    query = of_run(TRIALS, run_id, [*columns, *texts], part)
    found: dict[TrialKey, TrialConversation] = {}
    for index, scenario, seed, ended, style, stage, error, cause, exact, shown in connection.execute(query):
        example = shown
        if exact is not None:
            odd = exact_values(exact)
            style, example = odd.get("writing_style", style), odd.get("example", shown)
        key = (scenario, index)
        conversation = Conversation(
            messages=tuple(messages.get(key, ())),
            writing_style=None if style is None else from_json(style),
            ended=ended,
        )
        failure = read_failure(stage, error, cause, exact)
        of_example = {} if example is None else from_json(example)
        found[key] = TrialConversation(Trial(scenario, index, seed), conversation, failure, of_example)
    return found


def read_failure(stage: Any, error: str, cause: str, exact: str | None) -> Failure | None:
    """Return the failure in these columns of a row; None without one."""
    if stage is None:
        return None
    odd = {} if exact is None else exact_values(exact)
    return Failure(stage=stage, error=odd.get("error", error), cause=odd.get("cause", cause))


def read_number(number: float, exact: str | None) -> float:
    """Return the number in the column `value` of a row of scores, as it was measured."""
    odd = {} if exact is None else exact_values(exact)
    found: float = from_json(odd["value"]) if "value" in odd else number
    return found


def read_scores(connection: Connection, run_id: str, *, part: Part | None = None) -> Scores:
    """Return the scores of a run, by the position of their expectation; failures are left out."""
    names = ("trial", "scenario", "expectation", "value", "reasoning", "details", "exact")
    query = of_run(SCORES, run_id, [SCORES.c[name] for name in names], part).where(SCORES.c.stage.is_(None))
    found: defaultdict[TrialKey, dict[int, Score]] = defaultdict(dict)
    for index, scenario, expectation, number, reasoning, details, exact in connection.execute(query):
        if exact is not None:
            odd = exact_values(exact)
            reasoning, details = odd.get("reasoning", reasoning), odd.get("details", details)
        found[scenario, index][expectation] = Score.of(
            read_number(number, exact), reasoning=reasoning, details=None if details is None else from_json(details)
        )
    return dict(found)


def read_failures(
    connection: Connection, run_id: str, *, part: Part | None = None
) -> Mapping[TrialKey, Mapping[int, Failure]]:
    """Return the failed measurements of a run, or a part of it, by the position of the expectation."""
    names = ("trial", "scenario", "expectation", "stage", "error", "cause", "exact")
    query = of_run(SCORES, run_id, [SCORES.c[name] for name in names], part).where(SCORES.c.stage.is_not(None))
    found: defaultdict[TrialKey, dict[int, Failure]] = defaultdict(dict)
    for index, scenario, expectation, *failed in connection.execute(query):
        if failure := read_failure(*failed):
            found[scenario, index][expectation] = failure
    return dict(found)


def find_text(connection: Connection, run_id: str, text: str) -> set[TrialKey]:
    """Return the trials of a run that contain a text, whatever its case: in a message, call, reason or error."""
    wanted, found = text.casefold(), set[TrialKey]()
    for table, names in SEARCHED:
        columns = [table.c[name] for name in ("scenario", "trial", "exact", *names)]
        has_text = or_(*(table.c[name].is_not(None) for name in names))
        query = select(*columns).where(table.c.run_id == run_id, has_text)
        rows = connection.execution_options(yield_per=READ_AT_ONCE).execute(query)
        for scenario, index, exact, *texts in rows:
            if (scenario, index) in found:
                continue
            if exact is not None:
                odd = exact_values(exact)
                texts = [odd.get(name, each) for name, each in zip(names, texts, strict=True)]
            if any(each and wanted in _readable(each) for each in texts):
                found.add((scenario, index))
    return found


def _readable(text: str) -> str:
    """Return a text for a search; JSON of tool calls as it is read, not with its letters as numbers."""
    if text.startswith("[{") and "\\u" in text:
        text = json.dumps(from_json(text), ensure_ascii=False)
    return text.casefold()


def read_begun(connection: Connection, run_id: str) -> dict[TrialKey, Start]:
    """Return the trials of a run that were begun and whose conversation has not ended."""
    same = and_(*(STARTS.c[name] == TRIALS.c[name] for name in ("run_id", "trial", "scenario")))
    columns = [STARTS.c[name] for name in ("trial", "scenario", "said", "state", "exact")]
    query = select(*columns).select_from(STARTS.outerjoin(TRIALS, same))
    rows = connection.execute(query.where(STARTS.c.run_id == run_id, TRIALS.c.run_id.is_(None))).mappings()
    return {(each["scenario"], each["trial"]): _start(as_written(each)) for each in rows}


def read_cuts(connection: Connection, run_id: str) -> dict[int, tuple[int, ...]]:
    """Return the trials of each scenario at which a run was interrupted, in the order dealt."""
    query = select(CUTS.c.scenario, CUTS.c.trial).where(CUTS.c.run_id == run_id).order_by(CUTS.c.scenario, CUTS.c.trial)
    found: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for scenario, index in connection.execute(query):
        found[scenario] += (index,)
    return dict(found)


def count_set_aside(connection: Connection, run_id: str) -> int:
    """Return how many trials of a run were finished and are not counted."""
    return connection.execute(select(func.sum(CUTS.c.set_aside)).where(CUTS.c.run_id == run_id)).scalar() or 0


def _start(found: Mapping[str, Any]) -> Start:
    trial = Trial(found["scenario"], found["trial"], 0)
    if found["said"] is None:
        return Start(trial)
    return Start(trial, tuple(decode_message(each) for each in from_json(found["said"])), found["state"])


def read_rubrics(connection: Connection, run_id: str) -> dict[str, RubricRecord]:
    """Return a run's rubrics, by their keys; those of older versions have no near misses."""
    rows = connection.execute(select(RUBRICS).where(RUBRICS.c.run_id == run_id)).mappings()
    return {found["key"]: _rubric(as_written(found)) for found in rows}


def _rubric(found: Mapping[str, Any]) -> RubricRecord:
    return RubricRecord(
        key=found["key"],
        model=found["model"],
        expected_behavior=found["expected_behavior"],
        levels=from_json(found["levels"]),
        near_misses=tuple(from_json(found["near_misses"] or "[]")),
    )


def read_controls(connection: Connection, run_id: str) -> dict[str, ControlRecord]:
    """Return the ratings of controls by a run's judges, by their keys."""
    columns = [CONTROLS.c[each.name] for each in fields(ControlRecord)]
    rows = connection.execute(select(*columns, CONTROLS.c.exact).where(CONTROLS.c.run_id == run_id)).mappings()
    found = ({**as_written(row)} for row in rows)
    return {each["key"]: ControlRecord(**{name: each[name] for name in each if name != "exact"}) for each in found}


def read_measured(
    connection: Connection, run_id: str, *, part: Part | None = None
) -> Iterator[tuple[TrialConversation, Mapping[int, Score | Failure]]]:
    """Yield the trials of a run, or a part of it, in order, with their results by the position of the measure."""
    held = read_conversations(connection, run_id, part=part)
    scores = read_scores(connection, run_id, part=part)
    failures = read_failures(connection, run_id, part=part)
    for key, each in sorted(held.items()):
        yield each, {**failures.get(key, {}), **scores.get(key, {})}


def read_spent(connection: Connection, run_id: str) -> tuple[float, Mapping[str, Usage]]:
    """Return the seconds and the usage by role of all attempts together."""
    columns = (ATTEMPTS.c.seconds, ATTEMPTS.c.usage)
    rows = connection.execute(select(*columns).where(ATTEMPTS.c.run_id == run_id).order_by(ATTEMPTS.c.started))
    seconds, usage = 0.0, dict[str, Usage]()
    for more_seconds, more_usage in rows:
        more = {role: Usage(**each) for role, each in from_json(more_usage).items()}
        seconds, usage = seconds + more_seconds, dict(merged(usage, more))
    return round(seconds, 3), usage  # as documents have them


def _messages(connection: Connection, run_id: str, part: Part | None) -> Mapping[TrialKey, Sequence[Message]]:
    names = ("trial", "scenario", "role", "content", "tool_calls", "started", "seconds", "metadata", "exact")
    query = of_run(MESSAGES, run_id, [MESSAGES.c[name] for name in names], part)
    found: defaultdict[TrialKey, list[Message]] = defaultdict(list)
    for index, scenario, *said in connection.execute(query):
        found[scenario, index].append(_message(*said))
    return found


def _message(
    role: Any,
    content: str,
    calls: str | None,
    started: str | None,
    seconds: float | None,
    metadata: str | None,
    exact: str | None,
) -> Message:
    if exact is not None:
        odd = exact_values(exact)
        content, calls = odd.get("content", content), odd.get("tool_calls", calls)
        metadata = odd.get("metadata", metadata)
    return Message(
        role=role,
        content=content,
        started=None if started is None else datetime.fromisoformat(started),
        seconds=nan if seconds is None else seconds,
        tool_calls=() if calls is None else tuple(from_json(calls)),
        metadata={} if metadata is None else from_json(metadata),
    )


def of_run(table: Table, run_id: str, columns: Sequence[Any], part: Part | None) -> Select[Any]:
    """Return a query of columns of a run's rows, or of some of its trials, in the order of the primary key."""
    query = select(*columns).where(table.c.run_id == run_id).order_by(*table.primary_key.columns)
    if part is None:
        return query
    wanted = table.c.trial >= part.first if part.indexes is None else table.c.trial.in_(part.indexes)
    return query.where(table.c.scenario == part.scenario, wanted)


def lacks_scores(scenarios: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether anything failed in a run but the app: that measurement is repeated on resume."""
    errors = (error for row in scenarios for error in from_json(row["result"] or "{}").get("errors", ()))
    return any(error["stage"] not in (*OF_THE_APP, "run") for error in errors)
