"""Faults of simulated users: what is caught, and what people do that is none."""

from collections.abc import Sequence
from functools import cache

import pytest

from benchmarks.users.faults import accused, caught
from benchmarks.users.transcripts import Recorded, load
from simeval.core.conversation import Conversation, Ending, Message, UserFaultKind
from simeval.engine.users.faults import KINDS, find_faults, with_faults
from simeval.suites.scenario import Expectation, ScenarioTest
from tests.support.golden import BESIDE
from tests.support.records import conversation
from tests.support.suites import SUCCESS, scenario

RETURN = scenario(
    given="Emma Kim, emma.kim@example.com, who ordered boots with order F1001",
    when="She wants to send back her boots of order F1001 because they leak.",
    then=Expectation(
        expected_behavior="The assistant names the deadline of thirty days and offers a prepaid label",
        evaluator=SUCCESS,
    ),
)
OPENING = "Hi, my boots leak and I want to send them back."
WHICH = "I am sorry to hear that. What is your order number?"
DONE = "Your return has been registered. Is there anything else I can help you with?"


def found(*said: str, of: ScenarioTest = RETURN, ended: Ending = "goal_satisfied", leaves: bool = False) -> list[str]:
    """Return the faults of a conversation; with `leaves`, the user's last message is a farewell."""
    messages = list(conversation(*said).messages)
    if leaves:
        last = max(place for place, message in enumerate(messages) if message.role == "user")
        messages[last] = Message(role="user", content=messages[last].content, metadata={"status": "satisfied"})
    return [fault.kind for fault in find_faults(of, Conversation(messages=tuple(messages), ended=ended))]


def test_a_user_that_does_its_part_has_no_fault() -> None:
    assert found(OPENING, WHICH, "It is F1001.", DONE) == []
    assert found(OPENING, WHICH, "F1001", DONE, "No, that's all. Thank you!", "Goodbye!", leaves=True) == []
    assert find_faults(RETURN, Conversation()) == ()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("repeats_itself", (OPENING, WHICH, "F1001", "Which size?", OPENING.upper(), DONE)),
        ("speaks_as_assistant", (OPENING, WHICH, "How can I help you today?", DONE)),
        ("speaks_as_assistant", (OPENING, WHICH, "Thank you for contacting us. It is F1001.", DONE)),
        ("empty_message", (OPENING, WHICH, "...", DONE)),
        ("left_while_asked", (OPENING, WHICH)),
        ("never_states_goal", ("lol what a goal", "Pardon?", "my cat likes it", DONE)),
        ("leaks_expectation", (OPENING, WHICH, "Name the deadline of thirty days and that", DONE)),
        ("changes_fact", (OPENING, WHICH, "It is F1007.", DONE)),
        ("changes_fact", (OPENING, WHICH, "emma.kim@example.org", DONE)),
        ("switches_language", (OPENING, WHICH, "Einen Moment, ich suche das in der Mail und melde mich.", DONE)),
        ("switches_language", (OPENING, WHICH, "これは私の注文番号です", DONE)),
    ],
)
def test_a_fault_is_found(kind: UserFaultKind, said: Sequence[str]) -> None:
    assert found(*said) == [kind]


@pytest.mark.parametrize(
    "said",
    [
        (OPENING, WHICH, "Yes.", "And the size?", "Yes.", "Sure?", "Yes.", DONE),
        (OPENING, WHICH, "Thank you very much for your help!", DONE, "Thank you very much for your help!", "Bye."),
        (OPENING, "Sorry, I did not understand that. Could you say it again?", OPENING, DONE),
        (
            OPENING,
            WHICH,
            "One moment please, I look the number of my order up",
            WHICH,
            "One moment please, I look the number of my order up",
            DONE,
        ),
        (OPENING, WHICH, "Why, is there a deadline of thirty days?", DONE),
    ],
)
def test_people_say_yes_and_thanks_again_and_repeat_what_is_asked_again(said: Sequence[str]) -> None:
    assert found(*said) == []


def test_the_same_sentence_with_another_number_says_something_else() -> None:
    said = ("My boots leak: return item 17 please", "Done.", "My boots leak: return item 18 please", DONE)

    assert found(*said) == []


def test_a_number_that_the_app_has_named_may_be_used() -> None:
    assert found(OPENING, "Is it F1001 or F1002?", "F1002, please", DONE) == []


def test_a_number_of_the_style_is_no_fact_that_others_could_be_invented_beside() -> None:
    said = conversation("When do you open? My number is 4082286148.", "At nine.").messages
    style = {"verbosity": "Detailed (40-100 words)"}
    hours = scenario(given="A customer", when="They ask when the shop opens")

    assert find_faults(hours, Conversation(messages=said, ended="goal_satisfied", writing_style=style)) == ()


