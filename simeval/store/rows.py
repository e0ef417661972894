"""Entries of a run as rows of the store's tables, in the order of their columns.

Rows are tuples because a store writes thousands a second: as mappings, through SQLAlchemy's own execution, a record
took 32 to 40% more CPU (SQLite 43 against 32 microseconds, PostgreSQL 37 against 27, in batches of 100).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import isfinite
from operator import itemgetter
from typing import Any

from sqlalchemy import Table

from simeval.core.conversation import encode_message
from simeval.core.run_records import ReplyRecord, Start
from simeval.core.serialization import plain
from simeval.core.trial import ControlRecord, Failure, RubricRecord, Score, TrialConversation, TrialResult, Verdict
from simeval.results.encoding import encode_scenario, encode_verdict
from simeval.results.experiment import ExperimentResult
from simeval.results.suite import RunRecord, ScenarioResult
from simeval.store.backends.base import Batch, Row
from simeval.store.journal import Entry
from simeval.store.schema import (
    CONTROLS,
    JUDGEMENTS,
    MESSAGES,
    REPLIES,
    RUBRICS,
    SCENARIOS,
    SCORES,
    STARTS,
    TRIALS,
    VERDICTS,
)
from simeval.store.text_encoding import kept, storable, to_iso, to_json

TRIAL_TEXTS = ("writing_style", "error", "cause", "example")
EXAMPLE_COLUMNS = ("input", "inputs", "reference", "reference_outputs")  # of an example: shown in its row
MESSAGE_TEXTS = ("content", "tool_calls", "metadata")
START_TEXTS = ("said", "state")
SCORE_TEXTS = ("reasoning", "details", "error", "cause")


def rows_of(run_id: str, entries: Iterable[Entry], *, now: str) -> Batch:
    """Return the rows of starts, conversations, judgements, rubrics, controls and replies.

    The last of two of one trial counts.

    A result that no verdict needs leaves none.
    """
    starts: dict[object, Start] = {}
    helds: dict[object, TrialConversation] = {}
    judgements: dict[object, TrialResult] = {}
    rubrics, controls, replies = [], [], []
    for entry in entries:
        match entry:
            case Start():
                starts[entry.trial.scenario, entry.trial.index] = entry
            case TrialConversation():
                if entry.failure is None or not entry.failure.is_unneeded:
                    helds[entry.trial.scenario, entry.trial.index] = entry
            case TrialResult():
                judgements[entry.trial.scenario, entry.trial.index] = entry
            case RubricRecord():
                rubrics.append(_rubric(run_id, entry))
            case ControlRecord():
                controls.append(row(CONTROLS, run_id=run_id, **asdict(entry)))
            case ReplyRecord():
                replies.append(row(REPLIES, **asdict(entry), created=now))
            case _:
                pass
    scores = [(judgement, _scores(run_id, judgement)) for judgement in judgements.values()]
    return {
        STARTS: [_start(run_id, start) for start in starts.values()],
        **rows_of_conversations(run_id, helds.values()),
        JUDGEMENTS: [_judgement(run_id, judgement, found, now) for judgement, found in scores if found],
        SCORES: [score for _, found in scores for score in found],
        RUBRICS: rubrics,
        CONTROLS: controls,
        REPLIES: sorted(replies, key=itemgetter(0)),  # so that two writers lock them in one order
    }


def rows_of_conversations(run_id: str, helds: Iterable[TrialConversation]) -> dict[Table, Sequence[Row]]:
    """Return the rows of conversations."""
    trials: list[Row] = []
    messages: list[Row] = []
    for held in helds:
        trials.append(_trial(run_id, held))
        messages += _messages(run_id, held)
    return {TRIALS: trials, MESSAGES: messages}


def row(table: Table, **values: Any) -> Row:
    """Return a row of a table, with nothing in the columns that are not named."""
    found = storable(values)
    return tuple(found.get(column.name) for column in table.columns)


def scenario_rows(run: RunRecord) -> list[Row]:
    """Return the rows of the scenarios of a run that begins."""
    return [
        row(SCENARIOS, run_id=run.run_id, scenario=position, title=title, sample_size=size, labels=to_json(labels))
        for position, (title, size, labels) in enumerate(run.scenarios)
    ]


def result_row(run_id: str, position: int, result: ScenarioResult) -> Row:
    """Return the row of a scenario that has ended."""
    return row(
        SCENARIOS,
        run_id=run_id,
        scenario=position,
        title=result.title,
        sample_size=result.sample_size,
        labels=to_json([expectation.label for expectation in result.expectations]),
        outcome=result.outcome,
        trials=result.trials,
        result=to_json(encode_scenario(result.document("none"))),
    )


def verdict_rows(run_id: str, position: int, result: ScenarioResult | ExperimentResult) -> list[Row]:
    """Return the rows of the verdicts of a scenario, or an experiment."""
    return [
        _verdict(verdict, run_id=run_id, scenario=position, expectation=number, position=place, label=expectation.label)
        for number, expectation in enumerate(result.expectations)
        for place, verdict in enumerate(expectation.verdicts)
    ]


def _verdict(verdict: Verdict, **place: Any) -> Row:
    low, high = verdict.confidence_interval or (None, None)
    return row(
        VERDICTS,
        **place,
        evaluator=verdict.evaluator,
        outcome=verdict.outcome,
        p_value=_finite(verdict.p_value),
        p_value_fail=_finite(verdict.p_value_fail),
        estimate=_finite(verdict.estimate),
        interval_low=_finite(low),
        interval_high=_finite(high),
        n=verdict.n,
        missing=verdict.missing,
        method=verdict.method,
        reason=verdict.reason,
        explanation=verdict.explanation,
        result=to_json(encode_verdict(verdict)),
    )


def _start(run_id: str, start: Start) -> Row:
    at = (run_id, start.trial.index, start.trial.scenario)
    if start.messages is None:
        return (*at, None, None, None)
    said = to_json([{**encode_message(message), "seconds": plain(message.seconds)} for message in start.messages])
    return (*at, *kept(START_TEXTS, (said, start.state)))


def _trial(run_id: str, held: TrialConversation) -> Row:
    trial, conversation, failure = held.trial, held.conversation, held.failure
    style = None if conversation.writing_style is None else to_json(dict(conversation.writing_style))
    stage, error, cause = (failure.stage, failure.error, failure.cause) if failure else (None, None, None)
    shown = {name: held.columns[name] for name in EXAMPLE_COLUMNS if held.columns.get(name)}
    example = to_json(plain(shown)) if shown else None
    style, error, cause, example, exact = kept(TRIAL_TEXTS, (style, error, cause, example))
    at = (run_id, trial.index, trial.scenario)
    return (*at, trial.seed, conversation.ended, style, stage, error, cause, exact, example)


def _messages(run_id: str, held: TrialConversation) -> list[Row]:
    index, scenario = held.trial.index, held.trial.scenario
    rows: list[Row] = []
    for position, message in enumerate(held.conversation.messages):
        calls = to_json(plain(message.tool_calls)) if message.tool_calls else None
        metadata = to_json(plain(message.metadata)) if message.metadata else None
        content, calls, metadata, exact = kept(MESSAGE_TEXTS, (message.content, calls, metadata))
        at, started = (run_id, index, scenario, position), to_iso(message.started) if message.started else None
        rows.append((*at, message.role, content, calls, started, _finite(message.seconds), exact, metadata))
    return rows


def _judgement(run_id: str, judgement: TrialResult, scores: Sequence[Row], now: str) -> Row:
    made = sum(isinstance(result, Score) for result in judgement.results)
    return (run_id, judgement.trial.index, judgement.trial.scenario, now, made, len(scores) - made)


def _scores(run_id: str, judgement: TrialResult) -> list[Row]:
    at = (run_id, judgement.trial.index, judgement.trial.scenario)
    rows: list[Row] = []
    for position, result in enumerate(judgement.results):
        if isinstance(result, Score):
            rows.append((*at, position, *_score(result)))
        elif not result.is_unneeded:
            rows.append((*at, position, *_failed(result)))
    return rows


def _score(score: Score) -> Row:
    value: float | None = score.value
    odd = None
    if type(value) is not float or not isfinite(value):  # a column of numbers would not give it back unchanged
        odd = {"value": json.dumps(score.value if isinstance(value, (bool, int, float)) else float(score.value))}
        value = _finite(float(score.value))
    found = score.kept_details
    details = to_json(plain(found)) if found else None
    reasoning, details, _, _, exact = kept(SCORE_TEXTS, (score.reasoning, details, None, None), exact=odd)
    return (value, reasoning, details, None, None, None, exact)


def _failed(failure: Failure) -> Row:
    _, _, error, cause, exact = kept(SCORE_TEXTS, (None, None, failure.error, failure.cause))
    return (None, None, None, failure.stage, error, cause, exact)


def _rubric(run_id: str, rubric: RubricRecord) -> Row:
    values = {**asdict(rubric), "levels": to_json(dict(rubric.levels)), "near_misses": to_json(rubric.near_misses)}
    return row(RUBRICS, run_id=run_id, **values)


def _finite(number: float | None) -> float | None:
    return None if number is None or not isfinite(number) else float(number)
