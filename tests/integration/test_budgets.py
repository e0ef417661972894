"""A run stops in order at its budget, says so, and goes on with a larger one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import anyio.to_thread
import pytest

import simeval
from simeval import Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core.run_records import Heartbeat, Usage, total
from simeval.engine import run_context
from simeval.engine.flow import Recorder, UnderWay
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Completion
from simeval.models.providers.offline import OfflineModel
from simeval.testing import MemoryJournal
from tests.support.stores import begun

pytestmark = pytest.mark.anyio

Engine = partial(simeval.Engine, seed=4, early_stopping=False)
BEHAVIOUR = "The bot tracks orders, starts returns"
SUITE = [
    ScenarioTest(
        title=f"scenario {number}",
        given="A customer",
        when="The customer asks what the bot can do. The customer asks how long a return takes.",
        then=Expectation(expected_behavior=BEHAVIOUR, evaluator=SuccessRateEvaluator(min_proportion=0.6)),
        sample_size=20,
        max_turns=4,
    )
    for number in range(3)
]
MOST_OF_A_TRIAL = 5  # calls: four of the user's, one of the judge's


async def app(message: str) -> str:
    await anyio.lowlevel.checkpoint()
    return "I track orders and start returns."


class Priced:
    """An embedded model whose calls cost a cent each."""

    def __init__(self, name: str) -> None:
        self.model, self.name = OfflineModel(name), f"priced/{name}"

    async def complete(self, request: Any) -> Completion:
        made = await self.model.complete(request)
        return Completion(text=made.text, prompt_tokens=90, completion_tokens=10, cost_usd=0.01)

    async def close(self) -> None:
        pass


class Telling(MemoryJournal):
    """A journal that tells when it knows of so many calls."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.knows, self.calls = Event(), calls

    def append(self, run_id: str, entries: Sequence[Any]) -> None:
        super().append(run_id, entries)
        if any(total(each.usage).calls == self.calls for each in entries if isinstance(each, Heartbeat)):
            self.knows.set()


class TestBudgets:
    @pytest.mark.parametrize("most", [20, 60, 100])
    @pytest.mark.parametrize("concurrency", [1, 8, 50])
    async def test_no_more_calls_are_made_than_may_be(self, most: int, concurrency: int) -> None:
        engine = Engine(max_calls=most, concurrency=concurrency, store=None)

        results = await engine.evaluate(SUITE, app)

        assert most - MOST_OF_A_TRIAL < total(results.run.usage).calls <= most
        assert results.run.stopped.startswith(f"max_calls of {most} is reached")

    async def test_what_was_begun_is_finished_and_what_is_left_is_inconclusive(self) -> None:
        results = await Engine(max_calls=100, store=None).evaluate(SUITE, app)

        verdicts = [result.verdicts[0] for result in results]
        assert sum(result.trials for result in results) > 20
        assert not any(result.failures for result in results)
        assert {verdict.outcome for verdict in verdicts} == {"inconclusive"}
        assert {verdict.reason for verdict in verdicts} == {"run_stopped"}
        assert all("max_calls of 100 is reached" in verdict.explanation for verdict in verdicts)
        assert "max_calls of 100 is reached" in str(results)

    async def test_calls_are_in_the_journal_after_a_second_though_nothing_else_is_written(self) -> None:
        journal, spent = Telling(7), Usage()

        async with Recorder(
            journal, lambda: Heartbeat(seconds=0.0, usage={"user": replace(spent)}), UnderWay()
        ) as recorder:
            await recorder.begin(begun())
            spent.calls = 7
            are_known = await anyio.to_thread.run_sync(journal.knows.wait, 3.0)

        assert are_known

    async def test_verdicts_reached_before_stand(self) -> None:
        results = await simeval.Engine(seed=4, max_calls=120, concurrency=4, store=None).evaluate(
            [SUITE[0], *(each for each in SUITE[1:])], app
        )
        whole = await simeval.Engine(seed=4, store=None).evaluate(SUITE, app)

        settled = [number for number, result in enumerate(results) if result.verdicts[0].reason != "run_stopped"]

        assert [results[number].verdicts for number in settled] == [whole[number].verdicts for number in settled]

    async def test_it_can_be_resumed_with_a_larger_one(self, tmp_path: Path) -> None:
        store = tmp_path / "runs.db"
        whole = await Engine(store=None).evaluate(SUITE, app)
        stopped = await Engine(max_calls=100, store=store).evaluate(SUITE, app)

        more = await Engine(max_calls=150, store=store, resume="last").evaluate(SUITE, app)
        rest = await Engine(store=store, resume="last").evaluate(SUITE, app)

        calls = [total(results.run.usage).calls for results in (stopped, more, rest, whole)]
        assert calls[0] <= 100 < calls[1] <= 150 < calls[2] == calls[3]
        assert [result.verdicts for result in rest] == [result.verdicts for result in whole]

    @pytest.mark.parametrize("limit", [{"max_cost_usd": 1.0}, {"max_tokens": 20_000}], ids=["cost", "tokens"])
    async def test_cost_and_tokens_end_it_near_their_limit(self, limit: dict[str, Any]) -> None:
        judge, user = Priced("offline/judge"), Priced("offline/user")
        engine = Engine(judge, user, store=None, concurrency=4, rubric_folder=None, **limit)

        results = await engine.evaluate(SUITE, app)

        name, most = next(iter(limit.items()))
        used = total(results.run.usage)
        spent = used.cost_usd if name == "max_cost_usd" else used.prompt_tokens + used.completion_tokens
        assert spent is not None
        assert 0.8 * most <= spent <= 1.05 * most
        assert results.run.stopped.startswith(name)

    async def test_no_trial_is_started_after_the_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = 0.0
        monkeypatch.setattr(run_context, "perf_counter", lambda: clock)

        async def slow(message: str) -> str:
            nonlocal clock
            clock += 1.0
            return "I track orders and start returns."

        results = await Engine(max_seconds=30, store=None, concurrency=4).evaluate(SUITE, slow)

        assert results.run.stopped.startswith("max_seconds of 30 is reached")
        assert 30 <= results.run.seconds <= 30 + 4 * 4  # four trials were under way, of four turns at most
        assert 0 < sum(result.trials for result in results) < 60

    async def test_a_budget_that_pays_no_trial_is_refused_before_any_call(self) -> None:
        with pytest.raises(DefinitionError, match="max_calls"):
            await Engine(max_calls=3, store=None).evaluate(SUITE, app)

    async def test_a_budget_in_dollars_needs_prices(self) -> None:
        with pytest.raises(DefinitionError, match="no price is known"):
            await Engine(
                "openai-compatible/x", max_cost_usd=1, store=None, model_options={"api_base": "http://127.0.0.1:9"}
            ).evaluate(SUITE, app)


async def test_a_run_can_be_told_to_stop_in_order() -> None:
    engine = Engine(store=None, concurrency=4)
    turns = 0

    async def stopping(message: str) -> str:
        nonlocal turns
        turns += 1
        if turns == 20:
            engine.stop("that is enough")
        return "I track orders and start returns."

    results = await engine.evaluate(SUITE, stopping)

    assert results.run.stopped == "that is enough"
    assert not any(result.failures for result in results)
    assert 0 < sum(result.trials for result in results) < 60
