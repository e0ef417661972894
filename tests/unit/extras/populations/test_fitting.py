"""Users fitted to logs: who they are, how many, and what a suite gets of them."""

from pathlib import Path
from random import Random

import pytest

from simeval import Conversation, Message, fit_users
from simeval.errors import DefinitionError
from simeval.extras.populations.fitting import users_text
from simeval.stats.binomial import clopper_pearson
from simeval.suites import load_suite

TERSE = ["where is my parcel", "no idea"]
LETTER = [
    "Dear Sir, my parcel has not arrived yet, and I would like to know where it is at the moment.",
    "Kind regards.",
]
GERMAN = ["Guten Tag, wo ist meine Bestellung und wann kommt sie?", "Danke, das ist nicht gut für mich."]
SCENARIO = """\
scenarios:
  - title: Parcel
    given: A customer
    when: They ask for their parcel.
    then: {expected_behavior: It answers, evaluator: {type: success_rate, min_proportion: 0.9}}
"""


def logged(*counts: tuple[list[str], int]) -> list[Conversation]:
    talks = [
        Conversation(messages=tuple(Message(role="user", content=text) for text in said), ended="recorded")
        for said, count in counts
        for _ in range(count)
    ]
    return Random(7).sample(talks, len(talks))


def test_each_kind_of_user_is_a_persona_with_its_share_and_exact_interval() -> None:
    fitted = fit_users(logged((TERSE, 60), (LETTER, 30), (GERMAN, 10)))

    assert [each.n for each in fitted.personas] == [60, 30, 10]
    assert [each.persona.share for each in fitted.personas] == [0.6, 0.3, 0.1]
    assert [each.interval for each in fitted.personas] == [clopper_pearson(n, 100, 0.025) for n in (60, 30, 10)]
    assert fitted.personas[0].persona.style["typing"] == "Small letters, no full stops."
    assert [each.persona.style["language"] for each in fitted.personas] == [
        "Writes in English.",
        "Writes in English.",
        "Writes in German.",
    ]
    assert fitted.mix.draw(7).title in {each.persona.name for each in fitted.personas}


def test_traits_keep_the_shares_that_they_have_in_the_logs_with_any_number_of_personas() -> None:
    talks = logged((TERSE, 50), (LETTER, 30), (["Where is it?"], 15), (["i dont know thx"], 5))

    for most in (1, 2, 4):
        fitted = fit_users(talks, most_personas=most)
        told: dict[str, float] = {}
        for each in fitted.personas:
            typing = each.persona.style["typing"]
            for text, share in ({typing: 1.0} if isinstance(typing, str) else typing).items():
                told[text] = told.get(text, 0) + share * each.persona.share
        assert len(fitted.personas) == most
        assert {text: round(share, 9) for text, share in told.items()} == {
            "Small letters, no full stops.": 0.55,
            "With capitals and full stops, as in print.": 0.45,
        }


def test_a_persona_rests_on_twenty_five_users_on_average() -> None:
    assert len(fit_users(logged((TERSE, 30), (LETTER, 19))).personas) == 1
    assert len(fit_users(logged((TERSE, 30), (LETTER, 20))).personas) == 2


def test_a_language_that_is_not_known_is_told_to_nobody() -> None:
    [fitted] = fit_users(logged((["Ticket 4711"], 10))).personas

    assert "language" not in fitted.persona.style
    assert fitted.traits[0] == "unknown"


def test_goals_are_groups_of_openings_that_share_words() -> None:
    cancel = [[f"Hello, cancel my flight {place}", "yes"] for place in ("today", "tomorrow", "tonight", "friday")]
    refund = [[f"I want a refund for the {what}"] for what in ("shoes", "shirt", "jacket")]

    fitted = fit_users(logged(*[(each, 1) for each in (*cancel, *refund)], (["Hi"], 2)))

    assert [(set(goal.words), goal.count, goal.of) for goal in fitted.goals] == [
        ({"cancel", "flight"}, 4, 7),
        ({"refund"}, 3, 7),
    ]


def test_the_order_of_logs_and_what_apps_say_change_nothing() -> None:
    talks = logged((TERSE, 40), (LETTER, 30), (GERMAN, 30))

    assert users_text(fit_users(talks)) == users_text(fit_users(talks[::-1]))


def test_logs_without_a_word_of_a_user_are_refused() -> None:
    with pytest.raises(DefinitionError, match="2 conversations, none with a word of its user"):
        fit_users(logged((["..."], 2)))


def test_the_text_is_the_beginning_of_a_suite(tmp_path: Path) -> None:
    fitted = fit_users(logged((TERSE, 61), (LETTER, 29), (GERMAN, 11), ([""], 3)))
    (tmp_path / "suite.yaml").write_text(f"{users_text(fitted)}{SCENARIO}", encoding="utf-8")

    [scenario] = load_suite(str(tmp_path / "suite.yaml"))

    assert scenario.users is not None
    assert [each.name for each in scenario.users.mix] == [each.persona.name for each in fitted.personas]
    assert [each.share for each in scenario.users.mix] == pytest.approx([61 / 101, 29 / 101, 11 / 101], abs=1e-4)
    assert (fitted.dialogues, fitted.left_out) == (101, 3)
    assert "fitted to 101 logged conversations" in users_text(fitted)
