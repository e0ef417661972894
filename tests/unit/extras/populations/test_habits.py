"""How a user writes, as it is told by the messages."""

import pytest

from simeval import Conversation, Message
from simeval.core.setting_field import WritingStyleAxes
from simeval.extras.populations.axes import AXES
from simeval.extras.populations.habits import habits_of, slips_in

NO_SLIPS = frozenset[str]()
NAMES = [axis.name for axis in AXES]


def talk(*said: str) -> Conversation:
    answer = Message(role="assistant", content="OK")
    messages = [each for text in said for each in (Message(role="user", content=text), answer)]
    return Conversation(messages=tuple(messages), ended="recorded")


@pytest.mark.parametrize(
    ("axis", "said", "trait"),
    [
        ("verbosity", ["Order status?"], "terse"),
        ("verbosity", ["I would like to know where the parcel is now."], "short"),
        ("verbosity", ["word " * 101], "rambling"),
        ("chat", ["One."], "1-2 messages"),
        ("chat", ["One.", "Two.", "Three.", "Four."], "3-5 messages"),
        ("chat", ["More."] * 11, "many messages"),
        ("formality", ["where r u", "thx"], "slangy"),
        ("formality", ["Dear Sir, my order has not arrived.", "Kind regards"], "very formal"),
        ("formality", ["Where is my order?"], "neutral"),
        ("formality", ["Sehr geehrte Damen und Herren, wo ist meine Bestellung?"], "very formal"),
        ("tone", ["This is ridiculous.", "Where is it?"], "annoyed"),
        ("tone", ["Could you look it up, please?"], "polite"),
        ("tone", ["Great, I love it!"], "warm"),
        ("tone", ["Where is it?"], "direct"),
        ("typing", ["where is it", "no idea"], "bare"),
        ("typing", ["where is it?", "no idea."], "small letters"),
        ("typing", ["Where is it?", "No idea."], "as in print"),
        ("typing", ["Where is it", "No idea"], "no full stops"),
        ("typing", ["WHERE IS MY ORDER"], "capitals"),
        ("courtesy", ["Hi, where is it?", "Thanks"], "greets and thanks"),
        ("courtesy", ["Guten Tag, wo ist das Paket?"], "greets"),
        ("courtesy", ["Wo ist das Paket?", "Danke!"], "thanks"),
        ("courtesy", ["Where is it?"], "no courtesy"),
        ("language", ["Wo ist meine Bestellung und wann kommt sie bitte?"], "German"),
        ("language", ["Где мой заказ?"], "Russian or another language in Cyrillic letters"),
        ("language", ["Ticket 4711"], "unknown"),
        ("proficiency", ["i dont know", "it doesnt work"], "many slips"),
        ("proficiency", [f"{'it is as it was ' * 10} and I dont know"], "few slips"),
    ],
)
def test_a_trait_is_told_by_what_the_user_wrote(axis: str, said: list[str], trait: str) -> None:
    habits = habits_of(talk(*said), NO_SLIPS)

    assert habits is not None
    assert habits.traits[NAMES.index(axis)] == trait


def test_who_wrote_no_word_has_no_habits() -> None:
    assert habits_of(talk("...", ""), NO_SLIPS) is None


def test_what_the_app_writes_tells_nothing_of_its_user() -> None:
    one, other = (
        Conversation(messages=(Message(role="user", content="Where is it?"), Message(role="assistant", content=text)))
        for text in ("No idea.", "hey, thx!! i dont know lol")
    )

    assert habits_of(one, NO_SLIPS) == habits_of(other, NO_SLIPS)


def test_slips_are_rare_words_that_are_common_ones_but_for_a_letter() -> None:
    common = ["delivery address refund reservation"] * 20
    rare = ["delivrey adress refunds reservation", "reservations", "elephant"]

    spelling = slips_in([*common, *rare])

    assert spelling == {"delivrey", "adress"}


def test_axes_that_styles_have_say_what_styles_say() -> None:
    styles = WritingStyleAxes()
    told = {axis.name: {axis.told(word) for word in axis.traits} for axis in AXES}

    for name in ("verbosity", "formality", "tone", "proficiency"):
        assert told[name] <= set(getattr(styles, name))
