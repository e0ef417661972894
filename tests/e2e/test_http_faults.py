"""Runs over HTTP while the server fails, hangs, refuses and talks nonsense."""

import json
from time import perf_counter

import pytest
from aiohttp import web

from simeval import RetryConfig
from simeval.core.run_records import total
from simeval.core.trial import Failure, Score
from simeval.errors import ModelUnusable
from simeval.testing import Behaviour, fake_endpoint
from simeval.testing.endpoint import FakeEndpoint
from simeval.testing.replies import EndpointStats, Role, reply_of, role_of
from tests.support.http_runs import MAX_ATTEMPTS, MakeEngine, app_handler, calls_by_role, scenario
from tests.support.serving import serving

pytestmark = pytest.mark.anyio
DEEP = '{"choices":' * 100_000
UNREADABLE = {
    "body too deep": {"text": DEEP, "content_type": "application/json"},
    "reply too deep": {
        "text": json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": DEEP}}]}),
        "content_type": "application/json",
    },
    "unknown charset": {"body": b"{}", "headers": {"Content-Type": "application/json; charset=klingon"}},
    "wrong charset": {"body": b'{"id": "\xff"}', "headers": {"Content-Type": "application/json; charset=utf-8"}},
}


@pytest.mark.parametrize("fault", ["error_500", "rate_limited", "malformed", "html"])
async def test_a_fault_that_passes_is_retried_and_costs_no_trial(fault: str, make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=(fault, "", fault, "", fault))) as llm:  # type: ignore[arg-type]
        result = await make_engine(llm).evaluate(scenario(10), app_handler)

    assert llm.stats.faults == {fault: 3}
    assert llm.stats.requests == total(result.run.usage).calls == 44 + 3
    assert len(result.expectations[0].scores) == 10


@pytest.mark.parametrize("fault", ["error_500", "rate_limited", "malformed", "html"])
async def test_a_call_that_always_fails_is_made_max_attempts_times(fault: str, make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(**{fault: 1.0}, faulty_roles=("user",))) as llm:  # type: ignore[arg-type]
        result = await make_engine(llm, max_error_rate=1).evaluate(scenario(5), app_handler)

    assert calls_by_role(result) == {"user": 5 * MAX_ATTEMPTS, "rubric": 1, "control": 3}
    assert llm.stats.requests == total(result.run.usage).calls
    assert {failure.stage for _, failure in result.failures} == {"simulator"}
    assert all(f"after {MAX_ATTEMPTS} attempts" in failure.error for _, failure in result.failures)


async def test_among_many_faults_every_trial_is_scored_or_failed_with_its_cause(make_engine: MakeEngine) -> None:
    faults = Behaviour(error_500=0.1, rate_limited=0.1, truncated=0.1, malformed=0.1, html=0.05)
    with fake_endpoint(faults) as llm:
        result = await make_engine(llm, max_error_rate=1).evaluate(scenario(60), app_handler)

    scored = [found for found in result.expectations[0].results if isinstance(found, Score)]
    failed = [found for found in result.expectations[0].results if isinstance(found, Failure)]
    assert len(scored) + len(failed) == result.trials == 60
    assert len(scored) > len(failed) > 0
    assert {failure.stage for failure in failed} <= {"simulator", "judge", "rubric"}
    assert {failure.cause for failure in failed} <= {"server", "rate_limit", "connection", "malformed"}
    calls = total(result.run.usage).calls
    assert calls <= MAX_ATTEMPTS * (60 * 4 + 60)
    # LiteLLM's own transport sends a request again where its connection was lost: once in some runs of ten
    assert calls <= llm.stats.requests <= calls + 3
    assert len(llm.stats.faults) == 5


async def test_retry_after_is_waited_for(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=("rate_limited",), retry_after="0.5", faulty_roles=("user",))) as llm:
        started = perf_counter()
        result = await make_engine(llm).evaluate(scenario(1), app_handler)

    assert perf_counter() - started >= 0.5
    assert calls_by_role(result) == {"user": 4, "judge": 1, "rubric": 1, "control": 3}


async def test_a_hanging_call_is_timed_out_and_made_again(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=("hang", "", "hang"))) as llm:
        result = await make_engine(llm, model_timeout_seconds=3, concurrency=1).evaluate(scenario(2), app_handler)

    assert len(result.expectations[0].scores) == 2
    assert llm.stats.faults["hang"] == 2
    assert total(result.run.usage).failed_calls >= 2  # on a busy machine an answer may come too late, too


@pytest.mark.parametrize(("role", "stage"), [("user", "simulator"), ("judge", "judge")])
async def test_calls_that_only_hang_are_failures_of_their_stage(role: str, stage: str, make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(hang=1, faulty_roles=(role,), user_messages=1)) as llm:  # type: ignore[arg-type]
        engine = make_engine(llm, model_timeout_seconds=3, retry_config=RetryConfig(enabled=False), max_error_rate=1)
        result = await engine.evaluate(scenario(2), app_handler)

    assert [(f.stage, f.cause) for _, f in result.failures] == [(stage, "timeout")] * 2
    assert result.expectations[0].verdicts[0].missing == 2


