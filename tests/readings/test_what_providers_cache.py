"""What providers read from their caches is counted and shown, and what is worth caching is marked where it must be."""

import json
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core.conversation import ChatMessage
from simeval.core.run_records import Usage
from simeval.models.protocol.model import Completion, Request
from simeval.models.protocol.prompts import ChatRequest, GradeRequest, UserTurn
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.results.text import show_spent
from simeval.testing import ScriptedModel, judge_reply, user_reply
from tests.support.chat_server import Body, chat_server, said
from tests.support.records import conversation

pytestmark = pytest.mark.anyio

USAGE = {
    "prompt_tokens": 1_300,
    "completion_tokens": 90,
    "total_tokens": 1_390,
    "prompt_tokens_details": {"cached_tokens": 1_024},
    "completion_tokens_details": {"reasoning_tokens": 64},
}
HELLO = ChatRequest(history=[{"role": "user", "content": "hi"}])
SCENARIO: dict[str, Any] = {"given": "A customer with order F1001", "when": "They ask where it is"}
TALK = conversation("Where is it?", "Which order?").messages


@pytest.mark.parametrize("kind", [CompatibleModel, LiteLLMModel])
@pytest.mark.parametrize("usage", [USAGE, {**USAGE, "prompt_tokens_details": None, "completion_tokens_details": None}])
async def test_cached_and_reasoning_tokens_are_those_the_server_counts(kind: Any, usage: dict[str, Any]) -> None:
    async with chat_server(lambda _: (200, {**said("hello")[1], "usage": usage})) as server:
        prefix = "openai" if kind is LiteLLMModel else "openai-compatible"
        model = kind(f"{prefix}/small", {"api_base": server.base_url, "api_key": "none"})
        made = await model.complete(HELLO)
        await model.close()

    assert (made.cached_tokens, made.reasoning_tokens) == ((1_024, 64) if usage is USAGE else (0, 0))
    assert (made.prompt_tokens, made.completion_tokens) == (1_300, 90)


class Caching(ScriptedModel):
    """A scripted model with 100 tokens a prompt, of which 80 were cached, and 10 a reply."""

    async def complete(self, request: Request) -> Completion:
        made = await ScriptedModel.complete(self, request)
        return Completion(text=made.text, prompt_tokens=100, completion_tokens=10, cached_tokens=80)


async def test_they_stand_in_the_usage_and_in_the_last_line_of_a_run() -> None:
    model = Caching({"user": [user_reply("Hi")], "judge": [judge_reply(8)]})
    then = Expectation(expected_behavior="It helps", evaluator=SuccessRateEvaluator(min_proportion=0.5))
    engine = Engine(model, store=None, rubric_folder=None, display="none", seed=1, early_stopping=False)

    result = await engine.evaluate(
        ScenarioTest(title="Order", **SCENARIO, then=then, sample_size=6), lambda message, state: "I will."
    )

    calls = sum(each.calls for each in result.run.usage.values())
    assert sum(each.cached_tokens for each in result.run.usage.values()) == 80 * calls
    assert f"{110 * calls} tokens ({80 * calls} cached), " in str(result)


def test_the_last_line_names_only_what_there_is() -> None:
    used = Usage(calls=2, prompt_tokens=10, completion_tokens=5, reasoning_tokens=4)

    assert show_spent({"user": used}, 1) == "2 model calls, 15 tokens (4 reasoning), 1.0 s"
    assert show_spent({"user": Usage(calls=2, prompt_tokens=10)}, 1) == "2 model calls, 10 tokens, 1.0 s"


def of_anthropic(text: str) -> tuple[int, Body]:
    usage = {"input_tokens": 276, "cache_read_input_tokens": 1_024, "cache_creation_input_tokens": 0}
    message = {"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    content = [{"type": "text", "text": text}]
    return 200, {**message, "content": content, "usage": {**usage, "output_tokens": 5}}


def user_turn(tone: str = "Warm.") -> UserTurn:
    return UserTurn(**SCENARIO, writing_style={"tone": tone}, history=TALK, untold=["F1001"], format="text", seed=1)


async def sent(name: str, request: Request, **options: Any) -> tuple[Body, Completion]:
    """Return what LiteLLM sends for a request, and what came of it."""
    is_anthropic = name.startswith("anthropic/")
    async with chat_server(lambda _: of_anthropic("F1001") if is_anthropic else said("F1001")) as server:
        base = server.base_url.removesuffix("/v1") if is_anthropic else server.base_url
        model = LiteLLMModel(name, {"api_base": base, "api_key": "none", **options})
        made = await model.complete(request)
        await model.close()
    return server.bodies[-1], made


def texts_of(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


async def test_an_anthropic_model_gets_marks_after_what_trials_and_turns_share() -> None:
    body, made = await sent("anthropic/claude-haiku-4-5", user_turn())
    of_all, of_trial = body["system"]
    said_last, told = body["messages"][-1]["content"]

    assert made.cached_tokens == 1_024
    assert [part.get("cache_control") for part in (of_all, of_trial)] == [{"type": "ephemeral"}, None]
    assert "They ask where it is" in of_all["text"]
    assert "Warm." in of_trial["text"]
    assert [part.get("cache_control") for part in (said_last, told)] == [{"type": "ephemeral"}, None]
    assert said_last["text"].strip() == "Which order?"
    assert "F1001" in told["text"]


async def test_marks_change_nothing_that_the_model_reads() -> None:
    grade = GradeRequest(**SCENARIO, expected_behavior="E", levels={"1": "L"}, conversation=TALK, seed=1)
    for request in (user_turn(), grade, HELLO):
        body, _ = await sent("anthropic/claude-haiku-4-5", request)
        shown = ([{"content": body["system"]}] if "system" in body else []) + body["messages"]

        assert [texts_of(each).strip() for each in shown] == [each["content"].strip() for each in request.messages()]


async def test_a_judge_has_its_mark_before_the_conversation() -> None:
    request = GradeRequest(**SCENARIO, expected_behavior="E", levels={"1": "L"}, conversation=TALK, seed=1)
    body, _ = await sent("anthropic/claude-haiku-4-5", request)
    marked, rest = body["messages"][0]["content"]

    assert marked["cache_control"] == {"type": "ephemeral"}
    assert "<rubric>" in marked["text"]
    assert rest["text"].startswith("<conversation>")


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "hosted_vllm/claude-of-ours"])
async def test_no_other_model_gets_marks(name: str) -> None:
    body, _ = await sent(name, user_turn())

    assert "cache_control" not in json.dumps(body)


async def test_marks_that_a_user_asks_litellm_for_are_the_only_ones() -> None:
    own = [{"location": "message", "role": "system"}]
    body, _ = await sent("anthropic/claude-haiku-4-5", user_turn(), cache_control_injection_points=own)

    assert [part.get("cache_control") for part in body["system"]] == [{"type": "ephemeral"}]
    assert "cache_control" not in json.dumps(body["messages"])


def test_what_is_shared_is_the_beginning_of_other_requests() -> None:
    one, other = user_turn(), user_turn("Curt.")

    def shared(request: UserTurn) -> list[str]:
        messages: list[ChatMessage] = [*request.messages()]
        return [messages[place]["content"][:characters] for place, characters in request.shared().items()]

    assert shared(one) == shared(other)
