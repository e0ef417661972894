"""Labelled conversations as examples for a judge: a few of each kind, for the expectation they were labelled by."""

import json
from pathlib import Path

import pytest

from simeval.core.feedback import MOST, read_examples, transcript_key
from simeval.errors import DefinitionError

HEAD = "scenario,index,expectation,expected_behavior,label,transcript,run\n"


def written(folder: Path, *rows: tuple[str, str, str], name: str = "labels.csv") -> Path:
    lines = [f'S,{number},E,"{expected}",{label},"{said}",r\n' for number, (expected, label, said) in enumerate(rows)]
    (folder / name).write_text(HEAD + "".join(lines), encoding="utf-8")
    return folder / name


def test_passes_and_failures_stand_by_turns_and_are_few(tmp_path: Path) -> None:
    rows = [("It greets", "pass", f"user: hi\nassistant: hello {number}") for number in range(9)]

    [found] = read_examples(written(tmp_path, *rows, ("It  greets", "fail", "user: hi"))).values()

    assert [each.passes for each in found] == [True, False, True, True]
    assert len(found) == MOST
    assert found[0].transcript == "user: hi\nassistant: hello 0"


def test_labels_are_words_or_ratings_and_empty_ones_are_none(tmp_path: Path) -> None:
    rows = [("A", "7", "a"), ("B", "5", "b"), ("C", "no", "c"), ("D", "1", "d"), ("F", "", "f")]

    found = read_examples(written(tmp_path, *rows))

    assert {expected: each[0].passes for expected, each in found.items()} == {
        "A": True,
        "B": False,
        "C": False,
        "D": True,
    }


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    rows = [
        {"expected_behavior": each, "label": label, "transcript": each} for each, label in (("A", True), ("B", None))
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    found = read_examples(tmp_path / "labels.jsonl")

    assert found["A"][0].passes
    assert "B" not in found  # null is no label


def test_spaces_make_no_other_conversation() -> None:
    assert transcript_key("user: hi\nassistant: hello") == transcript_key("user: hi assistant:  hello ")
    assert transcript_key("user: hi") != transcript_key("user: ho")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD, "no label is filled in"),
        ("\n", "no label is filled in|cannot be read"),
        ("scenario,index,label\nS,0,pass\n", "there is no column expected_behavior"),
        (HEAD + "S,0,E,A,perhaps,t,r\n", "found the label 'perhaps'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")

    with pytest.raises(DefinitionError, match=says):
        read_examples(tmp_path / "labels.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_examples(tmp_path / "none.csv")
