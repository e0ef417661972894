"""A judgement as one row of JSON, and back, exactly: for the temporary file of a very large run."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from simeval.core.conversation import Conversation, Message
from simeval.core.serialization import survives_json
from simeval.core.trial import Failure, Judgement, Rating, Score, Trial, TurnCounts

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_FAILED = 3  # values of a failure; a score has more


class NotExact(Exception):
    """JSON would not give it back as it is."""


def encode_judgement(judgement: Judgement) -> bytes:
    """Return a judgement as JSON. Raises NotExact where JSON would not give it back with all its types."""
    try:
        return _write(_row(judgement)).encode()
    except (TypeError, ValueError, RecursionError) as error:  # half of a surrogate pair is a ValueError, too
        raise NotExact from error


def decode_judgement(written: bytes) -> Judgement:
    """Return the judgement that `encode_judgement` wrote."""
    trial, messages, style, ended, results, failure, columns = json.loads(written)
    return Judgement(
        trial=Trial(*trial),
        conversation=Conversation(messages=tuple(map(_message, messages)), writing_style=style, ended=ended),
        results=tuple(map(_result, results)),
        failure=None if failure is None else _failure(failure),
        columns=columns,
    )


def _row(judgement: Judgement) -> list[Any]:
    trial, held = judgement.trial, judgement.conversation
    return [
        [trial.scenario, trial.index, trial.seed],
        [_message_row(each) for each in held.messages],
        None if held.writing_style is None else _same(held.writing_style),
        held.ended,
        [_result_row(each) for each in judgement.results],
        None if judgement.failure is None else _result_row(judgement.failure),
        _same(judgement.columns),
    ]


def _message_row(message: Message) -> list[Any]:
    started = message.started
    return [
        message.role,
        message.content,
        None if started is None else started.isoformat(),
        message.seconds,
        _same(list(message.tool_calls)),
        _same(message.metadata),
    ]


def _message(row: Sequence[Any]) -> Message:
    role, content, started, seconds, calls, metadata = row
    return Message(
        role=role,
        content=content,
        started=None if started is None else datetime.fromisoformat(started),
        seconds=seconds,
        tool_calls=tuple(calls),
        metadata=metadata,
    )


def _result_row(result: Score | Failure) -> list[Any]:
    if isinstance(result, Failure):
        return [result.stage, result.error, result.cause]
    if type(result.value) not in (bool, int, float):
        raise NotExact
    counts = result.turn_counts
    return [
        result.value,
        result.reasoning,
        _same(result.details),
        [[each.judge, each.repeat, each.score, each.reasoning] for each in result.ratings],
        None if counts is None else [counts.good, counts.turns],
    ]


def _result(row: Sequence[Any]) -> Score | Failure:
    if len(row) == _FAILED:
        return _failure(row)
    value, reasoning, details, ratings, counts = row
    return Score(
        value=value,
        reasoning=reasoning,
        details=details,
        ratings=tuple(
            Rating(judge=judge, repeat=repeat, score=score, reasoning=why) for judge, repeat, score, why in ratings
        ),
        turn_counts=None if counts is None else TurnCounts(*counts),
    )


def _failure(row: Sequence[Any]) -> Failure:
    stage, error, cause = row
    return Failure(stage=stage, error=error, cause=cause)


def _same(value: Mapping[str, object] | list[Any]) -> Mapping[str, object] | list[Any]:
    if value and not survives_json(value):
        raise NotExact
    return value
