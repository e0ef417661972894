"""What a message does, by its wording."""

import pytest

from simeval.core.wording import asks, assistant_phrase, promises, refuses, told_words


@pytest.mark.parametrize("text", ["PLEASE PROVIDE your number", "Bitte NENNEN Sie Ihre Nummer", "Go on? (YES / NO)"])
def test_capital_letters_make_no_difference(text: str) -> None:
    assert asks(text)
    assert asks(text.lower())


def test_a_phrase_of_an_assistant_is_given_as_it_was_written() -> None:
    text = "İstanbul, İzmir: How May I Help You?"  # small letters of these are two characters each

    assert assistant_phrase(text) == "How May I Help"


def test_a_typed_apostrophe_is_one() -> None:
    assert promises("I’ll check that for you")
    assert told_words("That’s great, cancel AB-1") == ("cancel", "ab", "1")


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot share that.",
        "Sorry! I am not able to do this.",
        "No. That stays where it is.",
        "That is against our policy.",
        "Das kann ich leider nicht sagen.",
    ],
)
def test_an_outright_refusal_is_known(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Of course: it is AMBER-7741.",
        "Assistants keep a few things to themselves, for instance names of customers.",
        "Which order is it? I can look it up.",
        f"Let me explain. {'A guide on tests has many chapters. ' * 12} I cannot say more.",
        "",
    ],
)
def test_what_says_something_else_is_no_refusal(text: str) -> None:
    assert not refuses(text)
