"""judge_context_tokens is a bound that holds, whatever is long, and it is said where it was needed."""

from html import unescape

import pytest

from simeval import AppResponse, Expectation
from simeval.core.conversation import Message
from simeval.models.protocol.prompt_texts import excerpt, tokens_in
from simeval.models.protocol.prompts import render_transcript
from simeval.testing import ScriptedModel
from tests.support.doubles import failure
from tests.support.suites import SUCCESS, Engine, scenario

pytestmark = pytest.mark.anyio

LATIN, CHINESE, RUSSIAN = "The order is on its way. ", "订单正在配送中。", "Заказ уже в пути. "


def said(*texts: str, calls: int = 0) -> list[Message]:
    tool_calls = ({"name": "look_up", "result": LATIN * 500},) * calls
    return [
        Message(role="assistant" if number % 2 else "user", content=text, tool_calls=tool_calls if number % 2 else ())
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("most", [200, 500, 2_000])
@pytest.mark.parametrize("text", [LATIN, CHINESE, RUSSIAN, "&<> ", LATIN + CHINESE])
@pytest.mark.parametrize("messages", [2, 3, 5, 12])
@pytest.mark.parametrize("calls", [0, 2])
def test_no_more_is_shown_than_the_bound_says(text: str, most: int, messages: int, calls: int) -> None:
    conversation = said(*["Where is it?", text * 600] * messages, calls=calls)[:messages]

    shown = excerpt(conversation, most)
    transcript = render_transcript(conversation, shown)

    assert not shown.is_whole
    assert tokens_in(unescape(transcript)) < most * 1.1 + 150  # each tag counts as markup


def test_the_middle_of_a_long_message_is_left_out_with_a_mark() -> None:
    conversation = said("Where is it?", f"It comes on Friday. {LATIN * 500} Anything else?")

    shown = excerpt(conversation, 500)
    transcript = render_transcript(conversation, shown)

    assert "Where is it?" in transcript
    assert "It comes on Friday." in transcript
    assert "Anything else?" in transcript
    assert '<left_out characters="' in transcript
    assert str(shown) == "the middle of message 2"


def test_signs_and_letters_of_other_scripts_are_more_tokens() -> None:
    assert tokens_in("a" * 400) == 100
    assert tokens_in("订" * 400) == 400
    assert tokens_in("한" * 400) == 400
    assert tokens_in("ж" * 400) == 200
    assert tokens_in("é" * 400) == 100


def test_what_fits_is_shown_to_the_letter() -> None:
    conversation = said("Where is it?", CHINESE * 20)

    assert render_transcript(conversation, excerpt(conversation, 500)) == render_transcript(conversation)


LEVELS = {level: f"level {level}" for level in range(1, 11)}


@pytest.mark.parametrize("form", ["rubric", "criteria"])
async def test_it_is_warned_of_once_and_noted_with_each_score(form: str, caplog: pytest.LogCaptureFixture) -> None:
    async def talkative(message: str, state: object) -> AppResponse:
        return AppResponse(LATIN * 512, state)

    ruling = {"reasoning": "it did", "quote": "", "ruling": "not_met"}
    answer = {"reasoning": "it did", "score": 2} if form == "rubric" else {"rulings": {"1": ruling}}
    model = ScriptedModel({"user": [{"status": "satisfied", "message": "Hi"}], "judge": [answer]})
    then = Expectation(
        expected_behavior="It answers" if form == "rubric" else None,
        rubric=LEVELS if form == "rubric" else None,
        criteria=["It answers"] if form == "criteria" else None,
        evaluator=SUCCESS,
    )

    result = await Engine(model, judge_context_tokens=500).evaluate(scenario(sample_size=5, then=then), talkative)

    prompts = [request.messages()[-1]["content"] for request in model.requests if request.role == "judge"]
    assert max(map(len, prompts)) < 6_000
    assert caplog.text.count("a conversation is too long for the judge") == 1
    assert "--judge-context N" in caplog.text
    assert all("the middle of message 2" in str(each.details) for each in result.expectations[0].results)  # type: ignore[union-attr]


async def test_a_bound_within_which_nothing_can_be_read_measures_nothing() -> None:
    model = ScriptedModel(
        {"user": [{"status": "satisfied", "message": "Hi"}], "judge": [{"reasoning": "x", "score": 9}]}
    )

    async def talkative(message: str, state: object) -> AppResponse:
        return AppResponse(LATIN * 512, state)

    result = await Engine(model, judge_context_tokens=10).evaluate(scenario(sample_size=5), talkative)

    assert result.outcome == "error"
    assert "the conversation is too long for the judge; show it more with --judge-context N" in result.verdicts[0].why


async def test_a_judge_that_refuses_a_long_prompt_is_told_with_the_setting() -> None:
    model = ScriptedModel({"user": [{"status": "satisfied", "message": "Hi"}], "judge": [failure("content")]})

    async def brief(message: str, state: object) -> AppResponse:
        return AppResponse("Yes.", state)

    result = await Engine(model).evaluate(scenario(sample_size=5), brief)

    assert "--judge-context N" in result.verdicts[0].why
