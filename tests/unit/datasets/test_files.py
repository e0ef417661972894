"""Datasets from Python objects, frames and files, and written to files."""

import csv
import gzip
import json
import os
import sys
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
from simeval.datasets.files import dataset_of, read_dataset, write_dataset
from simeval.errors import DefinitionError, StoreError
from tests.support.golden import SHARED
from tests.support.records import conversation

ROWS = [
    {"question": "Where is my order?", "context": "Orders take 3 days.", "answer": "It comes in 3 days."},
    {"question": "Kann ich es zurückgeben? 🎁", "context": "", "answer": 'Ja,\nbinnen "30" Tagen.'},
]
EXAMPLES = [
    Example(
        inputs={"question": "a \0 \ud83d", "n": 1},
        outputs={"answer": None, "labels": ["x", {"y": 1.5}]},
        metadata={"from": "a log"},
        conversation=conversation("hi", "hello"),
        example_id="e-1",
        split="test",
        tags=("hard", "new"),
    ),
    Example(inputs={"question": "b", "n": None}, outputs={"answer": True, "labels": []}),
]


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def only(row: object, **options: Any) -> Example:
    """Return the example of one row."""
    return next(iter(dataset_of([row], **options)))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def json_lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


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
            Example(inputs={"question": "a"}, outputs={"output": "c", "reference": "b"}),
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


def test_two_rows_of_one_id_are_named_by_their_lines(tmp_path: Path) -> None:
    rows = [{"id": "a", "q": 1}, {"id": "b", "q": 2}, {"id": "a", "q": 3}]
    path = written(tmp_path, "orders.jsonl", json_lines(rows[0]) + "\n" + json_lines(*rows[1:]))

    with pytest.raises(DefinitionError, match=r"orders\.jsonl, line 4: its id 'a' is also that of .*, line 1;"):
        read_dataset(path)


@pytest.mark.parametrize("value", [[10**5_000], {"deep": [-(10**5_000)]}, Decimal("1e5000")])
def test_a_number_that_json_cannot_hold_is_named(value: Any) -> None:
    with pytest.raises(DefinitionError, match="'dataset', example 2, field n: found"):
        dataset_of([{"n": 1}, {"n": value}])


def test_a_number_that_python_does_not_read_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.jsonl", f'{{"n": 1}}\n{{"n": {"9" * 5_000}}}\n')

    with pytest.raises(DefinitionError, match=r"orders\.jsonl, line 2: it is not JSON: Exceeds the limit"):
        read_dataset(path)


def test_a_long_number_stays_what_it_is(tmp_path: Path) -> None:
    found = dataset_of([{"n": 10**4_299 - 1}], name="n")

    write_dataset(found, tmp_path / "n.jsonl")

    assert list(read_dataset(tmp_path / "n.jsonl")) == list(found)


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


