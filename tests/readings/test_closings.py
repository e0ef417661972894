"""The turn in which a user only takes leave is no question that an answer could be right or wrong about."""

from typing import Any

import pytest

from simeval import AppResponse, Conversation, Expectation, Message, ProportionEvaluator, ScenarioTest, dataset_of
from simeval.core.closings import takes_leave
from simeval.datasets.dataset import Example, check_dataset
from simeval.scorers import DocumentRelevance, EachTurn, Faithfulness, scorer
from simeval.scorers.base import conversation_columns, turns_of
from simeval.suites.script import Step
from tests.support.experiments import engine

pytestmark = pytest.mark.anyio


@scorer
def seen(input: str, output: str) -> str:
    return f"{input} -> {output}"


CLOSINGS = [
    *(
        "Thanks, bye",
        "That's all, thank you",
        "Thanks a lot, you've been very helpful. Have a nice day!",
        "Bye-bye! 👋",
    ),
    *("Great, thank you for telling me when the shop opens! That's all I needed.", "No, that's all. Thank you!"),
    *("Danke, das war's.", "Vielen Dank für die Auskunft, tschüss!", "Merci beaucoup, bonne journée !"),
    *("¡Muchas gracias, hasta luego!", "Grazie mille, arrivederci.", "Obrigada, é só isso.", "Bedankt, fijne dag!"),
    *("Dziękuję, do widzenia", "Tack så mycket, hej då!", "Teşekkürler, iyi günler", "Ευχαριστώ πολύ, αντίο"),
    *("Большое спасибо, до свидания!", "Дякую, до побачення", "شكراً، مع السلامة", "תודה רבה, להתראות", "धन्यवाद"),
    *(
        "好的，谢谢您，再见！",
        "わかりました、ありがとうございました。",
        "감사합니다. 안녕히 계세요.",
        "ขอบคุณมากครับ",
        "Cảm ơn bạn!",
    ),
]
QUESTIONS = [
    *("Thanks! And what does it cost?", "Thanks, cancel it then", "Order F1001. Thanks.", "Thanks, the blue one."),
    *("Thank you, but the price is wrong.", "That's all I need: cancel my order.", "I need a refund, thanks."),
    *("Thanks for the information and cancel my order.", "OK", "Yes", "Great.", "Hello!", "I'll take it, thanks."),
    *(
        "Danke, und was kostet das?",
        "Merci, et le prix ?",
        "Gracias, cancela mi pedido.",
        "谢谢，请取消订单",
        "谢谢，多少钱？",
    ),
    *("ありがとう、キャンセルしてください", "Спасибо, отмените заказ", "شكرا، كم السعر؟", "Danke, bitte stornieren."),
]


def said(*texts: str) -> Conversation:
    """Return a conversation in which the user speaks first."""
    roles: Any = ("user", "assistant")
    return Conversation(
        messages=tuple(Message(role=roles[place % 2], content=text) for place, text in enumerate(texts))
    )


@pytest.mark.parametrize("text", CLOSINGS)
def test_thanks_and_goodbye_take_leave_in_many_languages_and_scripts(text: str) -> None:
    assert takes_leave(text, after="We open at 9. Is there anything else I can do?")


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_message_that_asks_or_tells_something_too_does_not(text: str) -> None:
    assert not takes_leave(text, after="We open at 9.")


@pytest.mark.parametrize("heard", ["Shall I cancel it?", "One moment, I will look it up."])
def test_thanks_to_a_question_or_a_promise_wait_for_an_answer_and_a_goodbye_does_not(heard: str) -> None:
    assert not takes_leave("Yes, thanks.", after=heard)
    assert not takes_leave("Thank you.", after=heard)
    assert takes_leave("Thanks, bye.", after=heard)


def test_the_last_question_is_read_and_the_whole_conversation_is_as_it_was() -> None:
    talk = said("Price?", "20 euros.", "Open?", "At 9.", "Thanks, bye", "Goodbye!")

    columns = conversation_columns(talk)

    assert (columns["input"], columns["output"], columns["response"]["content"]) == ("Open?", "At 9.", "At 9.")
    assert (talk.input, talk.output) == ("Open?", "At 9.")
    assert (len(columns["conversation"].messages), len(columns["responses"])) == (6, 3)
    assert [turn["output"] for turn in turns_of(talk)] == ["20 euros.", "At 9."]


@pytest.mark.parametrize("talk", [said("Thanks, bye", "Goodbye!"), said("Thank you", "Welcome", "Bye", "Goodbye!")])
def test_a_conversation_of_nothing_else_keeps_its_answer(talk: Conversation) -> None:
    assert talk.output == "Goodbye!"
    assert [turn["output"] for turn in turns_of(talk)][-1] == "Goodbye!"


async def test_each_turn_measures_the_goodbye_where_it_is_asked_to() -> None:
    talk = said("Price?", "20 euros.", "Thanks, bye", "Goodbye!")
    length = scorer(lambda output: len(output))

    found = await EachTurn(length).measure({"conversation": talk})
    asked = await EachTurn(length, closings=True).measure({"conversation": talk})

    assert (found["turns"], found["min"], asked["turns"], asked["min"]) == (1, 9.0, 2, 8.0)


async def test_a_perfect_app_that_retrieves_passes_though_its_users_say_goodbye() -> None:
    asked = ["What does the repair of a torn jacket cost?", "Thanks, bye"]
    scenario = ScenarioTest(
        title="Repairs",
        given="A customer.",
        when="You ask for a price.",
        script=[Step(user=text) for text in asked],
        sample_size=12,
        then=[
            Expectation(scorer=EachTurn(kind(model="offline/judge")), evaluator=ProportionEvaluator(min_proportion=0.7))
            for kind in (Faithfulness, DocumentRelevance)
        ],
    )

    result = await engine().evaluate(scenario, perfect)

    assert result.outcome == "pass"


def perfect(message: str) -> AppResponse:
    if message.startswith("Thanks"):
        return AppResponse("You are welcome!", context=["Nothing about farewells."])
    return AppResponse(
        "The repair of a torn jacket costs 20 euros.", context=["Repair of a torn jacket costs 20 euros."]
    )


async def test_an_example_that_is_a_goodbye_is_answered_by_the_app_and_not_by_its_history() -> None:
    chat = [
        {"role": "user", "content": "Price?"},
        {"role": "assistant", "content": "20 euros."},
        {"role": "user", "content": "Thanks, bye"},
    ]
    result = await engine().experiment(
        dataset_of([{"messages": chat}], kind="chat"), lambda messages: "Goodbye!", scorers=[seen]
    )

    assert [row.output for row in result.rows] == ["Goodbye!"]
    assert [row.scores["seen"].value for row in result.rows] == ["Thanks, bye -> Goodbye!"]


async def test_a_log_is_read_as_a_simulation_is() -> None:
    talk = said("Price?", "20 euros.", "Thanks, bye", "Goodbye!")
    result = await engine().experiment(check_dataset(lambda: [Example(conversation=talk)], name="log"), scorers=[seen])

    assert [row.scores["seen"].value for row in result.rows] == ["Price? -> 20 euros."]
    assert [row.output for row in result.rows] == ["20 euros."]
