"""What a model thinks before it answers is no answer, in whatever tags its server leaves it in the reply."""

from typing import Any

import pytest

from simeval import AppResponse, Expectation, RetryConfig
from simeval.errors import MalformedReply
from simeval.models.caller import Caller, read_choice
from simeval.models.protocol.lenient_json import answer_in, read_reply
from simeval.models.protocol.model import Completion, Grade, PlainReply, Request, UserReply
from simeval.models.protocol.prompts import ChatRequest, LabelRulingRequest
from simeval.testing import ScriptedModel
from tests.support.doubles import any_request
from tests.support.suites import SUCCESS, Engine, scenario

pytestmark = pytest.mark.anyio

AT_ONCE = RetryConfig(max_attempts=4, backoff_multiplier=0)
TEN = '{"reasoning": "as in a full answer", "score": 10}'
TWO = '{"reasoning": "it knows nothing", "score": 2}'
TAGS = [
    ("<think>", "</think>"),
    ("<THINKING>", "</THINKING>"),
    ("<thinking mode='deep'>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<analysis>", "</analysis>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<unused94>", "<unused95>"),
]


@pytest.mark.parametrize(("begins", "ends"), TAGS)
def test_what_follows_an_opening_tag_that_is_not_closed_is_no_answer(begins: str, ends: str) -> None:
    for text in (f"{begins}A full answer gets {TEN}. Hmm", f"Well.\n{begins}\n{TEN}", f"{begins}a{ends}{begins}{TEN}"):
        with pytest.raises(MalformedReply, match="only thoughts"):
            read_reply(text, Grade, model="judge")


@pytest.mark.parametrize(("begins", "ends"), TAGS)
def test_after_a_closed_tag_the_answer_counts(begins: str, ends: str) -> None:
    for text in (f"{begins}{TEN}?{ends}\n{TWO}", f"\n{begins}\n{ends}{TWO}", f"{begins}{TEN}{ends}{begins}{ends}{TWO}"):
        assert read_reply(text, Grade, model="judge").score == 2


@pytest.mark.parametrize(("begins", "ends"), TAGS)
def test_all_before_a_closing_tag_alone_is_thought(begins: str, ends: str) -> None:
    want = "I want to know where my order is and get a refund."
    assert read_reply(f"{TEN}? No.{ends}\n{TWO}", Grade, model="judge").score == 2
    assert read_reply(f"{want}\n{ends}\n\nWhere is my order?", PlainReply, model="user").message == "Where is my order?"


@pytest.mark.parametrize("name", ["<think>", "</think>", "<thinking>", "[THINK]"])
def test_a_tag_within_an_object_is_only_mentioned(name: str) -> None:
    for text in (
        f'{{"reasoning": "it shows {name} to the user", "score": 2}}',
        f"{{'reasoning': 'it shows {name} to the user', 'score': '2/10',}}",
        f'<think>Hm</think>{{"reasoning": "it shows {name} to the user", "score": 2}}',
        f'It is `{name}`: {{"reasoning": "it shows {name} to the user", "score": 2}}',
    ):
        assert read_reply(text, Grade, model="judge").score == 2


def test_a_thought_that_mentions_an_end_goes_on_to_the_last_one() -> None:
    text = f"<think>I close </think> and write {TEN}. No.</think>{TWO}"

    assert read_reply(text, Grade, model="judge").score == 2


def test_a_thought_is_ended_by_its_own_tag_alone() -> None:
    with pytest.raises(MalformedReply):
        read_reply(f"<think><analysis>short</analysis> so {TEN}", Grade, model="judge")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<think>I want a refund.</think>\n\nWhere is my order?", "Where is my order?"),
        ("I want a refund.</think>\n<answer>\nWhere is my order?\n</answer>", "Where is my order?"),
        (
            "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Where is my order?<|return|>",
            "Where is my order?",
        ),
        ("[THINK]I may end it with [END][/THINK]Where is my order?", "Where is my order?"),
    ],
)
def test_a_users_message_is_what_it_says_and_not_what_it_thinks(text: str, message: str) -> None:
    reply = read_reply(text, PlainReply, model="user")

    assert (reply.status, reply.message) == ("open", message)


def test_a_users_json_is_read_so_too() -> None:
    text = '{"status": "satisfied", "message": "draft"}</think>{"status": "open", "message": "Where is it?"}'

    assert read_reply(text, UserReply, model="user").message == "Where is it?"


