"""Answers that are a label, and the probabilities that a server sends of their first token."""

import pytest

from simeval.errors import MalformedReply
from simeval.models.caller import Choice, read_choice
from simeval.models.protocol.model import Completion

DIGITS = [str(digit) for digit in range(10)]
WORDS = ["Yes", "No", "Unclear"]


@pytest.mark.parametrize("text", ["7", " 7\n", "7.", "**7**", "7 because it did", "(7)"])
def test_an_answer_that_begins_with_a_label_is_that_label(text: str) -> None:
    assert read_choice(Completion(text=text), DIGITS, model="m") == Choice(label="7", probabilities={"7": 1.0})


@pytest.mark.parametrize("text", ["10", "77", "The level is 7", "", "x7"])
def test_any_other_answer_is_malformed(text: str) -> None:
    with pytest.raises(MalformedReply, match="it begins with none of 0, 1"):
        read_choice(Completion(text=text), DIGITS, model="m")


def test_words_are_read_whatever_their_case_and_not_as_the_beginning_of_others() -> None:
    assert read_choice(Completion(text="no, it did not"), WORDS, model="m").label == "No"
    with pytest.raises(MalformedReply):
        read_choice(Completion(text="Nobody knows"), WORDS, model="m")


def test_probabilities_are_those_of_the_labels_alone_and_sum_to_one() -> None:
    first = {"7": 0.5, " 7": 0.1, "9": 0.2, "The": 0.2}

    chosen = read_choice(Completion(text="7", first_token=first), DIGITS, model="m")

    assert chosen.probabilities == pytest.approx({"7": 0.75, "9": 0.25})
    assert chosen.expected({digit: float(digit) + 1 for digit in DIGITS}) == pytest.approx(8.5)


def test_where_the_first_token_is_no_label_only_the_answer_counts() -> None:
    chosen = read_choice(Completion(text="7", first_token={" ": 0.9, "2": 0.1}), DIGITS, model="m")

    assert chosen.probabilities == {"7": 1.0}


def test_one_that_was_kept_is_read_with_its_probabilities() -> None:
    kept = Choice(label="7", probabilities={"7": 0.75, "9": 0.25})

    assert read_choice(Completion(text=kept.model_dump_json()), DIGITS, model="m") == kept


@pytest.mark.parametrize("choice", [("great", {"great": 1.0}), ("7", {"great": 1.0})])
def test_a_reply_in_the_form_of_a_kept_one_with_other_labels_is_malformed(choice: tuple[str, dict[str, float]]) -> None:
    label, probabilities = choice
    reply = Choice(label=label, probabilities=probabilities).model_dump_json()

    with pytest.raises(MalformedReply, match="it begins with none of 0, 1"):
        read_choice(Completion(text=reply), DIGITS, model="m")
