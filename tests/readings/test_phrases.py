"""Phrases are found whatever signs they are typed in, and numbers by their value."""

from typing import Any

import pytest

from simeval import Conversation, Message
from simeval.scorers import Breach, Contains, StateMatch, ToolRules
from simeval.scorers.text.phrases import Phrases, read
from simeval.suites.script import Check

FOUND = [
    ("1286", "It costs $1,286.00."),
    ("1286", "Das kostet 1.286,00 EUR."),
    ("1286", "Ça coûte 1 286 euros."),
    ("1286", "Es kostet 1'286 Franken."),
    ("1,286.00", "It costs 1286 dollars."),
    ("12.5", "12,50 Euro"),
    ("$412", "AA-1234 for $412.00"),
    ("4", "We have 4."),
    ("4", "It takes 4-5 days, or 4pm."),
    ("20", "合計20円です"),
    ("2024", "Am 05.01.2024"),
    ("order 0012", "Your order 0012 is on its way."),
    ("192.168.1.1", "Use 192.168.1.1 please."),
    ("1286", "１２８６円"),
    ("42", "الجواب هو ٤٢"),
    ("don't worry", "Don’t worry? We don’t worry."),
    ('the "gold" plan', "Take the “gold” plan."),
    ("well-known", "A well‑known fact"),
    ("9-5", "Open 9–5"),
    ("no break", "no\u00a0break"),
    ("café", "cafe\u0301 open"),
]
LACKED = [
    ("4", "AA-1234 … $412"),
    ("1286", "$1,286.50"),
    ("286", "$1,286.00"),
    ("12", "It costs 12.5"),
    ("12", "order 0012"),
    ("0012", "order 12"),
    ("5", "15 or 50"),
    ("192.168.1.1", "192.168.1.10"),
]


@pytest.mark.parametrize(("text", "answer"), FOUND)
def test_a_phrase_is_found_however_it_is_typed_and_a_number_by_its_value(text: str, answer: str) -> None:
    assert Contains(texts=[text]).score(answer).value
    assert Contains().score(answer, text)
    assert not Check(contains=text).misses(answer)
    assert StateMatch(state={"note": {"contains": text}}).score(with_state({"note": answer})).value == 1
    assert with_call(answer, text) == 1


@pytest.mark.parametrize(("text", "answer"), LACKED)
def test_a_part_of_a_number_is_not_that_number(text: str, answer: str) -> None:
    assert not Contains(texts=[text]).score(answer).value
    assert not Contains().score(answer, text)
    assert Check(contains=text).misses(answer)
    assert StateMatch(state={"note": {"contains": text}}).score(with_state({"note": answer})).value == 0
    assert with_call(answer, text) == 0


def with_state(state: Any) -> Conversation:
    world = {"trial_world": {"state": state, "unmeasured": {}}}
    return Conversation(messages=(Message(role="assistant", content="Done.", metadata=world),))


def with_call(note: str, wanted: str) -> float:
    call = {"name": "refund", "arguments": {"note": note}}
    rules = ToolRules(where={"refund": {"note": {"contains": wanted}}}, required=["refund"])
    talk = Conversation(messages=(Message(role="assistant", content="Done.", tool_calls=(call,)),))
    return rules.score(talk).value


@pytest.mark.parametrize(
    ("text", "answer", "whole", "part"),
    [
        ("refund", "You will be refunded.", False, True),
        ("can", "We can't.", False, True),
        ("art", "A part of it", False, True),
        ("4", "Paper of size A4", False, True),
        ("refund", "Your refund, today", True, True),
        ("1286", "$1,286.00", True, True),
        ("東京", "東京です", True, True),
    ],
)
def test_a_word_stands_by_itself_only_where_that_is_asked(text: str, answer: str, whole: bool, part: bool) -> None:
    assert Contains(texts=[text], whole_words=True).score(answer).value == whole
    assert Contains(texts=[text]).score(answer).value == part


def test_what_must_not_be_said_is_found_in_other_signs_too() -> None:
    def said(text: str) -> Conversation:
        return Conversation(messages=(Message(role="user", content="Hi"), Message(role="assistant", content=text)))

    assert Breach(markers=["it's done"]).score(said("It’s done.")).value == 1
    assert Breach(secrets=["4711"]).score(said("The code is ４７１１.")).value == 1
    assert Breach(secrets=["4711"]).score(said("Order 147110.")).value == 0


def test_a_phrase_of_a_brand_is_found_in_other_signs_too() -> None:
    phrases = Phrases(["don't worry", "e-mail"])

    assert phrases.counts(read("Don’t worry, send an e‑mail.")) == {"don't worry": 1, "e-mail": 1}