@pytest.mark.parametrize(("role", "stage"), [("rubric", "rubric"), ("control", "judge")])
async def test_calls_that_only_hang_before_the_first_trial_cost_none(
    role: str, stage: str, make_engine: MakeEngine
) -> None:
    with fake_endpoint(Behaviour(hang=1, faulty_roles=(role,))) as llm:  # type: ignore[arg-type]
        engine = make_engine(llm, model_timeout_seconds=3, retry_config=RetryConfig(enabled=False))
        result = await engine.evaluate(scenario(2), app_handler)

    assert (result.outcome, result.trials, llm.stats.by_role["user"]) == ("error", 0, 0)
    assert result.verdicts[0].explanation.startswith(f"{stage}: ")
    assert "(timeout)" in result.verdicts[0].explanation


@pytest.mark.parametrize("refusal", ["Incorrect API key provided", "Unauthorized"])
async def test_a_refused_key_stops_the_run_and_is_not_retried(refusal: str, make_engine: MakeEngine) -> None:
    with (
        fake_endpoint(Behaviour(auth=1, refusal=refusal, latency_seconds=0.02)) as llm,
        pytest.raises(ModelUnusable) as caught,
    ):
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert caught.value.kind == "authentication"
    assert str(caught.value).endswith("check the provider's API key in your environment")
    assert llm.stats.requests <= 4 + 1  # a call for each trial in flight, and the rubric's
    assert "\n" not in str(caught.value)


async def test_a_key_refused_in_the_middle_of_a_run_stops_it(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(auth=1, faulty_roles=("judge",))) as llm, pytest.raises(ModelUnusable):
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert llm.stats.by_role["judge"] <= 4
    assert llm.stats.by_role["user"] < 90


async def test_a_first_call_that_is_a_bad_request_stops_the_run(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(bad_request=1, latency_seconds=0.02)) as llm, pytest.raises(ModelUnusable) as caught:
        await make_engine(llm, concurrency=4).evaluate(scenario(30), app_handler)

    assert caught.value.kind == "bad_request"
    assert str(caught.value).endswith("check the model's name and options")
    assert llm.stats.requests <= 4 + 1


async def test_a_later_bad_request_costs_its_trial_alone_and_is_not_retried(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=("", "", "bad_request"), faulty_roles=("user",))) as llm:
        result = await make_engine(llm, concurrency=1).evaluate(scenario(10), app_handler)

    assert [(index, f.stage, f.cause) for index, f in result.failures] == [(0, "simulator", "bad_request")]
    assert llm.stats.requests == 4 + 9 * 4 + 3


async def test_a_refusal_by_the_content_filter_costs_its_trial_alone(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=("content_filter",), faulty_roles=("user",))) as llm:
        result = await make_engine(llm, concurrency=1).evaluate(scenario(10), app_handler)

    assert [(index, f.stage, f.cause) for index, f in result.failures] == [(0, "simulator", "withheld")]


async def test_too_many_lost_trials_are_an_error_and_end_the_scenario_early(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(malformed=1, faulty_roles=("judge",), user_messages=1)) as llm:
        engine = make_engine(llm, max_error_rate=0.1, concurrency=5)
        result = await engine.evaluate(scenario(100), app_handler)

    assert result.outcome == "error"
    assert "max_error_rate" in str(result)
    assert 11 <= result.trials < 30
    assert llm.stats.requests < 100


async def test_few_lost_trials_leave_a_verdict(make_engine: MakeEngine) -> None:
    with fake_endpoint(Behaviour(first_faults=("malformed", "malformed", "malformed"), faulty_roles=("judge",))) as llm:
        result = await make_engine(llm, max_error_rate=0.1, concurrency=1).evaluate(scenario(60), app_handler)

    assert result.outcome == "pass"
    assert result.expectations[0].verdicts[0].missing == 1


async def test_a_model_that_cannot_be_reached_at_all_stops_the_run(make_engine: MakeEngine) -> None:
    with fake_endpoint() as llm:
        engine = make_engine(llm, concurrency=4)

    with pytest.raises(ModelUnusable, match=r"connection.*api_base") as caught:
        await engine.evaluate(scenario(30), app_handler)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("answer", UNREADABLE)
async def test_a_reply_that_cannot_be_read_is_asked_again_in_each_role(answer: str, make_engine: MakeEngine) -> None:
    struck: set[Role] = set()
    answered = 0

    async def handle(request: web.Request) -> web.Response:
        nonlocal answered
        messages = (await request.json())["messages"]
        role = role_of(messages[0]["content"], messages[-1]["content"], {})
        if role not in struck:
            struck.add(role)
            return web.Response(**UNREADABLE[answer])  # type: ignore[arg-type]
        answered += 1
        text = json.dumps(reply_of(role, messages, Behaviour()))
        return web.json_response({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})

    application = web.Application()
    application.router.add_post("/{rest:.*}", handle)
    async with serving(application) as url:
        engine = make_engine(FakeEndpoint(url, Behaviour(), EndpointStats()))
        result = await engine.evaluate(scenario(3), app_handler)

    assert struck >= {"rubric", "user", "judge"}
    assert len(result.expectations[0].scores) == 3
    assert total(result.run.usage).calls == answered + len(struck)
