"""Live conversations are scored beside the app, which never notices."""

import asyncio
import gc
import json
import logging
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.trial import Failure, Score
from simeval.engine.online.evaluator import OnlineEvaluator
from simeval.engine.online.running_estimate import MOST_METRICS
from simeval.errors import DefinitionError, ModelUnusable, RunStopped
from simeval.models.protocol.model import Model
from simeval.models.protocol.replies import Grade
from simeval.scorers.base import ColumnScorer, Scorer, scorer
from simeval.scorers.llm.base import ModelScorer
from simeval.testing import ScriptedModel
from tests.support.doubles import failure

pytestmark = pytest.mark.anyio

SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "fine"}]
PATIENCE_SECONDS = 10


class Fine(Scorer):
    quick = True
    paths = ("fine",)

    def score(self, output: str) -> dict[str, bool]:
        return {"fine": output == "fine"}


class Stuck(Scorer):
    """Waits for what never comes."""

    timeout_seconds: ClassVar[float | None] = None

    async def score(self, output: str) -> bool:
        await anyio.sleep_forever()
        return True


class Impatient(Stuck):
    timeout_seconds: ClassVar[float | None] = 0.01


class Helpful(ModelScorer):
    async def score(self, output: str) -> Score:
        grade = await self.ask(Grade, system="Rate the answer.", user="{output}", output=output, quoted_texts=[output])
        return Score(value=grade.score, reasoning=grade.reasoning)


def raising(error: BaseException, name: str = "raising") -> Scorer:
    async def score(output: str) -> bool:
        raise error

    found: Scorer = scorer(score, name=name)
    return found


