"""What passes between a run and its workers comes out as it went in."""

from datetime import UTC, datetime
from math import inf, isnan, nan

from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Conversation, Message
from simeval.core.run_records import Start
from simeval.core.trial import Failure, Rating, Score, Trial, TrialConversation, TurnCounts
from simeval.core.usage import Usage
from simeval.engine.executors.protocol import (
    Assignment,
    Delivery,
    decode_assignment,
    decode_delivery,
    encode_assignment,
    encode_delivery,
)

TEXTS = st.text(st.characters())  # halves of surrogate pairs and NUL among them
SAID = Conversation(
    messages=(
        Message(role="user", content="hi", started=datetime(2026, 1, 2, tzinfo=UTC), seconds=0.1234567890123),
        Message(role="assistant", content="hello", tool_calls=({"name": "look"},), metadata={"model": "m"}),
    ),
    writing_style={"tone": "curt"},
    ended="goal_satisfied",
)
TRIAL = Trial(3, 7, 2**62 + 1)
FAILED = Failure(stage="scorer", error="it broke", cause="ValueError")


def returned(score: Score | Failure) -> Score | Failure:
    """Return what is read of a delivery with one result."""
    return decode_delivery(encode_delivery(Delivery(conversation=SAID, results=(score,)))).results[0]


@given(st.floats(allow_nan=False), TEXTS)
def test_a_score_is_the_same_to_the_last_digit(value: float, reasoning: str) -> None:
    assert returned(Score(value=value, reasoning=reasoning)) == Score(value=value, reasoning=reasoning)


def test_a_score_keeps_its_type_and_all_that_belongs_to_it() -> None:
    rating = Rating(judge="j", repeat=0, score=7.5, reasoning="so")
    score = Score(value=7.5, details={"good_turns": 1, "turns": 2}, ratings=(rating,), turn_counts=TurnCounts(1, 2))
    yes, not_a_number = returned(Score(value=True)), returned(Score(value=nan))

    assert returned(score) == score
    assert isinstance(yes, Score)
    assert yes.value is True
    assert isinstance(not_a_number, Score)
    assert isnan(not_a_number.value)
    assert returned(Score(value=-inf)) == Score(value=-inf)
    assert returned(FAILED) == FAILED


def test_a_delivery_comes_out_as_it_went_in() -> None:
    delivery = Delivery(
        conversation=SAID,
        failure=FAILED,
        results=(FAILED, Score(value=1)),
        usage={"judge": Usage(calls=2, cost_usd=0.1)},
        unusable=("m", "authentication", "no key"),
    )

    found = decode_delivery(encode_delivery(delivery))

    assert repr(found) == repr(delivery)  # a message without seconds has NaN, which equals nothing
    assert encode_delivery(delivery).isascii()


def test_an_assignment_comes_out_as_it_went_in() -> None:
    assignment = Assignment(
        trial=TRIAL,
        held=TrialConversation(TRIAL, SAID),
        begun=Start(TRIAL, SAID.messages, '{"a": 1}'),
        settled=frozenset({0, 2}),
        known=frozenset({1}),
        rubrics={"key": {"1": "bad", "10": "good"}},
    )

    assert repr(decode_assignment(encode_assignment(assignment))) == repr(assignment)