def test_of_a_choice_the_label_after_the_thought_counts() -> None:
    thought = Completion(text="<think>Yes? No.</think>\nNo", first_token={"Yes": 0.9, "No": 0.1})

    chosen = read_choice(thought, ["Yes", "No"], model="judge")

    assert (chosen.label, chosen.probabilities) == ("No", {"No": 1.0})
    for text in ("<think>Yes", "Yes, it did. Or did it</think>", "<think>Yes"):
        with pytest.raises(MalformedReply):
            read_choice(Completion(text=text), ["Yes", "No"], model="judge")


async def test_a_thought_that_was_cut_is_asked_for_with_twice_the_room() -> None:
    cut = Completion(text=f"<think>A full answer gets {TEN}. Does this one? Hmm", is_cut=True)
    model = ScriptedModel([cut, f"<think>{TEN}? No.</think>{TWO}"])

    assert (await Caller(model, AT_ONCE).ask(any_request(), Grade)).score == 2
    assert [request.max_tokens for request in model.requests] == [1500, 3000]


async def test_a_thought_that_never_ends_is_a_malformed_reply() -> None:
    model = ScriptedModel([f"<think>A full answer gets {TEN}. Does this one? Hmm"])

    with pytest.raises(MalformedReply, match="only thoughts") as raised:
        await Caller(model, AT_ONCE).ask(any_request(), Grade)

    assert (model.calls, raised.value.attempts) == (4, 4)
    assert "only thoughts" in model.requests[1].messages()[-1]["content"]


async def test_an_app_that_is_a_model_answers_without_its_thoughts() -> None:
    request = ChatRequest(history=[{"role": "user", "content": "hi"}])
    model = ScriptedModel(["<think>They greet", "<think>They greet.</think>\n\nHello!"])

    assert await Caller(model, AT_ONCE).text(request) == "Hello!"
    assert model.calls == 2


@pytest.mark.parametrize(
    "text",
    [
        "Put your plan between <think> and </think>, then answer.",
        "Write `<think>` first.",
        "The tag is '</think>'.",
        '```json\n{"tag": "<think>"}\n```',
        "I think <b>so</b>.",
    ],
)
def test_an_app_may_talk_of_tags(text: str) -> None:
    assert answer_in(text, "app", is_prose=True) == text


def test_a_hundred_thousand_tags_are_refused_at_once() -> None:
    for text in ("<think>" * 100_000, "</think>" * 100_000, "<think></think>" * 50_000, "{<think>" * 50_000):
        with pytest.raises(MalformedReply):
            read_reply(text[:199_000], Grade, model="judge")


def thinking(request: Request) -> Completion:
    """Judge by thoughts that never end, unless it is a control."""
    text = f"<think>A full answer would get {TEN}. Does this one? Hmm"
    return Completion(text=text, is_cut=request.seed % 2 == 0)


async def knows_nothing(message: str, state: dict[str, Any]) -> AppResponse:
    return AppResponse("I do not know.", state)


async def test_a_judge_whose_thoughts_never_end_passes_no_app() -> None:
    judge = ScriptedModel({"user": [{"status": "satisfied", "message": "What can you do?"}], "judge": thinking})
    engine = Engine(judge, sample_size=15, retry_config=RetryConfig(max_attempts=2, backoff_multiplier=0))

    result = await engine.evaluate(scenario(sample_size=15), knows_nothing)

    assert result.outcome == "error"
    assert not result.passed


async def test_a_judge_that_thinks_and_answers_judges_as_it_answers() -> None:
    script: dict[str, Any] = {
        "user": ["<think>I ask.</think>\n{'status': 'satisfied', 'message': 'What can you do?',}"],
        "rubric": lambda _: "<think>ten levels</think>" + str({"levels": {str(n): f"level {n}" for n in range(1, 11)}}),
        "judge": [f"<think>{TEN}? No, it says nothing.</think>\n```json\n{TWO}\n```"],
    }
    engine = Engine(ScriptedModel(script), retry_config=AT_ONCE)
    expected = Expectation(expected_behavior="Bot tracks orders", evaluator=SUCCESS)

    result = await engine.evaluate(scenario(sample_size=10, then=expected), knows_nothing)

    assert result.outcome == "fail"
    assert result.average_score == 2


async def test_a_judge_who_rules_by_a_label_may_think_too() -> None:
    request = LabelRulingRequest(given="a", when="b", criterion="c", conversation=(), seed=1)
    model = ScriptedModel([Completion(text="<think>Yes", is_cut=True), "<think>Yes?</think>No"])

    assert (await Caller(model, AT_ONCE).choose(request, ["Yes", "No"])).label == "No"
