"""A governed model: what it makes of failures and of long prompts."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pytest

from simeval.core.conversation import ChatMessage
from simeval.errors import ModelError
from simeval.models.protocol.model import Completion
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.embedding import EmbeddingRequest
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request, failure, governed
from tests.support.fake_clock import FakeClockLoop, anyio_backend  # noqa: F401

pytestmark = pytest.mark.anyio


async def test_requests_of_one_seed_are_told_apart_by_what_they_ask() -> None:
    model = ScriptedModel(["yes", *[failure("server")] * 9])
    down = governed(model)
    await down.complete(EmbeddingRequest(texts=["first"]))

    for number in range(4):
        with suppress(ModelError):
            await down.complete(EmbeddingRequest(texts=[f"text {number % 2}"]))

    assert down.breaker.is_open


async def test_one_request_that_a_model_fails_on_is_no_outage_however_it_is_asked_again() -> None:
    failing = governed(ScriptedModel(["yes", *[failure("server")] * 9]))
    await failing.complete(any_request())

    for _ in range(4):
        with suppress(ModelError):
            await failing.complete(any_request(1))
    with suppress(ModelError):
        await failing.complete(any_request(1).patient())

    assert not failing.breaker.is_open


async def test_a_prompt_is_measured_for_a_cut_only_where_none_was_longer() -> None:
    rendered = 0

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Counted(ChatRequest):
        def first_messages(self) -> Sequence[ChatMessage]:
            nonlocal rendered
            rendered += 1
            return self.history

    model = governed(ScriptedModel([Completion(text="yes", prompt_tokens=tokens) for tokens in (2000, 1900, 1800)]))
    for _ in range(3):
        await model.complete(Counted(history=[{"role": "user", "content": "word " * 1000}]))

    assert rendered == 1


async def test_a_model_that_refuses_every_call_is_announced_before_its_wait_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusing = governed(ScriptedModel([failure("rate_limit", retry_after=8)] * 2))

    for _ in range(2):
        with pytest.raises(ModelError) as raised:
            await refusing.complete(any_request())

    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "scripted/model has refused every call so far (as scripted); it asks to be tried again after 8 s" in told[0]
    assert not raised.value.waited_out


async def test_a_model_that_never_answered_is_not_waited_for_beyond_an_outage() -> None:
    refusing = governed(ScriptedModel([failure("rate_limit", retry_after=61)]))

    with pytest.raises(ModelError) as raised:
        await refusing.complete(any_request())

    assert raised.value.waited_out


async def test_a_model_that_has_answered_is_left_to_its_breaker(caplog: pytest.LogCaptureFixture) -> None:
    once = governed(ScriptedModel(["yes", failure("rate_limit", retry_after=61)]))
    await once.complete(any_request())

    with pytest.raises(ModelError) as raised:
        await once.complete(any_request())

    assert not raised.value.waited_out
    assert not caplog.records
