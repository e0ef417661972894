"""Whole runs over real HTTP: simeval, a client, and a server that answers, delays, fails and hangs as told.

Every test runs twice: through LiteLLM (transport="litellm") and through simeval's own client ("openai-compatible/...").
"""

import json
from pathlib import Path

import anyio
import pytest

from simeval import Engine, RetryConfig, ScenarioResult
from simeval.core.run_records import total
from simeval.errors import ModelUnusable
from simeval.testing import Behaviour, FakeEndpoint, fake_endpoint
from tests.support.http_runs import KEY, MakeEngine, app_handler, calls_by_role, scenario
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_the_example_runs_and_counts_every_call_by_its_role(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert calls_by_role(result) == {"user": 90, "judge": 30, "rubric": 1, "control": 3} == dict(llm.stats.by_role)
    assert llm.stats.requests == total(result.run.usage).calls == 124
    assert llm.stats.saw_authorization


async def test_the_example_gives_conversations_scores_and_a_pass(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert result.passed
    assert result.p_value == pytest.approx(0.9**30)
    assert result.average_score == 8
    assert result.expectations[0].scores == (8,) * 30
    assert [len(conversation.messages) for conversation in result.conversations] == [6] * 30
    assert result.conversations[0].messages[-1].content.endswith('You said: "Question 3: what can you do."')
    assert "PASS" in str(result)


async def test_a_judge_that_finds_nothing_good_gives_a_fail(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(score=2, user_messages=1)) as llm:
        result = await make_engine(llm).evaluate(scenario(30), app_handler)

    assert result.outcome == "fail"


async def test_a_rubric_is_asked_for_once_however_many_trials_run_at_once(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(latency_seconds=0.05, user_messages=1)) as llm:
        await make_engine(llm, concurrency=30).evaluate(scenario(30), app_handler)

    assert llm.stats.by_role["rubric"] == 1


async def test_a_rubric_kept_in_a_folder_is_not_asked_for_again(
    llm: FakeEndpoint, make_engine: MakeEngine, tmp_path: Path
) -> None:
    await make_engine(llm, rubric_folder=tmp_path).evaluate(scenario(5), app_handler)
    second = await make_engine(llm, rubric_folder=tmp_path).evaluate(scenario(5), app_handler)

    assert llm.stats.by_role["rubric"] == 1
    assert calls_by_role(second) == {"user": 15, "judge": 5, "control": 3}


async def test_calls_at_once_reach_the_models_limit(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(hang=1, faulty_roles=("user",))) as llm:
        engine = make_engine(llm, **one_model(make_engine, llm), model_concurrency=8, concurrency=40)
        async with anyio.create_task_group() as runs:
            for title in ("one", "other"):
                runs.start_soon(engine.evaluate, scenario(30, title=title), app_handler)
            await until(lambda: llm.stats.in_flight == 8)
            await anyio.wait_all_tasks_blocked()
            runs.cancel_scope.cancel()

    assert llm.stats.peak_in_flight == llm.stats.by_role["user"] == 8


async def test_calls_at_once_never_exceed_the_models_limit_which_suites_evaluated_at_once_share(
    make_engine: MakeEngine,
) -> None:
    results: list[ScenarioResult] = []

    async def evaluate(engine: Engine, title: str) -> None:
        results.append(await engine.evaluate(scenario(40, title=title), app_handler))

    with fake_endpoint(Behaviour(latency_seconds=0.05, user_messages=1)) as llm:
        engine = make_engine(llm, **one_model(make_engine, llm), model_concurrency=8, concurrency=20)
        async with anyio.create_task_group() as suites:
            suites.start_soon(evaluate, engine, "one")
            suites.start_soon(evaluate, engine, "other")

    assert llm.stats.peak_in_flight <= 8
    assert sum(total(result.run.usage).calls for result in results) == llm.stats.requests == 2 * 124


async def test_the_key_is_in_no_result_and_no_store(make_engine: MakeEngine, tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    with fake_endpoint(Behaviour(error_500=0.2, html=0.2, echo_key=True)) as llm:
        engine = make_engine(llm, max_error_rate=1, store=store, retry_config=RetryConfig(enabled=False))
        result = await engine.evaluate(scenario(20), app_handler)

    assert len(result.failures) > 0
    assert KEY not in str(result)
    assert KEY not in repr(result)
    assert KEY not in store.read_text(encoding="utf-8")


async def test_the_store_holds_the_run_each_trial_and_the_verdicts(
    llm: FakeEndpoint, make_engine: MakeEngine, tmp_path: Path
) -> None:
    store = tmp_path / "runs.jsonl"
    await make_engine(llm, store=store).evaluate(scenario(4), app_handler)

    entries = [json.loads(line)["type"] for line in store.read_text(encoding="utf-8").splitlines()]
    kinds = ["control", "conversation", "judgement", "rubric", "run", "start", "usage", "verdicts"]
    assert sorted({*entries} - {"turn"}) == kinds
    assert (entries.count("conversation"), entries.count("judgement"), entries.count("run")) == (4, 4, 2)


async def test_the_key_is_in_no_error_even_where_the_server_sends_it_back(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(auth=1, echo_key=True)) as llm, pytest.raises(ModelUnusable) as caught:
        await make_engine(llm).evaluate(scenario(5), app_handler)

    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


async def test_the_key_is_not_shown_by_the_engine(llm: FakeEndpoint, make_engine: MakeEngine) -> None:
    engine = make_engine(llm)

    assert KEY not in repr(engine)
    assert KEY not in repr(engine._engine_resources)


def one_model(make_engine: MakeEngine, llm: FakeEndpoint) -> dict[str, str]:
    """Name one model for both roles, so that one limit holds for all calls."""
    name = make_engine(llm)._engine_resources.panel[0].name
    return {"judge_model": name, "user_simulator_model": name}


async def test_a_conversation_begins_when_its_rubric_is_written_and_its_judge_is_tested(
    make_engine: MakeEngine,
) -> None:
    asked: list[tuple[int, int]] = []

    async def app(message: str) -> str:
        asked.append((llm.stats.by_role["rubric"], llm.stats.by_role["control"]))
        return "I answer questions."

    with fake_endpoint() as llm:
        result = await make_engine(llm).evaluate(scenario(3), app)

    assert result.failures == ()
    assert set(asked) == {(1, 3)}


async def test_a_credulous_judge_makes_no_pass(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(credulous=True, score=10)) as llm:
        result = await make_engine(llm).evaluate(scenario(10), app_handler)

    assert result.outcome == "error"
    assert "is not to be trusted here" in result.verdicts[0].explanation
    assert dict(llm.stats.by_role) == {"rubric": 1, "control": 4}
