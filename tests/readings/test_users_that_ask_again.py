"""Simulated users who say something twice: because the app has not understood, or as no person does."""

from datetime import UTC, datetime
from typing import Any

import pytest

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, WritingStyleConfig
from simeval.core.conversation import Conversation, Message
from simeval.engine.users.faults import find_faults
from simeval.models.protocol.model import Request
from simeval.testing import ScriptedModel, judge_reply, user_reply

pytestmark = pytest.mark.anyio

ARRIVES = "When does my order F1001 arrive, please?"
TENTS = "We have tents and boots in many colours."


def scenario(when: str = "The customer asks when order F1001 arrives.", given: str = "A customer") -> ScenarioTest:
    expectation = Expectation(expected_behavior="Says Friday", evaluator=SuccessRateEvaluator(min_proportion=0.8))
    return ScenarioTest(title="Arrival", given=given, when=when, sample_size=20, max_turns=4, then=expectation)


def faults(of: ScenarioTest, *said: str) -> list[str]:
    """Return the kinds of fault of a user whose messages and answers stand in turn."""
    roles = ("user", "assistant")
    messages = tuple(
        Message(role=roles[place % 2], content=text, started=datetime(2026, 1, 1, tzinfo=UTC), seconds=0.0)  # type: ignore[arg-type]
        for place, text in enumerate(said)
    )
    return [fault.kind for fault in find_faults(of, Conversation(messages=messages, ended="turn_limit"))]


async def test_an_app_that_never_understands_fails_though_its_user_asks_in_the_same_words() -> None:
    user = ScriptedModel({"user": lambda _: user_reply(ARRIVES, goes_on=True)}, name="scripted/user")
    judge = ScriptedModel({"judge": [judge_reply(1)]}, name="scripted/judge")
    style = WritingStyleConfig(enabled=False)
    options: dict[str, Any] = {"store": None, "rubric_folder": None, "on_failed_control": "off"}
    engine = Engine(judge, user, writing_style_config=style, seed=1, **options)

    result = await engine.evaluate(scenario(), lambda message: TENTS)

    assert (result.outcome, result.users.faulty) == ("fail", 0)


IN_OTHER_WORDS = (ARRIVES, "I asked when F1001 gets here.", "On which day is F1001 delivered?", "So when is it here?")


@pytest.mark.parametrize("asked", [(ARRIVES,) * 4, IN_OTHER_WORDS], ids=["the same words", "other words"])
async def test_misunderstood_conversations_all_count_however_the_user_asks(
    asked: tuple[str, ...],
) -> None:
    def user(request: Request) -> dict[str, Any]:
        said = str(request.messages())
        caller = "of unit A" if request.seed % 5 == 0 else "of unit B"
        if "arrives on Friday" in said:
            return user_reply("Thanks!")
        return user_reply(f"{asked[min(said.count(TENTS), 3)]} The customer {caller}", goes_on=True)

    judge = ScriptedModel(
        {"judge": lambda request: judge_reply(9 if "F1001 arrives on Friday." in str(request.messages()) else 1)},
        name="scripted/judge",
    )
    style = WritingStyleConfig(enabled=False)
    options: dict[str, Any] = {"seed": 1, "store": None, "rubric_folder": None, "on_failed_control": "off"}
    engine = Engine(judge, ScriptedModel({"user": user}), writing_style_config=style, early_stopping=False, **options)

    result = await engine.evaluate(
        scenario(), lambda message: TENTS if "unit A" in message else "Order F1001 arrives on Friday."
    )

    misunderstood = sum(trial.seed % 5 == 0 for trial in (each.trial for each in result.judgements))
    verdict = result.verdicts[0]
    assert 0 < misunderstood < 20
    assert (result.users.faulty, verdict.missing, verdict.n) == (0, 0, 20)
    assert verdict.estimate == pytest.approx(1 - misunderstood / 20)


@pytest.mark.parametrize(
    ("when", "question", "answer"),
    [
        ("The customer asks when order F1001 arrives.", ARRIVES, TENTS),
        ("Die Kundin fragt, wann F1001 ankommt.", "Wann kommt meine Bestellung F1001 bei mir an?", "Wir haben Zelte."),
        (
            "お客様は注文F1001がいつ届くか知りたい",
            "注文したF1001はいつ届きますか、教えてください",
            "テントをお勧めします",
        ),
        (
            "يريد العميل معرفة موعد وصول الطلب F1001",
            "متى سيصل الطلب رقم F1001 إلى عنواني لو سمحت",
            "لدينا خيام وأحذية كثيرة",
        ),
    ],
)
def test_asking_again_is_no_fault_where_no_answer_has_to_do_with_it(when: str, question: str, answer: str) -> None:
    assert faults(scenario(when), question, answer, question, answer, question) == []


def test_a_repeat_is_a_fault_where_the_app_has_understood_the_question() -> None:
    known = "Your order F1001 arrives on Friday."

    assert faults(scenario(), ARRIVES, known, ARRIVES) == ["repeats_itself"]


def test_a_repeat_is_a_fault_where_the_app_asks_for_what_is_missing() -> None:
    booking = scenario("The user wants a train ticket from Sacramento.")
    wanted = "Could you get me a train ticket from Sacramento, please?"

    assert faults(booking, wanted, "Sure, for which day is the ticket?", wanted) == ["repeats_itself"]


def test_a_repeat_is_a_fault_where_something_else_was_said_in_between() -> None:
    said = (ARRIVES, TENTS, "Can you look into it, then?", TENTS, ARRIVES)

    assert faults(scenario(), *said) == ["repeats_itself"]


def test_a_repeat_is_a_fault_of_somebody_who_just_chats() -> None:
    opinion = "Most people who live in cities never look at the stars."

    assert faults(scenario("chats", "A person"), opinion, "Hm.", opinion) == ["repeats_itself"]


@pytest.mark.parametrize(
    "when",
    ["Asks about F1001.", "Cancels booking BK20417", 'Wants "Bella Italia"'],
)
def test_a_short_goal_that_is_never_stated_is_the_users_fault(when: str) -> None:
    assert "never_states_goal" in faults(scenario(when), "My cat is funny.", "Oh?", "Spiders scare me.")


def test_a_short_goal_that_is_stated_is_none() -> None:
    assert faults(scenario("Asks about F1001."), "Where is F1001?", "It arrives on Friday.", "Thanks!") == []
