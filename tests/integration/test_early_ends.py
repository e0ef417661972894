"""What is under way when a verdict is settled: what is ended, what is not, and what still counts."""

import json
from dataclasses import replace
from random import Random
from threading import Event, Lock
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from simeval import Engine, Expectation, ProportionEvaluator, scorer
from simeval.core.trial import TrialResult
from simeval.models.protocol.model import Request
from simeval.results.suite import encode_suite
from simeval.testing import MemoryJournal, ScriptedModel
from tests.support.early_stopping import AT_90, SeededApp, engine, is_good, scenario, trial_seeds
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_what_is_under_way_when_the_verdict_is_settled_is_ended() -> None:
    journal, all_are_under_way = MemoryJournal(), anyio.Event()
    started = 0

    async def app(message: str, state: dict[str, Any]) -> str:
        nonlocal started
        started += 1
        number = started
        if number == 40:
            all_are_under_way.set()
        await (all_are_under_way.wait() if number <= 10 else anyio.sleep_forever())
        return "bad"

    result = await engine(concurrency=40, store=journal).evaluate(scenario(), app)

    assert (result.outcome, result.trials) == ("fail", 5)
    under_way = len(result.extras)
    assert [extra.trial.index for extra in result.extras] == list(range(5, 5 + under_way))
    assert 35 <= under_way <= 44
    assert any(extra.conversation.ended == "settled" for extra in result.extras)
    assert all(extra.conversation.ended in ("settled", "goal_satisfied") for extra in result.extras)
    kept = [entry for entry in journal.entries if isinstance(entry, TrialResult)]
    assert len(kept) == 5 + under_way
    encoded = encode_suite([result], result.run, version="0")["scenarios"][0]
    assert sum(encoded["extras"].values()) == under_way


async def test_a_plain_function_keeps_its_place_until_it_returns_though_its_trial_was_ended() -> None:
    made = engine(concurrency=30, app_concurrency=2)
    ended, goes_on = scenario(title="ended"), scenario(title="goes on")
    *_, last_needed, first_unneeded = map(str, trial_seeds(made, ended)[:6])
    unneeded_began, others_went_on, lock = Event(), Event(), Lock()
    at_once = most = later = 0

    def app(message: str, state: dict[str, Any]) -> str:
        nonlocal at_once, most, later
        with lock:
            at_once += 1
            most = max(most, at_once)
        if message == last_needed:
            unneeded_began.wait(PATIENCE_SECONDS)
        elif message == first_unneeded:
            unneeded_began.set()
            others_went_on.wait(PATIENCE_SECONDS)
        else:
            anyio.from_thread.run(turns, 50)  # in which any other call that may start does
        with lock:
            at_once -= 1
            later += unneeded_began.is_set()
            if later == 10:
                others_went_on.set()
        return "bad" if message in seeds else "good"

    seeds = {str(seed) for seed in trial_seeds(made, ended)}
    results = await made.evaluate([ended, goes_on], app)

    assert [result.outcome for result in results] == ["fail", "pass"]
    assert most == 2


async def turns(count: int) -> None:
    """Let the event loop turn."""
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("concurrency", [1, 40])
async def test_a_trial_that_may_still_be_needed_is_never_ended(concurrency: int) -> None:
    async def fails_fast(message: str, state: dict[str, Any]) -> str:
        good = Random(message).random() < 0.85
        await turns(300 if good else 0)
        return "good" if good else "bad"

    result = await engine(concurrency=concurrency, stop="verdict").evaluate(scenario(sample_size=40), fails_fast)

    assert result.verdicts[0].missing == 0
    assert result.extras == ()
    assert result.trials == 40


async def test_calls_that_are_ended_are_counted() -> None:
    asked, others_are_asked = 0, anyio.Event()

    async def hangs_later(request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked > 5:
            others_are_asked.set()
            await anyio.sleep_forever()
        await others_are_asked.wait()
        return json.dumps({"message": str(request.seed), "status": "satisfied"})

    made = Engine("offline/judge", ScriptedModel(hangs_later), seed=3, concurrency=40, min_trials=1, store=None)
    result = await made.evaluate(replace(scenario(), max_turns=1), SeededApp(0.0))

    usage = result.run.usage["user"]
    assert usage.calls == 5
    assert usage.calls + usage.ended_calls >= asked > 5
    assert "ended early" in str(result)


async def test_a_crash_that_comes_after_the_verdict_does_not_stop_the_run() -> None:
    made = engine(concurrency=10, on_app_error="stop")
    needed = {str(seed) for seed in trial_seeds(made, scenario())[:5]}
    measured, all_are_measured = 0, Event()

    @scorer
    async def is_good(output: str) -> bool:
        nonlocal measured
        measured += 1
        if measured == 5:
            all_are_measured.set()
        return output == "good"

    def app(message: str, state: dict[str, Any]) -> str:
        if message in needed:
            return "bad"
        all_are_measured.wait(PATIENCE_SECONDS)
        anyio.from_thread.run(anyio.wait_all_tasks_blocked)
        raise ValueError("too late to matter")

    result = await made.evaluate(scenario(Expectation(scorer=is_good, evaluator=AT_90)), app)

    assert (result.outcome, result.trials, measured) == ("fail", 5, 5)
    assert len(result.extras) >= 5


async def test_what_goes_wrong_with_a_requirement_after_it_is_settled_is_told_at_no_concurrency() -> None:
    @scorer
    def breaks_late(output: str, seed: int) -> bool:
        if Random(seed).random() < 0.2:
            raise ValueError("unreadable")
        return True

    then = [
        Expectation(scorer=breaks_late, evaluator=ProportionEvaluator(min_proportion=0.1), label="settled soon"),
        Expectation(scorer=is_good, evaluator=AT_90, label="goes on"),
    ]
    told = []
    for concurrency in (1, 64):
        made = engine(concurrency=concurrency, stop="verdict", max_error_rate=0.9)
        told.append((await made.evaluate(scenario(*then), SeededApp(0.99))).failures)

    assert told[0] == told[1]
