"""Rows of Python objects become examples: which column is what, and what is refused."""

import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simeval.core.conversation import Conversation, Message
from simeval.datasets.dataset import RETURNED, Example
from simeval.datasets.files import dataset_of
from simeval.errors import DefinitionError
from tests.support.rows import ROWS, said


def only(row: object, **options: Any) -> Example:
    """Return the example of one row."""
    return next(iter(dataset_of([row], **options)))


def test_flat_rows_have_the_outputs_that_are_named() -> None:
    found = dataset_of(ROWS, name="orders", outputs="answer")

    assert [example.inputs for example in found] == [{k: row[k] for k in ("question", "context")} for row in ROWS]
    assert [example.outputs for example in found] == [{"answer": row["answer"]} for row in ROWS]
    assert (found.name, found.kind, found.size) == ("orders", "kv", 2)


def test_of_flat_rows_the_columns_that_are_not_named_are_metadata_where_inputs_are() -> None:
    found = only(ROWS[0], inputs=["question"], outputs=["answer"])

    assert found == Example(
        inputs={"question": ROWS[0]["question"]},
        outputs={"answer": ROWS[0]["answer"]},
        metadata={"context": ROWS[0]["context"]},
    )


@pytest.mark.parametrize(
    ("row", "kind", "expected"),
    [
        ({"input": "a", "output": "b"}, None, Example(inputs={"input": "a"}, outputs={"output": "b"})),
        (
            {"input": "a", "output": "b", "topic": "c"},
            "llm",
            Example(inputs={"input": "a"}, outputs={"output": "b"}, metadata={"topic": "c"}),
        ),
        ({"input": "a", "topic": "c"}, None, Example(inputs={"input": "a", "topic": "c"})),
        ({"input": [said("user", "a")]}, "chat", Example(inputs={"input": [said("user", "a")]})),
    ],
)
def test_the_columns_input_and_output_are_what_they_say(row: Any, kind: Any, expected: Example) -> None:
    assert only(row, kind=kind) == expected


@pytest.mark.parametrize(
    ("row", "options", "expected"),
    [
        ({"question": "a", "reference": "b"}, {}, Example(inputs={"question": "a"}, outputs={"reference": "b"})),
        (
            {"question": "a", "reference": "b", "output": "c"},
            {},
            Example(inputs={"question": "a"}, outputs={"reference": "b"}, metadata={"output": "c"}),
        ),
        (
            {"input": "a", "reference": "b"},
            {"kind": "llm"},
            Example(inputs={"input": "a"}, metadata={"reference": "b"}),
        ),
        (
            {"question": "a", "reference": "b", "answer": "c"},
            {"outputs": "answer"},
            Example(inputs={"question": "a"}, outputs={"answer": "c"}, metadata={"reference": "b"}),
        ),
        ({"question": "a", "reference": "b"}, {"inputs": ["question", "reference"]}, None),
    ],
)
def test_a_column_called_reference_is_shown_to_no_app(row: Any, options: Any, expected: Example | None) -> None:
    found = only(row, **options)

    assert found == (expected or Example(inputs=row))  # unless it is asked for
    assert found.columns()["reference"] == row.get("answer", "b")


@pytest.mark.parametrize("name", ["output", "conversation", "seed"])
def test_of_flat_rows_a_column_with_a_name_of_the_trials_is_refused_or_metadata(name: str) -> None:
    row = {"question": "a", "answer": "b", name: 5}

    with pytest.raises(DefinitionError, match=f"'dataset', example 1: the inputs have a column '{name}'"):
        dataset_of([row], outputs="answer")

    assert only(row, inputs="question", outputs="answer").metadata == {name: 5}


@pytest.mark.parametrize("value", [[10**5_000], {"deep": [-(10**5_000)]}, Decimal("1e5000")])
def test_a_number_that_json_cannot_hold_is_named(value: Any) -> None:
    with pytest.raises(DefinitionError, match="'dataset', example 2, field n: found"):
        dataset_of([{"n": 1}, {"n": value}])


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ({"id": "e-1", "split": "test", "tags": ["a", "b", "a"]}, ("e-1", "test", ("a", "b"))),
        ({"id": 7, "split": None, "tags": " a , b,"}, ("7", "", ("a", "b"))),
        ({"id": None, "tags": None}, ("", "", ())),
    ],
)
def test_id_split_and_tags_of_flat_rows_are_what_they_say(marks: Any, expected: Any) -> None:
    found = only({"question": "a", **marks})

    assert (found.example_id, found.split, found.tags) == expected
    assert found.inputs == {"question": "a"}


def test_id_split_and_tags_are_inputs_where_they_are_named_so() -> None:
    found = only({"split": "a", "tags": "b, c", "id": 1}, inputs=["split", "tags"])

    assert found == Example(inputs={"split": "a", "tags": "b, c"}, example_id="1")