@pytest.mark.parametrize("example", EXAMPLES)
def test_simeval_own_rows_are_read_as_they_were_written(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    write_dataset(dataset_of([example]), path)

    assert list(read_dataset(path)) == [example]
    assert list(dataset_of([json.loads(path.read_text())])) == [example]


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


class Columns(list[str]):
    """The columns of a pandas frame, as far as they are asked for."""

    @property
    def is_unique(self) -> bool:
        return len(set(self)) == len(self)

    def duplicated(self) -> list[bool]:
        return [name in self[:place] for place, name in enumerate(self)]

    def __getitem__(self, wanted: Any) -> Any:
        if isinstance(wanted, list):
            return [name for name, is_wanted in zip(self, wanted, strict=True) if is_wanted]
        return super().__getitem__(wanted)


@dataclass
class PandasLike:
    """What is asked of a pandas frame, of which parts are taken by rows."""

    rows: list[dict[str, Any]]
    columns: Columns
    parts: list[int]

    @property
    def iloc(self) -> "PandasLike":
        return self

    def __getitem__(self, part: slice) -> "PandasLike":
        self.parts.append(len(self.rows[part]))
        return PandasLike(self.rows[part], self.columns, self.parts)

    def __len__(self) -> int:
        return len(self.rows)

    def notna(self) -> str:
        return "where it is not missing"

    def astype(self, kind: type) -> "PandasLike":
        return self

    def where(self, condition: str, other: None) -> "PandasLike":
        return self

    def to_dict(self, form: str) -> list[dict[str, Any]]:
        return self.rows


@dataclass
class PolarsLike:
    """What is asked of a polars frame."""

    rows: list[dict[str, Any]]
    schema: tuple[str, ...] = ()

    def iter_rows(self, *, named: bool, buffer_size: int) -> Iterator[dict[str, Any]]:
        return iter(self.rows) if named else iter(())


def test_frames_are_told_by_what_they_can_do_and_read_in_parts() -> None:
    rows = [{"question": str(number)} for number in range(2_500)]
    frame = PandasLike(rows, Columns(["question"]), [])
    expected = dataset_of(rows).version

    assert dataset_of(frame).version == dataset_of(PolarsLike(rows)).version == expected
    assert frame.parts == [1_000, 1_000, 500]
    with pytest.raises(DefinitionError, match="several columns named a"):
        dataset_of(PandasLike(rows, Columns(["a", "b", "a"]), []))


TABLE = [
    {"q": f"q{n}", "n": n, "at": datetime(2025, 1, 2), "deep": {"x": [1, n]}, "gap": None if n % 2 else 1.5}
    for n in range(1_500)
]


def test_pandas_frames_are_read() -> None:
    pandas = pytest.importorskip("pandas")

    assert dataset_of(pandas.DataFrame(TABLE)).version == dataset_of(TABLE).version


def test_polars_frames_are_read() -> None:
    polars = pytest.importorskip("polars")

    assert dataset_of(polars.DataFrame(TABLE)).version == dataset_of(TABLE).version
    with pytest.raises(DefinitionError, match="collect a lazy one first"):
        dataset_of(polars.LazyFrame(TABLE))


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_parquet_files_are_read(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    polars = pytest.importorskip("polars")
    polars.DataFrame(TABLE).write_parquet(tmp_path / "table.parquet")
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    found = read_dataset(tmp_path / "table.parquet")

    assert (found.name, found.version) == ("table", dataset_of(TABLE).version)
    with pytest.raises(DefinitionError, match="cannot be read as Parquet"):
        read_dataset(written(tmp_path, "bad.parquet", "PAR1 nothing"))
    with pytest.raises(DefinitionError, match=r"table\.parquet, row 1: it has no column answer"):
        read_dataset(tmp_path / "table.parquet", outputs="answer")


def test_hugging_face_datasets_are_read() -> None:
    datasets = pytest.importorskip("datasets")
    examples = datasets.iterable_dataset.ExamplesIterable(lambda: enumerate(TABLE), {})

    found = dataset_of(datasets.IterableDataset(examples))

    assert found.version == dataset_of(TABLE).version
    assert len(list(found)) == len(TABLE)


def test_parquet_needs_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet", "polars"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(DefinitionError, match="pip install pyarrow, or polars"):
        read_dataset(written(tmp_path, "table.parquet", "PAR1"))


@pytest.mark.parametrize("name", ["orders.jsonl", "orders.ndjson", "orders.v2.JSONL", "orders.jsonl.gz"])
def test_json_lines_are_read(tmp_path: Path, name: str) -> None:
    content = ("\ufeff" + "\n".join(json.dumps(row) for row in [ROWS[0], ROWS[1]]) + "\n\n").encode()

    found = read_dataset(written(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content))

    assert found.name == "orders"
    assert found.version == dataset_of(ROWS).version


@pytest.mark.parametrize(("name", "delimiter"), [("orders.csv", ","), ("orders.tsv", "\t"), ("orders.csv.gz", ",")])
def test_the_values_of_csv_are_texts(tmp_path: Path, name: str, delimiter: str) -> None:
    rows = [{**row, "n": "007", "split": "test"} for row in ROWS]
    plain = tmp_path / "plain"
    with plain.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    content = plain.read_bytes()

    found = read_dataset(written(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content))

    assert found.version == dataset_of(rows).version
    assert [example.split for example in found] == ["test", "test"]


def test_a_cell_may_be_large(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path, "a.csv", f"question\n{'é' * 1_000_000}\n"))

    assert len(next(iter(found)).text) == 1_000_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"a": 1}\n\n{"a": \n', r"a\.jsonl, line 3: it is not JSON: Expecting value, at column"),
        ("a.jsonl", '{"a": 1}\n{"a": NaN}\n', r"line 2: it is not JSON: NaN is none of its numbers \(write null\)"),
        ("a.jsonl", '{"a": 1}\n\n5\n', "line 3: found 5; give a mapping"),
        ("a.jsonl", "[" * 100_000, "line 1: it is nested too deeply"),
        ("a.jsonl", '{"a": 1}\n\n{"b": 1}\n', "line 3: its inputs lacks 'a'"),
        ("a.jsonl", '{"a": 1}\n{"a": 1, "tags": 5}\n', "line 2, field tags: found 5"),
        ("a.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "line 2: it is not UTF-8: .* at byte 7; save it as UTF-8"),
        ("a.jsonl", "", "dataset 'a': it has no example"),
        ("a.csv", 'q,r\n"a\nb",c\nd\n', "line 4: it has 1 cells under 2 columns"),
        ("a.csv", "q,r\na,b,c\n", "line 2: it has 3 cells under 2 columns"),
        ("a.csv", "q,q\na,b\n", "line 1: a column without a name, or names twice: 'q'"),
        ("a.csv", "q, \na,b\n", "line 1: a column without a name, or names twice: ''"),
        ("a.csv", 'q\na\n"b\nc\n', "line 3: unexpected end of data"),
        ("a.csv", 'q\n"a"b\n', "line 2: ',' expected after '\"'"),
        ("a.csv", b"q\na\n\xff\n", "line 3: it is not UTF-8"),
        ("a.csv", "q\n", "it has no example"),
        ("a.jsonl.gz", "no gzip", "a.jsonl.gz, line 1: it is not JSON"),
        ("a.jsonl.gz", gzip.compress(json_lines(*ROWS).encode())[:-9], "line 3: the file is damaged from here on"),
        ("a.xlsx", "", r"found the suffix '\.xlsx'; name a file \*\.jsonl"),
        ("a.parquet.gz", "", "found the suffix"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_the_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = written(tmp_path, name, content)

    with pytest.raises(DefinitionError, match=message):
        read_dataset(path)


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.csv", "missing.parquet"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DefinitionError, match=f"{name}: it cannot be read .No such file"):
        read_dataset(tmp_path / name)


def test_a_file_that_has_changed_is_not_read_as_if_it_had_not(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.jsonl", json_lines(*ROWS))
    found = read_dataset(path)
    os.utime(path, ns=(1, 1))

    with pytest.raises(DefinitionError, match=r"orders\.jsonl: it has changed since it was read; read it again"):
        list(found)


@pytest.mark.parametrize("meanwhile", ['{"question": "c", "answer": "d"}\n', "x" * 400_000, ""])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, meanwhile: str) -> None:
    row = {"question": "q" * 100_000, "answer": "yes"}  # longer than what is read of a file at once
    path = written(tmp_path, "orders.jsonl", json_lines(row, row, row))
    rows = iter(read_dataset(path))
    next(rows)
    path.write_text(meanwhile)

    with pytest.raises(DefinitionError, match=r"orders\.jsonl: it has changed since it was read; read it again"):
        next(rows)


def test_what_is_wrong_in_a_file_that_stays_is_told_as_before(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.jsonl", json_lines(*ROWS) + "{")

    with pytest.raises(DefinitionError, match=r"orders\.jsonl, line \d: it is not JSON"):
        read_dataset(path)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".jsonl.gz"])
def test_a_file_is_never_held_as_a_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"large{suffix}"
    with gzip.open(path, "wt") if suffix.endswith("gz") else path.open("w") as file:
        file.write("question,answer\n" if suffix == ".csv" else "")
        for number in range(3_000):
            row = {"question": f"question {number} " * 20, "answer": "yes"}
            file.write(f"{','.join(row.values())}\n" if suffix == ".csv" else json_lines(row))
    tracemalloc.start()

    found = read_dataset(path, outputs="answer")
    read = sum(1 for _ in found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (found.size, read) == (3_000, 3_000)
    assert peak < 500_000


@pytest.mark.parametrize("name", ["own.jsonl", "own.jsonl.gz"])
def test_a_dataset_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    found = dataset_of(EXAMPLES, name="own")

    write_dataset(found, tmp_path / name)
    read = read_dataset(tmp_path / name)

    assert (read.version, read.kind, read.name, read.columns) == (found.version, found.kind, "own", found.columns)
    assert list(read) == EXAMPLES
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_dataset_can_be_written_over_its_own_file(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.jsonl", json_lines(*({**row, "split": row["answer"][0]} for row in ROWS)))

    write_dataset(read_dataset(path).split("J"), path)

    assert len(read_dataset(path)) == 1


def test_a_dataset_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    source = written(tmp_path, "orders.jsonl", json_lines(*ROWS))
    target = written(tmp_path, "kept.jsonl", "kept")
    found = read_dataset(source)
    source.unlink()

    with pytest.raises(DefinitionError, match=r"orders\.jsonl: it cannot be read"):
        write_dataset(found, target)
    with pytest.raises(StoreError, match=r"nowhere.*could not be written"):
        write_dataset(dataset_of(ROWS), tmp_path / "nowhere" / "a.jsonl")
    with pytest.raises(DefinitionError, match=r"name a file \*.jsonl"):
        write_dataset(dataset_of(ROWS), tmp_path / "a.csv")

    assert target.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.jsonl"]


def shared(name: str) -> Path:
    """Return a file of the folder of real data, or skip the test that asks."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"no {name}: the folder 'shared' is not beside the repository")
    return path


def test_real_files_are_read() -> None:
    tuning = read_dataset(shared("formats/openai_chat/toy_chat_fine_tuning.jsonl"))
    replies = read_dataset(
        shared("formats/csv/promptfoo_customer_support_tests.csv"), inputs="customer_message", recorded="reply"
    )

    assert (tuning.size, tuning.kind, tuning.columns) == (5, "chat", ("reference", "messages"))
    assert (replies.size, replies.kind, replies.recorded) == (8, "kv", True)
    assert {"context", "language", "customer_message"} <= set(replies.columns)
