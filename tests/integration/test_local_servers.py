"""Runs against servers of one's own: what they refuse, and what is said before they are asked."""

import json

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from tests.support.chat_server import Body, chat_server, refused, said

pytestmark = pytest.mark.anyio

THEN = Expectation(expected_behavior="It says Paris", evaluator=SuccessRateEvaluator(min_proportion=0.5))
TALKATIVE = ScenarioTest(title="Paris", given="A child", when="Asks for a capital", then=THEN, max_turns=40)


def small(body: Body) -> tuple[int, Body]:
    """Answer as a server whose context is small: its list says so, and a prompt of any length is too long."""
    if "messages" not in body:
        return 200, {"data": [{"id": "any", "meta": {"n_ctx": 2048}}]}
    return refused("the request exceeds the available context size", type="exceed_context_size_error")


async def test_a_context_that_is_too_small_is_told_before_the_run_and_its_trials_are_missing() -> None:
    async with chat_server(small) as server:
        engine = Engine(
            "offline/judge", "openai-compatible/small", user_options={"api_base": server.base_url}, store=None, seed=1
        )
        result = await engine.evaluate([TALKATIVE], "offline/app")

    [note] = [note for note in result.run.notes if "tokens" in note]
    assert note.startswith("openai-compatible/small takes 2,048 tokens, and its longest prompt may have about ")
    assert result.outcome == "error"
    assert all(failure.cause == "content" for _, failure in result[0].failures)


async def test_a_server_that_takes_no_schema_is_asked_without_one_and_the_run_goes_on() -> None:
    user = {"message": "What is the capital of France?", "continue": False, "status": "satisfied"}

    def plain(body: Body) -> tuple[int, Body]:
        return refused("response_format is not supported") if "response_format" in body else said(json.dumps(user))

    async with chat_server(plain) as server:
        engine = Engine(
            "offline/judge", "openai-compatible/small", user_options={"api_base": server.base_url}, store=None, seed=1
        )
        result = await engine.evaluate([TALKATIVE], "offline/app")

    assert result[0].trials > 0
    assert not result[0].failures
