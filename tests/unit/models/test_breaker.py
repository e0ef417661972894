"""A circuit breaker, and the model that waits at it."""

import logging
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from simeval.core.settings import RetryConfig
from simeval.errors import ModelError, ModelErrorKind, ModelUnusable
from simeval.models.caller import Caller
from simeval.models.limits.governor import Breaker, Governed
from simeval.models.limits.traffic import Traffic
from simeval.models.protocol.model import Request
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request, failure
from tests.support.fake_clock import anyio_backend  # noqa: F401

OUTAGE: list[ModelErrorKind] = ["connection", "timeout", "server"]


def fail(breaker: Breaker, *times: float, kind: ModelErrorKind = "server", requests: int = 2) -> list[bool]:
    """Fail at these times, requests taking turns; give whether the breaker is open after each."""
    states = []
    for number, now in enumerate(times):
        breaker.failed(kind, now, number % requests)
        states.append(breaker.is_open)
    return states


def opened(at: float = 3.0) -> Breaker:
    breaker = Breaker()
    breaker.answered(0.0)
    assert fail(breaker, 1.0, 1.0, 1.0, at)[-1]
    return breaker


@pytest.mark.parametrize("kind", OUTAGE)
def test_it_opens_at_the_fourth_failure_in_a_row(kind: ModelErrorKind) -> None:
    breaker = Breaker()
    breaker.answered(10.0)

    assert fail(breaker, 10.1, 10.2, 10.3, 10.4, kind=kind) == [False] * 3 + [True]


def test_one_request_alone_does_not_open_it() -> None:
    breaker = Breaker()
    breaker.answered(0.0)

    assert not any(fail(breaker, *range(100), requests=1))


def test_an_answer_between_failures_keeps_it_closed() -> None:
    breaker = Breaker()

    for second in range(100):
        breaker.answered(float(second))
        assert not any(fail(breaker, *[second + 0.5] * 3))


def test_refusals_open_it_only_after_half_a_minute() -> None:
    breaker = Breaker()
    breaker.answered(0.0)

    assert fail(breaker, 5.0, 10.0, 20.0, 29.9, 30.0, kind="rate_limit") == [False] * 4 + [True]


def test_an_outage_is_told_once_when_it_has_lasted_for_two_seconds() -> None:
    breaker = opened(1.0)

    assert [breaker.is_to_tell(now) for now in (1.0, 1.9, 2.0, 2.1)] == [False, False, True, False]
    assert breaker.answered(5.0)


def test_a_short_outage_is_not_told() -> None:
    breaker = opened(1.0)

    assert not breaker.is_to_tell(1.5)
    assert not breaker.answered(1.6)
    assert not breaker.is_open


def test_probes_are_made_after_ever_longer_waits_and_at_last_every_30_seconds() -> None:
    breaker, now, waits = opened(3.0), 3.0, []

    for _ in range(11):
        waits.append(round(breaker.wait(now), 6))
        now += waits[-1]
        breaker.probe()
        breaker.probed(now, failed=True)

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]


def test_one_probe_is_made_at_a_time_and_one_that_was_abandoned_is_made_again() -> None:
    breaker = opened(3.0)

    breaker.probe()
    assert breaker.wait(50.0) == float("inf")

    breaker.probed(50.0, failed=False)
    assert breaker.wait(50.0) == pytest.approx(0.1)


def test_any_answer_closes_it() -> None:
    breaker = opened(3.0)
    assert breaker.is_to_tell(4.0)

    assert breaker.outage(8.0) == 5.0
    assert breaker.answered(8.0)
    assert not breaker.is_open
    assert breaker.wait(8.0) == 0.0
    assert not breaker.answered(9.0)


def test_after_an_outage_it_opens_as_before() -> None:
    breaker = opened(3.0)
    breaker.answered(8.0)

    assert fail(breaker, 9.0, 9.0, 9.0, 10.0) == [False, False, False, True]
    assert breaker.wait(10.0) == pytest.approx(0.1)


