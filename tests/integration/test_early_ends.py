"""What is under way when a verdict is settled: what is ended, what is not, and what still counts."""

import json
from random import Random
from threading import Lock
from time import sleep
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from simeval import Engine
from simeval.core.trial import Judgement
from simeval.models.protocol.model import Request
from simeval.results.encoding import encode_suite
from simeval.testing import MemoryJournal, ScriptedModel
from tests.support.early_stopping import SeededApp, engine, scenario, trial_seeds

pytestmark = pytest.mark.anyio


async def test_what_is_under_way_when_the_verdict_is_settled_is_ended() -> None:
    app = SeededApp(0.0, slow=0.01)
    journal = MemoryJournal()

    async def later_is_slow(message: str, state: dict[str, Any]) -> str:
        number = app.started
        answer = await app(message, state)
        if number >= 10:
            await anyio.sleep(30)
        return answer

    with anyio.fail_after(10):
        result = await engine(concurrency=40, store=journal).evaluate(scenario(), later_is_slow)

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
    at_once, lock, most = 0, Lock(), 0

    def app(message: str, state: dict[str, Any]) -> str:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        sleep(0.002)
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


async def test_calls_that_are_ended_are_counted() -> None:
    asked = 0

    async def slow_later(request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked > 5:
            await anyio.sleep(30)
        return json.dumps({"message": str(request.seed), "continue": False})

    made = Engine("offline/judge", ScriptedModel(slow_later), seed=3, concurrency=40, store=None)
    with anyio.fail_after(10):
        result = await made.evaluate(scenario(), SeededApp(0.0, slow=0.001))

    usage = result.run.usage["user"]
    assert usage.calls == 5
    assert usage.calls + usage.ended_calls >= asked > 5
    assert "ended early" in str(result)


async def test_a_crash_that_comes_after_the_verdict_does_not_stop_the_run() -> None:
    made = engine(concurrency=10, on_app_error="stop")
    needed = {str(seed) for seed in trial_seeds(made, scenario())[:5]}

    def app(message: str, state: dict[str, Any]) -> str:
        if message in needed:
            return "bad"
        sleep(0.05)
        raise ValueError("too late to matter")

    result = await made.evaluate(scenario(), app)

    assert (result.outcome, result.trials) == ("fail", 5)