async def settled(evaluator: OnlineEvaluator) -> None:
    """Wait until nothing is queued."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while any(counts.queued for counts in evaluator.counts.values()):
            await anyio.lowlevel.checkpoint()


def adds_up(evaluator: OnlineEvaluator) -> bool:
    taken = evaluator.submitted - evaluator.sampled_out
    return all(
        counts.queued + counts.scored + counts.failed + counts.dropped == taken for counts in evaluator.counts.values()
    )


@pytest.fixture
def gate() -> Iterator[Event]:
    """What keeps a thread, until the test has ended."""
    event = Event()
    yield event
    event.set()


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


@pytest.mark.parametrize(
    "error",
    [
        KeyError("no such thing"),
        ModelUnusable("m", kind="authentication", problem="HTTP 401"),
        RunStopped("title", 1, "it raised"),
        ExceptionGroup("group", [ModelUnusable("m", kind="authentication", problem="HTTP 401")]),
        SystemExit(3),
        asyncio.CancelledError("left"),
        TimeoutError(),
        RecursionError(),
        StopIteration(),
    ],
    ids=repr,
)
async def test_whatever_a_scorer_raises_is_counted_and_costs_nobody_else(error: BaseException) -> None:
    async with OnlineEvaluator([raising(error), Fine()], workers=2) as evaluator:
        for _ in range(20):
            evaluator.submit(SAID)
        await settled(evaluator)

    assert (evaluator.counts["raising"].failed, evaluator.counts["Fine"].scored) == (20, 20)
    assert isinstance(evaluator.counts["raising"].last_failure, Failure)


@pytest.mark.parametrize("error", [SystemExit(3), KeyError("x"), asyncio.CancelledError()], ids=repr)
async def test_whatever_a_scorer_raises_in_its_thread_is_counted(error: BaseException) -> None:
    def leave(output: str) -> bool:
        raise error

    async with OnlineEvaluator([leave]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)

    assert evaluator.counts["leave"].failed == 10


async def test_the_first_failure_of_a_scorer_is_logged_and_the_last_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    def picky(number: int) -> bool:
        raise ValueError(f"number {number}")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator([picky], workers=1) as evaluator:
            for number in range(5):
                evaluator.submit(SAID, number=number)

    last = evaluator.counts["picky"].last_failure
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "scorer picky: ValueError: number 0" in caplog.text
    assert last is not None
    assert (last.stage, last.cause) == ("scorer", "ValueError")
    assert last.error.startswith("ValueError: number 4 (test_online.py:")


async def test_a_scorer_that_never_answers_holds_up_no_other() -> None:
    async with OnlineEvaluator([Stuck(), Fine()], queue_size=100, drain_seconds=0.01) as evaluator:
        for _ in range(100):
            evaluator.submit(SAID)
        with anyio.fail_after(PATIENCE_SECONDS):
            while evaluator.counts["Fine"].scored < 100:
                await anyio.lowlevel.checkpoint()

    assert (evaluator.counts["Stuck"].scored, evaluator.counts["Stuck"].dropped) == (0, 100)


async def test_a_scorer_that_takes_too_long_fails() -> None:
    async with OnlineEvaluator([Impatient()]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await settled(evaluator)

    failure = evaluator.counts["Impatient"].last_failure
    assert evaluator.counts["Impatient"].failed == 10
    assert failure is not None
    assert "no score within 0.01 seconds" in failure.error


async def test_calls_that_never_return_hold_as_many_threads_as_there_are_workers(gate: Event) -> None:
    started: list[int] = []

    class Blocked(Scorer):
        timeout_seconds: ClassVar[float | None] = 0.2

        def score(self, output: str) -> bool:
            started.append(1)
            return gate.wait(PATIENCE_SECONDS)

    before = threading.active_count()
    async with OnlineEvaluator([Blocked(), Fine()], workers=3) as evaluator:
        for _ in range(40):
            evaluator.submit(SAID)
        await settled(evaluator)

        last = evaluator.counts["Blocked"].last_failure
        assert (len(started), evaluator.counts["Blocked"].failed) == (3, 40)
        assert threading.active_count() <= before + 6
        assert last is not None
        assert "3 calls that got no answer in time are still running" in last.error
    assert evaluator.counts["Fine"].scored == 40


async def test_the_apps_own_threads_are_left_to_the_app(gate: Event) -> None:
    def blocked(output: str) -> bool:
        return gate.wait(PATIENCE_SECONDS)

    app_threads = anyio.to_thread.current_default_thread_limiter()
    async with OnlineEvaluator([blocked], workers=4, drain_seconds=0) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await anyio.wait_all_tasks_blocked()

        assert app_threads.borrowed_tokens == 0


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


async def test_leaving_finishes_what_is_queued() -> None:
    async def slow(output: str) -> bool:
        await anyio.sleep(0.001)
        return True

    async with OnlineEvaluator([slow]) as evaluator:
        for _ in range(100):
            evaluator.submit(SAID)

    assert evaluator.counts["slow"].scored == 100


async def test_leaving_waits_no_longer_than_it_was_told_to() -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        async with OnlineEvaluator([Stuck(), Fine()], drain_seconds=0.5) as evaluator:
            for _ in range(30):
                evaluator.submit(SAID)

    assert (evaluator.counts["Stuck"].dropped, evaluator.counts["Fine"].scored) == (30, 30)


@pytest.mark.parametrize("place", ["scorer", "callback"])
async def test_what_goes_on_though_it_is_cancelled_is_left_behind(place: str, caplog: pytest.LogCaptureFixture) -> None:
    released = anyio.Event()

    async def stubborn(*_told: object) -> bool:
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()
        return True

    async def asked(output: str) -> bool:
        return await stubborn(output)

    scorers, told = ([asked], None) if place == "scorer" else ([Fine()], stubborn)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with OnlineEvaluator(scorers, on_score=told, drain_seconds=0.01, workers=2) as evaluator:
            for _ in range(5):
                evaluator.submit(SAID)
            await anyio.wait_all_tasks_blocked()
    released.set()

    assert adds_up(evaluator)
    assert [record.getMessage() for record in caplog.records] == [
        f"scorer {next(iter(evaluator.counts))}: it goes on though it was cancelled, and is left behind"
    ]


async def test_the_end_of_the_app_is_not_waited_with() -> None:
    evaluator = OnlineEvaluator([Stuck()], drain_seconds=1000)

    async def app() -> None:
        async with evaluator:
            evaluator.submit(SAID)
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert evaluator.counts["Stuck"].dropped == 1


async def test_the_end_of_the_app_ends_the_wait_for_the_queue() -> None:
    evaluator = OnlineEvaluator([Stuck()], drain_seconds=1000)

    async def app() -> None:
        async with evaluator:
            evaluator.submit(SAID)

    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert evaluator.counts["Stuck"].dropped == 1


async def test_the_apps_own_error_goes_on_as_it_is() -> None:
    async def app() -> None:
        async with OnlineEvaluator([Stuck()], drain_seconds=1000) as evaluator:
            evaluator.submit(SAID)
            await anyio.wait_all_tasks_blocked()
            raise KeyError("the app's own")

    with anyio.fail_after(PATIENCE_SECONDS), pytest.raises(KeyError, match="the app's own"):
        await app()


async def test_before_and_after_its_life_an_evaluator_drops() -> None:
    evaluator = OnlineEvaluator([Fine()])

    before = evaluator.submit(SAID)
    async with evaluator:
        within = evaluator.submit(SAID)
    after = evaluator.submit(SAID)

    assert (before, within, after) == (False, True, False)
    assert (evaluator.counts["Fine"].scored, evaluator.counts["Fine"].dropped) == (1, 2)
    with pytest.raises(DefinitionError, match="make a new one"):
        await evaluator.__aenter__()


def test_when_its_loop_is_closed_an_evaluator_drops() -> None:
    async def live() -> OnlineEvaluator:
        async with OnlineEvaluator([Fine()]) as evaluator:
            return evaluator

    evaluator = asyncio.run(live())
    taken = []
    thread = threading.Thread(target=lambda: taken.append(evaluator.submit(SAID)))
    thread.start()
    thread.join(PATIENCE_SECONDS)

    assert taken == [False]
    assert evaluator.counts["Fine"].dropped == 1


async def test_other_threads_may_submit() -> None:
    async with OnlineEvaluator([Fine()], queue_size=1000) as evaluator:

        def serve() -> None:
            for _ in range(100):
                evaluator.submit(SAID)

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(anyio.to_thread.run_sync, serve)
        with anyio.fail_after(PATIENCE_SECONDS):
            while evaluator.submitted < 400:
                await anyio.lowlevel.checkpoint()

    assert evaluator.counts["Fine"].scored == 400


@pytest.mark.parametrize(
    "said",
    [
        Conversation(messages=(Message(role="user", content="hello"), Message(role="assistant", content="fine"))),
        SAID,
        [{"role": "system", "content": "be fine"}, *SAID],
        [
            SAID[0],
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "4"},
            SAID[1],
        ],
        [{"role": "user", "content": [{"type": "text", "text": "hello"}]}, SAID[1]],
    ],
)
async def test_a_conversation_is_read_as_the_app_has_it(said: Any) -> None:
    seen: list[Mapping[str, Any]] = []

    def look(**columns: Any) -> bool:
        seen.append(columns)
        return True

    async with OnlineEvaluator([look]) as evaluator:
        evaluator.submit(said, customer="anna")

    (columns,) = seen
    assert (columns["input"], columns["output"], columns["customer"]) == ("hello", "fine", "anna")
    assert columns["conversation"].messages[-1].content == "fine"


async def test_an_output_may_be_any_value() -> None:
    seen: list[Any] = []

    def look(output: Any, conversation: Conversation) -> bool:
        seen.extend([output, conversation.output, conversation.input])
        return True

    async with OnlineEvaluator([look]) as evaluator:
        evaluator.submit(output={"é": 1})

    assert seen == [{"é": 1}, '{"é": 1}', ""]


async def test_what_the_app_adds_to_its_messages_later_is_not_scored() -> None:
    messages = list(SAID)
    async with OnlineEvaluator([Fine()]) as evaluator:
        evaluator.submit(messages)
        messages.append({"role": "assistant", "content": "later"})

    assert evaluator.estimates()["Fine.fine"].mean == 1


@pytest.mark.parametrize(
    "said", [None, "text", [], {}, [1], [{"content": "x"}], object(), ({"role": "user"} for _ in "ab")]
)
async def test_what_is_no_conversation_is_counted_and_not_raised(said: Any) -> None:
    told: list[object] = []
    async with OnlineEvaluator([Fine()], on_score=lambda *each: told.append(each)) as evaluator:
        evaluator.submit(said, customer="anna")

    last = evaluator.counts["Fine"].last_failure
    assert evaluator.counts["Fine"].failed == 1
    assert last is not None
    assert "give a Conversation" in last.error
    assert told == [("Fine", last, {"customer": "anna"})]


async def test_a_column_that_is_not_submitted_is_told_by_name() -> None:
    def grounded(output: str, context: str) -> bool:
        return output in context

    async with OnlineEvaluator([grounded]) as evaluator:
        evaluator.submit(SAID, customer="anna")

    last = evaluator.counts["grounded"].last_failure
    assert last is not None
    assert "no column for ['context']; the columns are input, output, customer, conversation, seed" in last.error


async def test_each_conversation_has_a_seed_of_its_own() -> None:
    seeds: list[int] = []

    async def keep(seed: int) -> bool:
        seeds.append(seed)
        return True

    for _ in range(2):
        async with OnlineEvaluator([keep], seed=5) as evaluator:
            for _ in range(50):
                evaluator.submit(SAID)

    assert len(set(seeds)) == 50
    assert seeds[:50] == seeds[50:]


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


async def test_a_callback_that_raises_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_told: object) -> None:
        raise RuntimeError("no database")

    with caplog.at_level(logging.WARNING, logger="simeval"):
        async with OnlineEvaluator(
            [Fine()], on_score=broken, on_drop=broken, watch={"Fine.fine": 0.9}, workers=1
        ) as evaluator:
            for _ in range(100):
                evaluator.submit(output="bad")

    assert evaluator.counts["Fine"].scored == 100
    assert caplog.text.count("no database") == 1


GRADE = json.dumps({"reasoning": "because", "score": 8})


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


async def test_a_model_that_cannot_be_closed_costs_the_app_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Sticky(ScriptedModel):
        async def close(self) -> None:
            raise OSError("still open")

    async def act(_request: object) -> str:
        return GRADE

    async with OnlineEvaluator([Helpful(model=Sticky(act))]) as evaluator:
        evaluator.submit(SAID)

    assert evaluator.counts["Helpful"].scored == 1
    assert "still open" in caplog.text


async def test_a_model_that_cannot_be_used_is_a_failure_of_its_scorer_alone() -> None:
    model: Model = ScriptedModel([ModelUnusable("scripted/model", kind="authentication", problem="HTTP 401")])

    async with OnlineEvaluator([Helpful(model=model), Fine()]) as evaluator:
        for _ in range(10):
            evaluator.submit(SAID)
        await settled(evaluator)

    last = evaluator.counts["Helpful"].last_failure
    assert (evaluator.counts["Helpful"].failed, evaluator.counts["Fine"].scored) == (10, 10)
    assert last is not None
    assert last.cause == "authentication"


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
            before = await serve(2_000)
            after = await serve(18_000)
        finally:
            tracemalloc.stop()

    assert evaluator.counts["Fine"].scored > 10_000
    assert after - before < 50_000


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (partial(OnlineEvaluator, []), "give one or more scorers"),
        (partial(OnlineEvaluator, [Fine(), Fine()]), "a name of its own"),
        (
            lambda: OnlineEvaluator([3]),  # type: ignore[list-item]
            "give a Scorer instance or a function",
        ),
        (partial(OnlineEvaluator, [Helpful()]), "give judge_model"),
        (partial(OnlineEvaluator, [Fine()], sampling_rate=1.5), "sampling_rate: found 1.5"),
        (partial(OnlineEvaluator, [Fine()], queue_size=0), "queue_size: found 0"),
        (partial(OnlineEvaluator, [Fine()], workers=0), "workers: found 0"),
        (partial(OnlineEvaluator, [Fine()], window=0), "window: found 0"),
        (partial(OnlineEvaluator, [Fine()], drain_seconds=-1), "drain_seconds: found -1"),
        (partial(OnlineEvaluator, [Fine()], significance_level=0.5), "significance_level: found 0.5"),
        (partial(OnlineEvaluator, [Fine()], watch={"Fine.good": 0.9}), "there are Fine.fine"),
        (partial(OnlineEvaluator, [Fine()], watch={"Other": 0.9}), "there are Fine"),
        (partial(OnlineEvaluator, [Fine()], watch={"Fine.fine": 1.0}), "a bar between 0 and 1"),
        (partial(OnlineEvaluator, [Fine()], bounds={"Fine.fine": (1, 0)}), "the lowest and the highest"),
        (partial(OnlineEvaluator, [Fine()], secret_patterns=["("]), "no regular expression"),
    ],
)
def test_a_mistake_is_told_before_the_app_serves(make: Callable[[], OnlineEvaluator], match: str) -> None:
    with pytest.raises(DefinitionError, match=match):
        make()
