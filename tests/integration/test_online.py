"""Live conversations are sampled, queued, counted and estimated beside the app."""

import gc
import logging
import tracemalloc
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.trial import Failure, Score
from simeval.extras.online.evaluator import OnlineEvaluator
from simeval.extras.online.running_estimate import MOST_METRICS
from simeval.scorers.base import ColumnScorer
from simeval.testing import ScriptedModel
from tests.support.doubles import failure
from tests.support.live import GRADE, SAID, Fine, Helpful, Stuck, adds_up, raising, settled

pytestmark = pytest.mark.anyio


async def test_live_conversations_have_running_estimates() -> None:
    async with OnlineEvaluator([Fine()]) as evaluator:
        for number in range(200):
            evaluator.submit(input="hello", output="bad" if number % 10 == 0 else "fine")
        await settled(evaluator)

        found = evaluator.estimates()["Fine.fine"]

    assert (found.n, found.missing, found.mean, found.recent) == (200, 0, 0.9, 0.9)
    assert found.interval is not None
    assert 0.8 < found.interval[0] < 0.9 < found.interval[1] < 1
    assert evaluator.estimates()["Fine.fine"] == found


async def test_every_conversation_of_a_burst_is_accounted_for() -> None:
    class Moody(ColumnScorer):
        quick = True

        def score(self, number: int) -> bool:
            if number % 7 == 0:
                raise ValueError(number)
            return True

    async with OnlineEvaluator([Fine(), Moody()], sampling_rate=0.7, queue_size=50, seed=1) as evaluator:
        for number in range(10_000):
            evaluator.submit(SAID, number=number)
            if number % 20 == 0:
                await anyio.lowlevel.checkpoint()
            assert adds_up(evaluator)

    fine, moody = evaluator.counts["Fine"], evaluator.counts["Moody"]
    assert adds_up(evaluator)
    assert evaluator.submitted == 10_000
    assert 2_800 < evaluator.sampled_out < 3_200
    assert fine.queued == moody.queued == fine.failed == 0
    assert min(fine.scored, fine.dropped, moody.failed, moody.dropped) > 50
    assert evaluator.estimates()["Fine.fine"].n == fine.scored
    assert evaluator.estimates()["Moody"].n == moody.scored
    assert evaluator.estimates()["Moody"].missing == moody.failed


async def test_a_burst_that_leaves_the_loop_no_turn_fills_the_queue_and_drops_the_rest() -> None:
    async with OnlineEvaluator([Fine()], queue_size=50) as evaluator:
        taken = [evaluator.submit(SAID) for _ in range(10_000)]

    assert taken == [True] * 50 + [False] * 9_950
    assert (evaluator.counts["Fine"].scored, evaluator.counts["Fine"].dropped) == (50, 9_950)


async def test_a_queue_of_one_takes_one() -> None:
    async with OnlineEvaluator([Stuck()], queue_size=1, workers=1, drain_seconds=0) as evaluator:
        await anyio.wait_all_tasks_blocked()
        under_way = evaluator.submit(SAID)
        await anyio.wait_all_tasks_blocked()
        taken = [evaluator.submit(SAID) for _ in range(3)]
        assert evaluator.counts["Stuck"].queued == 2

    assert (under_way, taken) == (True, [True, False, False])
    assert (evaluator.counts["Stuck"].dropped, evaluator.counts["Stuck"].queued) == (4, 0)


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
async def test_the_same_seed_samples_the_same_conversations(rate: float) -> None:
    sampled = []
    for seed in (3, 3, 4):
        async with OnlineEvaluator([Fine()], sampling_rate=rate, seed=seed) as evaluator:
            sampled.append([evaluator.submit(SAID) for _ in range(400)])

    assert sampled[0] == sampled[1]
    assert (sampled[0] == sampled[2]) is (rate in (0, 1))
    assert abs(sum(sampled[0]) / 400 - rate) < 0.06


async def test_scores_count_in_the_order_of_submission() -> None:
    first_may_end = anyio.Event()

    async def slow_first(number: int) -> bool:
        if number == 0:
            await first_may_end.wait()
        return number > 0

    async with OnlineEvaluator([slow_first]) as evaluator:
        for number in range(20):
            evaluator.submit(SAID, number=number)
        await anyio.wait_all_tasks_blocked()
        assert evaluator.counts["slow_first"].scored == 19
        assert evaluator.estimates() == {}

        first_may_end.set()
        await settled(evaluator)

    assert (evaluator.estimates()["slow_first"].n, evaluator.estimates()["slow_first"].mean) == (20, 0.95)


async def test_workers_do_not_run_far_ahead_of_one_that_takes_long() -> None:
    async def stuck_first(number: int) -> bool:
        if number == 0:
            await anyio.sleep_forever()
        return True

    async with OnlineEvaluator([stuck_first], queue_size=10, workers=2, drain_seconds=0.01) as evaluator:
        for number in range(500):
            evaluator.submit(SAID, number=number)
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert evaluator.counts["stuck_first"].scored < 15

    found = evaluator.counts["stuck_first"]
    assert adds_up(evaluator)
    assert evaluator.estimates()["stuck_first"].n == found.scored < 15


