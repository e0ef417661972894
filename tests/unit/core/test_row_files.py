"""Files of rows: streams with line numbers, whatever is wrong with a line."""

import gzip
from pathlib import Path

import pytest

from simeval.core import row_files
from simeval.core.row_files import JsonLine, csv_rows, json_lines, json_objects, sound_lines
from simeval.errors import DefinitionError


def written(folder: Path, content: bytes, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_lines_are_numbered_as_an_editor_numbers_them(tmp_path: Path) -> None:
    path = written(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[2]')

    assert list(json_lines(path)) == [JsonLine(1, {"a": 1}), JsonLine(4, [2])]


def test_a_packed_file_is_known_by_what_it_begins_with(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"1\n2\n"))

    assert [line.value for line in json_lines(path)] == [1, 2]


def test_a_line_that_cannot_be_read_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "LONGEST_LINE", 20)
    path = written(tmp_path, b'1\n{\n"\xff"\n' + b"[" + b"1," * 50 + b"1]\n" + b"5\n")

    found = {line.number: str(line.problem or line.value).partition(", at column")[0] for line in json_lines(path)}

    assert found == {
        1: "1",
        2: "it is not JSON: Expecting property name enclosed in double quotes",
        3: "it is not UTF-8: invalid start byte at byte 1",
        4: "it is longer than 20 bytes",
        5: "5",
    }


def test_the_column_of_a_line_that_ends_too_early_is_its_end(tmp_path: Path) -> None:
    [line] = json_lines(written(tmp_path, b'{"a": 1, "b":\n'))

    assert line.problem == "it is not JSON: Expecting value, at column 14"


def test_a_damaged_file_gives_what_stands_before(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d\n" % number for number in range(1000)))
    *sound, last = json_lines(written(tmp_path, whole[:-9]))

    assert [line.value for line in sound[:3]] == [0, 1, 2]
    assert last.number == len(sound) + 1
    assert "the file is damaged from here on" in last.problem


def test_the_first_line_with_a_problem_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"a": 1}\nNaN\n')

    with pytest.raises(DefinitionError, match=r"rows\.jsonl, line 2: it is not JSON: NaN .*; write a JSON object"):
        list(sound_lines(path, finite=True))


def test_what_is_no_object_is_refused_where_objects_are_wanted(tmp_path: Path) -> None:
    found = json_objects(written(tmp_path, b'{"a": 1}\n[2]\n'), do="give labels")

    assert next(found)[1] == {"a": 1}
    with pytest.raises(DefinitionError, match=r"line 2: found \[2\]; give labels"):
        next(found)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"none\.jsonl: it cannot be read .*; check the path"):
        list(json_lines(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_rows_of_csv_begin_at_their_lines_whichever_system_ended_them(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path, end.join([b"a;b", b"1;2", b"", b'"x', b'y";3', b"4;5"]), "rows.csv")

    assert [(number, len(cells)) for number, cells in csv_rows(path)] == [(1, 2), (2, 2), (4, 2), (6, 2)]


def test_quotes_that_do_not_fit_are_an_error_where_csv_is_strict(tmp_path: Path) -> None:
    path = written(tmp_path, b'a\n"b"c\n', "rows.csv")

    assert [cells for _, cells in csv_rows(path, strict=False)] == [["a"], ["bc"]]
    with pytest.raises(DefinitionError, match=r"rows\.csv, line 2: .*; write it as CSV"):
        list(csv_rows(path))
