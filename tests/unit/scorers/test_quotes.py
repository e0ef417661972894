"""Quotes: what was said is found whatever its marks, what was not is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.scorers.llm.criteria import stands_in

SAID = ["Hello there!", "Your order F1001 was sent on “Monday” and it\n arrives on *Friday*: a < b & c.", "No."]


@pytest.mark.parametrize(
    "quote",
    [
        "order F1001 was sent",
        '"ORDER f1001 was sent on Monday"',
        "and it arrives on Friday",
        "a &lt; b &amp; c",
        "Your order … arrives on Friday",
        "Your order [...] Friday...",
        "No.",
        "no",
        "ﬁ" and "Hello  there",
    ],
)
def test_what_was_said_is_found(quote: str) -> None:
    assert stands_in(quote, SAID)


@pytest.mark.parametrize(
    "quote",
    ["", " ", "…", '"."', "it", "order F1002 was sent", "Friday … order", "Hello there! Your order", "sent Monday"],
)
def test_what_was_not_said_in_one_message_or_stands_anywhere_is_not(quote: str) -> None:
    assert not stands_in(quote, SAID)


@given(st.text(min_size=1, max_size=60), st.data())
def test_every_part_of_a_text_of_letters_is_found_in_it(text: str, data: st.DataObject) -> None:
    said = "order " + "".join(letter for letter in text if letter.isalnum() and letter.isascii())
    start = data.draw(st.integers(0, max(0, len(said) - 4)))
    quote = said[start : start + data.draw(st.integers(4, 60))]

    assert stands_in(quote, [said]) == (len(quote.strip()) >= 4)
