"""A turn a line with its session: Alignmenter's data, grouped to conversations."""

from pathlib import Path
from typing import Any

import pytest

from simeval.extras.importers.registry import import_log
from tests.support.golden import DATA
from tests.support.samples import imported, said


def turn(session: str, place: int, role: str, text: object, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "turn_index": place, "role": role, "text": text, **more}


def exchange(session: str, place: int, user: object, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "turn": place, "user": user, **more}


def test_turns_of_a_session_are_one_conversation_in_their_order(tmp_path: Path) -> None:
    log = imported(
        tmp_path,
        turn("b", 1, "user", "Hello", persona_id="atlas"),
        turn("a", 2, "assistant", "Yes.", persona_id="atlas"),
        turn("b", 2, "assistant", "Hi!", persona_id="atlas", label=1),
        turn("a", 1, "user", "Open?", persona_id="atlas"),
    )

    assert (log.format, log.problems) == ("sessions", ())
    assert said(log.dataset) == [[("user", "Hello"), ("assistant", "Hi!")], [("user", "Open?"), ("assistant", "Yes.")]]
    first, second = log.dataset
    assert (first.example_id, first.metadata, second.example_id) == ("b", {"persona_id": "atlas"}, "a")
    assert first.conversation is not None
    assert first.conversation.messages[1].metadata["label"] == 1


def test_rows_of_user_and_assistant_are_exchanges(tmp_path: Path) -> None:
    log = imported(
        tmp_path,
        exchange("001", 1, "Hello!", assistant="Hi! How can I help?"),
        exchange("002", 1, "What's the weather?", assistant="Sunny."),
        exchange("001", 2, "Tell me more"),  # to be answered anew
    )

    assert said(log.dataset) == [
        [("user", "Hello!"), ("assistant", "Hi! How can I help?"), ("user", "Tell me more")],
        [("user", "What's the weather?"), ("assistant", "Sunny.")],
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"turn": 1, "user": "x"}, "it has another form than the format's (it has no 'session_id')"),
        (turn("a", 1, "narrator", "x"), "the role 'narrator' is none of"),
        (turn("a", 1, "user", 7), "what user says is no text, found 7"),
        ({"session_id": "a"}, 'it has neither "role" and "text" nor "user" and "assistant"'),
        (7, "it has another form than the format's"),
    ],
)
def test_a_line_that_is_no_turn_is_reported_and_the_rest_is_imported(tmp_path: Path, line: Any, reason: str) -> None:
    log = imported(tmp_path, exchange("a", 1, "Hello", assistant="Hi"), line)

    (problem,) = log.problems
    assert (problem.place, problem.reason[: len(reason)]) == ("line 2", reason)
    assert len(log.dataset) == 1


def test_the_demo_of_alignmenter_is_ten_sessions() -> None:
    log = import_log(DATA / "public" / "public_alignmenter_demo.jsonl.gz")

    assert (log.format, len(log.dataset), log.problems) == ("sessions", 10, ())
    assert sum(len(each) for each in said(log.dataset)) == 60
