"""What a simulated user knows, when it may leave, and how it ends."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Ending, Message
from simeval.engine.users.state import PATIENCE, UserState, decide, draw_patience, read_state, takes_leave
from simeval.models.protocol.model import Status, UserReply
from simeval.suites.scenario import ScenarioTest
from tests.support.records import conversation
from tests.support.suites import scenario

ORDER = scenario(
    given="Emma Kim, emma.kim@example.com, who lives in '12 Long Street'. She ordered \"Blue Tide\" on May 20.",
    when="She wants to send back order F1001 and to have her 49.90 back.",
)


def state(*said: str, of: ScenarioTest = ORDER, patience: int = 5) -> UserState:
    return read_state(of, conversation(*said).messages, patience=patience)


def answered(status: Status, message: str, *said: str, patience: int = 5) -> tuple[str, Ending | None]:
    history = conversation(*said).messages
    reply = UserReply(status=status, message=message)
    found, ending = decide(read_state(ORDER, history, patience=patience), reply, history)
    return found.content, ending


def test_the_details_of_a_scenario_are_untold_until_the_user_names_them() -> None:
    assert state().untold == ("emma.kim@example.com", "12", "Blue Tide", "May 20", "F1001", "49.90")
    assert state("Order f1001, please", "May 20?").untold == (
        "emma.kim@example.com",
        "12",
        "Blue Tide",
        "May 20",
        "49.90",
    )


@pytest.mark.parametrize(
    "answer",
    [
        "What is your order number?",
        "Hello! How can I help you today?",
        "I can cancel it. Do you want me to proceed? (yes/no)",
        "Please provide your e-mail address.",
        "Before I go on, I need your zip code.",
        "Bitte nennen Sie mir Ihre Bestellnummer.",
        "¿Cuál es su número de pedido?",
        "ご注文番号は何ですか？",
        "I'll cancel it now. One moment.",
        "Let me check that.",
    ],
)
def test_nobody_leaves_while_the_app_waits_for_an_answer_or_has_not_done_what_it_agreed_to(answer: str) -> None:
    assert state("Please cancel it", answer).is_held


@pytest.mark.parametrize(
    "answer",
    [
        "It is cancelled. Is there anything else I can help you with?",
        "Your order has been sent back. Let me know if you need anything else.",
        "Done! Would you like any further assistance?",
        "I have cancelled it. Does that help?",
        "I'll be happy to help you again.",
        "We do not take it back.",
        "I will transfer you to a human agent now.",
        "Erledigt. Kann ich sonst noch etwas tun?",
    ],
)
def test_a_courtesy_holds_nobody(answer: str) -> None:
    assert state("Please cancel it", answer).may_leave


def test_nobody_leaves_before_the_first_word() -> None:
    assert state().is_held


def test_an_app_that_only_asks_cannot_hold_for_ever_whoever_tells_nothing_new() -> None:
    said = [
        text for turn in range(4) for text in (f"I do not know {'so' * turn}", f"And what is your {'big ' * turn}size?")
    ]

    assert [state(*said[: 2 * turn]).is_held for turn in range(1, 5)] == [True, True, True, False]


def test_an_app_that_learns_something_new_may_ask_on() -> None:
    told = ("no", "emma.kim@example.com", "no", "F1001", "no", "May 20")
    said = [text for turn, word in enumerate(told) for text in (word, f"And your {'big ' * turn}number?")]

    assert all(state(*said[: 2 * turn]).is_held for turn in range(1, 7))


@pytest.mark.parametrize(
    ("status", "ending"), [("satisfied", "goal_satisfied"), ("gave_up", "gave_up"), ("handed_off", "handed_off")]
)
def test_a_user_leaves_by_a_reason_with_a_word_or_without_one(status: Status, ending: Ending) -> None:
    assert answered(status, "", "Cancel it", "It is done.") == ("", ending)
    assert answered(status, "Bye.", "Cancel it", "It is done.") == ("Bye.", ending)


@pytest.mark.parametrize("status", ["satisfied", "gave_up", "handed_off"])
def test_who_is_held_or_asks_something_stays(status: Status) -> None:
    assert answered(status, "It is F1001.", "Cancel it", "Which order?") == ("It is F1001.", None)
    assert answered(status, "And my money?", "Cancel it", "It is done.") == ("And my money?", None)


def test_what_was_said_is_not_said_again_on_leaving() -> None:
    assert answered("satisfied", "cancel it!", "Cancel it", "It is done.") == ("", "goal_satisfied")
    assert answered("satisfied", "Is it done?", "Is it done?", "It is done.") == ("", "goal_satisfied")


def test_a_farewell_is_known_by_its_status_and_no_other_message_is_one() -> None:
    history = conversation("Cancel it", "It is done.").messages

    for status in ("open", "no_progress", "satisfied"):
        message, ending = decide(state("Cancel it", "It is done."), UserReply(status=status, message="Bye"), history)
        assert takes_leave(message) == (ending is not None)


def test_patience_that_is_used_up_ends_it_whatever_is_asked() -> None:
    assert answered("no_progress", "But how?", "Cancel it", "Which order?", patience=2) == ("But how?", None)
    assert answered("no_progress", "But how?", "Cancel it", "Which order?", patience=1) == ("", "gave_up")


def test_turns_without_progress_and_answers_that_come_again_cost_patience() -> None:
    first, answer, *_ = conversation("Cancel it", "I cannot.").messages
    again = Message(role="user", content="Try again", metadata={"status": "no_progress"})

    def left(*history: Message) -> int:
        return read_state(ORDER, history, patience=3).patience

    assert left(first, answer) == 3
    assert left(first, answer, again) == 2
    assert left(first, answer, again, answer) == 1
    assert read_state(ORDER, (first, answer, again, answer, first, answer), patience=3).has_had_enough


@given(st.integers(0, 2**63 - 1))
def test_patience_comes_from_the_seed_within_its_bounds(seed: int) -> None:
    assert PATIENCE[0] <= draw_patience(seed) <= PATIENCE[1]
    assert draw_patience(seed) == draw_patience(seed)


TEXTS = st.lists(st.text(max_size=40), max_size=8)


@given(TEXTS, st.sampled_from(["open", "no_progress", "satisfied", "gave_up", "handed_off"]), st.integers(1, 5))
def test_an_empty_message_always_ends_it_and_an_end_is_never_of_whoever_is_held(
    said: Sequence[str], status: Status, patience: int
) -> None:
    history = conversation(*said[: len(said) // 2 * 2]).messages
    before = read_state(ORDER, history, patience=patience)
    reply = UserReply.model_construct(status=status, message="Well then")

    message, ending = decide(before, reply, history)

    assert message.content or ending
    assert ending in (None, "gave_up") or before.may_leave
