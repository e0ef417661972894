"""Calls that are made again when their cause may pass."""

from itertools import pairwise
from typing import get_args

import anyio
import pytest

from simeval.core.settings import RetryConfig
from simeval.core.waits import LONGEST_RETRY_AFTER
from simeval.errors import RETRYABLE, MalformedReply, ModelError, ModelErrorKind, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.protocol.model import Grade
from simeval.testing import ScriptedModel
from tests.support.doubles import TimedModel, any_request, failure
from tests.support.fake_clock import anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio

GRADE = '{"reasoning": "it did", "score": 8}'
AT_ONCE = RetryConfig(max_attempts=4, backoff_multiplier=0)
KINDS: tuple[ModelErrorKind, ...] = get_args(ModelErrorKind)


@pytest.mark.parametrize("kind", sorted(RETRYABLE))
async def test_a_cause_that_may_pass_is_tried_again(kind: ModelErrorKind) -> None:
    model = ScriptedModel([failure(kind), failure(kind), GRADE])

    grade = await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert grade.score == 8
    assert model.calls == 3


async def test_a_model_that_was_never_reached_is_unusable() -> None:
    model = ScriptedModel([failure("connection")])

    with pytest.raises(ModelUnusable, match="connection"):
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert model.calls == 4


async def test_a_connection_that_is_lost_after_an_answer_is_missing_data() -> None:
    caller = Caller(ScriptedModel([GRADE, failure("connection")]), AT_ONCE)
    await caller.ask(any_request(), Grade)

    with pytest.raises(ModelError, match="after 4 attempts") as raised:
        await caller.ask(any_request(), Grade)

    assert not isinstance(raised.value, ModelUnusable)


@pytest.mark.parametrize("kind", sorted(RETRYABLE - {"connection"}))
async def test_after_the_last_attempt_the_error_tells_how_many_there_were(kind: ModelErrorKind) -> None:
    model = ScriptedModel([failure(kind)])

    with pytest.raises(ModelError, match="after 4 attempts") as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert (model.calls, raised.value.attempts, raised.value.role) == (4, 4, "rubric")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - RETRYABLE))
async def test_a_cause_that_will_not_pass_is_not_tried_again(kind: ModelErrorKind) -> None:
    model = ScriptedModel([failure(kind), GRADE])

    with pytest.raises(ModelError) as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert (model.calls, raised.value.attempts, raised.value.role) == (1, 1, "rubric")


async def test_a_model_that_cannot_be_used_is_asked_once() -> None:
    model = ScriptedModel([ModelUnusable("m", kind="authentication", problem="HTTP 401"), GRADE])

    with pytest.raises(ModelUnusable):
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert model.calls == 1


async def test_the_last_error_is_the_one_that_is_raised() -> None:
    model = ScriptedModel([failure("server"), failure("timeout"), failure("content")])

    with pytest.raises(ModelError) as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert (raised.value.kind, raised.value.attempts) == ("content", 3)


async def test_a_malformed_reply_is_asked_for_again() -> None:
    model = ScriptedModel(["eight out of ten", '{"reasoning": "x", "score": 12}', GRADE])

    grade = await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert grade.score == 8
    assert model.calls == 3


async def test_replies_that_stay_malformed_are_an_error_with_the_last_reply() -> None:
    model = ScriptedModel(["one", "two", "three", "four"])

    with pytest.raises(MalformedReply, match="no JSON object, in 'four'") as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert raised.value.attempts == 4


async def test_a_text_is_given_as_it_stands_and_an_empty_one_asked_for_again() -> None:
    model = ScriptedModel(["", " \n", " hello "])

    text = await Caller(model, AT_ONCE).text(any_request())

    assert text == " hello "
    assert model.calls == 3


async def test_without_retries_there_is_one_attempt() -> None:
    model = ScriptedModel([failure("server"), GRADE])

    with pytest.raises(ModelError):
        await Caller(model, RetryConfig(enabled=False)).ask(any_request(), Grade)

    assert model.calls == 1


async def test_one_attempt_is_one_attempt() -> None:
    model = ScriptedModel([failure("server"), GRADE])

    with pytest.raises(ModelError):
        await Caller(model, RetryConfig(max_attempts=1)).ask(any_request(), Grade)

    assert model.calls == 1


async def test_another_exception_passes_through_at_once() -> None:
    model = ScriptedModel([KeyError("a bug"), GRADE])

    with pytest.raises(KeyError):
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert model.calls == 1


async def test_what_a_provider_asks_to_wait_is_waited() -> None:
    model = TimedModel([failure("rate_limit", retry_after=15), GRADE])

    await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert model.times[1] - model.times[0] == pytest.approx(15)


async def test_waits_stay_below_the_longest_backoff() -> None:
    model = TimedModel([failure("server")] * 4 + [GRADE])
    retry = RetryConfig(max_attempts=5, backoff_multiplier=1000, max_backoff_seconds=2)

    await Caller(model, retry).ask(any_request(), Grade)

    waits = [later - earlier for earlier, later in pairwise(model.times)]
    assert len(waits) == 4
    assert max(waits) <= 2


async def test_a_provider_that_asks_for_more_than_two_minutes_is_not_waited_for() -> None:
    model = TimedModel([failure("rate_limit", retry_after=LONGEST_RETRY_AFTER + 1), GRADE])

    with pytest.raises(ModelError) as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert LONGEST_RETRY_AFTER == 120
    assert (model.calls, raised.value.attempts) == (1, 1)
    assert anyio.current_time() == model.times[0]


async def test_a_wait_can_be_cancelled() -> None:
    model = ScriptedModel([failure("rate_limit", retry_after=100), GRADE])

    with anyio.move_on_after(50) as scope:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert scope.cancelled_caught
    assert model.calls == 1