@pytest.mark.parametrize("ended", ["turn_limit", "app_error", "recorded", "user"])
def test_who_did_not_leave_by_itself_has_not_left_while_asked(ended: Ending) -> None:
    assert found(OPENING, WHICH, ended=ended) == []


def test_a_farewell_answers_a_question_by_declining_and_not_by_agreeing() -> None:
    offer = "It costs 12 dollars. Shall I go ahead?"

    assert found(OPENING, offer, "No, never mind.", "All right.", leaves=True) == []
    assert found(OPENING, offer, "Yes, please go ahead.", "Done.", leaves=True) == ["left_while_asked"]


def test_who_has_tried_may_give_up_whatever_is_asked() -> None:
    assert found(OPENING, WHICH, ended="gave_up") == ["left_while_asked"]
    assert found(OPENING, WHICH, "Let me look.", "Please look for it. What is it?", ended="gave_up") == []


def test_a_scenario_may_ask_for_another_language_and_an_app_may_begin_it() -> None:
    german = "Meine Schuhe sind nicht dicht und ich möchte sie zurückgeben, order F1001"
    spoken = scenario(given="A customer who writes in German", when=RETURN.when)

    assert found(german, DONE, of=spoken) == []
    assert found(OPENING, "Wie kann ich Ihnen mit der Bestellung helfen, bitte?", german, DONE) == []
    assert found(german, DONE) == ["switches_language"]


def test_what_stands_in_the_scenario_is_no_leak_though_it_is_expected_too() -> None:
    expected = Expectation(
        expected_behavior="The app sends back her boots of order F1001 because they leak", evaluator=SUCCESS
    )
    of = scenario(given=RETURN.given, when=RETURN.when, then=expected)

    assert "leaks_expectation" not in found("Please send back her boots of order F1001 because they leak", DONE, of=of)


def test_faults_are_noted_on_the_messages_that_show_them() -> None:
    held = conversation(OPENING, WHICH, "How can I help you?", DONE)

    marked = with_faults(held, find_faults(RETURN, held))

    assert marked.user_faults == ("speaks_as_assistant",)
    assert [message.metadata for message in marked.messages] == [
        {},
        {},
        {"user_faults": {"speaks_as_assistant": "'How can I help'"}},
        {},
    ]


@cache
def recorded() -> tuple[Recorded, ...]:
    if not BESIDE.exists():
        pytest.skip("no transcripts: the folder 'shared' is not beside the repository")
    return tuple(talk for talks in load(BESIDE).values() for talk in talks)


@cache
def clean() -> tuple[Recorded, ...]:
    return tuple(talk for talk in recorded() if not accused(talk))


def test_recorded_users_are_hardly_ever_accused() -> None:
    assert len(recorded()) >= 500
    assert len(recorded()) - len(clean()) < 0.01 * len(recorded())


@pytest.mark.parametrize("kind", KINDS)
def test_of_stubs_of_a_fault_that_detectors_were_not_tuned_on_nearly_all_are_caught(kind: UserFaultKind) -> None:
    count, of = caught(kind, clean(), 1, 200)

    assert count >= 0.95 * of


@pytest.mark.parametrize(
    ("given", "when", "said"),
    [
        (
            "A patient with an appointment on 7 May",
            "They want another day",
            ("Is there another day?", "Which?", "9 May?"),
        ),
        (
            "A guest with a table for 4 people",
            "They want to bring friends",
            ("4 people is too few.", "Oh?", "For 6 people!"),
        ),
        (
            "Kunde mit 2 Katzen",
            "Er will Futter bestellen",
            ("Ich brauche Futter für meine zwei Katzen.", "Gern."),
        ),
        (
            "Pacjent z wizytą o 9 rano",
            "Chce zmienić godzinę wizyty",
            ("Chcę zmienić godzinę.", "Na którą?", "Na 11 rano."),
        ),
        ("Oma mit zwei Enkeln", "Sie will wissen, was läuft", ("Was läuft denn am Sonntag für Kinder?", "Der Dachs.")),
        (
            "Bas met een plant",
            "Hij wil weten wat het is",
            ("Wat zit er op mijn plant? Kan ik u helpen met een foto?", "Luis."),
        ),
    ],
)
def test_who_wants_a_change_or_shows_a_photo_has_no_fault(given: str, when: str, said: tuple[str, ...]) -> None:
    then = Expectation(expected_behavior="It helps", evaluator=SUCCESS)

    assert found(*said, of=scenario(given=given, when=when, then=then)) == []