@pytest.mark.parametrize(
    ("answer", "content", "metadata"),
    [
        ("It comes.", "It comes.", {}),
        ("", "", {}),
        ([said("assistant", "It comes.")], "It comes.", {}),
        ({"days": 3}, '{"days": 3}', {RETURNED: {"days": 3}}),
        (False, "false", {RETURNED: False}),
    ],
)
def test_what_an_app_answered_is_the_end_of_a_conversation(answer: Any, content: str, metadata: Any) -> None:
    found = only({"question": "When?", "reply": answer}, recorded="reply")

    assert found.inputs == {"question": "When?"}
    assert found.conversation == Conversation(
        messages=(
            Message(role="user", content="When?"),
            Message(role="assistant", content=content, metadata=metadata),
        ),
        ended="recorded",
    )
    assert dataset_of([{"question": "When?", "reply": answer}], recorded="reply").recorded


@pytest.mark.parametrize(
    "right", ["expected_output", "expected", "ground_truth", "Reference Answer", "gold", "ideal", "erwartete_antwort"]
)
def test_beside_a_right_answer_output_is_what_an_app_answered(right: str) -> None:
    found = only({"input": "a", "output": "Lyon", right: "Paris"})

    assert (found.inputs, found.outputs) == ({"input": "a"}, {right: "Paris"})
    assert found.columns()["reference"] == "Paris"


@pytest.mark.parametrize("other", ["expected_tools", "ideal_length", "golden_hour"])
def test_beside_other_expectations_output_is_the_reference(other: str) -> None:
    assert only({"input": "a", "output": "Paris", other: 3}).columns()["reference"] == "Paris"


def test_what_an_app_answered_may_be_called_output() -> None:
    found = only({"input": "a", "output": "b", "expected": "c"}, recorded="output", outputs="expected")

    assert (found.inputs, found.outputs) == ({"input": "a"}, {"expected": "c"})
    assert found.conversation is not None
    assert found.conversation.output == "b"


def test_what_an_app_answered_follows_the_messages_of_a_chat() -> None:
    chat = [said("system", "be kind"), said("user", "a"), said("assistant", "b"), said("user", "c")]

    found = only({"input": chat, "reply": "d"}, kind="chat", recorded="reply")

    assert found.conversation is not None
    assert [message.content for message in found.conversation.messages] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("side", ["outputs", "metadata"])
def test_what_an_app_answered_is_taken_out_of_nested_rows(side: str) -> None:
    found = only({"inputs": {"question": "a"}, side: {"reply": "b", "other": "c"}}, recorded="reply")

    assert getattr(found, side) == {"other": "c"}
    assert found.conversation is not None
    assert found.conversation.output == "b"


def test_rows_of_langsmith_are_read_with_what_it_keeps() -> None:
    row = {
        "id": "b1f7e0c6-0000-4000-8000-000000000001",
        "dataset_id": "d-1",
        "created_at": "2025-01-01T00:00:00Z",
        "inputs": {"question": "a"},
        "outputs": {"answer": "b"},
        "metadata": {"dataset_split": ["base", "test"], "topic": "c"},
    }

    assert only(row) == Example(
        inputs={"question": "a"},
        outputs={"answer": "b"},
        metadata={"dataset_id": "d-1", "created_at": "2025-01-01T00:00:00Z", "topic": "c"},
        example_id=str(row["id"]),
        split="base",
        tags=("base", "test"),
    )
    assert only({"inputs": {"a": 1}, "outputs": None, "metadata": {"dataset_split": "test"}}).split == "test"


def test_of_fine_tuning_rows_the_last_answer_is_the_reference() -> None:
    messages = [said("user", "a"), said("assistant", None, tool_calls=[]), said("user", "c"), said("assistant", "d")]

    found = only({"messages": messages, "tools": [{"name": "t"}], "id": 3})

    assert found == Example(
        inputs={"input": messages[:-1]},
        outputs={"output": [messages[-1]]},
        metadata={"tools": [{"name": "t"}]},
        example_id="3",
    )
    assert found.columns()["reference"] == "d"
    assert dataset_of([{"messages": messages}]).kind == "chat"