class Outage:
    """A model that is down, hangs, or answers, as the test says."""

    def __init__(self) -> None:
        self.down: ModelError | None = None
        self.hangs = False
        self.model = ScriptedModel(self._act)

    async def _act(self, _request: Request) -> str:
        await anyio.lowlevel.checkpoint()
        if self.hangs:
            await anyio.sleep_forever()
        if self.down is not None:
            raise self.down
        return "done"


def governed(model: ScriptedModel, *, outage_seconds: float = 60.0, clean: Callable[[str], str] = str) -> Governed:
    return Governed(model, Traffic(4), outage_seconds=outage_seconds, clean=clean)


async def go_down(model: Governed, outage: Outage, error: ModelError) -> None:
    """Answer once, then fail until the breaker has opened."""
    await model.complete(any_request())
    outage.down = error
    for seed in (1, 2, 1, 2):
        with pytest.raises(ModelError):
            await model.complete(any_request(seed))
    assert model.breaker.is_open


@pytest.mark.anyio
async def test_requests_are_told_apart_by_what_they_say_and_by_their_seeds() -> None:
    for second in (any_request(1), replace(any_request(0), when="pays")):
        outage = Outage()
        model = governed(outage.model)
        await model.complete(any_request())
        outage.down = failure("server")

        for request in (any_request(0), second) * 2:
            assert not model.breaker.is_open
            with pytest.raises(ModelError):
                await model.complete(request)
        assert model.breaker.is_open


@pytest.mark.anyio
@pytest.mark.parametrize("kind", OUTAGE)
async def test_a_model_that_never_answered_does_not_open_it(kind: ModelErrorKind) -> None:
    outage = Outage()
    outage.down = failure(kind)
    model = governed(outage.model)

    for seed in range(100):
        with pytest.raises(ModelError):
            await model.complete(any_request(seed))

    assert not model.breaker.is_open


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["authentication", "unknown_model", "bad_request"])
async def test_a_refusal_for_good_ends_the_run_only_where_the_model_has_never_answered(kind: ModelErrorKind) -> None:
    outage = Outage()
    model = governed(outage.model)
    outage.down = failure(kind)
    with pytest.raises(ModelUnusable, match=kind):
        await model.complete(any_request())

    outage.down = None
    await model.complete(any_request())
    outage.down = failure(kind)

    with pytest.raises(ModelError) as raised:
        await model.complete(any_request())
    assert not isinstance(raised.value, ModelUnusable)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", OUTAGE)
async def test_all_calls_wait_for_the_end_of_an_outage_and_none_of_them_fails(kind: ModelErrorKind) -> None:
    outage = Outage()
    model = governed(outage.model)
    await go_down(model, outage, failure(kind))
    calls = outage.model.calls

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(model.complete, any_request())
        await anyio.sleep(10)
        probes, outage.down = outage.model.calls - calls, None

    assert probes == 6  # after 0.1, 0.2, 0.4, 0.8, 1.6 and 3.2 seconds
    assert not model.breaker.is_open
    assert model.traffic.in_flight == 0


@pytest.mark.anyio
async def test_an_outage_is_told_in_two_lines_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage()
    model = governed(outage.model, clean=lambda text: text.replace("hunter2", "[secret]"))
    error = ModelError("m", kind="server", problem="HTTP 503: down\n(key hunter2)")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        await go_down(model, outage, error)
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(model.complete, any_request())
            await anyio.sleep(10)
            outage.down = None

    first, last = (record.getMessage() for record in caplog.records)
    assert first.startswith("scripted/model has failed every call for 3 s (server: HTTP 503: down (key [secret]))")
    assert first.endswith("paused, trying again every few seconds")
    assert last == "scripted/model answers again after 13 s; the run goes on"


