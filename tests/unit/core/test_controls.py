"""Controls: what judges are shown before they judge, and what is said of a judge that is wrong."""

from typing import Any

import pytest

from simeval.core.judging import EVASIVE, OFF_TOPIC, Controls, as_messages, complaints, off_topic
from simeval.core.trial import MEETS_FROM, ControlKind, ControlRecord
from simeval.errors import DefinitionError

ABOUT = {
    "given": "A baker",
    "when": "The user asks how long to knead dough",
    "expected_behavior": "Bot says ten minutes",
}
OPENING = "Hello! I want to know how long to knead dough."


def record(control: ControlKind, score: float, judge: str = "judge/a") -> ControlRecord:
    return ControlRecord(key="k", judge=judge, control=control, expected_behavior="b", score=score, reasoning="r")


def test_an_answer_off_topic_has_little_to_do_with_the_scenario() -> None:
    assert [off_topic(text) for text in OFF_TOPIC] != list(OFF_TOPIC)
    assert off_topic("knead the dough, bake the bread") == OFF_TOPIC[1]
    assert off_topic("oil the bicycle chain") == OFF_TOPIC[0]
    assert off_topic("") == OFF_TOPIC[0]


def test_without_what_a_suite_gives_there_are_two_that_must_fail() -> None:
    controls = Controls()

    said = [controls.conversation(kind, **ABOUT) for kind in controls.kinds]
    assert controls.kinds == ("evasive", "off_topic")
    assert [[message.role for message in each] for each in said] == [["user", "assistant"]] * 2
    assert [each[1].content for each in said] == [EVASIVE, OFF_TOPIC[1]]
    assert {each[0].content for each in said} == {OPENING}


def test_a_counterexample_takes_their_place_and_an_example_comes_on_top() -> None:
    talk = as_messages([{"role": "user", "content": "How long?"}, {"role": "assistant", "content": "Ten."}], "example")
    controls = Controls(example=talk, counterexample=as_messages(" An hour. ", "counterexample"))

    assert controls.kinds == ("counterexample", "example")
    assert controls.conversation("example", **ABOUT) == talk
    assert [each.content for each in controls.conversation("counterexample", **ABOUT)] == [OPENING, "An hour."]


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "  ",
        5,
        [],
        ["Ten minutes."],
        [{"role": "assistant", "content": "Ten."}],
        [{"role": "user", "content": "How long?"}, {"role": "user", "content": "Hello?"}],
        [{"role": "user", "content": "How long?"}, {"role": "bot", "content": "Ten."}],
        [{"role": "user", "content": "How long?"}, {"role": "assistant"}],
        [{"role": "user", "content": "How long?"}, {"role": "assistant", "text": "Ten."}],
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Ten.", "tool_calls": ["timer"]}],
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(shown: Any) -> None:
    with pytest.raises(DefinitionError, match=r"^Expectation.example: found"):
        as_messages(shown, "Expectation.example")


def test_tool_calls_of_an_example_are_shown() -> None:
    calls = [{"name": "timer", "minutes": 10}]
    talk = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Ten.", "tool_calls": calls}]

    assert as_messages(talk, "example")[1].tool_calls == tuple(calls)


@pytest.mark.parametrize(
    ("control", "score", "right"),
    [
        ("evasive", MEETS_FROM - 0.5, True),
        ("off_topic", MEETS_FROM, False),
        ("counterexample", 10, False),
        ("example", MEETS_FROM, True),
        ("example", MEETS_FROM - 0.5, False),
    ],
)
def test_a_judge_is_right_by_the_bar_of_the_scale(control: ControlKind, score: float, right: bool) -> None:
    assert record(control, score).is_right is right


def test_each_judge_that_was_wrong_is_named_once_with_all_that_it_gave() -> None:
    found = complaints(
        [
            record("evasive", 9),
            record("off_topic", 1),
            record("off_topic", 7, "judge/b"),
            record("evasive", 8, "judge/b"),
        ]
    )

    assert len(found) == 2
    assert found[0].startswith(
        f'judge/a is not to be trusted here, it gives 9 of 10 to an answer that says nothing ("{EVASIVE}"): '
    )
    assert (
        "judge/b is not to be trusted here, it gives 7 of 10 to an answer to something else and 8 of 10 to" in found[1]
    )
    assert all("give a counterexample" in each for each in found)


def test_one_that_is_wrong_about_the_suites_own_is_told_what_to_mend() -> None:
    [found] = complaints([record("counterexample", 8), record("example", 2)])

    assert found.endswith(": name another judge, or correct the counterexample and the example, or the rubric")