def test_fine_tuning_rows_without_an_answer_have_no_reference() -> None:
    found = only({"messages": [said("user", "a"), {"role": "assistant", "tool_calls": []}, said("user", "c")]})

    assert [message["content"] for message in found.inputs["input"]] == ["a", None, "c"]
    assert found.outputs == {}


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        (5, {}, "found 5; give a mapping"),
        ({1: "a"}, {}, "a column is named 1"),
        ({"a": 1}, {"outputs": "b"}, "it has no column b; the columns are a"),
        ({"a": 1}, {"inputs": "b", "recorded": "c"}, "it has no column b, c; the columns are a"),
        ({"output": "a", "id": 1}, {}, "no column is left for the inputs; the columns are output, id"),
        ({"question": "a"}, {"kind": "llm"}, "it has no column input; the columns are question"),
        ({"a": 1, "reply": None}, {"recorded": "reply"}, "field reply: nothing was recorded"),
        ({"a": 1, "tags": 5}, {}, "field tags: found 5"),
        ({"a": 1, "tags": [5]}, {}, "field tags"),
        ({"a": 1, "id": [5]}, {}, "field id"),
        ({"a": 1, "b": {2, 3}}, {}, r"field b: found {2, 3} \(set\)"),
        ({"a": 1, "b": {"c": [b"\x89PNG"]}}, {}, r"field b: found b'\\x89PNG' \(bytes\)"),
        ({"a": float("inf")}, {}, "field a: found inf"),
        ({"inputs": {"a": 1}, "outputs": "b"}, {}, "field outputs: found 'b'; give outputs as a mapping"),
        ({"inputs": {"a": 1}, "output": {"b": 1}}, {}, "field output: .*; call it outputs"),
        ({"inputs": {"a": 1}, "tag": ["x"]}, {}, "field tag: .*; call it tags"),
        ({"inputs": {"a": 1}, "conversation": "hi"}, {}, "field conversation: it cannot be used"),
        (
            {"conversation": {"turns": [{"role": "robot", "content": "a"}]}},
            {},
            "field conversation: .*user or assistant",
        ),
        (
            {"inputs": {"a": 1}, "outputs": {"b": 1}},
            {"recorded": "c"},
            "it has no column c; the outputs and metadata are b",
        ),
        ({"messages": []}, {}, r"field messages\[0\]: it is empty"),
        ({"messages": [said("user", "a"), "b"]}, {}, r"field messages\[1\]: found 'b'"),
        ({"messages": [said("assistant", "a")]}, {}, "field messages: no message before the answer"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_field(row: Any, options: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=rf"dataset 'dataset', example 2\b.*{message}"):
        dataset_of([ROWS[0] if row == 5 else _fitting(row, options), row], **options)


def _fitting(row: Any, options: Mapping[str, Any]) -> Any:
    """Return a first row that can be used with the same options."""
    wanted = [options.get(name) for name in ("inputs", "outputs", "recorded")]
    return {"input": "a", "x": "b", **{name: "c" for name in wanted if name}}


def test_a_value_that_is_nested_too_deeply_is_named() -> None:
    value: Any = "a"
    for _ in range(100):
        value = [value]

    with pytest.raises(DefinitionError, match="field a: it is nested more than 64 levels"):
        dataset_of([{"a": value}])


def test_a_column_cannot_be_two_things() -> None:
    with pytest.raises(DefinitionError, match="answer, question named twice"):
        dataset_of(ROWS, inputs=["question"], outputs=["question", "answer"], recorded="answer")


def test_values_are_in_the_form_that_json_can_hold() -> None:
    noon = datetime(2025, 1, 2, 12, 0, tzinfo=UTC)
    row = {
        "a": np.float64(1.5),
        "b": np.array([1, 2]),
        "c": (Decimal("1.5"), Decimal(2)),
        "d": [noon, date(2025, 1, 2)],
        "e": float("nan"),
        "f": {"g": np.bool_(True), 1: Path("x")},
    }

    assert only(row).inputs == {
        "a": 1.5,
        "b": [1, 2],
        "c": [1.5, 2],
        "d": ["2025-01-02 12:00:00+00:00", "2025-01-02"],
        "e": None,
        "f": {"g": True, "1": "x"},
    }


def test_rows_that_can_be_gone_through_once_are_held() -> None:
    found = dataset_of(iter(ROWS))

    assert [len(list(found)), len(list(found))] == [2, 2]


def test_rows_that_can_be_read_anew_are_not_held() -> None:
    rows = Streamed(3_000)
    tracemalloc.start()

    found = dataset_of(rows)
    read = sum(1 for _ in found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (read, rows.read) == (3_000, 6_000)
    assert peak < 500_000


@dataclass(slots=True)
class Streamed:
    """Rows as a library gives them that streams."""

    count: int
    read: int = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in range(self.count):
            self.read += 1
            yield {"question": f"question {number} " * 10}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"train": ROWS, "test": ROWS}, r"found a dict; give one of its values \(\['train'\], \['test'\]\)"),
        ("orders.csv", "a file is read with read_dataset"),
        (5, "found 5; give an iterable of rows"),
        ([], "it has no example"),
    ],
)
def test_what_is_no_rows_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        dataset_of(rows)
