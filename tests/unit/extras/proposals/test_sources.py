"""What scenarios are proposed from, in parts."""

import json
from pathlib import Path

import pytest

from simeval.errors import DefinitionError
from simeval.extras.proposals.sources import DESCRIPTION, PART_CHARACTERS, Part, chosen, read_parts


def test_paragraphs_are_put_together_as_long_as_a_part_has_room(tmp_path: Path) -> None:
    paragraph = "word " * (PART_CHARACTERS // 15)
    page = tmp_path / "page.md"
    page.write_text("\n\n".join([paragraph] * 5))

    parts = read_parts([page])

    assert [part.text.count("\n\n") for part in parts] == [2, 1]
    assert all(len(part.text) <= PART_CHARACTERS for part in parts)


def test_no_word_of_a_long_text_is_lost_or_cut(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(3_000)]
    page = tmp_path / "page.txt"
    page.write_text(" ".join(words))

    parts = read_parts([page])

    assert " ".join(part.text for part in parts).split() == words


def test_a_log_is_read_as_what_was_said(tmp_path: Path) -> None:
    pytest.importorskip("simeval.extras.importers")  # which reads it
    log = tmp_path / "log.jsonl"
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
    ]
    log.write_text(json.dumps({"messages": said}) + "\n")

    parts = read_parts([log])

    assert parts == [Part("log.jsonl", "user: Hi\nassistant: Hello")]


def test_a_table_is_read_by_its_columns(tmp_path: Path) -> None:
    table = tmp_path / "questions.csv"
    table.write_text("question,answer\nWhere is it?,Here\n")

    parts = read_parts([table])

    assert parts == [Part("questions.csv", "question: Where is it?\nanswer: Here")]


def test_a_folder_gives_its_documents_and_a_description_comes_first(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("Second")
    (tmp_path / "a.txt").write_text("First")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")

    parts = read_parts([tmp_path], "A shop")

    assert [(part.name, part.text) for part in parts] == [
        (DESCRIPTION, "A shop"),
        ("a.txt", "First"),
        ("b.md", "Second"),
    ]


def test_parts_are_chosen_from_beginning_to_end() -> None:
    parts = [Part("page", str(number)) for number in range(10)]

    assert [part.text for part in chosen(parts, 4)] == ["0", "2", "5", "7"]
    assert chosen(parts, 20) == parts


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (None, "there is nothing to propose scenarios from"),
        ("missing.md", "there is no such file or folder"),
        ("empty/", "this folder has no document and no log"),
        ("picture.md", "it cannot be read (it is not UTF-8)"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, made: str | None, says: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "picture.md").write_bytes(b"\x89PNG")

    with pytest.raises(DefinitionError) as refused:
        read_parts([] if made is None else [tmp_path / made])

    assert says in str(refused.value)