async def test_several_metrics_of_a_scorer_each_have_an_estimate() -> None:
    async def several(number: int) -> dict[str, object]:
        sometimes = {"rare": True} if number == 3 else {}
        return {"a": {"b": number}, "ok": number > 0, "text": "words", **sometimes}

    async with OnlineEvaluator([several], bounds={"several.a.b": (0, 10)}) as evaluator:
        for number in range(4):
            evaluator.submit(SAID, number=number)

    found = evaluator.estimates()
    assert {name: (each.n, each.missing, each.mean) for name, each in found.items()} == {
        "several.a.b": (4, 0, 1.5),
        "several.ok": (4, 0, 0.75),
        "several.rare": (1, 3, 1.0),
    }
    assert found["several.a.b"].interval is not None


async def test_metrics_without_an_end_take_no_memory_without_an_end() -> None:
    async def tagging(number: int) -> dict[str, bool]:
        return {f"tag {number}": True}

    async with OnlineEvaluator([tagging]) as evaluator:
        for number in range(MOST_METRICS + 50):
            evaluator.submit(SAID, number=number)

    assert len(evaluator.estimates()) == MOST_METRICS


async def test_a_drop_is_told_once_and_again_when_the_watch_is_renewed() -> None:
    drops: list[tuple[str, int]] = []
    async with OnlineEvaluator(
        [Fine()],
        watch={"Fine.fine": 0.9},
        on_drop=lambda metric, estimate: drops.append((metric, estimate.n)),
        false_alarm_every=100,
    ) as evaluator:
        for output in ["fine"] * 100 + ["bad"] * 100:
            evaluator.submit(output=output)
        await settled(evaluator)
        assert evaluator.estimates()["Fine.fine"].alarmed

        evaluator.rearm("Fine.fine")
        assert not evaluator.estimates()["Fine.fine"].alarmed
        for _ in range(100):
            evaluator.submit(output="bad")

    assert [metric for metric, _ in drops] == ["Fine.fine"] * 2
    assert 100 < drops[0][1] < 150 < 200 < drops[1][1] < 250


async def test_a_drop_is_logged_where_nobody_is_called(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator([Fine()], watch={"Fine.fine": 0.9}) as evaluator:
            for _ in range(100):
                evaluator.submit(output="bad")

    assert [record.getMessage()[:21] for record in caplog.records] == ["Fine.fine has dropped"]


async def test_each_score_is_told_without_secrets() -> None:
    told: list[tuple[str, Score | Failure]] = []

    async def leaky(output: str) -> Score:
        return Score(value=1, reasoning=f"{output} of tiger-42", details={"seen": ["tiger-42"]})

    async def keep(name: str, score: Score | Failure, columns: Mapping[str, Any]) -> None:
        told.append((f"{name} of {columns['trace']}", score))

    async with OnlineEvaluator(
        [leaky, raising(ValueError("tiger-42"))], on_score=keep, secret_patterns=["tiger-[0-9]+"]
    ) as evaluator:
        evaluator.submit(SAID, trace="t1")

    scores = dict(told)
    assert scores["leaky of t1"] == Score(value=1, reasoning="fine of [secret]", details={"seen": ["[secret]"]})
    assert isinstance(scores["raising of t1"], Failure)
    assert "tiger" not in scores["raising of t1"].error


async def test_metrics_are_named_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    dropped: list[str] = []

    def leaky(number: int) -> dict[str, object]:
        return {"by": {f"tiger-{number}": number % 2, "all": 1}}

    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator(
            [leaky],
            secret_patterns=["tiger-[0-9]+"],
            watch={"leaky.by.[secret]": 0.9},
            on_drop=lambda name, _estimate: dropped.append(name),
        ) as evaluator:
            for number in range(300):
                evaluator.submit(SAID, number=number)

    estimate = evaluator.estimates()["leaky.by.[secret]"]
    assert (estimate.n, estimate.missing, estimate.mean) == (300, 0, 0.5)
    assert sorted(evaluator.estimates()) == ["leaky.by.[secret]", "leaky.by.all"]
    assert dropped == ["leaky.by.[secret]"]
    assert "tiger" not in caplog.text


async def test_scorers_that_ask_a_model_ask_the_judge_and_are_retried() -> None:
    model = ScriptedModel([failure("server"), "malformed", GRADE])

    async with OnlineEvaluator([Helpful()], judge_model=model, bounds={"Helpful": (1, 10)}) as evaluator:
        evaluator.submit(SAID)
        await settled(evaluator)

    found = evaluator.estimates()["Helpful"]
    assert (found.n, found.mean, model.calls) == (1, 8, 3)
    assert (evaluator.usage["scorer"].calls, evaluator.usage["scorer"].failed_calls) == (3, 1)


async def test_connections_are_closed_at_the_end() -> None:
    async def act(_request: object) -> str:
        return GRADE

    model = ScriptedModel(act)
    async with OnlineEvaluator([Helpful(model=model)], workers=3) as evaluator:
        for _ in range(20):
            evaluator.submit(SAID)

    assert (evaluator.counts["Helpful"].scored, model.closed) == (20, True)
    assert model.peak <= 3


async def test_no_conversation_is_kept() -> None:
    async with OnlineEvaluator([Fine()], queue_size=100, watch={"Fine.fine": 0.5}) as evaluator:

        async def serve(number: int) -> int:
            for _ in range(number):
                evaluator.submit(
                    Conversation(messages=(Message(role="assistant", content=f"{evaluator.submitted} " * 100),))
                )
                await anyio.lowlevel.checkpoint()
            await settled(evaluator)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = await serve(200)
            after = await serve(800)
        finally:
            tracemalloc.stop()

    assert evaluator.counts["Fine"].scored > 500
    assert after - before < 50_000