@pytest.mark.anyio
async def test_an_outage_that_lasts_too_long_ends_the_run() -> None:
    outage = Outage()
    model = governed(outage.model, outage_seconds=20)
    await go_down(model, outage, failure("connection"))

    with pytest.raises(ModelUnusable, match="failed every call for 20 s, last: as") as raised:
        await model.complete(any_request())

    assert raised.value.kind == "connection"
    assert model.traffic.in_flight == 0


@pytest.mark.anyio
async def test_who_tries_again_after_giving_up_finds_the_model_answering() -> None:
    outage = Outage()
    model = governed(outage.model, outage_seconds=1)
    await go_down(model, outage, failure("server"))
    with pytest.raises(ModelUnusable):
        await model.complete(any_request())

    outage.down = None

    assert (await model.complete(any_request())).text == "done"


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["malformed", "content", "bad_request"])
async def test_a_useless_reply_is_an_answer(kind: ModelErrorKind) -> None:
    outage = Outage()
    model = governed(outage.model)
    await go_down(model, outage, failure("server"))

    outage.down = failure(kind)

    with pytest.raises(ModelError, match=kind):
        await model.complete(any_request())
    assert not model.breaker.is_open


@pytest.mark.anyio
async def test_a_cancelled_probe_is_followed_by_another() -> None:
    outage = Outage()
    model = governed(outage.model)
    await go_down(model, outage, failure("server"))
    outage.hangs = True
    with anyio.move_on_after(1) as scope:
        await model.complete(any_request())

    outage.hangs, outage.down = False, None
    completion = await model.complete(any_request())

    assert scope.cancelled_caught
    assert completion.text == "done"


@pytest.mark.anyio
async def test_requests_that_the_model_always_fails_on_do_not_hold_up_the_others() -> None:
    poison = [any_request(seed) for seed in (1, 2)]

    async def act(request: Request) -> str:
        await anyio.lowlevel.checkpoint()
        if request.seed in {one.seed for one in poison}:
            raise failure("server")
        return "done"

    model = governed(ScriptedModel(act))
    await model.complete(any_request(3))
    caller = Caller(model, RetryConfig(max_attempts=3, backoff_multiplier=0.001))
    failed: list[ModelError] = []

    async def ask(request: Request) -> None:
        with pytest.raises(ModelError) as caught:
            await caller.text(request)
        failed.append(caught.value)

    async with anyio.create_task_group() as tasks:
        for request in poison:
            tasks.start_soon(ask, request)

    assert [error.kind for error in failed] == ["server", "server"]
    assert (await model.complete(any_request(3))).text == "done"
    assert not model.breaker.is_open


@pytest.mark.anyio
async def test_a_short_outage_costs_no_call_its_attempts() -> None:
    outage = Outage()
    model = governed(outage.model)
    caller = Caller(model, RetryConfig(max_attempts=3, backoff_multiplier=0.001))
    await caller.text(any_request())
    answers: list[str] = []

    async def ask(seed: int) -> None:
        answers.append(await caller.text(any_request(seed)))

    outage.down = failure("connection")
    async with anyio.create_task_group() as tasks:
        for seed in range(20):
            tasks.start_soon(ask, seed)
        await anyio.sleep(5)
        outage.down = None

    assert answers == ["done"] * 20


async def asked_until_it_is_unusable(caller: Caller) -> ModelUnusable:
    while True:
        try:
            await caller.text(any_request())
        except ModelUnusable as error:
            return error
        except ModelError:  # one request is given up before
            continue


@pytest.mark.anyio
async def test_a_model_that_only_refuses_ends_within_twice_the_outage_and_is_told_of_after_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = Outage()
    caller = Caller(governed(outage.model, outage_seconds=20), RetryConfig(max_attempts=5))
    await caller.text(any_request())
    outage.down = failure("rate_limit")
    started = anyio.current_time()

    with caplog.at_level(logging.WARNING, logger="simeval"):
        made = await asked_until_it_is_unusable(caller)

    assert made.kind == "rate_limit"
    assert anyio.current_time() - started <= 40
    assert "has failed every call for" in caplog.records[0].getMessage()
