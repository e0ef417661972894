"""What a judge is shown of a long conversation: its beginning, its end, and what was left out between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.conversation import Message
from simeval.models.protocol.prompt_texts import CHARACTERS_A_TOKEN, FRAME, end_state, excerpt, tool_name
from simeval.models.protocol.prompts import render_transcript


def message(number: int, length: int = 20, **about: object) -> Message:
    role = "assistant" if number % 2 else "user"
    return Message(role=role, content=f"{number}".ljust(length, "x"), **about)  # type: ignore[arg-type]


def test_all_is_shown_where_it_fits_or_there_is_no_bound() -> None:
    said = [message(number) for number in range(30)]

    assert not excerpt(said, None).left_out
    assert not excerpt(said, 30 * (20 + FRAME) // CHARACTERS_A_TOKEN).left_out
    assert excerpt(said, 100).left_out


@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(1, 3000))
def test_beginning_and_end_are_kept_and_as_much_as_fits(lengths: list[int], most: int) -> None:
    said = [message(number, length) for number, length in enumerate(lengths)]
    left_out = excerpt(said, most).left_out
    sizes = [len(each.content) + FRAME for each in said]
    shown = sum(size for number, size in enumerate(sizes, 1) if number not in left_out)

    assert not {1, 2, len(said) - 1, len(said)} & set(left_out)
    if left_out:
        assert sum(sizes) > most * CHARACTERS_A_TOKEN
        assert shown <= most * CHARACTERS_A_TOKEN or len(left_out) == len(said) - 4


def test_the_gap_names_its_messages_and_the_tools_they_called() -> None:
    said = [
        message(number, 400, tool_calls=({"name": f"tool_{number}"},) if number == 9 else ()) for number in range(20)
    ]

    shown = excerpt(said, 900)
    text = render_transcript(said, shown)

    assert str(shown) == f"messages {shown.left_out[0]} to {shown.left_out[-1]} of 20"
    assert 10 in shown.left_out
    assert text.count("<left_out") == 1
    assert "<tool_call>tool_9</tool_call></left_out>" in text
    assert '<message number="20"' in text
    assert len(text) < 900 * CHARACTERS_A_TOKEN + 500


@pytest.mark.parametrize(
    "call", [{"name": "refund"}, {"function": {"name": "refund", "arguments": "{}"}}, {"tool": "refund"}]
)
def test_a_tools_name_is_found_in_the_forms_apps_report(call: dict[str, object]) -> None:
    assert tool_name(call) == "refund"


def test_the_state_at_the_end_is_what_the_last_answer_says() -> None:
    first, last = (
        message(1, metadata={"end_state": {"paid": False}}),
        message(3, metadata={"end_state": {"paid": True}}),
    )

    assert end_state([message(0), first, message(2), last]) == '{"paid": true}'
    assert end_state([message(0), message(1)]) is None
