"""An answer that a content filter or the model itself refused is told as that, and not asked for again."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from simeval import RetryConfig
from simeval.core.run_records import Ledger
from simeval.core.settings import Settings
from simeval.errors import ModelError
from simeval.models.caller import Caller
from simeval.models.protocol.model import Completion, Grade, PlainReply
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.models.registry import Models
from simeval.suites.apps.named import app_of
from simeval.testing import ScriptedModel
from tests.support.chat_server import Body, chat_server, refused, said, streamed
from tests.support.doubles import any_request
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

AT_ONCE = RetryConfig(max_attempts=5, backoff_multiplier=0)
SORRY = "I'm sorry, I can't help with that."
HELLO = ChatRequest(history=[{"role": "user", "content": "hi"}])
Answered = tuple[int, Mapping[str, Any] | str]


def refusing(content: Any = None) -> Answered:
    status, body = said(None)
    message = body["choices"][0]["message"]
    message.update({"content": content, "refusal": SORRY} if content is None else {"content": content})
    return status, body


def events(*deltas: Body, finish_reason: str = "stop") -> Answered:
    *first, last = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    return streamed(*({"choices": [each]} for each in [*first, {**last, "finish_reason": finish_reason}]))


REFUSED = "the model refused: I'm sorry"
FILTERED = "withheld by the content filter"
POLICY = "The response was filtered due to the prompt triggering the content management policy."
CASES: list[tuple[str, Answered, dict[str, Any], str]] = [
    ("a refusal", refusing(), {}, REFUSED),
    ("a part of the content", refusing([{"type": "refusal", "refusal": SORRY}]), {}, REFUSED),
    ("a filter", said("", finish_reason="content_filter"), {}, FILTERED),
    ("a filter without a text", said(None, finish_reason="content_filter"), {}, FILTERED),
    ("a filter in the middle", said('{"reasoning": "it', finish_reason="content_filter"), {}, FILTERED),
    ("a stream that refuses", events({"refusal": SORRY[:9]}, {"refusal": SORRY[9:]}), {"stream": True}, REFUSED),
    ("a stream that is filtered", events({"content": ""}, finish_reason="content_filter"), {"stream": True}, FILTERED),
    ("a prompt that is filtered", refused(POLICY, code="content_filter"), {}, "the content management policy"),
]
UNREAD = ("a part of the content", "a stream that refuses")  # by LiteLLM
ROADS = [
    pytest.param(road, *case, id=f"{road.__name__}, {name}")
    for road in (CompatibleModel, LiteLLMModel)
    for name, *case in CASES
    if road is CompatibleModel or name not in UNREAD
]


@pytest.mark.parametrize(("road", "answered", "options", "told"), ROADS)
async def test_a_judge_that_gives_no_answer_is_asked_once_and_told_as_that(
    road: Callable[..., Any], answered: Answered, options: dict[str, Any], told: str
) -> None:
    async with chat_server(lambda _: answered) as server:
        prefix = "openai" if road is LiteLLMModel else "openai-compatible"
        model = road(f"{prefix}/small", {"api_base": server.base_url, "api_key": "none", **options})
        models = Models(Settings(retry_config=AT_ONCE))
        ledger = Ledger()
        with pytest.raises(ModelError, match=told) as raised:
            await models.caller(models.get(model), ledger).ask(any_request(), Grade)
        await model.close()

    assert (raised.value.kind, raised.value.attempts, len(server.bodies)) == ("withheld", 1, 1)
    assert ledger.of("rubric").malformed_calls == 0


async def test_a_whole_answer_counts_though_a_filter_ended_it() -> None:
    model = ScriptedModel([Completion(text='{"reasoning": "it did", "score": 9}', is_filtered=True)])

    assert (await Caller(model, AT_ONCE).ask(any_request(), Grade)).score == 9


async def test_a_users_message_that_a_filter_cut_is_no_message() -> None:
    model = ScriptedModel([Completion(text="Where is my", is_filtered=True)])

    with pytest.raises(ModelError, match=FILTERED):
        await Caller(model, AT_ONCE).ask(any_request(), PlainReply)


async def test_of_an_app_that_is_a_model_the_refusal_is_its_answer() -> None:
    model = ScriptedModel([Completion(text="", refusal=SORRY)])

    assert await Caller(model, AT_ONCE).text(HELLO) == SORRY
    assert model.calls == 1


@pytest.mark.parametrize("kind", ["model", "openai:"])
async def test_an_app_that_refuses_has_answered_and_one_that_is_filtered_has_failed(kind: str) -> None:
    satisfied, bad = {"status": "satisfied", "message": "Hi"}, {"reasoning": "it refuses", "score": 2}
    judge = ScriptedModel({"user": [satisfied], "judge": [bad]})

    for answered, failure in ((refusing(), ""), (said(None, finish_reason="content_filter"), FILTERED)):
        async with chat_server(lambda _, answered=answered: answered) as server:  # type: ignore[misc]
            named = f"openai:{server.base_url}#small"
            app: Any = app_of(named) if kind == "openai:" else "openai-compatible/small"
            engine = Engine(judge, retry_config=AT_ONCE, app_options={"api_base": server.base_url})
            result = await engine.evaluate(scenario(sample_size=2), app)
            asked = sum("messages" in body for body in server.bodies)

        for each in result.judgements:
            assert failure in (each.failure.error if each.failure else "")
            assert [message.content for message in each.conversation.responses] == ([] if failure else [SORRY])
            assert each.failure is None or each.failure.stage == "app"
        assert asked == 2
