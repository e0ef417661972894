"""Examples as rows to fine-tune with: what is written is read again as the conversation it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from simeval import Conversation, Dataset, Example, Message, dataset_of, import_log, write_dataset
from simeval.errors import DefinitionError

CALL = {"id": "c7", "name": "find", "arguments": {"order": "F1"}, "result": {"day": "Friday"}}
RECORDED = Example(
    metadata={"system": "Be brief."},
    conversation=Conversation(
        messages=(
            Message(role="user", content="Where is F1?"),
            Message(role="assistant", content="On Friday.", tool_calls=(CALL,)),
        )
    ),
)


def written(dataset: Dataset, path: Path, form: Any) -> list[dict[str, Any]]:
    write_dataset(dataset, path, form=form)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_recorded_conversation_is_a_row_of_openai_with_its_tools(tmp_path: Path) -> None:
    [row] = written(dataset_of([RECORDED]), tmp_path / "rows.jsonl", "openai")

    assert row["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is F1?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c7", "type": "function", "function": {"name": "find", "arguments": '{"order": "F1"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c7", "content": '{"day": "Friday"}'},
        {"role": "assistant", "content": "On Friday."},
    ]


def test_a_recorded_conversation_is_a_row_of_sharegpt(tmp_path: Path) -> None:
    [row] = written(dataset_of([RECORDED]), tmp_path / "rows.jsonl", "sharegpt")

    assert [(said["from"], said["value"]) for said in row["conversations"]] == [
        ("system", "Be brief."),
        ("human", "Where is F1?"),
        ("function_call", '{"name": "find", "arguments": {"order": "F1"}}'),
        ("tool", '{"day": "Friday"}'),
        ("gpt", "On Friday."),
    ]


@pytest.mark.parametrize("form", ["openai", "sharegpt"])
def test_what_is_written_is_read_again(tmp_path: Path, form: str) -> None:
    written(dataset_of([RECORDED]), tmp_path / "rows.jsonl", form)

    [found] = import_log(tmp_path / "rows.jsonl").dataset

    assert found.conversation is not None
    assert found.metadata["system"] == "Be brief."
    assert [(said.role, said.content) for said in found.conversation.messages] == [
        ("user", "Where is F1?"),
        ("assistant", "On Friday."),
    ]
    [call] = found.conversation.messages[1].tool_calls
    assert (call["name"], call["arguments"]) == ("find", {"order": "F1"})


@pytest.mark.parametrize(
    ("example", "asked", "learnt"),
    [
        (Example(inputs={"input": "2 + 2?"}, outputs={"output": "4"}), "2 + 2?", "4"),
        (Example(inputs={"sum of": "2 and 2"}, outputs={"output": {"sum": 4}}), "2 and 2", '{"sum": 4}'),
        (
            Example(
                inputs={"input": [{"role": "user", "content": "Hi"}]},
                outputs={"output": [{"role": "assistant", "content": "Hello"}]},
            ),
            "Hi",
            "Hello",
        ),
    ],
    ids=["text", "data", "chat"],
)
def test_the_reference_is_what_is_to_be_learnt(tmp_path: Path, example: Example, asked: str, learnt: str) -> None:
    [row] = written(dataset_of([example]), tmp_path / "rows.jsonl", "openai")

    assert row["messages"] == [{"role": "user", "content": asked}, {"role": "assistant", "content": learnt}]


def test_an_example_without_an_answer_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    rows = [{"question": "2 + 2?", "answer": "4"}, {"question": "?", "answer": None}]
    dataset = dataset_of(rows, outputs="answer")

    with pytest.raises(DefinitionError, match="example 2: it has neither a reference nor a recorded answer"):
        write_dataset(dataset, tmp_path / "rows.jsonl", form="openai")

    assert list(tmp_path.iterdir()) == []


def test_another_form_is_refused(tmp_path: Path) -> None:
    form: Any = "alpaca"

    with pytest.raises(DefinitionError, match="form: found 'alpaca'"):
        write_dataset(dataset_of([RECORDED]), tmp_path / "rows.jsonl", form=form)
