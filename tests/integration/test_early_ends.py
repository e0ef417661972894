"""Trials under way when a verdict is settled: which are ended, and what becomes of them."""

import json
from random import Random
from threading import Event, Lock
from time import sleep
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from simeval import (
    Engine,
    Expectation,
    MeanEvaluator,
    ProportionEvaluator,
    scorer,
)
from simeval.core.trial import Judgement
from simeval.models.protocol.model import Request
from simeval.results.encoding import encode_suite
from simeval.store.journal import MemoryJournal
from tests.support.doubles import Acting
from tests.support.gates import Gate
from tests.support.stopping import AT_90, SeededApp, engine, is_good, is_said, scenario, trial_seeds

pytestmark = pytest.mark.anyio


async def test_what_is_under_way_when_the_verdict_is_settled_is_ended() -> None:
    gate, journal = Gate(40), MemoryJournal()
    started = 0

    async def later_never_answers(message: str, state: dict[str, Any]) -> str:
        nonlocal started
        number, started = started, started + 1
        async with gate:
            if number >= 10:
                await anyio.sleep_forever()
            return "bad"

    with anyio.fail_after(60):
        result = await engine(concurrency=40, store=journal).evaluate(scenario(), later_never_answers)

    assert (result.outcome, result.trials) == ("fail", 5)
    under_way = len(result.extras)
    assert [extra.trial.index for extra in result.extras] == list(range(5, 5 + under_way))
    assert 35 <= under_way <= 44
    assert any(extra.conversation.ended == "settled" for extra in result.extras)
    assert all(extra.conversation.ended in ("settled", "user") for extra in result.extras)
    kept = [entry for entry in journal.entries if isinstance(entry, Judgement)]
    assert len(kept) == 5 + under_way
    encoded = encode_suite([result], result.run, version="0")["scenarios"][0]
    assert sum(encoded["extras"].values()) == under_way


async def test_a_plain_function_is_never_run_twice_at_once_by_an_end() -> None:
    at_once, lock, most, both = 0, Lock(), 0, Event()

    def app(message: str, state: dict[str, Any]) -> str:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        if at_once == 2:
            both.set()
        both.wait(60)
        with lock:
            at_once -= 1
        return "bad"

    suite = [scenario(title=f"s{number}") for number in range(8)]
    await engine(concurrency=30, app_concurrency=2).evaluate(suite, app)

    assert most == 2


@pytest.mark.parametrize("concurrency", [1, 40])
async def test_a_trial_that_may_still_be_needed_is_never_ended(concurrency: int) -> None:
    async def fails_fast(message: str, state: dict[str, Any]) -> str:
        good = Random(message).random() < 0.85
        await anyio.sleep(0.02 if good else 0.0)
        return "good" if good else "bad"

    result = await engine(concurrency=concurrency, stop="verdict").evaluate(scenario(sample_size=40), fails_fast)

    assert result.verdicts[0].missing == 0
    assert result.extras == ()
    assert result.trials == 40


@pytest.mark.parametrize("seed", range(6))
async def test_crashes_that_are_left_out_can_neither_hang_a_run_nor_prolong_it(seed: int) -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        await anyio.lowlevel.checkpoint()
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    test = scenario(
        Expectation(scorer=is_good, evaluator=MeanEvaluator(at_least=0.6), label="mean"),
        Expectation(scorer=is_said, evaluator=ProportionEvaluator(min_proportion=0.7), label="share"),
        sample_size=25,
    )

    with anyio.fail_after(10):
        made = engine(concurrency=8, on_app_error="exclude", max_error_rate=1.0, seed=seed)
        result = await made.evaluate(test, crashes)

    assert all(judgement.trial.index < 25 for judgement in (*result.judgements, *result.extras))
    assert any(verdict.left_out for verdict in result.verdicts)


async def test_too_many_crashes_that_are_left_out_are_an_error_whatever_the_others_prove() -> None:
    async def crashes(message: str, state: dict[str, Any]) -> str:
        if Random(message).random() < 0.3:
            raise ValueError("no")
        return "good"

    result = await engine(on_app_error="exclude").evaluate(scenario(), crashes)

    assert result.outcome == "error"
    assert "left out" in str(result)


def broken_after(trials: int) -> Any:
    calls = 0

    @scorer
    async def breaks(output: str) -> bool:
        nonlocal calls
        calls += 1
        if calls > trials:
            raise ValueError("no measure")
        return True

    return breaks


async def test_what_comes_after_a_verdict_does_not_turn_it_into_an_error() -> None:
    both = [
        ProportionEvaluator(min_proportion=0.5),
        ProportionEvaluator(min_proportion=0.9, early_stopping=False),
    ]

    result = await engine(concurrency=1).evaluate(
        scenario(Expectation(scorer=broken_after(15), evaluator=both)), SeededApp(1.0)
    )

    assert [verdict.outcome for verdict in result.verdicts] == ["pass", "error"]


async def test_a_settled_expectation_is_measured_no_more() -> None:
    measured = 0

    @scorer
    async def counted(output: str) -> bool:
        nonlocal measured
        measured += 1
        return True

    test = scenario(
        Expectation(scorer=counted, evaluator=ProportionEvaluator(min_proportion=0.5), label="soon"),
        Expectation(scorer=is_said, evaluator=AT_90, label="later"),
    )

    result = await engine(concurrency=1).evaluate(test, SeededApp(1.0))

    assert (result.trials, measured, result.verdicts[0].n) == (45, 11, 11)
    assert result.failures == ()
    assert len(result.expectations[0].scores) == 11
    assert result.worst(result.expectations[0]) is None


async def test_calls_that_are_ended_are_counted() -> None:
    asked = 0

    async def slow_later(request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked > 5:
            await anyio.sleep(30)
        return json.dumps({"message": str(request.seed), "continue": False})

    made = Engine("offline/judge", Acting(slow_later), seed=3, concurrency=40, store=None)
    with anyio.fail_after(10):
        result = await made.evaluate(scenario(), SeededApp(0.0, slow=0.001))

    usage = result.run.usage["user"]
    assert usage.calls == 5
    assert usage.calls + usage.ended_calls >= asked > 5
    assert "ended early" in str(result)


async def test_a_crash_that_comes_after_the_verdict_does_not_stop_the_run() -> None:
    made = engine(concurrency=10, on_app_error="stop")
    needed = {str(seed) for seed in trial_seeds(made, scenario())[:5]}

    late: list[str] = []

    def app(message: str, state: dict[str, Any]) -> str:
        if message in needed:
            return "bad"
        late.append(message)
        while made.trials_in_flight > len(late):  # until those that are needed have been concluded on
            sleep(0.001)
        raise ValueError("too late to matter")

    with anyio.fail_after(60):
        result = await made.evaluate(scenario(), app)

    assert (result.outcome, result.trials) == ("fail", 5)
