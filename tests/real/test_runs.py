"""Whole runs in which a real model is the simulated user and the app, or judges: protocol, accounting, ends, resume."""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simeval import Engine, Expectation, RetryConfig, ScenarioTest, SuccessRateEvaluator
from simeval.core.conversation import Message
from simeval.core.run_records import total
from simeval.models.protocol.prompt_texts import source_of
from tests.support.real_model import NAME, quick

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

every_form = pytest.mark.skipif(
    os.environ.get("SIMEVAL_REAL_MODEL") != "all", reason="takes minutes: SIMEVAL_REAL_MODEL=all make real asks it"
)
LEVELS = ("It says nothing of Paris.", "It names Paris among others.", "It says that Paris is the capital.")
THEN = Expectation(
    expected_behavior="The assistant says Paris", rubric=LEVELS, evaluator=SuccessRateEvaluator(min_proportion=0.2)
)
BY_CRITERIA = Expectation(
    criteria=["The assistant says Paris", "The assistant says that it is in France"],
    evaluator=SuccessRateEvaluator(min_proportion=0.2),
)
SCENARIO = ScenarioTest(
    title="Capital",
    given="A schoolchild",
    when="The user asks what the capital of France is",
    then=THEN,
    sample_size=2,
    max_turns=1,
)
BRIEF = re.sub(r"(?m)^- .*\n", "", source_of("user"))  # without its rules: to read them took most of the time
ENDINGS = {"goal_satisfied", "gave_up", "handed_off", "turn_limit", "model_error"}


def engine(base_url: str, road: str, judge: str = "offline/judge", **settings: Any) -> Engine:
    """Return an engine whose user is the model; bounded so that a reply takes seconds."""
    defaults: dict[str, Any] = {
        "model_options": {"api_base": base_url, "api_key": "none"},
        "user_format": "text",  # a line, and no object that is asked for again where it is cut
        "user_options": {"max_tokens": 60},
        "judge_options": {"max_tokens": 100},
        "app_options": {"max_tokens": 24},
        "writing_style_config": None,
        "concurrency": 1,
        "seed": 7,
        "store": None,
        "rubric_folder": None,
        "early_stopping": False,
        "on_user_fault": "count",  # so small a model repeats its instructions; that is not held here
        "max_error_rate": 1,
    }
    return Engine(judge, f"{road}/{NAME}", **{**defaults, **settings})


def said(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in messages]


async def test_every_trial_ends_with_a_reason_and_every_call_is_counted(base_url: str, road: str) -> None:
    asking = engine(base_url, road, user_format="json", model_options=quick(base_url, road))
    result = await asking.evaluate(replace(SCENARIO, sample_size=1), f"{road}/{NAME}")

    usage = result.run.usage
    assert result.trials == 1
    assert {conversation.ended for conversation in result.conversations} <= ENDINGS
    assert usage["app"].calls == sum(len(each.responses) for each in result.conversations)
    assert usage["user"].calls >= 1
    assert usage["user"].completion_tokens <= 60 * 31 * usage["user"].calls
    assert usage["app"].completion_tokens <= 24 * usage["app"].calls
    assert total(usage).failed_calls == 0


async def test_a_run_that_is_stopped_and_resumed_says_what_a_whole_one_says(base_url: str, tmp_path: Path) -> None:
    road, app = "openai-compatible", f"openai-compatible/{NAME}"
    made = partial(engine, base_url, road, prompts={"user": BRIEF})
    whole = await made().evaluate(SCENARIO, app)

    store = tmp_path / "runs.db"
    cut = await made(store=store, max_calls=5).evaluate(SCENARIO, app)
    resumed = await made(store=store, resume="last").evaluate(SCENARIO, app)

    assert cut.trials < 2
    assert resumed.run.run_id == cut.run.run_id
    talks = [[said(each.messages) for each in result.conversations] for result in (whole, resumed)]
    assert talks[0] == talks[1]


@pytest.mark.parametrize(
    ("then", "settings"),
    [
        (THEN, {}),
        (BY_CRITERIA, {"judge_reply": "label"}),
        pytest.param(THEN, {"judge_reply": "label"}, marks=every_form),
        pytest.param(BY_CRITERIA, {}, marks=every_form),
        pytest.param(THEN, {"judge_repeats": 2}, marks=every_form),
    ],
    ids=["rating", "criteria by label", "label", "criteria", "repeated"],
)
async def test_a_model_that_cannot_judge_passes_nothing(
    base_url: str, then: Expectation, settings: dict[str, Any]
) -> None:
    road = "openai-compatible"

    async def app(message: str) -> str:
        return "I'd love to take a bite of this lemon and honey!"

    twice = RetryConfig(max_attempts=2, backoff_multiplier=0)
    options = {"model_options": quick(base_url), "retry_config": twice, **settings}
    judging = engine(base_url, road, judge=f"{road}/{NAME}", **options)
    result = await judging.evaluate(replace(SCENARIO, then=then), app)

    assert not result.passed
    assert result.outcome in ("error", "inconclusive", "fail")
    assert result.expectations[0].verdicts[0].explanation


async def test_a_model_that_cannot_judge_is_refused_a_licence_within_100_calls(base_url: str) -> None:
    road = "openai-compatible"
    once: dict[str, Any] = {"judge_reply": "label", "retry_config": RetryConfig(enabled=False)}
    options = {"model_options": quick(base_url), "model_timeout_seconds": 300, **once}

    found = await engine(base_url, road, judge=f"{road}/{NAME}", **options).test_judge()

    assert not found.is_licensed
    assert 0 < found.calls <= 100
