"""The embedded models."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Message
from simeval.core.setting_field import UserFormat, WritingStyleConfig
from simeval.errors import DefinitionError, ModelUnusable
from simeval.models.protocol.lenient_json import read_reply
from simeval.models.protocol.model import (
    LEVELS,
    Grade,
    Model,
    OpeningReply,
    PlainReply,
    Request,
    RubricReply,
    UserReply,
)
from simeval.models.protocol.prompts import ChatRequest, GradeRequest, RubricRequest, UserTurn
from simeval.models.providers.offline import OfflineModel, is_negative, parts
from tests.support.records import conversation

USER, JUDGE, APP = (OfflineModel(f"offline/{role}") for role in ("user", "judge", "app"))
TEXT = st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip()))
SEEDS = st.integers(0, 2**63 - 1)
RUBRIC = {level: f"level {level}" for level in LEVELS}


def answer(model: Model, request: Request) -> str:
    """Ask a model without a loop: the embedded models never wait for anything."""
    import anyio

    async def ask() -> str:
        return (await model.complete(request)).text

    return anyio.run(ask)


def turn(
    *said: str,
    given: str = "A customer",
    when: str = "The user asks for a refund.",
    seed: int = 1,
    style: Any = None,
    held: bool = False,
    format: UserFormat = "json",
) -> UserTurn:
    return UserTurn(
        given=given,
        when=when,
        writing_style=style,
        history=conversation(*said).messages,
        seed=seed,
        is_held=held,
        format=format,
    )


def say(*said: str, **about: Any) -> UserReply:
    return read_reply(answer(USER, turn(*said, **about)), UserReply, model="offline/user")


def rate(expected: str, messages: Sequence[Message]) -> Grade:
    request = GradeRequest(
        given="g", when="w", expected_behavior=expected, levels=RUBRIC, conversation=messages, seed=1
    )
    return read_reply(answer(JUDGE, request), Grade, model="offline/judge")


def chat(text: str, seed: int = 1) -> str:
    return answer(APP, ChatRequest(history=[{"role": "user", "content": text}], seed=seed))


@given(TEXT, TEXT, SEEDS, st.booleans())
def test_an_opening_is_valid_for_any_texts_and_styles(given: str, when: str, seed: int, styled: bool) -> None:
    style = WritingStyleConfig(enabled=styled).draw(seed)

    text = answer(USER, turn(given=given, when=when, seed=seed, style=style))

    assert read_reply(text, OpeningReply, model="offline/user").message


@given(TEXT, st.lists(TEXT, min_size=2, max_size=6), SEEDS)
def test_a_later_message_is_valid_for_any_texts(when: str, said: list[str], seed: int) -> None:
    style = WritingStyleConfig().draw(seed)

    text = answer(USER, turn(*said, when=when, seed=seed, style=style))

    assert isinstance(read_reply(text, UserReply, model="offline/user"), UserReply)


def test_a_style_never_takes_all_the_words_away() -> None:
    style = {"proficiency": "Makes frequent spelling and grammar mistakes."}

    for when in (".", "'", "...", "'.'"):
        text = answer(USER, turn(when=when, style=style))
        assert read_reply(text, OpeningReply, model="offline/user").message


@given(TEXT, st.lists(TEXT, max_size=6))
def test_a_rating_is_valid_for_any_texts(expected: str, said: list[str]) -> None:
    assert 1 <= (rate(expected, conversation(*said).messages).score or 0) <= 10


@given(TEXT, TEXT, TEXT)
def test_a_rubric_is_valid_for_any_texts(given: str, when: str, expected: str) -> None:
    text = answer(JUDGE, RubricRequest(given=given, when=when, expected_behavior=expected))

    assert tuple(read_reply(text, RubricReply, model="offline/judge").levels) == LEVELS


@given(st.text(), SEEDS)
def test_the_app_answers_anything(text: str, seed: int) -> None:
    assert chat(text, seed).strip()


def test_the_same_seed_gives_the_same_answers() -> None:
    assert [chat("Where is my order?", seed) for seed in range(20)] == [
        chat("Where is my order?", seed) for seed in range(20)
    ]
    assert say("hi", "hello", seed=3) == say("hi", "hello", seed=3)


def test_different_seeds_give_different_answers() -> None:
    assert len({chat("Where is my order?", seed) for seed in range(100)}) == 5
    assert len({say("hi", "hello", "hm", "yes", when="Asks.", seed=seed).message for seed in range(50)}) > 1


def test_the_user_says_the_goals_one_a_turn() -> None:
    when = "The user asks about refunds. The user wants the refund today."

    first, second = say(when=when), say("I want to ask about refunds.", "Sure.", when=when)

    assert (first.message, first.status) == ("I want to ask about refunds.", "open")
    assert second.message == "I want the refund today."


def test_the_user_passes_over_sentences_without_a_word() -> None:
    assert say("I want a refund.", "Sure.", when="The user wants a refund. . And today.").message == "And today."


def test_the_user_says_who_they_are_when_they_are_asked() -> None:
    asked = say("I want a refund.", "What is your order?", given="A customer who ordered shoes", held=True)

    assert (asked.message, asked.status) == ("I ordered shoes", "open")


@pytest.mark.parametrize("seed", range(10))
def test_the_user_leaves_when_the_goals_are_said(seed: int) -> None:
    assert say("I want a refund.", "It is done.", seed=seed).status == "satisfied"


@pytest.mark.parametrize("seed", range(10))
def test_the_user_stays_and_says_something_while_it_is_held(seed: int) -> None:
    held = say("I want a refund.", "What is your order?", "I ordered shoes", "In which size?", seed=seed, held=True)

    assert held.status == "open"
    assert held.message


@pytest.mark.parametrize("seed", range(10))
def test_the_user_leaves_by_a_mark_in_plain_text(seed: int) -> None:
    text = answer(USER, turn("I want a refund.", "It is done.", seed=seed, format="text"))

    assert read_reply(text, PlainReply, model="offline/user").status == "satisfied"


def test_a_style_colours_what_is_said_and_keeps_its_words() -> None:
    formal = say(style={"formality": "Very formal.", "tone": "Neutral and direct."}).message
    casual = say(style={"formality": "Casual."}).message

    assert formal.startswith("Good day. ")
    assert casual.startswith("hey, ")
    assert "refund" in formal
    assert "refund" in casual


def test_the_judge_rates_the_share_of_parts_that_are_covered() -> None:
    expected = "The bot confirms the refund, names the amount, says when it arrives"
    all_three = "I confirm your refund. The amount is 20 dollars. It arrives on Friday; let me name it: amount."

    assert rate(expected, conversation("hi", all_three).messages).score == 10
    assert 1 < (rate(expected, conversation("hi", "I confirm your refund.").messages).score or 0) < 10
    assert rate(expected, conversation("hi", "Hello there!").messages).score == 1


def test_the_judge_names_what_is_not_covered() -> None:
    reasoning = rate("Confirms the refund, names the amount", conversation("hi", "I confirm the refund.").messages)

    assert "not covered: names the amount" in reasoning.reasoning
    assert "heuristic" in reasoning.reasoning


def test_a_part_that_must_not_happen_is_covered_by_its_absence() -> None:
    expected = "The bot does not mention competitors"

    assert rate(expected, conversation("hi", "We have great shoes.").messages).score == 10
    assert rate(expected, conversation("hi", "I mention competitors gladly.").messages).score == 1


@pytest.mark.parametrize("free", ["Returns are free, at no charge", "Bot says there is no extra fee", "without cost"])
def test_what_costs_nothing_is_not_taken_for_what_must_not_happen(free: str) -> None:
    assert not any(map(is_negative, parts(free)))
    assert is_negative(parts("Bot does not promise a refund")[-1])


def test_what_the_user_says_covers_nothing() -> None:
    assert rate("Confirms the refund", conversation("Please confirm the refund").messages).score == 1


def test_the_rubric_lists_the_parts() -> None:
    request = RubricRequest(given="g", when="w", expected_behavior="Confirms the refund, names the amount")

    levels = read_reply(answer(JUDGE, request), RubricReply, model="j").levels

    assert all("Confirms the refund; names the amount" in text for text in levels.values())


def test_the_app_repeats_what_it_was_asked_most_of_the_time() -> None:
    answers = [chat("Where is my order?", seed) for seed in range(200)]

    repeated = sum("Where is my order?" in text for text in answers)
    assert 160 <= repeated < 200


@pytest.mark.parametrize("name", ["offline/oracle", "offline/", "offline", "openai/gpt"])
def test_an_unknown_name_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(DefinitionError, match="offline/app, offline/judge, offline/user"):
        OfflineModel(name)


@pytest.mark.parametrize(
    ("model", "request_"),
    [
        (USER, RubricRequest(given="g", when="w", expected_behavior="e")),
        (JUDGE, turn()),
        (APP, turn()),
        (USER, ChatRequest(history=[])),
    ],
)
def test_a_role_that_a_model_cannot_play_is_refused(model: OfflineModel, request_: Request) -> None:
    with pytest.raises(ModelUnusable, match=f"cannot play the role '{request_.role}'"):
        answer(model, request_)


def test_replies_are_json_in_the_form_of_the_roles() -> None:
    assert set(json.loads(answer(USER, turn()))) == {"status", "message"}
    assert chat("hello").count("{") == 0
