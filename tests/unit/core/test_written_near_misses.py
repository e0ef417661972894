"""A near miss that a model wrote is checked before a judge is shown it."""

import pytest

from simeval.core.judging import EVASIVE, OFF_TOPIC
from simeval.core.near_misses.making import unusable

TONE = "The assistant is friendly to the customer and stays calm when they complain about the delay"
FRIDAY = "The assistant says that order F1001 arrives on Friday"
CURT = "You should have ordered sooner, so the delay is your own fault. Do not write to us about it again, please."
FAR = [EVASIVE, *OFF_TOPIC]


def test_one_that_breaks_the_expectation_can_be_used() -> None:
    assert unusable(CURT, TONE, others=FAR) == ""


@pytest.mark.parametrize(
    ("written", "expected", "problem"),
    [
        ("", TONE, "it is empty"),
        (" ... ", TONE, "it is empty"),
        ("no " * 61, TONE, "it has more than 60 words"),
        (EVASIVE.upper(), TONE, "it is another control, or the best level of the rubric"),
        (f"{TONE}!", TONE, "it says what is expected"),
        ("Thank you for waiting! Order F1001 arrives on Friday. Is there more?", FRIDAY, "it says what is expected"),
        (
            "Sie hätten früher bestellen müssen, deshalb ist die Verspätung ganz allein Ihre eigene Schuld, und wir "
            "möchten davon nichts mehr hören.",
            TONE,
            "its language is 'de', not 'en'",
        ),
    ],
)
def test_one_that_tells_a_judge_nothing_cannot(written: str, expected: str, problem: str) -> None:
    assert unusable(written, expected, others=FAR) == problem


def test_one_in_the_language_of_the_expectation_can() -> None:
    expected = "Der Assistent bleibt freundlich, wenn sich die Kundin über die Verspätung beschwert"
    written = "Das ist nicht unser Problem, und die Verspätung haben Sie sich selbst zuzuschreiben."

    assert unusable(written, expected, others=FAR) == ""
