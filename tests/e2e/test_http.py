"""Whole runs over real HTTP: simeval, a client, and a server that answers, delays, fails and hangs as told.

Every test runs twice: through LiteLLM ("openai/...") and through simeval's own client ("openai-compatible/...").
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import psutil
import pytest

from simeval import AppResponse, Engine, EvaluationResult, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.core.trial import Failure, Score
from simeval.core.usage import total
from simeval.errors import ModelUnusable, RunStopped
from simeval.models.providers.litellm_model import load_litellm
from tests.support.llm_server import Behaviour, ServerHandle, running

pytestmark = [
    pytest.mark.anyio,
    # LiteLLM makes a call's coroutine in a thread and drops it when it is cancelled at that moment.
    pytest.mark.filterwarnings("ignore:coroutine 'OpenAIChatCompletion.acompletion' was never awaited:RuntimeWarning"),
]

KEY = "test-key-SECRET"
MAX_ATTEMPTS = 3
# Threads that may outlive a run: those of the pools which anyio and asyncio keep, idle, as long as their loop
# runs; the server's own; and the main one.
LASTING_THREADS = ("MainThread", "AnyIO worker thread", "asyncio_", "llm server")

MakeEngine = Callable[..., Engine]


@pytest.fixture(scope="module", autouse=True)
def _litellm() -> None:
    load_litellm()


@pytest.fixture(params=["openai", "openai-compatible"])
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """Return what makes an engine whose models are played by a server."""

    def make(handle: ServerHandle, **options: Any) -> Engine:
        defaults: dict[str, Any] = {
            "judge_model": f"{request.param}/test-judge",
            "user_simulator_model": f"{request.param}/test-user",
            "model_options": {"api_base": handle.base_url, "api_key": KEY},
            "rubric_folder": None,
            "store": None,
            "early_stopping": False,
            "seed": 1,
            "retry_config": RetryConfig(max_attempts=MAX_ATTEMPTS, backoff_multiplier=0.01, max_backoff_seconds=0.05),
        }
        return Engine(**{**defaults, **options})

    return make


def scenario(sample_size: int, *, title: str = "Bot explains its capabilities", **options: Any) -> ScenarioTest:
    return ScenarioTest(
        title=title,
        given="A new user who has not interacted with the bot before",
        when="The user asks a general question about the bot's capabilities",
        sample_size=sample_size,
        then=Expectation(
            expected_behavior="Bot lists its main functions",
            evaluator=SuccessRateEvaluator(significance_level=0.05, min_proportion=0.90),
        ),
        **options,
    )


async def app_handler(message: str, state: dict[str, int]) -> AppResponse:
    return AppResponse(f"I answer questions and book meetings. You said: {message}", {"turn": state.get("turn", 0) + 1})


def calls_by_role(result: EvaluationResult) -> dict[str, int]:
    return {role: usage.calls for role, usage in result.run.usage.items()}


def open_sockets(handle: ServerHandle) -> list[Any]:
    """Return our ends of the connections to a server."""
    connections = psutil.Process().net_connections(kind="inet")
    return [c for c in connections if c.raddr and c.raddr.port == handle.port and c.status == psutil.CONN_ESTABLISHED]


@contextmanager
def nothing_left_behind(handle: ServerHandle) -> Iterator[None]:
    """Assert that what runs in the block leaves no task, thread or socket."""
    tasks = asyncio.all_tasks()
    yield
    left = [repr(task.get_coro()) for task in asyncio.all_tasks() - tasks]
    threads = [t.name for t in threading.enumerate() if not t.name.startswith(LASTING_THREADS)]

    assert (left, threads, open_sockets(handle)) == ([], [], [])


async def test_the_example_runs_and_counts_every_call_by_its_role(llm: ServerHandle, make_engine: MakeEngine) -> None:
    result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert calls_by_role(result) == {"user": 90, "judge": 30, "rubric": 1} == dict(llm.stats.by_role)
    assert llm.stats.requests == total(result.run.usage).calls == 121
    assert llm.stats.saw_authorization


async def test_the_example_gives_conversations_scores_and_a_pass(llm: ServerHandle, make_engine: MakeEngine) -> None:
    result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert result.passed
    assert result.p_value == pytest.approx(0.9**30)
    assert result.average_score == 8
    assert result.expectations[0].scores == (8,) * 30
    assert [len(conversation.messages) for conversation in result.conversations] == [6] * 30
    assert result.conversations[0].messages[-1].content.endswith("You said: Question 3: what can you do?")
    assert "PASS" in str(result)


async def test_a_judge_that_finds_nothing_good_gives_a_fail(make_engine: MakeEngine) -> None:
    with running(Behaviour(score=2, user_messages=1)) as llm:
        result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert result.outcome == "fail"


async def test_a_rubric_is_asked_for_once_however_many_trials_run_at_once(make_engine: MakeEngine) -> None:
    with running(Behaviour(latency_seconds=0.05, user_messages=1)) as llm:
        await make_engine(llm, concurrency=30).evaluate(scenario(30), app_handler)

    assert llm.stats.by_role["rubric"] == 1


async def test_a_rubric_kept_in_a_folder_is_not_asked_for_again(
    llm: ServerHandle, make_engine: MakeEngine, tmp_path: Path
) -> None:
    await make_engine(llm, rubric_folder=tmp_path).evaluate(scenario(5), app_handler)
    second = await make_engine(llm, rubric_folder=tmp_path).evaluate(scenario(5), app_handler)

    assert llm.stats.by_role["rubric"] == 1
    assert calls_by_role(second) == {"user": 15, "judge": 5}


@pytest.mark.parametrize("fault", ["error_500", "rate_limited", "malformed", "html"])
async def test_a_fault_that_passes_is_retried_and_costs_no_trial(fault: str, make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=(fault, "", fault, "", fault))) as llm:  # type: ignore[arg-type]
        result = await make_engine(llm).evaluate(scenario(10), app_handler)

    assert llm.stats.faults == {fault: 3}
    assert llm.stats.requests == total(result.run.usage).calls == 41 + 3
    assert len(result.expectations[0].scores) == 10


@pytest.mark.parametrize("fault", ["error_500", "rate_limited", "malformed", "html"])
async def test_a_call_that_always_fails_is_made_max_attempts_times(fault: str, make_engine: MakeEngine) -> None:
    with running(Behaviour(**{fault: 1.0})) as llm:  # type: ignore[arg-type]
        result = await make_engine(llm, max_error_rate=1).evaluate(scenario(5), app_handler)

    assert calls_by_role(result) == {"user": 5 * MAX_ATTEMPTS, "rubric": MAX_ATTEMPTS}
    assert llm.stats.requests == total(result.run.usage).calls
    assert {failure.stage for _, failure in result.failures} == {"simulator"}
    assert all(f"after {MAX_ATTEMPTS} attempts" in failure.error for _, failure in result.failures)


async def test_among_many_faults_every_trial_is_scored_or_failed_with_its_cause(make_engine: MakeEngine) -> None:
    faults = Behaviour(error_500=0.1, rate_limited=0.1, truncated=0.1, malformed=0.1, html=0.05)
    with running(faults) as llm:
        result = await make_engine(llm, max_error_rate=1).evaluate(scenario(60), app_handler)

    scored = [found for found in result.expectations[0].results if isinstance(found, Score)]
    failed = [found for found in result.expectations[0].results if isinstance(found, Failure)]
    assert len(scored) + len(failed) == result.trials == 60
    assert len(scored) > len(failed) > 0
    assert {failure.stage for failure in failed} <= {"simulator", "judge", "rubric"}
    assert {failure.cause for failure in failed} <= {"server", "rate_limit", "connection", "malformed"}
    assert llm.stats.requests == total(result.run.usage).calls <= MAX_ATTEMPTS * (60 * 4 + 60)
    assert len(llm.stats.faults) == 5


async def test_retry_after_is_waited_for(make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=("rate_limited",), retry_after="0.5", faulty_roles=("user",))) as llm:
        started = perf_counter()
        result = await make_engine(llm).evaluate(scenario(1), app_handler)

    assert 0.5 <= perf_counter() - started < 2
    assert calls_by_role(result) == {"user": 4, "judge": 1, "rubric": 1}


async def test_a_hanging_call_is_timed_out_and_made_again(make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=("hang", "", "hang"))) as llm:
        result = await make_engine(llm, model_timeout_seconds=0.3).evaluate(scenario(5), app_handler)

    assert len(result.expectations[0].scores) == 5
    assert total(result.run.usage).failed_calls == 2


@pytest.mark.parametrize(("role", "stage"), [("user", "simulator"), ("judge", "judge"), ("rubric", "rubric")])
async def test_calls_that_only_hang_are_failures_of_their_stage(role: str, stage: str, make_engine: MakeEngine) -> None:
    with running(Behaviour(hang=1, faulty_roles=(role,), user_messages=1)) as llm:  # type: ignore[arg-type]
        engine = make_engine(llm, model_timeout_seconds=0.3, retry_config=RetryConfig(enabled=False), max_error_rate=1)
        result = await engine.evaluate(scenario(4), app_handler)

    assert [(f.stage, f.cause) for _, f in result.failures] == [(stage, "timeout")] * 4
    assert result.expectations[0].verdicts[0].missing == 4


@pytest.mark.parametrize("refusal", ["Incorrect API key provided", "Unauthorized"])
async def test_a_refused_key_stops_the_run_and_is_not_retried(refusal: str, make_engine: MakeEngine) -> None:
    with (
        running(Behaviour(auth=1, refusal=refusal, latency_seconds=0.02)) as llm,
        pytest.raises(ModelUnusable) as caught,
    ):
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert caught.value.kind == "authentication"
    assert str(caught.value).endswith("check the provider's API key in your environment")
    assert llm.stats.requests <= 4 + 1  # a call for each trial in flight, and the rubric's
    assert "\n" not in str(caught.value)


async def test_a_key_refused_in_the_middle_of_a_run_stops_it(make_engine: MakeEngine) -> None:
    with running(Behaviour(auth=1, faulty_roles=("judge",))) as llm, pytest.raises(ModelUnusable):
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert llm.stats.by_role["judge"] <= 4
    assert llm.stats.by_role["user"] < 90


async def test_a_first_call_that_is_a_bad_request_stops_the_run(make_engine: MakeEngine) -> None:
    with running(Behaviour(bad_request=1, latency_seconds=0.02)) as llm, pytest.raises(ModelUnusable) as caught:
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert caught.value.kind == "bad_request"
    assert str(caught.value).endswith("check the model's name and options")
    assert llm.stats.requests <= 4 + 1


async def test_a_later_bad_request_costs_its_trial_alone_and_is_not_retried(make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=("", "", "bad_request"), faulty_roles=("user",))) as llm:
        result = await make_engine(llm, concurrency=1).evaluate(scenario(10), app_handler)

    assert [(index, f.stage, f.cause) for index, f in result.failures] == [(0, "simulator", "bad_request")]
    assert llm.stats.requests == 3 + 9 * 4 + 1


async def test_a_refusal_by_the_content_filter_costs_its_trial_alone(make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=("content_filter",), faulty_roles=("user",))) as llm:
        result = await make_engine(llm, concurrency=1).evaluate(scenario(10), app_handler)

    assert [(index, f.stage, f.cause) for index, f in result.failures] == [(0, "simulator", "content")]


async def test_too_many_lost_trials_are_an_error_and_end_the_scenario_early(make_engine: MakeEngine) -> None:
    with running(Behaviour(malformed=1, faulty_roles=("judge",), user_messages=1)) as llm:
        engine = make_engine(llm, max_error_rate=0.1, concurrency=5)
        result = await engine.evaluate(scenario(100), app_handler)

    assert result.outcome == "error"
    assert "max_error_rate" in str(result)
    assert 11 <= result.trials < 30
    assert llm.stats.requests < 100


async def test_few_lost_trials_leave_a_verdict(make_engine: MakeEngine) -> None:
    with running(Behaviour(first_faults=("malformed", "malformed", "malformed"), faulty_roles=("judge",))) as llm:
        result = await make_engine(llm, max_error_rate=0.1, concurrency=1).evaluate(scenario(60), app_handler)

    assert result.outcome == "pass"
    assert result.expectations[0].verdicts[0].missing == 1


async def test_calls_at_once_reach_the_models_limit_and_never_exceed_it(make_engine: MakeEngine) -> None:
    with running(Behaviour(latency_seconds=0.05, user_messages=1, opens_at=8)) as llm:
        engine = make_engine(llm, **one_model(make_engine, llm), model_concurrency=8, concurrency=40)
        await engine.evaluate(scenario(60), app_handler)

    assert llm.stats.peak_in_flight == 8


async def test_suites_evaluated_at_once_by_one_engine_share_its_limits(make_engine: MakeEngine) -> None:
    results: list[EvaluationResult] = []

    async def evaluate(engine: Engine, title: str) -> None:
        results.append(await engine.evaluate(scenario(40, title=title), app_handler))

    with running(Behaviour(latency_seconds=0.05, user_messages=1, opens_at=8)) as llm:
        engine = make_engine(llm, **one_model(make_engine, llm), model_concurrency=8, concurrency=20)
        async with anyio.create_task_group() as suites:
            suites.start_soon(evaluate, engine, "one")
            suites.start_soon(evaluate, engine, "other")

    assert llm.stats.peak_in_flight == 8
    assert sum(total(result.run.usage).calls for result in results) == llm.stats.requests == 2 * 81


async def test_a_normal_run_leaves_no_task_thread_or_socket(llm: ServerHandle, make_engine: MakeEngine) -> None:
    with nothing_left_behind(llm):
        await make_engine(llm).evaluate(scenario(10), app_handler)


async def test_a_second_run_of_an_engine_leaves_nothing_either(llm: ServerHandle, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)
    with nothing_left_behind(llm):
        for _ in range(2):
            await engine.evaluate(scenario(3), app_handler)


def test_an_engine_may_be_used_in_one_event_loop_after_another(llm: ServerHandle, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)
    results = [asyncio.run(engine.evaluate(scenario(3), app_handler)) for _ in range(2)]

    assert [result.failures for result in results] == [(), ()]
    assert open_sockets(llm) == []


async def test_an_engine_that_ends_takes_no_connection_from_another(make_engine: MakeEngine) -> None:
    results: list[EvaluationResult] = []

    async def evaluate(sample_size: int) -> None:
        results.append(await make_engine(llm).evaluate(scenario(sample_size, max_turns=sample_size), app_handler))

    with running(Behaviour(latency_seconds=0.1, user_messages=10)) as llm:
        async with anyio.create_task_group() as runs:
            runs.start_soon(evaluate, 1)
            runs.start_soon(evaluate, 10)

    assert [total(result.run.usage).failed_calls for result in results] == [0, 0]


@pytest.mark.parametrize("behaviour", [Behaviour(latency_seconds=0.05), Behaviour(hang=0.5)], ids=["slow", "hanging"])
async def test_a_cancelled_run_returns_at_once_and_leaves_no_task_thread_or_socket(
    behaviour: Behaviour, make_engine: MakeEngine
) -> None:
    with running(behaviour) as llm, nothing_left_behind(llm):
        with anyio.move_on_after(0.5) as scope:
            await make_engine(llm).evaluate(scenario(1000), app_handler)
        late = anyio.current_time() - scope.deadline
        await anyio.wait_all_tasks_blocked()

        assert scope.cancelled_caught
        assert late < 2
        assert llm.stats.requests > 0


@pytest.mark.parametrize("trouble", ["raises", "hangs", "wrong type"])
async def test_a_handler_in_trouble_costs_only_its_own_trials(
    trouble: str, llm: ServerHandle, make_engine: MakeEngine
) -> None:
    engine = make_engine(llm, app_timeout_seconds=0.2)
    result = await engine.evaluate(scenario(30), troubled_app(trouble, every=3))

    failed = [index for index, failure in result.failures if failure.stage == "app"]
    assert len(failed) == len(result.failures) == 10
    assert result.expectations[0].scores == (8,) * 20
    assert result.expectations[0].verdicts[0].n == 30
    assert result.outcome == "fail"
    assert all("turn 2" in failure.error for _, failure in result.failures)


async def test_trials_of_a_failing_app_are_left_out_where_that_is_asked_for(
    llm: ServerHandle, make_engine: MakeEngine
) -> None:
    engine = make_engine(llm, on_app_error="exclude", max_error_rate=0.5)
    result = await engine.evaluate(scenario(45), troubled_app("raises", every=3))

    assert len(result.failures) == 15
    assert result.expectations[0].verdicts[0].n == 30
    assert result.passed


async def test_a_failing_app_stops_the_run_where_that_is_asked_for(llm: ServerHandle, make_engine: MakeEngine) -> None:
    engine = make_engine(llm, on_app_error="stop", concurrency=3)
    with pytest.raises(RunStopped, match="lost its way"):
        await engine.evaluate(scenario(100), troubled_app("raises", every=3))

    assert llm.stats.requests < 50


async def test_the_key_is_in_no_result_and_no_store(make_engine: MakeEngine, tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    with running(Behaviour(error_500=0.2, html=0.2, echo_key=True)) as llm:
        engine = make_engine(llm, max_error_rate=1, store=store, retry_config=RetryConfig(enabled=False))
        result = await engine.evaluate(scenario(20), app_handler)

    assert len(result.failures) > 0
    assert KEY not in str(result)
    assert KEY not in repr(result)
    assert KEY not in store.read_text(encoding="utf-8")


async def test_the_store_holds_the_run_each_trial_and_the_verdicts(
    llm: ServerHandle, make_engine: MakeEngine, tmp_path: Path
) -> None:
    store = tmp_path / "runs.jsonl"
    await make_engine(llm, store=store).evaluate(scenario(4), app_handler)

    entries = [json.loads(line)["type"] for line in store.read_text(encoding="utf-8").splitlines()]
    assert sorted({*entries}) == ["conversation", "judgement", "rubric", "run", "usage", "verdicts"]
    assert (entries.count("conversation"), entries.count("judgement"), entries.count("run")) == (4, 4, 2)


async def test_the_key_is_in_no_error_even_where_the_server_sends_it_back(make_engine: MakeEngine) -> None:
    with running(Behaviour(auth=1, echo_key=True)) as llm, pytest.raises(ModelUnusable) as caught:
        await make_engine(llm).evaluate(scenario(5), app_handler)

    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


async def test_the_key_is_not_shown_by_the_engine(llm: ServerHandle, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)

    assert KEY not in repr(engine)
    assert KEY not in repr(engine._engine_resources)


def one_model(make_engine: MakeEngine, llm: ServerHandle) -> dict[str, str]:
    """Name one model for both roles, so that one limit holds for all calls."""
    name = make_engine(llm)._engine_resources.panel[0].name
    return {"judge_model": name, "user_simulator_model": name}


def troubled_app(trouble: str, *, every: int) -> Callable[[str, dict[str, Any]], Any]:
    """Return an app that fails at the second turn of one conversation in `every`."""
    started = 0

    async def handler(message: str, state: dict[str, Any]) -> Any:
        nonlocal started
        if not state:
            started += 1
            return AppResponse("Hello.", {"number": started})
        if state["number"] % every == 0:
            return await TROUBLES[trouble]()
        return AppResponse("I answer questions.", state)

    return handler


async def _raise() -> AppResponse:
    raise ValueError("lost its way")


async def _return_a_number() -> int:
    return 42


TROUBLES: dict[str, Callable[[], Any]] = {
    "raises": _raise,
    "hangs": partial(anyio.sleep, 60),
    "wrong type": _return_a_number,
}


async def test_the_rubric_is_written_while_the_first_conversations_are_held(make_engine: MakeEngine) -> None:
    rubrics_asked_for: list[int] = []

    async def app(message: str, state: dict[str, Any]) -> str:
        rubrics_asked_for.append(llm.stats.by_role["rubric"])
        return "I answer questions."

    with running(Behaviour(latency_seconds=0.05)) as llm:
        await make_engine(llm).evaluate(scenario(3), app)

    assert rubrics_asked_for[-1] == 1


async def test_a_model_that_cannot_be_reached_at_all_stops_the_run(make_engine: MakeEngine) -> None:
    with running() as llm:
        engine = make_engine(llm, concurrency=4)

    with pytest.raises(ModelUnusable, match=r"connection.*api_base") as caught:
        await engine.evaluate(scenario(30), app_handler)

    assert "\n" not in str(caught.value)
