"""Signs in the ratings themselves that a judge is not worth them."""

from collections.abc import Callable

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.trial import ControlRecord, Rating, Score
from simeval.results.signs import Signs, words_of

JUDGE = "openai/judge"
GOOD = "The bot said that order {} arrives on Friday."


def talk(number: int) -> Conversation:
    said = (f"Where is order {number}?", f"Order {number} arrives on Friday.")
    return Conversation(messages=(Message(role="user", content=said[0]), Message(role="assistant", content=said[1])))


def warnings(rate: Callable[[int], Score], trials: int = 20, controls: tuple[ControlRecord, ...] = ()) -> list[str]:
    signs = Signs(["The bot says when the order arrives"])
    for number in range(trials):
        signs.take(rate(number), talk(number))
    return list(signs.warnings(JUDGE, controls))


def control(score: float, judge: str = JUDGE) -> ControlRecord:
    return ControlRecord(key="k", judge=judge, control="evasive", expected_behavior="b", score=score, reasoning="r")


def test_a_judge_that_reads_gives_no_sign() -> None:
    assert warnings(lambda n: Score(value=7 + n % 3, reasoning=GOOD.format(n))) == []


def test_equal_ratings_are_told_with_their_number() -> None:
    assert warnings(lambda n: Score(value=10, reasoning=GOOD.format(n))) == [
        "openai/judge gave each of 20 conversations 10: look whether it tells bad from good"
    ]


def test_equal_ratings_are_no_sign_where_the_judge_gave_less_to_a_control() -> None:
    def same(number: int) -> Score:
        return Score(value=10, reasoning=GOOD.format(number))

    assert warnings(same, controls=(control(1),)) == []
    assert len(warnings(same, controls=(control(10), control(1, judge="other")))) == 1


@pytest.mark.parametrize(("trials", "told"), [(9, 0), (10, 1)])
def test_few_ratings_say_nothing(trials: int, told: int) -> None:
    assert len(warnings(lambda n: Score(value=10, reasoning=GOOD.format(n)), trials)) == told


def test_one_reasoning_for_many_conversations_is_told_with_its_number() -> None:
    said = warnings(lambda n: Score(value=n % 10 + 1, reasoning="The order  arrives." if n < 15 else GOOD.format(n)))

    assert said == [
        'openai/judge gave one and the same reasoning for 15 of 20 different conversations ("The order arrives."): '
        "look whether it reads them"
    ]


def test_one_reasoning_for_one_conversation_many_times_is_no_sign() -> None:
    signs = Signs(["The bot says when the order arrives"])
    for number in range(30):
        signs.take(Score(value=number % 10 + 1, reasoning="The order arrives."), talk(1))

    assert signs.warnings(JUDGE) == ()


def test_reasons_without_a_word_of_what_was_said_are_told_with_their_number() -> None:
    said = warnings(lambda n: Score(value=n % 10 + 1, reasoning=f"Great {'job' * n}!" if n % 5 else GOOD.format(n)))

    assert said == [
        "openai/judge gave reasons without a word of conversation or expectation for 16 of 20 ratings: "
        "look whether it reads them"
    ]


def test_each_judge_of_a_panel_is_looked_at_by_itself() -> None:
    def rate(number: int) -> Score:
        good = Rating(judge="good", repeat=0, score=5 + number % 3, reasoning=GOOD.format(number))
        return Score(value=7.0, ratings=(good, Rating(judge="bad", repeat=0, score=9, reasoning=GOOD.format(number))))

    assert warnings(rate) == ["bad gave each of 20 conversations 9: look whether it tells bad from good"]


def test_an_embedded_judge_is_known_for_what_it_is() -> None:
    signs = Signs(["It answers"])
    for number in range(20):
        signs.take(Score(value=10, reasoning="1 of 1"), talk(number))

    assert signs.warnings("offline/judge") == ()


def test_words_are_known_in_any_script() -> None:
    assert words_of("Orders F1001") & words_of("the order, f1001!") == {"f1001"} | (
        words_of("order") & words_of("orders")
    )
    assert words_of("这个订单") & words_of("订单没有到")
    assert words_of("it is so") == set()
