"""Datasets from files of JSON lines and CSV, and written to files."""

import csv
import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from simeval.datasets.dataset import Example
from simeval.datasets.files import dataset_of, read_dataset, write_dataset
from simeval.errors import DefinitionError, StoreError
from tests.support.records import conversation
from tests.support.rows import ROWS, json_lines, written
from tests.support.samples import sample

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


def test_two_rows_of_one_id_are_named_by_their_lines(tmp_path: Path) -> None:
    rows = [{"id": "a", "q": 1}, {"id": "b", "q": 2}, {"id": "a", "q": 3}]
    path = written(tmp_path, "orders.jsonl", json_lines(rows[0]) + "\n" + json_lines(*rows[1:]))

    with pytest.raises(DefinitionError, match=r"orders\.jsonl, line 4: its id 'a' is also that of .*, line 1;"):
        read_dataset(path)


def test_a_number_that_python_does_not_read_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.jsonl", f'{{"n": 1}}\n{{"n": {"9" * 5_000}}}\n')

    with pytest.raises(DefinitionError, match=r"orders\.jsonl, line 2: it is not JSON: Exceeds the limit"):
        read_dataset(path)


def test_a_long_number_stays_what_it_is(tmp_path: Path) -> None:
    found = dataset_of([{"n": 10**4_299 - 1}], name="n")

    write_dataset(found, tmp_path / "n.jsonl")

    assert list(read_dataset(tmp_path / "n.jsonl")) == list(found)


@pytest.mark.parametrize("example", EXAMPLES)
def test_simeval_own_rows_are_read_as_they_were_written(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    write_dataset(dataset_of([example]), path)

    assert list(read_dataset(path)) == [example]
    assert list(dataset_of([json.loads(path.read_text())])) == [example]


@pytest.mark.parametrize("name", ["orders.jsonl", "orders.ndjson", "orders.v2.JSONL", "orders.jsonl.gz"])
def test_json_lines_are_read(tmp_path: Path, name: str) -> None:
    content = ("\ufeff" + "\n".join(json.dumps(row) for row in [ROWS[0], ROWS[1]]) + "\n\n").encode()

    found = read_dataset(written(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content))

    assert found.name == "orders"
    assert found.version == dataset_of(ROWS).version


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('"note; a; b",input\nx,y\n', {"note; a; b": "x", "input": "y"}),
        ("question (one; two; or three)\nq\n", {"question (one; two; or three)": "q"}),
        ("question;answer\na;b, c\n", {"question": "a", "answer": "b, c"}),
        ('\nquestion;answer\n"a;x";b\n', {"question": "a;x", "answer": "b"}),
        ("question\ta\nb\n", {"question\ta": "b"}),
        ("question\tanswer\na; b, c\td\n", {"question": "a; b, c", "answer": "d"}),
    ],
)
def test_semicolons_and_tabs_part_cells_where_every_line_has_them(
    tmp_path: Path, text: str, row: dict[str, str]
) -> None:
    [example] = read_dataset(written(tmp_path, "a.csv", text))

    assert {**example.inputs, **example.outputs} == row


@pytest.mark.parametrize(
    ("name", "delimiter"), [("orders.csv", ","), ("orders.csv", ";"), ("orders.tsv", "\t"), ("orders.csv.gz", ",")]
)
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
        ("a.jsonl", '{"a": 1}\n\n{"b": 1}\n', "line 3: its inputs lack 'a'"),
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
        for number in range(1_000):
            row = {"question": f"question {number} " * 60, "answer": "yes"}
            file.write(f"{','.join(row.values())}\n" if suffix == ".csv" else json_lines(row))
    tracemalloc.start()

    found = read_dataset(path, outputs="answer")
    read = sum(1 for _ in found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (found.size, read) == (1_000, 1_000)
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


def test_real_files_are_read() -> None:
    tuning = read_dataset(sample("openai_chat/toy_chat_fine_tuning.jsonl"))
    replies = read_dataset(
        sample("csv/promptfoo_customer_support_tests.csv"), inputs="customer_message", recorded="reply"
    )

    assert (tuning.size, tuning.kind, tuning.columns) == (5, "chat", ("reference", "messages"))
    assert (replies.size, replies.kind, replies.recorded) == (8, "kv", True)
    assert {"context", "language", "customer_message"} <= set(replies.columns)
