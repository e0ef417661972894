"""Feedback as a record: of a trial or an example, with a score or a comment; written and read."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from simeval.core.feedback import Feedback, decode_feedback, encode_feedback
from simeval.errors import DefinitionError

OF_TRIAL: dict[str, Any] = {"run_id": "run-1", "trial": 0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": ""}, "feedback key: found ''"),
        ({"key": 5}, "feedback key: found 5; give a text"),
        ({"score": None}, "neither a score nor a comment"),
        ({"score": float("nan")}, "feedback score: found nan"),
        ({"score": float("inf")}, "feedback score"),
        ({"score": 10**400}, "feedback score"),
        ({"score": "good"}, "feedback score: found 'good'; give a number, true or false"),
        ({"comment": None}, "feedback comment: found None"),
        ({"run_id": ""}, "feedback run_id: found ''; name the run of the trial"),
        ({"trial": None}, "feedback trial: found None; give the trial's number, from 0"),
        ({"trial": -1}, "feedback trial"),
        ({"trial": "1"}, "feedback trial"),
        ({"trial": True}, "feedback trial"),
        ({"dataset": "orders"}, "both a trial and an example"),
        (
            {"run_id": "", "trial": None},
            "neither a trial nor an example; give run_id and trial, or",
        ),
        ({"run_id": "", "trial": None, "dataset": "orders"}, "feedback example: found ''"),
        ({"run_id": "", "trial": None, "example": "e-1"}, "feedback dataset: found ''"),
        ({"feedback_id": ""}, "feedback_id: found ''"),
        ({"feedback_id": "a\0"}, "feedback_id"),
        ({"created": datetime(2025, 1, 2)}, "feedback created: .*give a time with its zone"),
    ],
)
def test_feedback_that_cannot_be_used_is_refused(given: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Feedback(**{"key": "helpful", "score": 1.0, **OF_TRIAL, **given})


def test_feedback_has_an_id_and_a_time_of_its_own() -> None:
    before = datetime.now(UTC)
    one, other = (Feedback(key="helpful", score=True, **OF_TRIAL) for _ in range(2))

    assert one.feedback_id != other.feedback_id
    assert before <= one.created <= other.created <= datetime.now(UTC)


@pytest.mark.parametrize(
    "feedback",
    [
        Feedback(key="helpful", score=False, source="ann", **OF_TRIAL),
        Feedback(key="helpful", score=0, scenario="A \ud83d", comment="\0 é", **OF_TRIAL),
        Feedback(key="clear", comment="no", dataset="orders", example="e-1"),
        Feedback(key="x", score=1.5, created=datetime(2025, 1, 2, tzinfo=timezone(timedelta(hours=2))), **OF_TRIAL),
    ],
)
def test_feedback_is_read_as_it_was_written(feedback: Feedback) -> None:
    written = encode_feedback(feedback)

    assert decode_feedback(written) == feedback
    assert type(decode_feedback(written).score) is type(feedback.score)
    assert None not in written.values()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"score": 1, **OF_TRIAL}, "feedback key: it is missing"),
        ({"key": "x", "score": 1, "comments": "y", **OF_TRIAL}, "found comments; name only key, score, comment"),
        ({"key": "x", "score": 1, "created": "today", **OF_TRIAL}, "feedback created: found 'today'"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(line: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        decode_feedback(line)


def test_a_time_without_a_zone_is_utc() -> None:
    found = decode_feedback({"key": "x", "score": 1, "created": "2025-01-02T03:04:05", "trial": 0, "run_id": "run-1"})

    assert found.created == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
