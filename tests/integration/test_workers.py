"""Workers take the trials of a run from its store, and it comes to what one process comes to."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import anyio
import pytest

import simeval
from simeval import Expectation, MeanEvaluator, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.core.trial import UNNEEDED, TrialConversation
from simeval.engine.executors.protocol import Assignment
from simeval.engine.workers.trial_worker import TrialWorker
from simeval.errors import DefinitionError, ModelUnusable
from simeval.store.database import Database
from simeval.store.runs import Runs
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.ending_early import findings
from tests.support.postgres import PostgresHandle
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


def words(output: str, seed: int) -> float:
    if crc32(f"{seed}".encode()) % 23 == 0:
        raise ValueError("no such words")
    return 20 + crc32(f"{output}{seed}".encode()) % 60 / 3


def _scenario(number: int) -> ScenarioTest:
    return ScenarioTest(
        title=f"scenario {number}",
        given=f"A user, number {number}",
        when="The user asks what the app can do",
        sample_size=12,
        max_turns=3,
        then=[
            Expectation(
                expected_behavior="Bot tracks orders, starts returns",
                evaluator=SuccessRateEvaluator(min_proportion=(0.5, 0.75)[number % 2]),
            ),
            Expectation(scorer=words, label="words", evaluator=MeanEvaluator(at_least=25, bounds=(0, 100))),
        ],
    )


SUITE = [_scenario(number) for number in range(4)]


async def app(message: str) -> str:
    if crc32(message.encode()) % 10 == 0:
        raise RuntimeError("the app broke")
    return "I can track orders and start returns."


def engine(where: str | None, **options: Any) -> simeval.Engine:
    settings: dict[str, Any] = {"seed": 5, "display": "none", "early_stopping": False, "rubric_folder": None, **options}
    return simeval.Engine(store=where, **settings)


@pytest.fixture
def where(postgres_server: PostgresHandle) -> str:
    return postgres_server.fresh()


@asynccontextmanager
async def workers(
    where: str, count: int = 1, *, suite: Sequence[ScenarioTest] = SUITE, handler: Any = app, **options: Any
) -> AsyncIterator[list[simeval.Engine]]:
    """Let so many engines work for the runs of a store, each with a connection of its own."""
    engines = [engine(where, executor="workers", **options) for _ in range(count)]
    async with anyio.create_task_group() as tasks:
        for each in engines:
            tasks.start_soon(each.work, suite, handler)
        yield engines
        for each in engines:
            each.end()


async def run(where: str, handler: Any = app, **options: Any) -> SuiteResult:
    return await engine(where, executor="workers", **options).evaluate(SUITE, handler)


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"shard": "2/3"}])
async def test_workers_come_to_what_one_process_comes_to(where: str, options: dict[str, Any]) -> None:
    whole = await engine(None, **options).evaluate(SUITE, app)

    async with workers(where, 3, **{**options, "shard": None}):
        found = await run(where, **options)

    assert [each.verdicts for each in found] == [each.verdicts for each in whole]
    assert [[c.as_chat() for c in each.conversations] for each in found] == [
        [c.as_chat() for c in each.conversations] for each in whole
    ]
    if not options:
        assert findings(found) == findings(whole)
        assert found.run.usage == whole.run.usage
    assert found.run.definition == whole.run.definition


async def test_what_workers_did_is_in_the_store(where: str) -> None:
    async with workers(where, 2):
        found = await run(where)
    database = Database(where)

    document = Runs(database).document(found.run.run_id)
    left = database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM assignments").scalar())
    database.close()

    assert [each["title"] for each in document["scenarios"]] == [each.title for each in SUITE]
    assert all(len(each["conversations"]) == 12 for each in document["scenarios"])
    assert left == 0


class Stalling:
    """An app that stands still at some of its turns, in a worker that is to be lost."""

    def __init__(self, stalls: Callable[[int], bool]) -> None:
        self.turns, self.stalled, self._stalls = 0, 0, stalls
        self.go_on = anyio.Event()

    async def __call__(self, message: str) -> str:
        self.turns += 1
        if self._stalls(self.turns):
            self.stalled += 1
            await self.go_on.wait()
        return await app(message)


async def test_a_trial_whose_worker_is_lost_is_missing_and_no_other(where: str) -> None:
    broken, good = Stalling(lambda turn: turn > 20), Stalling(lambda turn: False)
    results: list[SuiteResult] = []

    async def conduct() -> None:
        results.append(await engine(where, executor="workers", concurrency=8).evaluate(SUITE, good))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(conduct)
        async with workers(where, handler=broken, concurrency=3):
            await until(lambda: broken.stalled == 3)
        async with workers(where, handler=good):
            await until(lambda: bool(results))
    [found] = results

    lost = [failure for each in found for _, failure in each.failures if failure.cause == "cut_off"]
    assert [failure.error for failure in lost] == ["the worker was lost in this trial"] * 3
    assert sum(verdict.missing for each in found for verdict in each.verdicts[:1]) == 3
    assert all(len(each.judgements) == 12 for each in found)


async def test_what_comes_after_a_lease_is_over_is_refused(where: str) -> None:
    from simeval.core.trial import Trial
    from simeval.store.trial_queue import Offer, TrialQueue

    database = Database(where)
    queue = TrialQueue(database)
    database.append("run-1", [])
    queue.exchange("run-1", offers=[Offer(Trial(0, 0, 1), 7, "do it")], withdrawn=[], settled=[])

    [claim] = queue.claim("slow", ["run-1"], most=5, lease_seconds=-1)
    again = queue.claim("other", ["run-1"], most=5, lease_seconds=10)
    found = queue.exchange("run-1", offers=[], withdrawn=[], settled=[])
    is_taken = queue.deliver("slow", claim.token, "late")
    database.close()

    assert claim.work == "do it"
    assert again == []
    assert found.lost == {7}
    assert not is_taken


async def test_a_worker_with_another_suite_leaves_the_run_alone(where: str, caplog: pytest.LogCaptureFixture) -> None:
    other = [*SUITE[:3], ScenarioTest(title="scenario 3", given="x", when="y", then=SUITE[3].then)]
    results: list[SuiteResult] = []

    async def conduct() -> None:
        results.append(await run(where))

    async with workers(where, suite=other), anyio.create_task_group() as tasks:
        tasks.start_soon(conduct)
        await until(lambda: "this worker leaves a run alone" in caplog.text)
        async with workers(where):
            await until(lambda: bool(results))

    assert "scenario 'scenario 3': given was" in caplog.text
    assert len(results[0]) == len(SUITE)


async def test_a_model_that_a_worker_cannot_use_ends_the_run(where: str) -> None:
    options: dict[str, Any] = {"on_failed_control": "off", "display": "none", "seed": 5, "store": where}
    suite = [ScenarioTest(title="A", given="a", when="b", sample_size=5, then=SUITE[0].expectations[1])]
    judge = {"judge": [judge_reply(8)]}  # which cannot play the user
    worker = simeval.Engine(ScriptedModel(judge), executor="workers", **options)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.work, suite, app)
        with pytest.raises(ModelUnusable, match="scripted/model cannot be used"):
            await simeval.Engine(ScriptedModel(judge), executor="workers", **options).evaluate(suite, app)
        worker.end()


async def test_all_take_from_one_allowance_for_each_model(where: str) -> None:
    suite = [ScenarioTest(title="A", given="a", when="b", sample_size=8, max_turns=1, then=SUITE[0].expectations[1])]
    models = [ScriptedModel({"user": [user_reply("What can you do?")]}) for _ in range(3)]
    options: dict[str, Any] = {
        "display": "none",
        "seed": 5,
        "store": where,
        "executor": "workers",
        "early_stopping": False,
    }
    conductor, *engines = [simeval.Engine(model, requests_per_minute=60_000, **options) for model in models]

    async with anyio.create_task_group() as tasks:
        for each in engines:
            tasks.start_soon(each.work, suite, app)
        await conductor.evaluate(suite, app)
        for each in engines:
            each.end()
    database = Database(where)
    rows = database.read(lambda c: c.exec_driver_sql("SELECT model, requests_per_minute FROM allowances").all())
    database.close()

    assert [tuple(row) for row in rows] == [("scripted/model", 60_000.0)]
    assert sum(model.calls for model in models) == 8


async def test_a_resumed_run_takes_what_was_delivered_meanwhile(where: str) -> None:
    stalling = Stalling(lambda turn: turn > 30)
    conductor = engine(where, executor="workers", concurrency=6)

    async with workers(where, handler=stalling), anyio.create_task_group() as tasks:
        tasks.start_soon(conductor.evaluate, SUITE, stalling)
        await until(lambda: stalling.stalled >= 3)
        conductor.end("cut off")
    async with workers(where, 2, handler=stalling):
        stalling.go_on.set()
        found = await engine(where, executor="workers", resume="last").evaluate(SUITE, stalling)

    assert not found.run.stopped
    assert all(len(each.judgements) == 12 for each in found)
    assert any("cut off in" in note for note in found.run.notes)


async def test_workers_that_are_told_to_stop_finish_what_is_under_way(where: str) -> None:
    counting = Stalling(lambda turn: turn == 10)

    async with anyio.create_task_group() as tasks:
        results: list[SuiteResult] = []

        async def conduct() -> None:
            results.append(await engine(where, executor="workers", concurrency=4).evaluate(SUITE, counting))

        tasks.start_soon(conduct)
        async with workers(where, handler=counting) as [first]:
            await until(lambda: counting.stalled == 1)
            first.stop()
            counting.go_on.set()
            await until(lambda: first.trials_in_flight == 0)
            async with workers(where, handler=counting):
                await until(lambda: bool(results))

    assert not [failure for each in results[0] for _, failure in each.failures if failure.cause == "cut_off"]


async def test_a_file_is_no_store_for_workers(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="store: workers cannot share a file; name a PostgreSQL server"):
        await run(str(tmp_path / "runs.db"))


async def test_workers_keep_no_cache(where: str) -> None:
    with pytest.raises(DefinitionError, match="cache: workers keep no cache of replies; leave it out"):
        await run(where, cache=True)


async def test_a_dataset_is_not_run_elsewhere(where: str) -> None:
    dataset = simeval.dataset_of([{"inputs": {"question": "hi"}, "outputs": {"answer": "yes"}}], name="d")

    with pytest.raises(DefinitionError, match="executor: found 'workers'; use \"local\""):
        await engine(where, executor="workers").experiment(dataset, app, scorers=[words])
    with pytest.raises(DefinitionError, match="shard: found 'd'; leave it out"):
        await engine(None, shard="1/2").experiment(dataset, app, scorers=[words])


async def test_what_is_known_of_one_trial_is_not_measured_again_and_of_the_next_all_is() -> None:
    async def steady(message: str) -> str:
        return "I can track orders and start returns."

    whole = await engine(None).evaluate(SUITE, steady)
    run, (first, second, *_) = whole.run, whole[0].judgements
    definition = json.loads(json.dumps(run.definition))
    resources = engine(None)._engine_resources
    with TrialWorker.of(resources, SUITE, steady, run_id=run.run_id, seed=run.seed, definition=definition) as worker:
        held = TrialConversation(first.trial, first.conversation)
        again = await worker.do(Assignment(trial=first.trial, held=held, known=frozenset({0})))
        fresh = await worker.do(Assignment(trial=second.trial))

    assert again.results == (UNNEEDED, first.results[1])
    assert fresh.results == second.results
