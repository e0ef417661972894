"""What a message does, by its wording."""

import pytest

from simeval.engine.users.wording import asks, assistant_phrase, promises, told_words


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
